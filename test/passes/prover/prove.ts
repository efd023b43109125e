/**
 * Functions of two operations through a pass, evaluated on all inputs before and after.
 *
 * Checked is refinement: on each input (every number, poison, and undef for one argument at a time) every outcome
 * afterwards was possible before. Where before the behaviour may be undefined, or the result poison, anything may come;
 * undef, at each use, may be any number; what was computed of it may be anything that some such number gives.
 */

import { bodyCodec } from "../../../formats/object/body-codec.js";
import { parseModule, printFunction } from "../../../formats/text/index.js";
import type { Module } from "../../../lto/ir/module.js";
import { finish } from "../../../lto/ir/steps.js";
import { onFunctions, runModulePipeline } from "../../../lto/pass/module-pipeline.js";
import { noPassOptions } from "../../../lto/pass/options.js";
import { type FunctionPass, may } from "../../../lto/pass/pass.js";
import { PassRunner } from "../../../lto/pass/runner.js";
import { x64Costs } from "../../../lto/x64/costs.js";
import { declarations } from "./compositions.js";
import { allows, Evaluation, poison, undef } from "./outcomes.js";

export interface Counts {
  readonly functions: number;
  readonly changed: number;
  readonly problems: readonly string[];
  /** How often each of the pass's rules was applied, by its name as options call it. */
  readonly applied: ReadonlyMap<string, number>;
}

/** Values of x, y (of `bits` bits) and b. */
function inputsOf(bits: number): number[][] {
  const numbers = Array.from({ length: 2 ** bits }, (_, value) => value);
  const inputs: number[][] = [];
  for (const x of [...numbers, poison, undef])
    for (const y of [...numbers, poison, undef])
      for (const b of [0, 1, poison, undef])
        if ([x, y, b].filter((value) => value === undef).length <= 1) inputs.push([x, y, b]);
  return inputs;
}

/**
 * Runs a pass on all functions of a module.
 * @param skipRule rules that are left out
 * @returns how often its rules were applied
 */
export function runPass(
  module: Module,
  pass: FunctionPass,
  skipRule: readonly string[] = [],
): ReadonlyMap<string, number> {
  const services = { print: printFunction, now: () => 0, costs: x64Costs, thread: 0, log: () => {} };
  const runner = new PassRunner({ ...noPassOptions, stats: true, skipRule }, services, module);
  finish(runModulePipeline(runner, [onFunctions(may(pass))], module, bodyCodec(), () => "minsize"));
  return new Map(runner.takeReport().rules.map(({ rule, applied }) => [rule, applied]));
}

const show = (value: number): string =>
  value === poison ? "poison" : value === undef ? "undef" : String(value);

/** Runs a pass on functions with parameters x, y and b, and compares. @param skipRule rules that are left out */
export function prove(
  bits: number,
  texts: readonly string[],
  pass: FunctionPass,
  skipRule: readonly string[] = [],
): Counts {
  const source = declarations(bits) + texts.join("");
  const [before, after] = [parseModule(source, "prover.ll"), parseModule(source, "prover.ll")];
  const applied = runPass(after, pass, skipRule);
  const inputs = inputsOf(bits);
  const changedBy = new Map(after.functions.map((fn) => [fn.name, fn]));
  let changed = 0;
  let functions = 0;
  const problems: string[] = [];
  for (const fn of before.functions) {
    if (fn.isDeclaration) continue;
    functions++;
    const other = changedBy.get(fn.name)!;
    const [old, now] = [printFunction(fn), printFunction(other)];
    if (old === now) continue;
    changed++;
    const [first, second] = [new Evaluation(fn), new Evaluation(other)];
    for (const input of inputs) {
      const allowed = first.outcomes(input);
      const seen = second.outcomes(input);
      if (allowed === null || seen === null || allows(allowed, seen)) continue;
      problems.push(
        `x, y, b = ${input.map(show).join(", ")}: ${JSON.stringify(allowed)} became ${JSON.stringify(seen)}\n${old}\n  became\n${now}`,
      );
      break;
    }
  }
  return { functions, changed, problems, applied };
}
