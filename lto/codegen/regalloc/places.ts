/**
 * Questions about a placement: where a value is at a point, whether it lives there, which registers are free.
 */

import { rangeAt } from "../liveness.js";
import type { RegClass } from "../mir.js";
import {
  firstRegister,
  isEmptySet,
  minus,
  noRegisters,
  type RegisterSet,
  withoutFirst,
  withoutRegister,
  withRegister,
} from "../register-set.js";
import { IntervalSet } from "./interval-set.js";
import type { AllocationProblem, Piece, Placement } from "./problem.js";

/** The home of a value: its slot, or recomputation. */
export const Memory = -1;

export class Places {
  private occupied: IntervalSet<number>[] | null = null;

  constructor(
    private readonly problem: AllocationProblem,
    readonly placement: Placement,
  ) {}

  /** Register that holds `vreg` at `point`, or `Memory`. */
  at(vreg: number, point: number): number {
    const pieces = this.placement.pieces[vreg]!;
    let low = 0;
    let high = pieces.length;
    if (high === 1) {
      const { start, end, register } = pieces[0]!;
      return start <= point && point < end ? register : Memory;
    }
    while (low < high) {
      const middle = (low + high) >> 1;
      if (pieces[middle]!.end <= point) low = middle + 1;
      else high = middle;
    }
    return low < pieces.length && pieces[low]!.start <= point ? pieces[low]!.register : Memory;
  }

  /** True if one register holds `vreg` as long as it lives. */
  isWhole(vreg: number): boolean {
    const { rangeStart, rangeFrom, rangeTo } = this.problem.liveness;
    const pieces = this.placement.pieces[vreg]!;
    const lo = rangeStart[vreg]!;
    const hi = rangeStart[vreg + 1]!;
    if (pieces.length !== hi - lo) return false;
    for (let k = 0; k < pieces.length; k++) {
      const piece = pieces[k]!;
      if (piece.start !== rangeFrom[lo + k]! || piece.end !== rangeTo[lo + k]!) return false;
      if (piece.register !== pieces[0]!.register) return false;
    }
    return true;
  }

  /** True if `vreg` lives at `point`. */
  isLive(vreg: number, point: number): boolean {
    return rangeAt(this.problem.liveness, vreg, point) >= 0;
  }

  /** Registers of `cls` that hold nothing and that no instruction takes within [start, end). */
  free(cls: RegClass, start: number, end: number): RegisterSet {
    this.occupied ??= this.occupancy();
    const { allocatable, reservations } = this.problem;
    const all = allocatable[cls]!;
    let free = minus(all, reservations.blocked(-2, start, end, all));
    for (let rest = free; !isEmptySet(rest); rest = withoutFirst(rest)) {
      const register = firstRegister(rest);
      if (!this.occupied[register]!.isFree(start, end)) free = withoutRegister(free, register);
    }
    return free;
  }

  /** Registers that hold anything anywhere. */
  usedRegisters(): RegisterSet {
    let used = noRegisters;
    for (const pieces of this.placement.pieces)
      for (const piece of pieces) used = withRegister(used, piece.register);
    return used;
  }

  private occupancy(): IntervalSet<number>[] {
    const byRegister: Piece[][] = Array.from({ length: this.problem.target.count }, () => []);
    for (const list of this.placement.pieces)
      for (const piece of list) byRegister[piece.register]!.push(piece);
    return byRegister.map((pieces) => {
      const set = new IntervalSet<number>();
      pieces.sort((a, b) => a.start - b.start);
      // Two names of one value may be in a register at the same time.
      for (let k = 0; k < pieces.length; ) {
        const { start } = pieces[k]!;
        let { end } = pieces[k]!;
        for (k++; k < pieces.length && pieces[k]!.start < end; k++) end = Math.max(end, pieces[k]!.end);
        set.insert(start, end, 0);
      }
      return set;
    });
  }
}
