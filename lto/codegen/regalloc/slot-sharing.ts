/**
 * Homes: which spill slot each value in memory gets.
 *
 * Values of one slot group never live at the same time and share a slot from the start, so that moves between
 * them vanish. Groups then share slots by first fit over live intervals, larger sizes first, per register class
 * (a slot is accessed with one kind of instruction). A value's slot is taken as long as the value lives, because
 * it is written at the definition.
 *
 * In a function with a call that returns twice nothing is shared: the second return finds the values of the
 * first in their slots, although no edge of the graph leads back there.
 */
import type { Location, MFunction } from "../mir.js";
import { slotLocation } from "../mir.js";
import { IntervalSet } from "./interval-set.js";
import type { AllocationProblem, Placement } from "./problem.js";

interface Slot {
  readonly cls: number;
  readonly size: number;
  readonly index: number;
  readonly used: IntervalSet<number>;
}

/** Location of the home of each register for which `needed` is 1; the rest of the result is meaningless. */
export function assignSlots(
  problem: AllocationProblem,
  placement: Placement,
  needed: Uint8Array,
): { home: Int32Array; count: number } {
  const { fn, liveness } = problem;
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
  const sized = [...groups.values()].map((members) => ({
    members,
    cls: fn.vregs[members[0]!]!.cls,
    size: members.reduce((size, v) => Math.max(size, fn.vregs[v]!.size), 0),
  }));
  sized.sort((a, b) => b.size - a.size || a.members[0]! - b.members[0]!);
  const slots: Slot[] = [];
  for (const { members, cls, size } of sized) {
    let slot = share
      ? slots.find((s) => s.cls === cls && s.size >= size && members.every((v) => fits(s, v)))
      : undefined;
    if (slot === undefined) {
      slot = { cls, size, index: fn.newSlot(size, size, "spill"), used: new IntervalSet() };
      slots.push(slot);
    }
    for (const v of members) {
      home[v] = slotLocation(slot.index) as Location;
      for (let r = liveness.rangeStart[v]!; r < liveness.rangeStart[v + 1]!; r++) {
        slot.used.insert(liveness.rangeFrom[r]!, liveness.rangeTo[r]!, v);
      }
    }
  }
  return { home, count: slots.length };

  function fits(slot: Slot, v: number): boolean {
    for (let r = liveness.rangeStart[v]!; r < liveness.rangeStart[v + 1]!; r++) {
      if (!slot.used.isFree(liveness.rangeFrom[r]!, liveness.rangeTo[r]!)) return false;
    }
    return true;
  }
}

function returnsTwice(fn: MFunction): boolean {
  if (fn.returnsTwice) return true;
  return fn.blocks.some((block) =>
    block.insts.some((inst) => inst.extra !== null && inst.extra.kind === "call" && inst.extra.returnsTwice),
  );
}
