/**
 * npm run prove-simplify -- [--bits B] [--count N] [--seed S] [--rule NAME]
 *
 * Compositions of two operations on numbers of B bits through simplify, compared on all inputs: N at random, or with
 * --count 0 all of them, of every leaf but undef and poison. Prints how often each rule was applied; with a rule's name
 * that rule alone is.
 */
import { simplify } from "../../../lto/opt/simplify/index.js";
import { simplifyRules } from "../../../lto/opt/simplify/rules.js";
import { Random } from "../../support/random.js";
import { optionsOf } from "../../tools/options.js";
import { Compositions } from "./compositions.js";
import { prove } from "./prove.js";

const usage = "usage: npm run prove-simplify -- [--bits B] [--count N] [--seed S] [--rule NAME]";
const values = optionsOf(
  {
    bits: { type: "string", default: "3" },
    count: { type: "string", default: "100000" },
    seed: { type: "string", default: "1" },
    rule: { type: "string", default: "" },
  },
  usage,
);
const rule = String(values.rule);
const names = simplifyRules.map(({ name }) => name);
if (rule !== "" && !names.includes(rule)) {
  console.error(`there is no rule '${rule}'; rules are ${names.join(", ")}\n${usage}`);
  process.exit(2);
}
const skipped = rule === "" ? [] : names.filter((name) => name !== rule).map((name) => `simplify:${name}`);
const [bits, count, seed] = [values.bits, values.count, values.seed].map(Number) as [number, number, number];
const compositions = new Compositions(bits);
const applied = new Map<string, number>();
let [functions, changed, wrong] = [0, 0, 0];

function flush(texts: string[]): void {
  const result = prove(bits, texts, simplify, skipped);
  texts.length = 0;
  functions += result.functions;
  changed += result.changed;
  for (const [name, times] of result.applied) applied.set(name, (applied.get(name) ?? 0) + times);
  for (const problem of result.problems) if (++wrong <= 5) console.log(problem);
  if (functions % 100_000 < 1000) console.log(`${functions} functions, ${changed} changed, ${wrong} wrong`);
}

function* chosen(): Generator<string> {
  if (count === 0) yield* compositions.all();
  for (let n = 0; n < count; n++) yield compositions.random(new Random(seed + n), `f${n}`);
}

const texts: string[] = [];
for (const text of chosen()) if (texts.push(text) === 1000) flush(texts);
if (texts.length > 0) flush(texts);
for (const name of rule === "" ? names : [rule])
  console.log(`${String(applied.get(`simplify:${name}`) ?? 0).padStart(10)}  ${name}`);
console.log(`${functions} functions, ${changed} changed, ${wrong} wrong`);
if (wrong > 0) process.exitCode = 1;
