/**
 * Homes: which spill slot each value in memory gets.
 *
 * Values of one slot group never live at the same time and share a slot from the start, so that moves between
 * them vanish. Groups then share slots by first fit over live intervals, larger sizes first, per register class
 * (a slot is accessed with one kind of instruction). Where that finds none of the first few, only slots that end
 * before the group begins are considered: the one that ended first, from a heap. n log n. A value's slot is taken as long as the value lives, because
 * it is written at the definition.
 *
 * In a function with a call that returns twice nothing is shared: the second return finds the values of the
 * first in their slots, although no edge of the graph leads back there.
 */
import type { Location, MFunction } from "../mir.js";
import { newSpillSlot, slotLocation } from "../mir.js";
import { IntervalSet } from "./interval-set.js";
import type { AllocationProblem, Placement } from "./problem.js";

interface Slot {
  readonly cls: number;
  readonly size: number;
  readonly index: number;
  readonly used: IntervalSet<number>;
  /** Where the last interval in it ends. */
  end: number;
}

/** So many slots of a class are searched for a gap. */
const searched = 64;

/** Values that share a home from the start. */
interface Group {
  readonly members: readonly number[];
  readonly cls: number;
  readonly size: number;
}

/** Location of the home of each register for which `needed` is 1; the rest of the result is meaningless. */
export function assignSlots(
  problem: AllocationProblem,
  placement: Placement,
  needed: Uint8Array,
): { home: Int32Array; count: number } {
  const { fn } = problem;
  const home = new Int32Array(fn.vregs.length);
  const share = !returnsTwice(fn);
  const groups = new Map<number, number[]>();
  for (let v = 0; v < fn.vregs.length; v++) {
    if (needed[v] === 0) continue;
    const key = share ? placement.slotGroup[v]! : v;
    const members = groups.get(key);
    if (members === undefined) groups.set(key, [v]);
    else members.push(v);
  }
  const sized: Group[] = [];
  for (const members of groups.values()) {
    let size = 0;
    for (const v of members) size = Math.max(size, fn.vregs[v]!.size);
    sized.push({ members, cls: fn.vregs[members[0]!]!.cls, size });
  }
  sized.sort((a, b) => b.size - a.size || a.members[0]! - b.members[0]!);
  const slots = new SlotPool(problem);
  for (const group of sized) {
    const slot = (share ? slots.find(group) : null) ?? slots.create(group);
    for (const v of group.members) home[v] = slotLocation(slot.index) as Location;
    slots.occupy(slot, group);
  }
  return { home, count: slots.count };
}

class SlotPool {
  count = 0;
  /** By class. */
  private readonly slots: Slot[][] = [];
  /** Slots beyond the searched ones, by class: a heap whose top ended first. */
  private readonly rest: Slot[][] = [];

  constructor(private readonly problem: AllocationProblem) {}

  /** A slot that is free whenever a member of the group lives; null if none was found. */
  find(group: Group): Slot | null {
    const slots = this.slots[group.cls] ?? [];
    for (let k = 0; k < slots.length && k < searched; k++) {
      const slot = slots[k]!;
      if (slot.size < group.size) break;
      if (this.fits(slot, group)) return slot;
    }
    const rest = this.rest[group.cls] ?? [];
    if (rest.length === 0 || rest[0]!.size < group.size || rest[0]!.end > this.startOf(group)) return null;
    return pop(rest);
  }

  create({ cls, size }: Group): Slot {
    const index = newSpillSlot(this.problem.fn, size);
    const slot: Slot = { cls, size, index, used: new IntervalSet(), end: 0 };
    this.count++;
    const list = (this.slots[cls] ??= []);
    if (list.length < searched) list.push(slot);
    return slot;
  }

  /** Enters the lives of the group's members. */
  occupy(slot: Slot, { members, cls }: Group): void {
    const { rangeStart, rangeFrom, rangeTo } = this.problem.liveness;
    for (const v of members) {
      for (let r = rangeStart[v]!; r < rangeStart[v + 1]!; r++) {
        slot.used.insert(rangeFrom[r]!, rangeTo[r]!, v);
        slot.end = Math.max(slot.end, rangeTo[r]!);
      }
    }
    const list = this.slots[cls]!;
    if (list.length >= searched && !list.includes(slot)) push((this.rest[cls] ??= []), slot);
  }

  private fits(slot: Slot, { members }: Group): boolean {
    const { rangeStart, rangeFrom, rangeTo } = this.problem.liveness;
    for (const v of members) {
      for (let r = rangeStart[v]!; r < rangeStart[v + 1]!; r++) {
        if (!slot.used.isFree(rangeFrom[r]!, rangeTo[r]!)) return false;
      }
    }
    return true;
  }

  private startOf({ members }: Group): number {
    const { rangeStart, rangeFrom } = this.problem.liveness;
    let start = 2 ** 31;
    for (const v of members) start = Math.min(start, rangeFrom[rangeStart[v]!]!);
    return start;
  }
}

function push(heap: Slot[], slot: Slot): void {
  let at = heap.length;
  heap.push(slot);
  for (; at > 0; at = (at - 1) >> 1) {
    const parent = heap[(at - 1) >> 1]!;
    if (parent.end <= slot.end) break;
    heap[at] = parent;
  }
  heap[at] = slot;
}

function pop(heap: Slot[]): Slot {
  const top = heap[0]!;
  const last = heap.pop()!;
  if (heap.length === 0) return top;
  let at = 0;
  for (;;) {
    let child = 2 * at + 1;
    if (child >= heap.length) break;
    if (child + 1 < heap.length && heap[child + 1]!.end < heap[child]!.end) child++;
    if (heap[child]!.end >= last.end) break;
    heap[at] = heap[child]!;
    at = child;
  }
  heap[at] = last;
  return top;
}

function returnsTwice(fn: MFunction): boolean {
  if (fn.returnsTwice) return true;
  return fn.blocks.some((block) =>
    block.insts.some((inst) => inst.extra !== null && inst.extra.kind === "call" && inst.extra.returnsTwice),
  );
}
