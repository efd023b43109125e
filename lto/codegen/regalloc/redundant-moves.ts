/**
 * Removes inserted moves that move nothing, and reads from memory what is still in a register.
 *
 * A walk over each block tracks which value each register and slot holds. Values are named by virtual registers,
 * copies by what they copy, so that equal names are equal values. A block starts with what all its predecessors
 * agree on, if they have all been walked before it; a loop header starts with nothing. What an instruction reads
 * from a place tells what is there.
 *
 * - A move into a place that holds the value already is dropped.
 * - A reload of a value that is in a register becomes a move; so does recomputing a constant that is longer than
 *   a move.
 * - An operand in a slot whose value is in a register is read from there.
 *
 * Breaks if: a place changes by other means than definitions, clobbers and inserted operations. Linear, times the
 * registers at each reload.
 */

import { type Numbering, valueNames } from "../liveness.js";
import { isSlot, type Location, type MFunction, MInst, noLocation, slotOf } from "../mir.js";
import { firstRegister, isEmptySet, type RegisterSet, withoutFirst } from "../register-set.js";
import { ActionKind, MoveAction } from "./parallel-move.js";
import type { AllocationProblem } from "./problem.js";
import type { Item } from "./rewrite.js";

const unknown = -1;

/** So many slots are followed at a time; the one that has been known the longest is forgotten first. */
const slotLimit = 64;

type Slots = Map<number, number>;
const noSlots: ReadonlyMap<number, number> = new Map();

/** Values by place, at one point of the walk. */
class Contents {
  readonly registers: Int32Array;
  private slots: Slots | null = null;

  constructor(private readonly count: number) {
    this.registers = new Int32Array(count).fill(unknown);
  }

  get(place: Location): number {
    if (!isSlot(place)) return this.registers[place]!;
    return this.slots?.get(slotOf(place)) ?? unknown;
  }
  set(place: Location, value: number): void {
    if (!isSlot(place)) {
      this.registers[place] = value;
      return;
    }
    this.slots ??= new Map();
    this.slots.set(slotOf(place), value);
    if (this.slots.size > slotLimit) this.slots.delete(this.slots.keys().next().value!);
  }
  clear(): void {
    this.registers.fill(unknown);
    this.slots = null;
  }
  /** Takes the slots' values, to be kept for successors. */
  takeSlots(): ReadonlyMap<number, number> {
    const slots = this.slots ?? noSlots;
    this.slots = null;
    return slots;
  }
  copyFrom(registers: Int32Array, offset: number, slots: ReadonlyMap<number, number>): void {
    for (let r = 0; r < this.count; r++) this.registers[r] = registers[offset + r]!;
    this.slots = slots.size === 0 ? null : new Map(slots);
  }
  meet(registers: Int32Array, offset: number, slots: ReadonlyMap<number, number>): void {
    for (let r = 0; r < this.count; r++) {
      if (this.registers[r] !== registers[offset + r]) this.registers[r] = unknown;
    }
    if (this.slots === null) return;
    for (const [slot, value] of this.slots) if (slots.get(slot) !== value) this.slots.delete(slot);
  }
}

/** Cleans the items of each block, in place. */
export function removeRedundantMoves(problem: AllocationProblem, blocks: readonly Item[][]): void {
  new Cleaner(problem).run(blocks);
}

class Cleaner {
  private readonly fn: MFunction;
  private readonly numbering: Numbering;
  /** Registers of the target. */
  private readonly count: number;
  private readonly names: Int32Array;
  private readonly contents: Contents;
  /** Contents at the end of each block walked so far. */
  private readonly leavingRegisters: Int32Array;
  private readonly leavingSlots: ReadonlyMap<number, number>[] = [];

  constructor(private readonly problem: AllocationProblem) {
    this.fn = problem.fn;
    this.numbering = problem.liveness.numbering;
    this.names = valueNames(problem.fn);
    this.count = problem.target.count;
    this.contents = new Contents(this.count);
    this.leavingRegisters = new Int32Array(this.count * problem.fn.blocks.length);
  }

  run(blocks: readonly Item[][]): void {
    for (let b = 0; b < blocks.length; b++) {
      this.enter(b);
      this.clean(blocks[b]!);
      this.leavingRegisters.set(this.contents.registers, this.count * b);
      this.leavingSlots.push(this.contents.takeSlots());
    }
  }

  /** Sets `contents` to what is known at the head of block `b`. */
  private enter(b: number): void {
    const { contents, leavingRegisters, leavingSlots } = this;
    const block = this.fn.blocks[b]!;
    contents.clear();
    // A landing pad is entered with less than its predecessors leave behind.
    if (block.landingPad || block.addressTaken) return;
    for (const pred of block.preds) if (this.numbering.position[pred.id]! >= b) return;
    for (let k = 0; k < block.preds.length; k++) {
      const p = this.numbering.position[block.preds[k]!.id]!;
      if (k === 0) contents.copyFrom(leavingRegisters, this.count * p, leavingSlots[p]!);
      else contents.meet(leavingRegisters, this.count * p, leavingSlots[p]!);
    }
  }

  /** Cleans the items of one block, in place. */
  private clean(items: Item[]): void {
    let kept = 0;
    for (let k = 0; k < items.length; k++) {
      const item = items[k]!;
      if (item instanceof MInst) {
        this.pass(item);
        items[kept++] = item;
      } else {
        const simpler = this.simplify(item);
        if (simpler !== null) items[kept++] = simpler;
      }
    }
    items.length = kept;
  }

  private pass(inst: MInst): void {
    const { contents, names } = this;
    const uses = inst.uses;
    for (let k = 0; k < uses.length; k++) {
      const use = uses[k]!;
      if (use.vreg < 0) continue;
      if (isSlot(use.loc) && isEmptySet(use.allowed) && !isDefined(inst, use.loc, false)) {
        const register = this.registerWith(names[use.vreg]!);
        if (register >= 0 && !isDefined(inst, register, true)) use.loc = register;
      }
      contents.set(use.loc, names[use.vreg]!);
    }
    for (let rest = this.clobbersOf(inst); !isEmptySet(rest); rest = withoutFirst(rest)) {
      contents.registers[firstRegister(rest)] = unknown;
    }
    for (let k = 0; k < inst.defs.length; k++) {
      const def = inst.defs[k]!;
      if (def.loc === noLocation) continue;
      contents.set(def.loc, def.vreg < 0 ? unknown : names[def.vreg]!);
    }
  }

  private clobbersOf(inst: MInst): RegisterSet {
    const extra = inst.extra;
    return extra !== null && extra.kind === "call" && extra.returnsTwice
      ? this.problem.target.all
      : inst.clobbers;
  }

  /** A register that holds `value`; -1 if none is known to. */
  private registerWith(value: number): number {
    const cls = this.fn.vregs[value]!.cls;
    for (let rest = this.problem.allocatable[cls]!; !isEmptySet(rest); rest = withoutFirst(rest)) {
      const register = firstRegister(rest);
      if (this.contents.registers[register] === value) return register;
    }
    return -1;
  }

  /** The action, a cheaper one, or null. */
  private simplify(action: MoveAction): MoveAction | null {
    const { contents } = this;
    const { kind, cls, size, to, from, vreg } = action;
    if (kind === ActionKind.Swap) {
      const held = contents.get(to);
      contents.set(to, contents.get(from));
      contents.set(from, held);
      return action;
    }
    if (vreg < 0) {
      contents.set(to, unknown);
      return action;
    }
    const value = this.names[vreg]!;
    const whole = size >= this.fn.vregs[value]!.size;
    if (whole && contents.get(to) === value) return null;
    let cheaper: MoveAction = action;
    const fromMemory =
      kind === ActionKind.Move ? isSlot(from) : kind === ActionKind.Remat && this.isLong(vreg);
    if (fromMemory && !isSlot(to)) {
      const register = this.registerWith(value);
      if (register >= 0) cheaper = new MoveAction(ActionKind.Move, cls, size, to, register, vreg);
    } else if (kind === ActionKind.Move && whole) contents.set(from, value);
    contents.set(to, whole ? value : unknown);
    return cheaper;
  }

  /** Recomputing takes more bytes than a move. */
  private isLong(vreg: number): boolean {
    const { remat } = this.fn.vregs[vreg]!;
    return remat!.imm !== 0 || remat!.mem !== null || remat!.symbol !== null;
  }
}

/** True if `inst` has a definition at `place`; with `early`, one that is made before all uses are read. */
function isDefined(inst: MInst, place: Location, early: boolean): boolean {
  for (let k = 0; k < inst.defs.length; k++) {
    const def = inst.defs[k]!;
    if (def.loc === place && (!early || def.early || def.tiedTo >= 0)) return true;
  }
  return false;
}
