/**
 * Where a bundle can be cut so that its first part fits a register.
 *
 * A cut is made in the gap before an instruction, never among the branches at the end of a block: a value that
 * leaves the block has to be in its final place before the first of them.
 */

import { UseKind } from "../liveness.js";
import { registersIn, single } from "../register-set.js";
import type { Assignment } from "./assignment.js";
import type { Bundle } from "./bundle.js";
import type { AllocationProblem } from "./problem.js";

/** Bundles of so many ranges are cut with an eye to the work of cutting them again. */
const manyRanges = 128;

/** First index of the trailing branches of each block, by layout position. */
export function branchIndices({ fn, liveness, target }: AllocationProblem): Int32Array {
  const result = new Int32Array(fn.blocks.length);
  for (let b = 0; b < fn.blocks.length; b++) {
    result[b] = liveness.numbering.head[b]! + 1 + target.terminatorStart(fn.blocks[b]!.insts);
  }
  return result;
}

export class CutPoints {
  /** First index of the trailing branches of each block, by layout position. */
  private readonly branches: Int32Array;

  constructor(private readonly problem: AllocationProblem) {
    this.branches = branchIndices(problem);
  }

  /** The furthest point up to which some permitted register is free for `bundle`. */
  longestFree(state: Assignment, bundle: Bundle): number {
    let best = -1;
    for (const register of registersIn(bundle.permitted)) {
      best = Math.max(best, this.freeUntil(state, bundle, register));
    }
    return best;
  }

  /** First point of `bundle` at which `register` is taken by an instruction or another bundle. */
  freeUntil(state: Assignment, bundle: Bundle, register: number): number {
    const { reservations } = this.problem;
    const set = state.occupied[register]!;
    for (const range of bundle.ranges) {
      let point = reservations.firstBlock(range.vreg, range.start, range.end, single(register));
      set.seek(range.start);
      if (set.current(range.end) !== null) {
        const taken = Math.max(range.start, set.currentStart());
        if (point < 0 || taken < point) point = taken;
      }
      if (point >= 0) return point;
    }
    return bundle.ranges[bundle.ranges.length - 1]!.end;
  }

  /**
   * A cut of `bundle` such that no bundle of many ranges loses only a few at a time: at `point` if that leaves
   * enough before it, else in the middle.
   */
  balanced(bundle: Bundle, point: number): number {
    const { ranges } = bundle;
    if (point < 0 || ranges.length < manyRanges) return point;
    const eighth = ranges[ranges.length >> 3]!.start;
    if (point >= eighth) return point;
    const middle = this.latest(bundle, ranges[ranges.length >> 1]!.start);
    return Math.max(middle, point);
  }

  /** The last permissible cut of `bundle` at or before `point`; -1 if there is none after its start. */
  latest(bundle: Bundle, point: number): number {
    if (point < 0) return -1;
    const { numbering } = this.problem.liveness;
    let cut = point & ~3;
    const index = cut >> 2;
    const block = numbering.blockAt[Math.min(index, numbering.blockAt.length - 1)]!;
    const branch = this.branches[block]!;
    if (index > branch && index < numbering.head[block + 1]!) cut = 4 * branch;
    return cut > bundle.ranges[0]!.start ? cut : -1;
  }

  /** True if `bundle` has uses before `point` that make a register worth while. */
  isWorthwhile(bundle: Bundle, point: number): boolean {
    const { usePoint, useKind } = this.problem.liveness;
    let benefit = 0;
    for (const range of bundle.all()) {
      for (let u = range.useLow; u < range.useHigh && usePoint[u]! < point; u++) {
        const kind = useKind[u]! as UseKind;
        if (kind === UseKind.Reg) benefit += 2;
        else if (kind !== UseKind.Param && kind !== UseKind.Arg) benefit += 1;
      }
    }
    return benefit > 1;
  }
}
