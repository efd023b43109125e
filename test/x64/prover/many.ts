/**
 * npm run prove-peepholes -- [--count N] [--seed S] [--states T] [--rule NAME]
 *
 * Runs N random sequences of machine code, from seed S on, before and after the peepholes on T states each, and prints how
 * often each rule was applied. With a rule's name that rule alone is applied, to sequences that are made for it.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { optionsOf } from "../../tools/options.js";
import { directed } from "./directed.js";
import { buildHarness, onlyRule, peepholes, prove } from "./prove.js";

const usage = "usage: npm run prove-peepholes -- [--count N] [--seed S] [--states T] [--rule NAME]";
const values = optionsOf(
  {
    count: { type: "string", default: "100000" },
    seed: { type: "string", default: "1" },
    states: { type: "string", default: "200" },
    rule: { type: "string", default: "" },
  },
  usage,
);
const rule = String(values.rule);
if (rule !== "" && !directed.has(rule)) {
  console.error(`there is no rule '${rule}'; rules are ${[...directed.keys()].join(", ")}\n${usage}`);
  process.exit(2);
}
const folder = mkdtempSync(join(tmpdir(), "tsc-lto-peepholes-"));
process.on("exit", () => rmSync(folder, { recursive: true, force: true }));
buildHarness(folder, resolve("test/x64/prover"));
const [count, seed, states] = [values.count, values.seed, values.states].map(Number) as [
  number,
  number,
  number,
];
const rules = rule === "" ? peepholes : onlyRule(rule);
const batch = 2000;
let changed = 0;
let wrong = 0;
const applied = new Map<string, number>();
for (let at = 0; at < count; at += batch) {
  const size = Math.min(batch, count - at);
  const proof = prove(folder, seed + at, size, states, rules, rule === "" ? null : rule);
  changed += proof.changed;
  for (const [name, times] of proof.applied) applied.set(name, (applied.get(name) ?? 0) + times);
  for (const problem of proof.problems) if (++wrong <= 3) console.log(problem);
}
for (const [name, times] of applied)
  if (rule === "" || times > 0) console.log(`${String(times).padStart(10)}  ${name}`);
console.log(`${count} sequences, ${changed} changed, ${wrong} wrong`);
if (wrong > 0) process.exitCode = 1;
