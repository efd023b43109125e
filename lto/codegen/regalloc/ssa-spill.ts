/**
 * Spilling before colouring: which values live in memory, so that never more are in registers than there are.
 *
 * One sweep over the layout keeps the bundles that are alive, by class. Where they are more than the registers
 * that an instruction's fixed operands, clobbers and definitions leave, values go out: those needed last, measured
 * against what they are worth. Belady's rule alone ("farthest next use"; Braun and Hack, "Register Spilling and
 * Live-Range Splitting for SSA-Form Programs", CC 2009) minimises reloads of equal cost in straight-line code; over
 * a whole function a value with many uses further on must stay, and a value that went to memory once has been
 * stored, so it is in memory everywhere. The allocator then gives it back what registers are left, where that pays.
 *
 * Sets of permitted registers are not modelled; the allocator copes with them.
 * Time: n log n to sort live ranges; for each instruction the values alive at it, and where some have to go a
 * binary search for each.
 */

import { After, Clobber, collectUses, Early, hasTies, Late, tieOf, UseKind, useKindOf } from "../liveness.js";
import type { MInst, RegOperand } from "../mir.js";
import {
  intersect,
  isEmptySet,
  isSingle,
  noRegisters,
  type RegisterSet,
  registerCount,
  union,
} from "../register-set.js";
import type { Bundle } from "./bundle.js";
import { nextUse } from "./next-use.js";
import type { AllocationProblem } from "./problem.js";

/** Uses farther away than so many points are all equally far. */
const horizon = 600;

/** By position in `bundles`: 1 for those that go to memory. Their costs must have been measured. */
export function spillToPressure(problem: AllocationProblem, bundles: readonly Bundle[]): Uint8Array {
  return new PressureSweep(problem, bundles).run();
}

/** What one class has at the instruction at hand. */
class ClassState {
  /** Numbers of the ranges alive in registers. */
  readonly alive: number[] = [];
  readonly size: number;
  /** Registers that fixed operands take before the instruction, and after it. */
  fixedEarly = noRegisters;
  fixedLate = noRegisters;
  /** Registers that values in memory need for the instruction alone, before and after it. */
  early = 0;
  late = 0;
  constructor(readonly mask: RegisterSet) {
    this.size = registerCount(mask);
  }
}

class PressureSweep {
  private readonly spilled: Uint8Array;
  private readonly classes: readonly ClassState[];
  /** By range, in order of their starts. */
  private readonly start: Int32Array;
  private readonly end: Int32Array;
  private readonly vreg: Int32Array;
  private readonly owner: Int32Array;
  /** Position of the bundle of each virtual register, -1 for none. */
  private readonly bundleOf: Int32Array;
  private next = 0;
  private readonly buffer: RegOperand[] = [];

  constructor(
    private readonly problem: AllocationProblem,
    private readonly bundles: readonly Bundle[],
  ) {
    this.spilled = new Uint8Array(bundles.length);
    this.classes = problem.allocatable.map((mask) => new ClassState(mask));
    this.bundleOf = new Int32Array(problem.fn.vregs.length).fill(-1);
    let count = 0;
    for (let b = 0; b < bundles.length; b++) {
      const { ranges, vregs } = bundles[b]!;
      count += ranges.length;
      for (let k = 0; k < vregs.length; k++) this.bundleOf[vregs[k]!] = b;
    }
    // One sort of plain numbers: start and position of the range among all.
    const keys = new Float64Array(count);
    const end = new Int32Array(count);
    const vreg = new Int32Array(count);
    const owner = new Int32Array(count);
    let r = 0;
    for (let b = 0; b < bundles.length; b++) {
      const { ranges } = bundles[b]!;
      for (let k = 0; k < ranges.length; k++, r++) {
        keys[r] = ranges[k]!.start * count + r;
        end[r] = ranges[k]!.end;
        vreg[r] = ranges[k]!.vreg;
        owner[r] = b;
      }
    }
    keys.sort();
    this.start = new Int32Array(count);
    this.end = new Int32Array(count);
    this.vreg = new Int32Array(count);
    this.owner = new Int32Array(count);
    for (let k = 0; k < count; k++) {
      const from = keys[k]! % count;
      this.start[k] = (keys[k]! - from) / count;
      this.end[k] = end[from]!;
      this.vreg[k] = vreg[from]!;
      this.owner[k] = owner[from]!;
    }
  }

  run(): Uint8Array {
    let index = 0;
    for (const { insts } of this.problem.fn.blocks) {
      this.advance(4 * index);
      for (const state of this.classes) this.limit(state, state.size, 4 * index);
      index++;
      for (let i = 0; i < insts.length; i++) this.pass(insts[i]!, index++);
    }
    return this.spilled;
  }

  /** Takes in the ranges that begin up to `point`. */
  private advance(point: number): void {
    const { start, end, owner, spilled, classes, bundles } = this;
    for (; this.next < start.length && start[this.next]! <= point; this.next++) {
      const b = owner[this.next]!;
      if (end[this.next]! > point && spilled[b] === 0) classes[bundles[b]!.cls]!.alive.push(this.next);
    }
  }

  private pass(inst: MInst, index: number): void {
    const { classes } = this;
    const point = 4 * index;
    for (let c = 0; c < classes.length; c++) {
      const state = classes[c]!;
      state.fixedEarly = state.fixedLate = noRegisters;
      state.early = state.late = 0;
    }
    this.countOperands(inst);
    const clobbers =
      inst.extra?.kind === "call" && inst.extra.returnsTwice ? this.problem.target.all : inst.clobbers;
    this.advance(point + Early);
    for (let c = 0; c < classes.length; c++) {
      const state = classes[c]!;
      this.limit(
        state,
        state.size - registerCount(intersect(state.fixedEarly, state.mask)) - state.early,
        point,
      );
    }
    if (!isEmptySet(clobbers)) {
      this.advance(point + Clobber);
      for (let c = 0; c < classes.length; c++) {
        const state = classes[c]!;
        this.limit(state, state.size - registerCount(intersect(clobbers, state.mask)), point + Clobber);
      }
    }
    this.advance(point + Late);
    for (let c = 0; c < classes.length; c++) {
      const state = classes[c]!;
      this.limit(
        state,
        state.size - registerCount(intersect(state.fixedLate, state.mask)) - state.late,
        point + Late,
      );
    }
    this.advance(point + After);
    for (let c = 0; c < classes.length; c++) this.limit(classes[c]!, classes[c]!.size, point + After);
  }

  /** What the operands of `inst` take from each class besides the values alive. */
  private countOperands(inst: MInst): void {
    const { classes, spilled, bundleOf, buffer } = this;
    const { vregs } = this.problem.fn;
    const count = collectUses(inst, buffer);
    const ties = hasTies(inst);
    for (let k = 0; k < count; k++) {
      const use = buffer[k]!;
      if (use.vreg < 0) continue;
      const state = classes[vregs[use.vreg]!.cls]!;
      const kind = useKindOf(use, ties ? tieOf(inst, use, k) : null);
      if (kind === UseKind.Fixed) state.fixedEarly = union(state.fixedEarly, use.allowed);
      else if (kind === UseKind.Reg && spilled[bundleOf[use.vreg]!] === 1) state.early++;
    }
    for (let d = 0; d < inst.defs.length; d++) {
      const def = inst.defs[d]!;
      if (def.vreg < 0) continue;
      const state = classes[vregs[def.vreg]!.cls]!;
      const isEarly = def.early || def.tiedTo >= 0;
      if (isSingle(def.allowed)) {
        state.fixedLate = union(state.fixedLate, def.allowed);
        if (isEarly) state.fixedEarly = union(state.fixedEarly, def.allowed);
      } else if (spilled[bundleOf[def.vreg]!] === 1) {
        state.late++;
        if (isEarly) state.early++;
      }
    }
  }

  /** Sends values to memory until at most `count` are alive at `point`. */
  private limit({ alive }: ClassState, count: number, point: number): void {
    if (alive.length <= count) return;
    let kept = 0;
    for (let k = 0; k < alive.length; k++) if (this.end[alive[k]!]! > point) alive[kept++] = alive[k]!;
    alive.length = kept;
    while (alive.length > Math.max(0, count)) {
      let victim = 0;
      let most = -1;
      for (let k = 0; k < alive.length; k++) {
        const r = alive[k]!;
        const next = nextUse(this.problem.liveness, this.vreg[r]!, point);
        const score = Math.min(horizon, next - point + 1) / (this.bundles[this.owner[r]!]!.weight + 1e-9);
        if (score > most) {
          most = score;
          victim = k;
        }
      }
      this.spilled[this.owner[alive[victim]!]!] = 1;
      alive.splice(victim, 1);
    }
  }
}
