/**
 * One function's way after allocation: completed with its frame, and later laid out. The steps are pipeline.ts's; here
 * are the choices before them, where the frame is, and which calls are jumps. For size a function is completed either
 * way, and the smaller one stays.
 */

import type { GlobalValue } from "../../ir/module.js";
import type { PassRunner } from "../../pass/runner.js";
import { locate } from "../debug/function-debug.js";
import type { MFunction } from "../mir.js";
import { packFunction } from "../pack/pack.js";
import { SymbolNumbers } from "../pack/symbol-numbers.js";
import { restoreFunction } from "../pack/unpack.js";
import { intersect, minus, type RegisterSet, union } from "../register-set.js";
import { type AllocationResult, type FrameRequest, OpFact } from "../target.js";
import { estimateFrequencies } from "./block-frequency.js";
import { skipJumps } from "./cfg.js";
import { insertCfi, unwindBytes } from "./cfi.js";
import { layOut, relaxedSize } from "./layout.js";
import { changedRegisters } from "./liveness.js";
import {
  emission,
  framePasses,
  lateTailCalls,
  type MachinePassInfo,
  runMachinePasses,
  shrinkWrap,
} from "./pipeline.js";
import { allRules, type RuleSettings, RuleUse } from "./rule-use.js";
import { chooseWrapping, type ShrinkWrapRegion } from "./shrink-wrap.js";

type Allocation = Pick<AllocationResult, "written" | "usedCalleeSaved">;

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
  /** Times the steps. */
  readonly runner?: PassRunner | null;
  /** The optional steps to take; by default all. */
  readonly wanted?: ReadonlySet<MachinePassInfo>;
  /** The rules of the peepholes to apply; by default all. */
  readonly rules?: RuleSettings;
}

/**
 * Gives an allocated function its frame and its final instructions. It changes no registers but those that its body
 * and its calls change already, what the frame saves, and `scratch`.
 * @returns whether some paths run without the frame that others have
 */
export function completeFunction(mf: MFunction, allocation: Allocation, options: FinishOptions): boolean {
  const { target, goal } = mf;
  const saved = options.saved ?? allocation.usedCalleeSaved;
  const isWanted = (goal === "minsize" || goal === "size") && options.wanted?.has(lateTailCalls) !== false;
  const found = isWanted ? target.findTailCalls(mf, saved) : [];
  const complete = (frequencies = options.frequencies): Completed =>
    completeOnce(mf, allocation, {
      ...options,
      saved,
      ...(frequencies === undefined ? {} : { frequencies }),
    });
  const { isWrapped, rules } =
    found.length === 0
      ? complete()
      : completeSmaller(
          mf,
          options.symbols,
          () => {
            target.formTailCalls(found, mf);
            return complete(dropUnreached(mf, options.frequencies));
          },
          complete,
        );
  options.runner?.countRules(target.rules, rules);
  return isWrapped;
}

/** Drops blocks that nothing leads to any more. @returns what is left of the frequencies by position */
function dropUnreached(mf: MFunction, frequencies: Float64Array | undefined): Float64Array | undefined {
  const before = mf.blocks;
  skipJumps(mf);
  const kept = new Set(mf.blocks);
  return frequencies?.filter((_, i) => kept.has(before[i]!));
}

function completeOnce(mf: MFunction, allocation: Allocation, options: FinishOptions): Completed {
  const { registers, frame } = mf.target;
  const { runner = null, wanted } = options;
  const request: FrameRequest = {
    saved: options.saved ?? allocation.usedCalleeSaved,
    written: union(allocation.written, changedRegisters(mf)),
    scratch: options.scratch ?? registers.callClobbers,
    alignedCall: options.alignedCall ?? (() => true),
  };
  const { saved, scratch } = request;
  mf.unpreserved = minus(intersect(scratch, registers.calleeSaved), union(saved, mf.resultRegisters));
  const plan = frame.decide(mf, request);
  mf.framePointer = plan.framePointer;
  mf.redZone = plan.redZone;
  const wrapped = (): ShrinkWrapRegion | null =>
    chooseWrapping(mf, plan, () => options.frequencies ?? estimateFrequencies(mf));
  const choose = (): ShrinkWrapRegion | null => {
    if (options.shrinkWrap === false || wanted?.has(shrinkWrap) === false) return null;
    return runner === null ? wrapped() : runner.phase(shrinkWrap.name, mf.name, wrapped);
  };
  const complete = (wrapping: ShrinkWrapRegion | null): Completed => {
    const tell = (text: string): void => runner?.log(text);
    const rules = new RuleUse(mf.target.rules, options.rules ?? allRules, mf.name, tell);
    runMachinePasses(framePasses, mf, { request, plan, wrapping, rules }, runner, wanted);
    if (mf.debug !== null) locate(mf);
    return { isWrapped: wrapping !== null, rules };
  };
  const wrapping = choose();
  if (wrapping === null || mf.goal === "speed") return complete(wrapping);
  if (!isMeasurable(mf)) return complete(null);
  // First wrapped: the choice is about these very instructions.
  return completeSmaller(
    mf,
    options.symbols,
    () => complete(wrapping),
    () => complete(null),
  );
}

interface Completed {
  readonly isWrapped: boolean;
  /** What the rules of the peepholes did. */
  readonly rules: RuleUse;
}

/** Completes the function in the first way, unless that makes it larger than the second. */
function completeSmaller(
  mf: MFunction,
  symbols = new SymbolNumbers({ globals: [] }),
  first: () => Completed,
  second: () => Completed,
): Completed {
  const allocated = packFunction(mf, symbols);
  const asFirst = first();
  const one = packFunction(mf, symbols);
  const size = laidOutSize(mf);
  restoreFunction(mf, allocated, symbols);
  const asSecond = second();
  const other = packFunction(mf, symbols);
  const isSmaller = size <= laidOutSize(mf);
  restoreFunction(mf, isSmaller ? one : other, symbols);
  return isSmaller ? asFirst : asSecond;
}

/** Inline assembly may be as long as it likes: there is no use in comparing sizes. */
const isMeasurable = (mf: MFunction): boolean =>
  mf.blocks.every((block) =>
    block.insts.every((inst) => (mf.target.instructions.facts[inst.op]! & OpFact.Asm) === 0),
  );

/**
 * Bytes of the completed function once it is laid out, and of asynchronous unwind tables; that is done, so the
 * function cannot be used after it.
 */
export function laidOutSizes(mf: MFunction): { readonly code: number; readonly tables: number } {
  layOut(mf);
  const code = relaxedSize(mf);
  if (mf.unwind !== "async") return { code, tables: 0 };
  insertCfi(mf, mf.framePointer);
  return { code, tables: unwindBytes(mf) };
}

/** Both together. */
function laidOutSize(mf: MFunction): number {
  const { code, tables } = laidOutSizes(mf);
  return code + tables;
}

/** Makes a completed function ready to be printed. */
export function layOutFunction(mf: MFunction, runner: PassRunner | null = null): void {
  runMachinePasses(emission, mf, undefined, runner);
}

/** Both, for a function that waits for nothing. @returns whether some paths run without the frame that others have */
export function finishFunction(mf: MFunction, allocation: Allocation, options: FinishOptions): boolean {
  const wrapped = completeFunction(mf, allocation, options);
  layOutFunction(mf, options.runner);
  return wrapped;
}

/** Bytes of a laid-out function's code as it will be assembled. */
export function functionSize(mf: MFunction): number {
  return relaxedSize(mf);
}
