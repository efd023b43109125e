/** Passes decide by what their target says that code costs, and no number of one machine stands elsewhere. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { bodyCodec } from "../../formats/object/body-codec.js";
import { parseModule, printFunction, printModule } from "../../formats/text/index.js";
import { finish } from "../../lto/ir/steps.js";
import { bottomUp, onFunctions, onModule, runModulePipeline } from "../../lto/pass/module-pipeline.js";
import { noPassOptions } from "../../lto/pass/options.js";
import { type Goal, may } from "../../lto/pass/pass.js";
import { PassRunner } from "../../lto/pass/runner.js";
import { passes } from "../../lto/pipeline/registry.js";
import type { TargetCosts } from "../../lto/target/costs.js";
import { x64Costs } from "../../lto/x64/costs.js";
import { root, sources } from "../architecture/import-graph.js";
import { otherCosts } from "../support/other-costs.js";

/** What a pass makes of a fixture at minimum size. */
function result(name: string, fixture: string, costs: TargetCosts): string {
  const path = join(root, "fixtures/passes", name, fixture);
  const module = parseModule(readFileSync(path, "utf8"), path);
  const pass = passes.find((p) => p.name === name)!;
  const stage =
    pass.level === "module"
      ? onModule(may(pass))
      : pass.level === "component"
        ? bottomUp(may(pass))
        : onFunctions(may(pass));
  const services = { print: printFunction, now: () => 0, costs, thread: 0, log: () => {} };
  const runner = new PassRunner({ ...noPassOptions, verifyEach: true }, services, module);
  const goalOf = (): Goal => "minsize";
  finish(runModulePipeline(runner, [stage], module, bodyCodec(), goalOf, null, "near"));
  return printModule(module);
}

it.each([
  ["bias-pointer-arguments", "passed.ll"],
  ["merge-similar-functions", "constants.ll"],
  ["constant-argument-thunks", "constants.ll"],
  ["ir-outline", "inputs.ll"],
  ["narrow-constant-tables", "distances.ll"],
  ["inline", "size.ll"],
])("%s decides otherwise for a machine of other costs", (name, fixture) => {
  const usual = result(name, fixture, x64Costs);
  expect(result(name, fixture, { ...x64Costs })).toBe(usual);
  expect(result(name, fixture, otherCosts)).not.toBe(usual);
});

/** Constants named after bytes, registers or reach, and the bounds of immediates; limits that passes choose are theirs. */
const machineNumber =
  /const (?!most|least|fewest|large)\w*(?:[bB]ytes|Registers|[rR]each)(?:: number)? = \d|[<>]=? (?:-128|127|-?2147483648|2147483647)\b/g;

it("neutral code has no number of a machine's encodings", () => {
  const neutral =
    /^lto\/(?:analysis|opt|ipo|pass|outline|codegen\/(?:late|outline|lowering|program|select))\//;
  const found = sources("lto")
    .filter((file) => neutral.test(file))
    .flatMap((file) =>
      [...readFileSync(join(root, file), "utf8").matchAll(machineNumber)].map(([text]) => `${file}: ${text}`),
    );
  expect(found).toEqual([]);
});
