/** What code generation of a program asks of a machine besides `Target`. `lto/x64/program.ts` is the only implementation. */
import type { DataLayout } from "../../ir/data-layout.js";
import type { Body } from "../../ir/instructions.js";
import type { Func, GlobalValue } from "../../ir/module.js";
import type { LegalFunction } from "../legalize/index.js";
import type { MFunction, RegMask } from "../mir.js";
import type { AllocationResult, Target } from "../target.js";
import type { RelocationModel } from "./options.js";

/** Where a function takes its arguments and leaves its results: a number that the target defines, 0 for the platform's way. */
export type Convention = number;
export const platformConvention: Convention = 0;

export interface SelectOptions {
  readonly relocation: RelocationModel;
  /** Registers that a call of this function may change; null for a call through a pointer, with its `calleeSet`. */
  readonly clobbersOf: (callee: GlobalValue | null, calleeSet: number) => RegMask;
  /** Where the function takes what the platform passes in integer argument registers. */
  readonly conventionOf: (callee: GlobalValue | null) => Convention;
}

export interface FinishOptions {
  /** Callee-saved registers to preserve; by default all that the body writes. */
  readonly saved?: RegMask;
  /**
   * Registers that may be clobbered although the body does not write them; by default all that a call of the
   * default convention may change.
   */
  readonly scratch?: RegMask;
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

/** Conventions that closed functions may have instead of the platform's. */
export interface ConventionTarget {
  /** For each register that may take the place of an argument register: its name costs a byte in narrow instructions. */
  readonly substituteIsLong: readonly boolean[];
  /** The convention that besides passes the argument in `position` in the substitute numbered `which`; -1: none. */
  withArgument(convention: Convention, which: number, position: number): Convention;
  /** The convention that passes all arguments and results of the function in registers, where that differs. */
  wantedExtras(fn: Func): Convention;
}

export interface ProgramTarget {
  readonly machine: Target;
  readonly conventions: ConventionTarget;
  /** Makes a function legal for selection. @param body taken from it; it is consumed @throws UnsupportedError */
  legalize(
    fn: Func,
    layout: DataLayout,
    conventionOf: SelectOptions["conventionOf"],
    body: Body,
  ): LegalFunction;
  /** @throws UnsupportedError naming the construct and the function */
  select(
    legal: LegalFunction,
    layout: DataLayout,
    goal: MFunction["goal"],
    options: SelectOptions,
  ): MFunction;
  /** Makes calls of tail calls that pass an argument in a register which the function restores before it leaves. */
  untieTailCalls(mf: MFunction, saved: RegMask): void;
  /** Frame, peepholes, layout, unwind directives. @returns whether some paths run without the frame that others have */
  finish(mf: MFunction, allocation: AllocationResult, options: FinishOptions): boolean;
}
