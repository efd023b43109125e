/**
 * Everything after allocation: frame, peepholes, layout, unwind directives.
 */
import type { MFunction, RegMask } from "../codegen/mir.js";
import type { AllocationResult } from "../codegen/target.js";
import type { GlobalValue } from "../ir/module.js";
import { simplifyControlFlow } from "./cfg.js";
import { insertCfi } from "./cfi.js";
import { insertFrame } from "./frame.js";
import { layOut, relaxedSize } from "./layout.js";
import { changedRegisters } from "./liveness-post.js";
import { mergeTails } from "./merge-tails.js";
import { runPeepholes } from "./peephole.js";
import { callClobbers } from "./registers.js";

export interface FinishOptions {
  /** Callee-saved registers to preserve; by default all that the body writes. */
  readonly saved?: RegMask;
  /**
   * Registers that may be clobbered although the body does not write them; by default all that a call of the
   * default convention may change.
   */
  readonly scratch?: RegMask;
  /**
   * Whether a call of a function (null: unknown code) needs the stack aligned to 16 bytes; by default all do.
   * In a closed program those do that, or whose callees, rely on it: see `reliesOnAlignment`.
   */
  readonly alignedCall?: (callee: GlobalValue | null) => boolean;
}

/**
 * Makes an allocated function ready to be printed. It changes no registers but those that its body and its
 * calls change already, what the frame saves, and `scratch`.
 */
export function finishFunction(mf: MFunction, allocation: AllocationResult, options: FinishOptions): void {
  const written = allocation.written | changedRegisters(mf);
  const scratch = options.scratch ?? callClobbers;
  const frame = insertFrame(mf, {
    saved: options.saved ?? allocation.usedCalleeSaved,
    written,
    scratch,
    alignedCall: options.alignedCall ?? (() => true),
  });
  simplifyControlFlow(mf);
  runPeepholes(mf, frame.redZone, ~(written | scratch));
  mergeTails(mf);
  simplifyControlFlow(mf);
  layOut(mf);
  insertCfi(mf, frame.framePointer);
}

/** Bytes of the function's code as it will be assembled. */
export function functionSize(mf: MFunction): number {
  return relaxedSize(mf);
}

export { reliesOnAlignment } from "./frame.js";
