/**
 * The conventions of closed functions: what is known of each body and signature put to `ipra/choose-conventions.ts`.
 * Decided before code generation, from one look at each body.
 */

import type { BodyView } from "../../ir/instructions.js";
import type { Func, GlobalValue, Module } from "../../ir/module.js";
import type { Steps } from "../../ir/steps.js";
import { isFreeConvention } from "../asked-conventions.js";
import { type ArgumentFlow, argumentFlow } from "../ipra/argument-flow.js";
import { chooseConventions } from "../ipra/choose-conventions.js";
import type { Target, TargetConventions } from "../target.js";
import { definedFunctions, type FunctionNumber } from "./numbering.js";
import { type CodegenOptions, goalOf } from "./options.js";

/**
 * The convention of each function of a program, by function number. The steps are functions.
 * @param open 1: unknown code may enter the function
 * @param look is shown each body
 */
export function* decideConventions(
  module: Module,
  open: Uint8Array,
  options: Pick<CodegenOptions, "level">,
  { conventions, costs }: Pick<Target, "conventions" | "costs">,
  look: (fn: FunctionNumber, body: BodyView) => void = () => {},
): Steps<Uint32Array> {
  const functions = definedFunctions(module);
  const numbers = new Map<GlobalValue, number>(functions.map((fn, i) => [fn, i]));
  const eligible = Uint8Array.from(functions, (fn, i) =>
    open[i] === 0 && isFreeConvention(fn.callingConvention) && goalOf(fn, options.level) !== "none" ? 1 : 0,
  );
  const numberOf = (callee: GlobalValue): number => {
    const number = numbers.get(callee);
    return number === undefined || eligible[number] === 0 ? -1 : number;
  };
  const flows: ArgumentFlow[] = [];
  for (const fn of functions) {
    const flow = argumentFlow(fn, numberOf, costs.calls.integers);
    look(flows.length as FunctionNumber, fn.view());
    module.pool.rest(fn);
    flows.push(flow);
    yield { done: flows.length, total: functions.length };
  }
  const extras = agreedExtras(functions, flows, eligible, conventions);
  const { substituteIsLong } = conventions;
  const chosen = chooseConventions(flows, eligible, conventions);
  return Uint32Array.from(functions, (_, f) => {
    let convention = extras[f]!;
    for (let which = 0; which < substituteIsLong.length; which++)
      convention = conventions.withArgument(convention, which, chosen[f * substituteIsLong.length + which]!);
    return convention;
  });
}

/**
 * The extra argument and result registers of each function. Unlike a register's substitute, they only work where
 * each call agrees with the definition on what is passed and returned, and where jumps that have to stay jumps do
 * not lead from one layout of the stack to another.
 */
function agreedExtras(
  functions: readonly Func[],
  flows: readonly ArgumentFlow[],
  eligible: Uint8Array,
  target: TargetConventions,
): Uint32Array {
  const extras = Uint32Array.from(functions, (fn, f) => {
    const { rigid, leavesByMustTail } = flows[f]!;
    const bound = eligible[f] === 0 || rigid || leavesByMustTail;
    return bound || fn.valueType.isVarArg ? 0 : target.wantedExtras(fn);
  });
  for (const { mustTail, mismatched } of flows) {
    for (const callee of mustTail) extras[callee] = 0;
    for (const callee of mismatched) extras[callee] = 0;
  }
  return extras;
}
