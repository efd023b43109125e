/**
 * `npm run csmith -- --count N --seed S`: random programs, built by clang -O0 and by the tool under test, compared
 * by the checksum they print.
 *
 * Programs come from csmith (Debian packages csmith, libcsmith-dev), seeds S, S+1, … so a run repeats exactly; each
 * program that differs is kept with its seed. Programs that take over 5 s with the reference are skipped. Shapes
 * rotate with the seed: default, small functions without much control flow, many structures and bit-fields, floats,
 * inline functions, clang's bit-counting builtins.
 */
import { copyFileSync, existsSync, mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Case } from "./batch.js";
import { runBatch, summarize, waysAt } from "./batch.js";
import { machineNamed } from "./foreign/machines.js";
import { fastToolchain, foreignToolchain } from "./in-process.js";
import { askedOfPasses, parseCommandLine, rawOption, splitWords } from "./options.js";
import { passWays } from "./pipelines.js";
import { mapLimit, run } from "./process.js";
import { cacheDir, findProgram } from "./root.js";
import { driver, referenceToolchain, systemClang } from "./toolchain.js";

const usage = `usage: npm run csmith -- [--count N] [--seed S] [--levels O0,Oz] [options]
  --count N      number of programs (default 50)
  --seed S       seed of the first (default 1)
  --keep DIR     where failing programs go (default: in the cache directory)
  --include DIR  csmith's headers (default /usr/include/csmith)
  --shape="…"     csmith's own options, in place of those that rotate with the seed
  --machine NAME  programs of another machine (npm run foreign), with clang's code generator, run by qemu
  --tool NAME    tool under test: ours (default), ours-embedded, llvm, gcc, …
  --jobs N, --out FILE, --resume, --raw, --guarded, --no-pie, --flags="…", --ways="…|…", --pass-orders N, --order-seed S,
  --each-pass-off, -v   as for torture`;

const shapes: readonly (readonly string[])[] = [
  [],
  ["--max-funcs", "4", "--max-block-depth", "3", "--max-expr-complexity", "6"],
  ["--max-struct-fields", "14", "--packed-struct", "--bitfields", "--max-funcs", "6"],
  ["--float", "--max-funcs", "5", "--max-array-dim", "2"],
  ["--no-volatiles", "--inline-function", "--max-funcs", "15", "--max-block-size", "3"],
  ["--builtins", "--builtin-function-prob", "30", "--max-funcs", "5"],
];

const {
  values,
  levels,
  ltoFlags,
  ways: asked,
} = parseCommandLine(
  {
    count: { type: "string", default: "50" },
    seed: { type: "string", default: "1" },
    keep: { type: "string" },
    include: { type: "string", default: "/usr/include/csmith" },
    shape: { type: "string" },
    machine: { type: "string" },
    ...rawOption,
  },
  usage,
);
const ways = await passWays(asked, askedOfPasses(values));
const count = Number(values["count"]);
const first = Number(values["seed"]);
const include = String(values["include"]);
const csmith = findProgram("csmith");
if (csmith === undefined || !existsSync(join(include, "csmith.h"))) {
  console.error("csmith: not installed (Debian packages: csmith libcsmith-dev)");
  process.exit(2);
}
const jobs = Number(values["jobs"]);
const keep = String(values["keep"] ?? cacheDir("csmith-failures"));
const chosen = values["shape"] === undefined ? undefined : splitWords(String(values["shape"]));
const scratch = mkdtempSync(join(tmpdir(), "csmith-"));
const seeds = Array.from({ length: count }, (_, i) => first + i);
const generated = await mapLimit(seeds, jobs, async (seed): Promise<Case | undefined> => {
  const source = join(scratch, `seed-${seed}.c`);
  const shape = chosen ?? shapes[seed % shapes.length]!;
  const r = await run([csmith, "--seed", String(seed), ...shape, "-o", source], {
    timeoutMs: 60_000,
    cwd: scratch,
  });
  if (r.status !== 0) return undefined;
  return {
    name: `seed-${seed}`,
    units: [{ source, flags: ["-w", `-I${include}`] }],
    libs: ["-lm"],
    // Conversions of numbers that integers do not hold, and counts of the zeros of zero.
    mayBeUndefined: "float-cast-overflow,builtin",
  };
});
const cases = generated.filter((c) => c !== undefined);

const name = String(values["tool"]);
const raw = values["raw"] === true;
const machine = values["machine"] === undefined ? undefined : machineNamed(String(values["machine"]));
const tool =
  machine === undefined
    ? await fastToolchain(name, jobs, ltoFlags, raw)
    : foreignToolchain(machine.words, jobs, ltoFlags);
const results = String(
  values["out"] ?? join(cacheDir("results"), `csmith-${machine?.name ?? name}${raw ? "-raw" : ""}.jsonl`),
);
const outcomes = await runBatch(cases, {
  tool,
  reference: machine === undefined ? referenceToolchain() : driver("clang", systemClang(), machine.words),
  ...(machine === undefined ? {} : { runner: machine.emulator }),
  levels,
  ways,
  jobs,
  pie: !values["no-pie"],
  timeoutMs: 10_000,
  referenceAtLevels: false,
  results,
  resume: Boolean(values["resume"]),
  progress: (done, of) => {
    for (const o of of) {
      if (o.verdict === "fail" && values["verbose"]) {
        console.log(`FAIL ${o.name} ${o.level} ${o.stage}: ${(o.message ?? "").split("\n")[0]}`);
      }
    }
    if (done % 10 === 0) console.error(`${done}/${cases.length}`);
  },
});
const failing = new Set(outcomes.filter((o) => o.verdict === "fail").map((o) => o.name));
for (const c of failing) {
  mkdirSync(keep, { recursive: true });
  copyFileSync(join(scratch, `${c}.c`), join(keep, `${c}.c`));
}
rmSync(scratch, { recursive: true, force: true });
console.log(
  summarize(
    outcomes,
    levels.flatMap((level) => waysAt(level, ways)),
  ),
);
if (failing.size > 0) console.log(`failing programs are in ${keep}`);
console.log(`results: ${results}`);
const passed = outcomes.filter((o) => o.verdict === "pass").length;
const failed = outcomes.filter((o) => o.verdict === "fail" || o.verdict === "unsupported").length;
console.log(`${passed} passed, ${failed} failed`);
await tool.close();
process.exitCode = failed > 0 ? 1 : 0;
