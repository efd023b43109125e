import { expect, it } from "vitest";
import { parseModule, printFunction } from "../../formats/text/index.js";
import { LoweringRunContext, type LoweringStep, loweringUnit } from "../../lto/codegen/lowering/index.js";
import { legalize } from "../../lto/codegen/lowering/legalize-pass.js";
import { returnedArgumentPropagation } from "../../lto/codegen/lowering/returned-argument-propagation.js";
import { noPassOptions } from "../../lto/pass/options.js";
import { may } from "../../lto/pass/pass.js";
import { PassRunner, runFunctionSteps } from "../../lto/pass/runner.js";
import { x64Costs } from "../../lto/x64/costs.js";
import { defaultConvention, resultRoom } from "../../lto/x64/frame/convention.js";
import { x64Target } from "../../lto/x64/target.js";

/** Runs the pass on the function that a text defines. @returns whether it changed it */
function propagates(source: string): boolean {
  const module = parseModule(source, "test.ll");
  const fn = module.functions.find((f) => !f.isDeclaration)!;
  const services = { print: printFunction, now: () => 0, costs: x64Costs, thread: 0, log: () => {} };
  const runner = new PassRunner(noPassOptions, services, null);
  const indirect = { sets: [], sites: [], closed: new Uint8Array(1) };
  const context = new LoweringRunContext(
    runner,
    module.dataLayout,
    "minsize",
    fn.take(),
    x64Target.lowering,
    () => resultRoom(defaultConvention),
    { functions: [fn], indirect, isRecursive: () => false },
  );
  const unit = loweringUnit(fn, context);
  const run = (step: LoweringStep): boolean => runFunctionSteps(runner, [step], fn, context, unit, 1);
  run(may(legalize));
  return run(may(returnedArgumentPropagation));
}

/** More than ten times what it takes; quadratic work would take many. */
const minute = 60_000;
const memset = "declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)\n";
const lines = (count: number, line: (i: number) => string): string =>
  Array.from({ length: count }, (_, i) => line(i)).join("\n");

it(
  "takes linear time for addresses computed from each other",
  () => {
    const chain = lines(
      60000,
      (i) => `  %a${i + 1} = getelementptr i8, ptr %a${i}, i64 3\n  store volatile ptr %a${i + 1}, ptr %q`,
    );
    // That many uses are left alone, and found out to be that many in one walk.
    const fill = "call void @llvm.memset.p0.i64(ptr %a0, i8 0, i64 1000, i1 false)\n  store i8 1, ptr %a0";
    expect(
      propagates(`${memset}define void @f(ptr %a0, ptr %q) {\n  ${fill}\n${chain}\n  ret void\n}\n`),
    ).toBe(false);
  },
  minute,
);

it(
  "takes linear time for calls in one block",
  () => {
    const calls = lines(
      80000,
      (i) =>
        `  %a${i} = load volatile ptr, ptr %q\n  call void @llvm.memset.p0.i64(ptr %a${i}, i8 0, i64 1000, i1 false)\n  store i8 1, ptr %a${i}`,
    );
    expect(propagates(`${memset}define void @f(ptr %q) {\n${calls}\n  ret void\n}\n`)).toBe(true);
  },
  minute,
);
