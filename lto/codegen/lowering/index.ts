/**
 * The passes between the linked IR and instruction selection, on one function. Which, is in lto/pipeline/pipelines.ts.
 */
import type { Body } from "../../ir/instructions.js";
import { Func } from "../../ir/module.js";
import { functionType, structType, voidType } from "../../ir/types.js";
import { optionalSteps, type PassRunner, runFunctionSteps, type Unit } from "../../pass/runner.js";
import { verifyBody } from "../../verify/verifier.js";
import { checkLegal, type LegalFunction } from "../legalize/index.js";
import type { LoweringContext, LoweringPipelines, LoweringStep } from "./context.js";

export {
  type KnownCallees,
  type LoweringPipelines,
  LoweringRunContext,
  type LoweringStep,
} from "./context.js";

/** How many numbers bisection keeps for each function. */
export const loweringRuns = (pipelines: LoweringPipelines): number =>
  Math.max(...Object.values(pipelines).map(optionalSteps));

/**
 * Runs a lowering pipeline on a function whose body was taken for it.
 * @param first number of the first run that bisection may leave out
 * @throws UnsupportedError naming the construct and the function
 * @throws InputError when `--verify-each` finds something
 */
export function lowerFunction(
  runner: PassRunner,
  steps: readonly LoweringStep[],
  fn: Func,
  context: LoweringContext,
  first: number,
): LegalFunction {
  const unit = loweringUnit(fn, context);
  runFunctionSteps(runner, steps, fn, context, unit, first);
  runner.cache.forget(context.view());
  if (context.legal === null) throw new Error(`lowering of @${fn.name} does not legalise`);
  return context.legal;
}

/** A function that is being lowered, as the runner sees it. */
export function loweringUnit(fn: Func, context: LoweringContext): Unit {
  const body = context.view();
  return {
    kind: "function",
    name: fn.name,
    shown: () => [
      context.legal === null ? withBody(fn, context.rewrite()) : underLegalSignature(context.legal),
    ],
    problems: () => (context.legal === null ? verifyBody(fn, body) : checkLegal(context.legal)),
    bodies: () => [body],
  };
}

/** A legal function as one that prints with the signature it has now. Returns may have several operands. */
function underLegalSignature({ fn, args, resultTypes, body }: LegalFunction): Func {
  const keepsArguments = args.length === fn.args.length && args.every((a, i) => a.argument === fn.args[i]);
  const { result: original } = fn.valueType;
  const keepsResult =
    resultTypes.length === 0
      ? original.kind === "void"
      : resultTypes.length === 1 && resultTypes[0] === original;
  if (keepsArguments && keepsResult) return withBody(fn, body);
  const result =
    resultTypes.length === 0
      ? voidType
      : resultTypes.length === 1
        ? resultTypes[0]!
        : structType([...resultTypes]);
  const type = functionType(
    result,
    args.map(({ argument }) => argument.type),
  );
  const shown = Object.assign(new Func(fn.name, type), { args: args.map(({ argument }) => argument) });
  shown.define(body);
  return shown;
}

/** A function whose body was taken, as one that has it. */
function withBody(fn: Func, body: Body): Func {
  const { attributes, linkage, visibility, args } = fn;
  const shown = Object.assign(new Func(fn.name, fn.valueType), { attributes, linkage, visibility, args });
  shown.define(body);
  return shown;
}
