/**
 * npm run prove-simplify -- [--bits B] [--count N] [--seed S]
 *
 * Compositions of two operations on numbers of B bits through simplify, compared on all inputs: N at random, or with
 * --count 0 all of them, of every leaf but undef and poison.
 */
import { simplify } from "../../../lto/opt/simplify/index.js";
import { Random } from "../../support/random.js";
import { optionsOf } from "../../tools/options.js";
import { Compositions } from "./compositions.js";
import { prove } from "./prove.js";

const values = optionsOf(
  {
    bits: { type: "string", default: "3" },
    count: { type: "string", default: "100000" },
    seed: { type: "string", default: "1" },
  },
  "usage: npm run prove-simplify -- [--bits B] [--count N] [--seed S]",
);
const [bits, count, seed] = [values.bits, values.count, values.seed].map(Number) as [number, number, number];
const compositions = new Compositions(bits);
let [functions, changed, wrong] = [0, 0, 0];

function flush(texts: string[]): void {
  const result = prove(bits, texts, simplify);
  texts.length = 0;
  functions += result.functions;
  changed += result.changed;
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
console.log(`${functions} functions, ${changed} changed, ${wrong} wrong`);
if (wrong > 0) process.exitCode = 1;
