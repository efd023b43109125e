/**
 * What every allocator gets and what it gives.
 *
 * An `AllocationProblem` gathers the analyses of one function. A `Placement` is the answer: for each virtual
 * register the intervals in which it is in a physical register. Where it lives outside of them it is in memory:
 * in its home slot, which is written once, right after the definition, or nowhere if it can be recomputed.
 * `rewrite.ts` turns a placement into code; it alone inserts moves.
 */

import { computeLiveness, type Liveness } from "../liveness.js";
import type { MFunction } from "../mir.js";
import type { RegisterSet } from "../register-set.js";
import type { TargetRegisters } from "../target.js";
import { commuteOperands } from "./commute.js";
import { Reservations } from "./reservations.js";
import type { CostPolicy } from "./spill-cost.js";

export interface AllocationProblem {
  readonly fn: MFunction;
  readonly target: TargetRegisters;
  readonly liveness: Liveness;
  readonly reservations: Reservations;
  /** Allocatable registers by class. */
  readonly allocatable: readonly RegisterSet[];
  readonly policy: CostPolicy;
}

export function describeProblem(
  fn: MFunction,
  target: TargetRegisters,
  policy: CostPolicy,
): AllocationProblem {
  const liveness = computeLiveness(fn);
  commuteOperands(fn, target, liveness);
  const allocatable: RegisterSet[] = [];
  for (let cls = 0; cls < target.classCount; cls++) allocatable.push(target.allocatable(fn, cls));
  return {
    fn,
    target,
    liveness,
    reservations: new Reservations(fn, liveness.numbering),
    allocatable,
    policy,
  };
}

/** The part [start, end) of a value's life that is spent in `register`. */
export interface Piece {
  readonly start: number;
  readonly end: number;
  readonly register: number;
}

export interface Placement {
  /** By virtual register: pieces in order, disjoint. No entry: always in memory. */
  readonly pieces: readonly (readonly Piece[])[];
  /**
   * By virtual register: a number shared by registers that never live at the same time, so that one slot can be
   * the home of all of them and moves between them vanish when they are in memory.
   */
  readonly slotGroup: Int32Array;
}
