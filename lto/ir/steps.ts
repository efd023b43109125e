/**
 * Long computations in steps: between two of them the caller can let others run, tell somebody how far it is, or give
 * up. The computation knows nothing of that; it says between the items of its loops how many are done. A step costs
 * as much as the call of a function, so loops whose items take microseconds may make each item one.
 *
 * Breaks if: something that other computations of this thread use is left half-changed between two steps.
 */

/** How far a computation is. */
export interface StepsDone {
  readonly done: number;
  readonly total: number;
}

/** A computation that has not begun; `next` takes its first step. */
export type Steps<Result> = Generator<StepsDone, Result, undefined>;

/** Takes all steps at once. @param between runs between two of them @throws what the computation throws */
export function finish<Result>(steps: Steps<Result>, between?: () => void): Result {
  for (;;) {
    const step = steps.next();
    if (step.done === true) return step.value;
    between?.();
  }
}
