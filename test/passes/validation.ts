/** Translation validation: passes on random functions, which the interpreter runs before and after. */

import { bodyCodec } from "../../formats/object/body-codec.js";
import { parseModule, printFunction, printModule } from "../../formats/text/index.js";
import type { Module } from "../../lto/ir/module.js";
import { finish } from "../../lto/ir/steps.js";
import { onFunctions, onModule, runModulePipeline } from "../../lto/pass/module-pipeline.js";
import { noPassOptions } from "../../lto/pass/options.js";
import { type FunctionPass, type Goal, type ModulePass, may } from "../../lto/pass/pass.js";
import { PassRunner } from "../../lto/pass/runner.js";
import { passes } from "../../lto/pipeline/registry.js";
import { verifyModule } from "../../lto/verify/verifier.js";
import { x64Costs } from "../../lto/x64/costs.js";
import { behaviourOf, codeOf, randomInput, refines } from "../support/interpreter/program.js";
import { Random } from "../support/random.js";
import { randomFunction } from "./random-functions.js";
import { randomStructureFunction } from "./random-structures.js";

const inputs = 8;

/** What can be run on one function that is all of a program. */
export type ValidatedPass = FunctionPass | ModulePass;

/** Passes on functions of the linked module, and on the module, by name. @throws Error for other names */
export function passesNamed(names: readonly string[]): ValidatedPass[] {
  return names.map((name) => {
    const pass = passes.find((p) => p.name === name);
    if (pass === undefined || pass.level === "component")
      throw new Error(`there is no pass '${name}' on functions or on the module`);
    return pass;
  });
}

function runPasses(module: Module, list: readonly ValidatedPass[], goal: Goal): void {
  const services = { print: printFunction, now: () => 0, costs: x64Costs, thread: 0, log: () => {} };
  const runner = new PassRunner({ ...noPassOptions, verifyEach: true }, services, module);
  const stages = list.map((pass) => (pass.level === "module" ? onModule(may(pass)) : onFunctions(may(pass))));
  finish(runModulePipeline(runner, stages, module, bodyCodec(), () => goal));
}

/** What a random function came to. */
export interface Validation {
  /** Runs that were not undefined before. */
  readonly compared: number;
  readonly changed: boolean;
  /** What is wrong, with both texts; null: nothing. */
  readonly problem: string | null;
}

/** Runs passes on the random function of a seed and compares. */
export function validate(seed: number, list: readonly ValidatedPass[], goal: Goal): Validation {
  const source = (seed % 4 === 3 ? randomStructureFunction : randomFunction)(new Random(seed));
  const before = parseModule(source, "random.ll");
  const problems = verifyModule(before);
  if (problems.length > 0) throw new Error(`seed ${seed}: ${problems.join("; ")}\n${source}`);
  const after = parseModule(source, "random.ll");
  const original = printModule(after);
  const order = list.map((pass) => pass.name).join(",");
  const where = `seed ${seed}, goal ${goal}, passes ${order}`;
  try {
    runPasses(after, list, goal);
  } catch (error) {
    return {
      compared: 0,
      changed: true,
      problem: `${where}: ${error instanceof Error ? error.stack : error}\n${original}`,
    };
  }
  const text = printModule(after);
  const random = new Random(seed + 1);
  const fn = before.functions.find((f) => f.name === "f")!;
  const [first, second] = [codeOf(before), codeOf(after)];
  const choices = text.includes(" = freeze ") ? [0n, -1n] : [null];
  let compared = 0;
  for (let i = 0; i < inputs; i++) {
    const input = randomInput(fn, random);
    const expected = behaviourOf(before, first, "f", input, "exact");
    if (expected === null) continue;
    compared++;
    // Whatever passes freeze has to do for any choice.
    const actual = choices
      .map((frozen) => behaviourOf(after, second, "f", input, "exact", true, frozen))
      .find((seen) => seen === null || !refines(expected, seen, true));
    if (actual === undefined) continue;
    const shown = `expected ${JSON.stringify(show(expected))}\nactual   ${JSON.stringify(show(actual))}`;
    return {
      compared,
      changed: true,
      problem: `${where}, input ${i}:\n${shown}\n${original}\n; after\n${text}`,
    };
  }
  return { compared, changed: text !== original, problem: null };
}

/** Memory in short: what tells runs apart. */
const show = (seen: ReturnType<typeof behaviourOf>): unknown =>
  seen === null
    ? "undefined"
    : { results: seen.results.map(String), events: seen.events, memory: hash(seen.memory) };
const hash = (text: string): number => {
  let sum = 0;
  for (let i = 0; i < text.length; i++) sum = (Math.imul(sum, 31) + text.charCodeAt(i)) | 0;
  return sum;
};
