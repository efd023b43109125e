/**
 * The first half of one function's way: from IR to machine code with registers.
 *
 *   1. legalise — so that selection meets only what the machine has;
 *   2. select   — machine SSA with operand constraints;
 *   3. allocate — registers and spill slots; the checker runs on the result when asked.
 * What follows (frame, peepholes, layout) waits until it is decided for the program who saves what: driver.ts.
 */
import type { DataLayout } from "../../ir/data-layout.js";
import type { Body } from "../../ir/instructions.js";
import type { Func } from "../../ir/module.js";
import { verifyBody } from "../../verify/verifier.js";
import type { MFunction } from "../mir.js";
import { allocateRegisters } from "../regalloc/index.js";
import type { AllocationResult, SelectOptions, Target } from "../target.js";
import { type CodegenOptions, goalOf } from "./options.js";

/** Stages after which a machine function can be looked at. */
export type Stage = "select" | "allocate" | "finish";
/** Is shown the machine function after each stage. */
export type Observer = (stage: Stage, mf: MFunction) => void;

export interface CompiledFunction {
  readonly machine: MFunction;
  readonly allocation: AllocationResult;
}

/**
 * Compiles one function as far as its registers.
 * @param body taken from it; it is consumed
 * @param callees what is known of the functions it calls
 * @throws UnsupportedError naming the construct and the function.
 */
export function allocateFunction(
  fn: Func,
  body: Body,
  layout: DataLayout,
  options: CodegenOptions,
  target: Target,
  callees: Pick<SelectOptions, "clobbersOf" | "conventionOf">,
  observe?: Observer,
): CompiledFunction {
  const goal = goalOf(fn, options.level);
  if (options.verify) {
    const complaints = verifyBody(fn, body);
    if (complaints.length > 0) throw new Error(complaints.join("\n"));
  }
  const legal = target.legalize(fn, layout, callees.conventionOf, body);
  const machine = target.select(legal, layout, goal, { relocation: options.relocation, ...callees });
  observe?.("select", machine);
  const allocation = allocateRegisters(machine, target.registers, {
    allocator: options.allocator,
    coalesce: options.coalesce,
    spillCost: options.spillCost ?? (goal === "speed" ? "speed" : "size"),
    check: options.checkAllocation,
  });
  observe?.("allocate", machine);
  return { machine, allocation };
}
