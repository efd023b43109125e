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
import { ActionKind, MoveAction } from "./parallel-move.js";
import type { AllocationProblem } from "./problem.js";
import type { Item } from "./rewrite.js";

const registerCount = 32;
const unknown = -1;

/** Values by place. */
class Contents {
  readonly registers = new Int32Array(registerCount).fill(unknown);
  readonly slots = new Map<number, number>();

  clone(): Contents {
    const copy = new Contents();
    copy.registers.set(this.registers);
    for (const [slot, value] of this.slots) copy.slots.set(slot, value);
    return copy;
  }
  get(place: Location): number {
    return isSlot(place) ? (this.slots.get(slotOf(place)) ?? unknown) : this.registers[place]!;
  }
  set(place: Location, value: number): void {
    if (isSlot(place)) this.slots.set(slotOf(place), value);
    else this.registers[place] = value;
  }
  meet(other: Contents): void {
    for (let r = 0; r < registerCount; r++) {
      if (this.registers[r] !== other.registers[r]) this.registers[r] = unknown;
    }
    for (const [slot, value] of this.slots) if (other.slots.get(slot) !== value) this.slots.delete(slot);
  }
}

/** Cleans the items of each block, in place. */
export function removeRedundantMoves(problem: AllocationProblem, blocks: Item[][]): void {
  new Cleaner(problem).run(blocks);
}

class Cleaner {
  private readonly fn: MFunction;
  private readonly numbering: Numbering;
  private readonly names: Int32Array;
  private contents = new Contents();

  constructor(private readonly problem: AllocationProblem) {
    this.fn = problem.fn;
    this.numbering = problem.liveness.numbering;
    this.names = valueNames(problem.fn);
  }

  run(blocks: Item[][]): void {
    const leaving: Contents[] = [];
    for (let b = 0; b < blocks.length; b++) {
      this.contents = this.entry(b, leaving);
      blocks[b] = this.clean(blocks[b]!);
      leaving.push(this.contents);
    }
  }

  private entry(b: number, leaving: readonly Contents[]): Contents {
    const block = this.fn.blocks[b]!;
    // An unwind edge leaves in the middle of a block.
    if (block.landingPad || block.addressTaken || block.preds.length === 0) return new Contents();
    let result: Contents | null = null;
    for (const pred of block.preds) {
      const p = this.numbering.position[pred.id]!;
      if (p >= b) return new Contents();
      if (result === null) result = leaving[p]!.clone();
      else result.meet(leaving[p]!);
    }
    return result!;
  }

  private clean(items: readonly Item[]): Item[] {
    const result: Item[] = [];
    for (const item of items) {
      if (item instanceof MInst) {
        this.pass(item);
        result.push(item);
      } else {
        const kept = this.simplify(item);
        if (kept !== null) result.push(kept);
      }
    }
    return result;
  }

  private pass(inst: MInst): void {
    const { contents, names } = this;
    const uses = inst.uses;
    for (let k = 0; k < uses.length; k++) {
      const use = uses[k]!;
      if (use.vreg < 0) continue;
      if (isSlot(use.loc) && use.allowed === 0 && !inst.defs.some((def) => def.loc === use.loc)) {
        const register = this.registerWith(names[use.vreg]!);
        const early = inst.defs.some((def) => def.loc === register && (def.early || def.tiedTo >= 0));
        if (register >= 0 && !early) use.loc = register;
      }
      contents.set(use.loc, names[use.vreg]!);
    }
    for (let rest = this.clobbersOf(inst); rest !== 0; rest &= rest - 1) {
      contents.registers[31 - Math.clz32(rest & -rest)] = unknown;
    }
    for (const def of inst.defs) {
      if (def.loc === noLocation) continue;
      contents.set(def.loc, def.vreg < 0 ? unknown : names[def.vreg]!);
    }
  }

  private clobbersOf(inst: MInst): number {
    const extra = inst.extra;
    return extra !== null && extra.kind === "call" && extra.returnsTwice ? -1 : inst.clobbers;
  }

  /** A register that holds `value`; -1 if none is known to. */
  private registerWith(value: number): number {
    const cls = this.fn.vregs[value]!.cls;
    for (let rest = this.problem.allocatable[cls]!; rest !== 0; rest &= rest - 1) {
      const register = 31 - Math.clz32(rest & -rest);
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
