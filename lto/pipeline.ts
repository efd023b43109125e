/**
 * From a linked module to machine functions.
 *
 * The order, and why:
 *   1. legalise      — so that selection meets only what the machine has;
 *   2. select        — machine SSA with operand constraints;
 *   3. allocate      — registers and spill slots; the checker runs on its result when asked;
 *   4. finish        — frame, peepholes, layout, branch sizes.
 * Each step takes one function. Between functions flow only register masks, which program.ts directs: callees
 * go through steps 1 to 3 before their callers, and step 4 waits until it is decided who saves what.
 */

import type { MFunction } from "./codegen/mir.js";
import { type AllocatorOptions, allocateRegisters } from "./codegen/regalloc/index.js";
import type { AllocationResult } from "./codegen/target.js";
import type { DataLayout } from "./ir/data-layout.js";
import type { Body } from "./ir/instructions.js";
import type { Func } from "./ir/module.js";
import { verifyBody } from "./verify/verifier.js";
import { type FinishOptions, finishFunction } from "./x64/finish.js";
import { legalizeFunction } from "./x64/legalize/index.js";
import { type RelocationModel, type SelectOptions, selectFunction } from "./x64/select/index.js";
import { x64Target } from "./x64/target.js";

export type OptimizationLevel = "O0" | "O1" | "O2" | "O3" | "Os" | "Oz";

export interface CodegenOptions {
  readonly relocation: RelocationModel;
  /** Overrides what the functions' attributes say; null leaves it to them. */
  readonly level: OptimizationLevel | null;
  readonly allocator: AllocatorOptions["allocator"];
  readonly coalesce: AllocatorOptions["coalesce"];
  /** null: by the goal of each function. */
  readonly spillCost: AllocatorOptions["spillCost"] | null;
  readonly checkAllocation: boolean;
  /** Interprocedural register allocation: narrowed clobber masks and save placement. */
  readonly ipra: boolean;
  /** Prologues and epilogues move to where the frame is needed. */
  readonly shrinkWrap: boolean;
  /** Calls through pointers check at run time that they reach what the pointer analysis says. */
  readonly guardCallees?: boolean;
  /** Run the IR verifier on each body before using it. */
  readonly verify: boolean;
  /** Called with the machine function after each stage. */
  readonly observe?: (stage: "select" | "allocate" | "finish", mf: MFunction) => void;
}

export interface CompiledFunction {
  readonly machine: MFunction;
  readonly allocation: AllocationResult;
  /** After step 4: some paths run without its frame. */
  readonly wrapped?: boolean;
}

/** What the function is compiled for: its own attributes unless a level is forced. */
export function goalOf(fn: Func, level: OptimizationLevel | null): MFunction["goal"] {
  const attributes = fn.attributes.fn;
  if (attributes.has("optnone")) return "none";
  switch (level) {
    case "O0":
      return "none";
    case "Os":
      return "size";
    case "Oz":
      return "minsize";
    case null:
      return attributes.has("minsize") ? "minsize" : attributes.has("optsize") ? "size" : "speed";
    default:
      return "speed";
  }
}

/**
 * Steps 1 to 3 for one function.
 * @param body taken from the function; it is consumed
 * @param callees what is known of the functions it calls
 * @throws UnsupportedError naming the construct and the function.
 */
export function allocateFunction(
  fn: Func,
  body: Body,
  layout: DataLayout,
  options: CodegenOptions,
  callees: Pick<SelectOptions, "clobbersOf" | "conventionOf">,
): CompiledFunction {
  const goal = goalOf(fn, options.level);
  if (options.verify) {
    const complaints = verifyBody(fn, body);
    if (complaints.length > 0) throw new Error(complaints.join("\n"));
  }
  const legal = legalizeFunction(fn, layout, callees.conventionOf, body);
  const machine = selectFunction(x64Target, legal, layout, goal, {
    relocation: options.relocation,
    ...callees,
  });
  options.observe?.("select", machine);
  const allocation = allocateRegisters(machine, x64Target.registers, {
    allocator: options.allocator,
    coalesce: options.coalesce,
    spillCost: options.spillCost ?? (goal === "speed" ? "speed" : "size"),
    check: options.checkAllocation,
  });
  options.observe?.("allocate", machine);
  return { machine, allocation };
}

/**
 * Step 4.
 * @param finish registers to save, and registers that may be used freely
 * @returns whether some paths run without the frame
 */
export function finishCompiled(
  compiled: CompiledFunction,
  options: CodegenOptions,
  finish: FinishOptions,
): boolean {
  const wrapped = finishFunction(compiled.machine, compiled.allocation, finish);
  options.observe?.("finish", compiled.machine);
  return wrapped;
}
