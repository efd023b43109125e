/**
 * npm run validate-passes -- [--count N] [--seed S] [--passes a,b] [--orders]
 *
 * Runs passes on N random functions, from seed S on, and compares by the interpreter; without --passes all of the
 * default pipelines' function passes and ipsccp, each alone. --orders: in random orders, several at a time.
 */
import type { Goal, Step } from "../../lto/pass/pass.js";
import { pipelines } from "../../lto/pipeline/pipelines.js";
import { Random } from "../support/random.js";
import { optionsOf } from "../tools/options.js";
import { passesNamed, type ValidatedPass, validate } from "./validation.js";

const values = optionsOf(
  {
    count: { type: "string", default: "1000" },
    seed: { type: "string", default: "1" },
    passes: { type: "string" },
    orders: { type: "boolean", default: false },
  },
  "usage: npm run validate-passes -- [--count N] [--seed S] [--passes a,b] [--orders]",
);

const names =
  values.passes?.split(",") ??
  Object.values(pipelines)
    .flatMap(({ program }) => program.flatMap((stage): readonly Step[] => stage.steps))
    .filter(({ pass }) => pass.level === "function" || pass.name === "ipsccp")
    .map(({ pass }) => pass.name);
const chosen = passesNamed([...new Set(names)]);
const goals: readonly Goal[] = ["minsize", "speed"];

function orderOf(random: Random): ValidatedPass[] {
  return Array.from({ length: 2 + random.below(6) }, () => random.pick(chosen));
}

const count = Number(values.count);
const first = Number(values.seed);
let compared = 0;
let changed = 0;
let wrong = 0;
for (let seed = first; seed < first + count; seed++) {
  const random = new Random(seed ^ 0x5bd1e995);
  const goal = goals[seed % goals.length]!;
  const lists = values.orders
    ? [orderOf(random)]
    : values.passes !== undefined
      ? [chosen]
      : chosen.map((pass) => [pass]);
  for (const list of lists) {
    const result = validate(seed, list, goal);
    compared += result.compared;
    if (result.changed) changed++;
    if (result.problem === null) continue;
    console.log(result.problem);
    if (++wrong >= 3) process.exit(1);
  }
}
console.log(`${count} functions, ${changed} changed, ${compared} runs compared, ${wrong} wrong`);
if (wrong > 0) process.exitCode = 1;
