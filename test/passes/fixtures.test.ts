/**
 * Passes by example: `fixtures/passes/PASS/NAME.ll`, run through the passes that its first lines name, gives
 * `NAME.expected`, is valid before and after each pass, and does the same as before on generated inputs.
 *
 * Lines at the start, after `; `:
 *   passes: a, b             default: the folder's name
 *   pipeline: lowering       for passes that run right before selection; otherwise they see the whole module
 *   goal: none|minsize|size|speed
 *   addresses: low|near|anywhere
 *   sizetime: 0              what time is worth in code for size (`--size-time`)
 *   routines: a, b           definitions that stay for code generation to call (`Module.routines`)
 *   run: none                nothing is executed, for the reason that follows in parentheses
 * `npm run bless` writes the expected files.
 */

import { readdirSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { bodyCodec } from "../../formats/object/body-codec.js";
import { parseModule, printFunction, printModule } from "../../formats/text/index.js";
import { defaultSizeTime } from "../../lto/analysis/heat.js";
import { LoweringRunContext, type LoweringStep, loweringUnit } from "../../lto/codegen/lowering/index.js";
import { CalleeSetNumbers } from "../../lto/codegen/program/callee-sets.js";
import { definedFunctions } from "../../lto/codegen/program/numbering.js";
import { planProgram } from "../../lto/codegen/program/plan.js";
import type { Func, Module } from "../../lto/ir/module.js";
import { finish } from "../../lto/ir/steps.js";
import type { Value } from "../../lto/ir/values.js";
import {
  bottomUp,
  onFunctions,
  onModule,
  runModulePipeline,
  type Stage,
} from "../../lto/pass/module-pipeline.js";
import { noPassOptions } from "../../lto/pass/options.js";
import { type AnyPass, type Goal, may } from "../../lto/pass/pass.js";
import { PassRunner, runFunctionSteps } from "../../lto/pass/runner.js";
import { passes } from "../../lto/pipeline/registry.js";
import type { Addresses } from "../../lto/target/addresses.js";
import { verifyModule } from "../../lto/verify/verifier.js";
import { x64Costs } from "../../lto/x64/costs.js";
import { defaultConvention, resultRoom } from "../../lto/x64/frame/convention.js";
import { x64Target } from "../../lto/x64/target.js";
import { codegenOptions, link } from "../ipra/compile.js";
import { expectFile } from "../support/expected.js";
import type { Code } from "../support/interpreter/interpreter.js";
import { behaviourOf, codeOf, randomInput, refines } from "../support/interpreter/program.js";
import { Random } from "../support/random.js";

const folder = fileURLToPath(new URL("../../fixtures/passes/", import.meta.url));
const inputs = 40;

interface Directions {
  readonly passes: readonly AnyPass[];
  readonly lowering: boolean;
  readonly goal: Goal;
  readonly addresses: Addresses;
  readonly routines: readonly string[];
  readonly sizeTime: number;
  readonly runs: boolean;
}

function directions(text: string, folderName: string): Directions {
  const given = new Map<string, string>();
  for (const line of text.split("\n")) {
    const [, key, value] = /^; ([a-z]+): (.*)$/.exec(line) ?? [];
    if (key === undefined) break;
    given.set(key, value!);
  }
  const named = (given.get("passes") ?? folderName).split(/, */).map((name) => {
    const pass = passes.find((p) => p.name === name);
    if (pass === undefined) throw new Error(`there is no pass '${name}'`);
    return pass;
  });
  return {
    passes: named,
    lowering: given.get("pipeline") === "lowering",
    goal: (given.get("goal") ?? "minsize") as Goal,
    addresses: (given.get("addresses") ?? "anywhere") as Addresses,
    routines: given.get("routines")?.split(/, */) ?? [],
    sizeTime: Number(given.get("sizetime") ?? defaultSizeTime),
    runs: !(given.get("run") ?? "").startsWith("none"),
  };
}

/** What came out of a fixture: its text, and each function so that it can be run. */
interface Outcome {
  readonly text: string;
  readonly module: Module;
  readonly bodies: ReadonlyMap<string, Code>;
  /** Values are legal ones: results are compared only where there is one of the same type. */
  readonly sameResults: ReadonlySet<string>;
}

function newRunner(module: Module | null, { sizeTime }: Directions): PassRunner {
  const services = {
    print: printFunction,
    now: () => 0,
    costs: x64Costs,
    sizeTime,
    thread: 0,
    log: () => {},
  };
  const enabled = passes.filter((p) => p.option !== undefined).map((p) => p.name);
  return new PassRunner({ ...noPassOptions, verifyEach: true, enabled }, services, module);
}

function runOnModule(module: Module, directions: Directions): Outcome {
  const { passes: named, goal, addresses, routines } = directions;
  for (const global of module.globals)
    if (routines.includes(global.name)) module.routines.set(global.name, [global]);
  const stages = named.map((pass): Stage => {
    if (pass.level === "module") return onModule(may(pass));
    return pass.level === "component" ? bottomUp(may(pass)) : onFunctions(may(pass));
  });
  const goalOf = (): Goal => goal;
  finish(
    runModulePipeline(newRunner(module, directions), stages, module, bodyCodec(), goalOf, null, addresses),
  );
  const bodies = codeOf(module);
  return {
    text: printModule(module),
    module,
    bodies,
    sameResults: new Set(bodies.keys()),
  };
}

function runLowering(source: string, directions: Directions): Outcome {
  const { passes: named, goal } = directions;
  const { module, summary } = link(source, "shared");
  const { indirect } = finish(
    planProgram(module, summary, { ...codegenOptions, relocation: "pie" }, x64Target, bodyCodec()),
  );
  const functions = definedFunctions(module);
  const sets = new CalleeSetNumbers(functions, indirect.sets);
  const runner = newRunner(null, directions);
  const texts: string[] = [];
  const bodies = new Map<string, Code>();
  const sameResults = new Set<string>();
  const roomOf = () => resultRoom(defaultConvention);
  functions.forEach((fn) => {
    const body = fn.take();
    sets.resolve(body);
    const { dataLayout } = module;
    const known = { functions, indirect, isRecursive: (callee: Value) => callee === fn };
    const context = new LoweringRunContext(runner, dataLayout, goal, body, x64Target.lowering, roomOf, known);
    const unit = loweringUnit(fn, context);
    const steps = named.map((pass) => may(pass)) as LoweringStep[];
    runFunctionSteps(runner, steps, fn, context, unit, 1);
    texts.push(unit.shown().map(printFunction).join("\n"));
    const args = context.legal?.args.map(({ argument }) => argument) ?? fn.args;
    bodies.set(fn.name, { body, args });
    const results = context.legal?.resultTypes;
    if (results === undefined || (results.length === 1 && results[0] === fn.valueType.result))
      sameResults.add(fn.name);
  });
  return { text: texts.join("\n"), module, bodies, sameResults };
}

/** Runs each function of both forms on the same inputs. @returns how many runs could be compared */
/**
 * @param sees functions that may be called from outside: after passes on the program, not those it keeps to itself
 * @param seesLocal the same of variables
 */
function compare(
  before: Module,
  after: Outcome,
  mode: "exact" | "machine",
  sees: (fn: Func) => boolean,
  seesLocal: boolean,
): number {
  let compared = 0;
  const bodies = codeOf(before);
  for (const fn of before.functions) {
    if (!bodies.has(fn.name) || !after.bodies.has(fn.name) || !sees(fn)) continue;
    const random = new Random(1);
    for (let i = 0; i < inputs; i++) {
      const input = randomInput(fn, random);
      const first = behaviourOf(before, bodies, fn.name, input, "exact", seesLocal);
      if (first === null) continue;
      // What passes freeze has to do for any choice.
      const frozen = i % 2 === 0 ? 0n : -1n;
      const second = behaviourOf(after.module, after.bodies, fn.name, input, mode, seesLocal, frozen);
      expect(second, `@${fn.name}: undefined only afterwards`).not.toBeNull();
      if (!refines(first, second!, after.sameResults.has(fn.name))) expect(second).toEqual(first);
      compared++;
    }
  }
  return compared;
}

const folders = readdirSync(folder).sort();

describe("every pass has examples", () => {
  it.each(passes.map((pass) => pass.name))("%s", (name) => {
    expect(folders).toContain(name);
    expect(readdirSync(folder + name).some((file) => file.endsWith(".ll"))).toBe(true);
  });
});

describe.each(folders)("%s", (name) => {
  const files = readdirSync(folder + name).filter((file) => file.endsWith(".ll"));
  it.each(files)("%s", (file) => {
    const path = `${folder}${name}/${file}`;
    const source = readFileSync(path, "utf8");
    const how = directions(source, name);
    const before = parseModule(source, file);
    expect(verifyModule(before)).toEqual([]);
    const after = how.lowering ? runLowering(source, how) : runOnModule(parseModule(source, file), how);
    expectFile(after.text, path.replace(/\.ll$/, ".expected"));
    if (!how.runs) return;
    const ofProgram = how.passes.some((pass) => pass.level !== "function");
    const sees = (fn: Func): boolean => !ofProgram || !fn.isLocal;
    const compared = compare(before, after, how.lowering ? "machine" : "exact", sees, !ofProgram);
    expect(compared, "runs that could be compared").toBeGreaterThan(0);
  });
});
