/** Lowering up to legal code without dead instructions, for tests that look at that. */

import { unknownIndirectCalls } from "../../lto/analysis/function-pointers/index.js";
import type { LegalFunction } from "../../lto/codegen/legalize/index.js";
import { LoweringRunContext, lowerFunction } from "../../lto/codegen/lowering/index.js";
import type { SessionPasses } from "../../lto/codegen/program/function-compiler.js";
import type { DataLayout } from "../../lto/ir/data-layout.js";
import type { Func } from "../../lto/ir/module.js";
import type { Value } from "../../lto/ir/values.js";
import { noPassOptions } from "../../lto/pass/options.js";
import { PassRunner, type RunnerServices } from "../../lto/pass/runner.js";
import { loweringOf, pipelines } from "../../lto/pipeline/pipelines.js";
import { x64Costs } from "../../lto/x64/costs.js";
import { defaultConvention, resultRoom } from "../../lto/x64/frame/convention.js";
import { x64Lowering } from "../../lto/x64/lowering.js";

const quiet: RunnerServices = { print: () => "", now: () => 0, costs: x64Costs, thread: 0, log: () => {} };

/** For sessions whose passes nobody watches. */
export const sessionPasses = (): SessionPasses => ({
  runner: new PassRunner(noPassOptions, quiet, null),
  pipelines: loweringOf(pipelines),
  earlierRuns: 0,
});

/** Consumes the body. @throws UnsupportedError naming the construct and the function */
export function legalized(fn: Func, layout: DataLayout): LegalFunction {
  const runner = new PassRunner(noPassOptions, quiet, null);
  const roomOf = () => resultRoom(defaultConvention);
  const callees = {
    functions: [],
    indirect: unknownIndirectCalls(0),
    isRecursive: (callee: Value) => callee === fn,
  };
  const context = new LoweringRunContext(runner, layout, "minsize", fn.take(), x64Lowering, roomOf, callees);
  const last = pipelines.Oz.lowering.findIndex((step) => step.pass.name === "dce");
  return lowerFunction(runner, pipelines.Oz.lowering.slice(0, last + 1), fn, context, 1);
}
