/**
 * Everything after allocation: frame, peepholes, layout, unwind directives.
 */

import { estimateFrequencies } from "../codegen/late/block-frequency.js";
import { simplifyControlFlow } from "../codegen/late/cfg.js";
import { insertCfi } from "../codegen/late/cfi.js";
import { checkpoint, isRepeatable } from "../codegen/late/finish-trial.js";
import { layOut, relaxedSize } from "../codegen/late/layout.js";
import { changedRegisters } from "../codegen/late/liveness.js";
import { mergeTails } from "../codegen/late/merge-tails.js";
import { chooseWrapping, type Wrapping } from "../codegen/late/shrink-wrap.js";
import type { MFunction } from "../codegen/mir.js";
import type { FinishOptions } from "../codegen/program/target.js";
import type { AllocationResult, FrameRequest } from "../codegen/target.js";
import { decideFrame, insertFrame } from "./frame/frame.js";
import { callClobbers } from "./isa/registers.js";
import { runPeepholes } from "./peephole/index.js";

/**
 * Makes an allocated function ready to be printed. It changes no registers but those that its body and its
 * calls change already, what the frame saves, and `scratch`.
 * @returns whether some paths run without the frame that others have
 */
export function finishFunction(mf: MFunction, allocation: AllocationResult, options: FinishOptions): boolean {
  const written = allocation.written | changedRegisters(mf);
  const scratch = options.scratch ?? callClobbers;
  const frame: FrameRequest = {
    saved: options.saved ?? allocation.usedCalleeSaved,
    written,
    scratch,
    alignedCall: options.alignedCall ?? (() => true),
  };
  const plan = decideFrame(mf, frame);
  const choose = (): Wrapping | null =>
    options.shrinkWrap === false
      ? null
      : chooseWrapping(mf, plan, () => options.frequencies ?? estimateFrequencies(mf));
  const complete = (wrapping: Wrapping | null): void => {
    insertFrame(mf, frame, plan, wrapping);
    simplifyControlFlow(mf);
    runPeepholes(mf, plan.redZone, ~(written | scratch));
    mergeTails(mf, wrapping !== null);
    simplifyControlFlow(mf);
    layOut(mf);
  };
  let wrapping = choose();
  if (wrapping === null || mf.goal === "speed") complete(wrapping);
  else wrapping = completeSmaller(mf, choose, complete);
  insertCfi(mf, plan.framePointer);
  return wrapping !== null;
}

/** Completes the function with its frame wrapped, unless that makes it larger. @returns what was done */
function completeSmaller(
  mf: MFunction,
  choose: () => Wrapping | null,
  complete: (wrapping: Wrapping | null) => void,
): Wrapping | null {
  if (!isRepeatable(mf)) {
    complete(null);
    return null;
  }
  const restore = checkpoint(mf);
  complete(null);
  const plain = relaxedSize(mf);
  restore();
  const wrapping = choose();
  complete(wrapping);
  if (relaxedSize(mf) <= plain) return wrapping;
  restore();
  complete(null);
  return null;
}

/** Bytes of the function's code as it will be assembled. */
export function functionSize(mf: MFunction): number {
  return relaxedSize(mf);
}
