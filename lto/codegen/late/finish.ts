/**
 * Everything after allocation: frame, peepholes, layout, unwind directives.
 */

import type { GlobalValue } from "../../ir/module.js";
import type { MFunction } from "../mir.js";
import { SymbolNumbers } from "../pack/symbol-numbers.js";
import { minus, type RegisterSet, union } from "../register-set.js";
import type { AllocationResult, FrameRequest } from "../target.js";
import { estimateFrequencies } from "./block-frequency.js";
import { simplifyControlFlow } from "./cfg.js";
import { insertCfi } from "./cfi.js";
import { checkpoint, isMeasurable } from "./finish-trial.js";
import { layOut, relaxedSize } from "./layout.js";
import { changedRegisters } from "./liveness.js";
import { mergeTails } from "./merge-tails.js";
import { chooseWrapping, type Wrapping } from "./shrink-wrap.js";

export interface FinishOptions {
  /** Of the module that the function is of; by default it refers to no module's globals. */
  readonly symbols?: SymbolNumbers;
  /** Callee-saved registers to preserve; by default all that the body writes. */
  readonly saved?: RegisterSet;
  /**
   * Registers that may be clobbered although the body does not write them; by default all that a call of the
   * default convention may change.
   */
  readonly scratch?: RegisterSet;
  /**
   * Whether a call of a function (null: unknown code) needs the stack aligned as the ABI says; by default all do.
   * In a closed program those do that, or whose callees, rely on it: see `TargetFrame.reliesOnAlignment`.
   */
  readonly alignedCall?: (callee: GlobalValue | null, calleeSet: number) => boolean;
  /** Paths that need no frame run without it where that pays; by default they do. */
  readonly shrinkWrap?: boolean;
  /** Executions of each block, by position, for one of the function; by default estimated when needed. */
  readonly frequencies?: Float64Array;
}

/**
 * Makes an allocated function ready to be printed. It changes no registers but those that its body and its
 * calls change already, what the frame saves, and `scratch`.
 * @returns whether some paths run without the frame that others have
 */
export function finishFunction(mf: MFunction, allocation: AllocationResult, options: FinishOptions): boolean {
  const { registers, frame, peepholes } = mf.target;
  const written = union(allocation.written, changedRegisters(mf));
  const scratch = options.scratch ?? registers.callClobbers;
  const request: FrameRequest = {
    saved: options.saved ?? allocation.usedCalleeSaved,
    written,
    scratch,
    alignedCall: options.alignedCall ?? (() => true),
  };
  const plan = frame.decide(mf, request);
  const choose = (): Wrapping | null =>
    options.shrinkWrap === false
      ? null
      : chooseWrapping(mf, plan, () => options.frequencies ?? estimateFrequencies(mf));
  const complete = (wrapping: Wrapping | null): void => {
    frame.insert(mf, request, plan, wrapping);
    simplifyControlFlow(mf);
    peepholes(mf, plan.redZone, minus(registers.all, union(written, scratch)));
    mergeTails(mf, wrapping !== null);
    simplifyControlFlow(mf);
    layOut(mf);
  };
  let wrapping = choose();
  if (wrapping === null || mf.goal === "speed") complete(wrapping);
  else
    wrapping = completeSmaller(mf, options.symbols ?? new SymbolNumbers({ globals: [] }), choose, complete);
  insertCfi(mf, plan.framePointer);
  return wrapping !== null;
}

/** Completes the function with its frame wrapped, unless that makes it larger. @returns what was done */
function completeSmaller(
  mf: MFunction,
  symbols: SymbolNumbers,
  choose: () => Wrapping | null,
  complete: (wrapping: Wrapping | null) => void,
): Wrapping | null {
  if (!isMeasurable(mf)) {
    complete(null);
    return null;
  }
  const restore = checkpoint(mf, symbols);
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
