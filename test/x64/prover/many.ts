/**
 * npm run prove-peepholes -- [--count N] [--seed S] [--states T]
 *
 * Runs N random sequences of machine code, from seed S on, before and after the peepholes on T states each.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { optionsOf } from "../../tools/options.js";
import { buildHarness, prove } from "./prove.js";

const values = optionsOf(
  {
    count: { type: "string", default: "100000" },
    seed: { type: "string", default: "1" },
    states: { type: "string", default: "200" },
  },
  "usage: npm run prove-peepholes -- [--count N] [--seed S] [--states T]",
);
const folder = mkdtempSync(join(tmpdir(), "tsc-lto-peepholes-"));
process.on("exit", () => rmSync(folder, { recursive: true, force: true }));
buildHarness(folder, resolve("test/x64/prover"));
const [count, seed, states] = [values.count, values.seed, values.states].map(Number) as [
  number,
  number,
  number,
];
const batch = 2000;
let changed = 0;
let wrong = 0;
for (let at = 0; at < count; at += batch) {
  const proof = prove(folder, seed + at, Math.min(batch, count - at), states);
  changed += proof.changed;
  for (const problem of proof.problems) if (++wrong <= 3) console.log(problem);
}
console.log(`${count} sequences, ${changed} changed, ${wrong} wrong`);
if (wrong > 0) process.exitCode = 1;
