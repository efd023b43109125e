/**
 * npm run random-functions -- [--count N] [--seed S] [--batch B] [--ways W] [--only WORDS] [--features F] [--keep FOLDER]
 *
 * N random functions of all types and irregular control flow, B to a module, each compiled in W of the ways of
 * functions.ts in turn (levels, allocators, IPRA, checkers; with --only those that have these words in their options)
 * and run against the IR interpreter. Failing modules are kept.
 */
import { copyFileSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { optionsOf } from "../tools/options.js";
import { buildHarness, randomProgram, tryProgram, ways } from "./functions.js";

const values = optionsOf(
  {
    count: { type: "string", default: "1000" },
    seed: { type: "string", default: "1" },
    batch: { type: "string", default: "100" },
    ways: { type: "string", default: "3" },
    only: { type: "string", default: "" },
    features: { type: "string", default: "" },
    keep: { type: "string" },
  },
  "usage: npm run random-functions -- [--count N] [--seed S] [--batch B] [--ways W] [--only WORDS] [--features +avx2] [--keep FOLDER]",
);

const folder = mkdtempSync(join(tmpdir(), "tsc-lto-random-"));
process.on("exit", () => rmSync(folder, { recursive: true, force: true }));
const object = buildHarness(folder);
const [count, seed, batch, each] = [values.count, values.seed, values.batch, values.ways].map(Number) as [
  number,
  number,
  number,
  number,
];
const chosen = ways.filter(({ name }) => name.includes(values.only));
if (chosen.length === 0) throw new Error(`no way has "${values.only}" in its options`);
let functions = 0;
let runs = 0;
let wrong = 0;
for (let at = 0; at < count; at += batch) {
  const first = seed + at;
  const program = randomProgram(first, Math.min(batch, count - at), values.features);
  functions += Math.min(batch, count - at);
  for (let n = 0; n < each; n++) {
    const way = chosen[(Math.floor(first / batch) * each + n) % chosen.length]!;
    const problem = await tryProgram(program, way, folder, object);
    runs += program.runs;
    if (problem === null) continue;
    wrong++;
    console.log(`functions from ${first}, ${way.name}: ${problem}`);
    if (values.keep === undefined) continue;
    mkdirSync(values.keep, { recursive: true });
    const name = join(values.keep, `${first}`);
    copyFileSync(join(folder, "p.ll"), `${name}.ll`);
    copyFileSync(join(folder, "inputs.bin"), `${name}.bin`);
    writeFileSync(`${name}.txt`, `${way.name}\n${problem}\n`);
  }
  if ((at / batch) % 4 === 3) console.log(`${functions} functions, ${runs} runs, ${wrong} wrong`);
}
console.log(`${functions} functions, ${runs} runs compared, ${wrong} wrong`);
process.exitCode = wrong > 0 ? 1 : 0;
