/**
 * The first half of one function's way: from IR to machine code with registers.
 *
 *   1. lower    — IR passes, so that selection meets only what the machine has (codegen/lowering/);
 *   2. select   — machine SSA with operand constraints;
 *   3. allocate — registers and spill slots; the checker runs on the result when asked.
 * What follows (frame, peepholes, layout) waits until it is decided for the program who saves what: driver.ts.
 */
import type { DataLayout } from "../../ir/data-layout.js";
import { InputError } from "../../ir/errors.js";
import type { Body } from "../../ir/instructions.js";
import type { Func, GlobalValue } from "../../ir/module.js";
import type { PassRunner } from "../../pass/runner.js";
import { verifyBody, verifyOrder } from "../../verify/verifier.js";
import {
  type KnownCallees,
  type LoweringPipelines,
  LoweringRunContext,
  lowerFunction,
  loweringRuns,
} from "../lowering/index.js";
import type { MFunction } from "../mir.js";
import { allocateRegisters } from "../regalloc/index.js";
import type { AllocationResult, SelectOptions, Target } from "../target.js";
import type { FunctionNumber } from "./numbering.js";
import { type CodegenOptions, goalOf, levelOf } from "./options.js";

/** Stages after which a machine function can be looked at. */
export type Stage = "select" | "allocate" | "finish";
/** Is shown the machine function after each stage. */
export type Observer = (stage: Stage, mf: MFunction) => void;

/** How the passes of step 1 run. */
export interface SessionPasses {
  readonly runner: PassRunner;
  readonly pipelines: LoweringPipelines;
  /** Runs of passes on the linked module that bisection counts: those of functions come after. */
  readonly earlierRuns: number;
}

export interface CompiledFunction {
  readonly machine: MFunction;
  readonly allocation: AllocationResult;
  /** There was something to say of it. */
  readonly warned: boolean;
}

/**
 * Compiles one function as far as its registers.
 * @param number of the function
 * @param body taken from it; it is consumed
 * @param callees what is known of the functions it calls
 * @throws UnsupportedError naming the construct and the function; InputError for IR that means nothing.
 */
export function allocateFunction(
  fn: Func,
  number: FunctionNumber,
  body: Body,
  layout: DataLayout,
  options: CodegenOptions,
  target: Target,
  callees: Pick<SelectOptions, "clobbersOf" | "conventionOf" | "passedTo">,
  { runner, pipelines, earlierRuns, knownCallees }: SessionPasses & { readonly knownCallees: KnownCallees },
  observe?: Observer,
): CompiledFunction {
  const goal = goalOf(fn, options.level);
  // A use that its definition does not dominate is what readers let through, and what selection may not end on.
  const complaints = options.verify ? verifyBody(fn, body) : verifyOrder(fn, body);
  if (complaints.length > 0) throw new InputError(`invalid IR: ${complaints[0]}`);
  const roomOf = (callee: GlobalValue | null) => target.lowering.resultRoom(callees.conventionOf(callee));
  const context = new LoweringRunContext(runner, layout, goal, body, target.lowering, roomOf, knownCallees);
  const steps = pipelines[levelOf(goal, options.level)];
  const first = earlierRuns + 1 + number * loweringRuns(pipelines);
  const legal = lowerFunction(runner, steps, fn, context, first);
  const told = runner.warnings.length;
  const warn = (message: string): void => void runner.warnings.push({ number, message });
  const machine = runner.phase("select", fn.name, () =>
    target.select(legal, context.order.of(legal.body), layout, goal, {
      relocation: options.relocation,
      codeModel: options.codeModel ?? "small",
      nearData: options.nearData ?? Number.POSITIVE_INFINITY,
      stackAlignment: options.stackAlignment ?? 0,
      ...callees,
      warn,
    }),
  );
  observe?.("select", machine);
  const allocation = runner.phase("allocate", fn.name, () =>
    allocateRegisters(machine, target.registers, {
      allocator: options.allocator,
      coalesce: options.coalesce,
      spillCost: options.spillCost ?? (goal === "speed" ? "speed" : "size"),
      sizeTime: options.sizeTime,
      check: options.checkAllocation,
    }),
  );
  observe?.("allocate", machine);
  return { machine, allocation, warned: runner.warnings.length > told };
}
