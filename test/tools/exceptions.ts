/**
 * `npm run exceptions -- --count N --seed S`: random C++ programs about exceptions (exception-programs.ts), built by
 * clang -O0 and by the tool under test with its checkers on, compared by what they print. Options of tsc-lto rotate
 * with the seed: allocators, no interprocedural allocation, no shrink-wrapping. Programs that differ are kept.
 */
import { copyFileSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { exceptionProgram } from "./exception-programs.js";
import { hasCxxLibrary } from "./fixtures.js";
import { parseCommandLine, rawOption } from "./options.js";
import { mapLimit, run } from "./process.js";
import { cacheDir } from "./root.js";
import { compilerOptions, ours, toolchain } from "./toolchain.js";

const usage = `usage: npm run exceptions -- [--count N] [--seed S] [--levels O0,O2,Oz] [options]
  --count N      number of programs (default 50)
  --seed S       seed of the first (default 1)
  --keep DIR     where failing programs go (default: in the cache directory)
  --jobs N, --raw, --no-pie, -v   as for torture`;

/** Ways of linking, by seed. */
const ways: readonly (readonly string[])[] = [
  [],
  ["--no-ipra"],
  ["--regalloc", "greedy"],
  ["--no-shrink-wrap"],
  ["--regalloc", "linear"],
  ["--regalloc", "graph"],
  ["--relocation-model", "static"],
];

const { values, levels } = parseCommandLine(
  {
    count: { type: "string", default: "50" },
    seed: { type: "string", default: "1" },
    keep: { type: "string" },
    ...rawOption,
  },
  usage,
);
if (!hasCxxLibrary()) {
  console.error("exceptions: no C++ library (Debian package: g++)");
  process.exit(2);
}
const first = Number(values["seed"]);
const jobs = Number(values["jobs"]);
const keep = String(values["keep"] ?? cacheDir("exception-failures"));
const scratch = mkdtempSync(join(tmpdir(), "exceptions-"));
const reference = toolchain("clang");
const checks = ["-j1", "--check-regalloc", "--check-ipra", "--verify"];
let passed = 0;
let failed = 0;

const fail = (source: string, what: string): void => {
  failed++;
  mkdirSync(keep, { recursive: true });
  copyFileSync(source, join(keep, source.slice(source.lastIndexOf("/") + 1)));
  console.log(`FAIL ${what}`);
};

const seeds = Array.from({ length: Number(values["count"]) }, (_, i) => first + i);
await mapLimit(seeds, jobs, async (seed) => {
  const dir = join(scratch, String(seed));
  mkdirSync(dir);
  const source = join(dir, `seed-${seed}.cpp`);
  writeFileSync(source, exceptionProgram(seed));
  const job = { units: [{ source, flags: ["-w"] }], libs: ["-lstdc++"], timeoutMs: 120_000 };
  const expected = join(dir, "expected");
  const built = await reference.build({
    ...job,
    level: "O0",
    exe: expected,
    dir: join(dir, "reference"),
    pie: true,
  });
  if (built.failed !== undefined) return fail(source, `seed ${seed}: the reference failed: ${built.message}`);
  const wanted = await run([expected], { timeoutMs: 20_000, sandbox: true });
  if (wanted.status !== 0) return fail(source, `seed ${seed}: the reference ends with ${wanted.status}`);
  for (const level of levels) {
    const way = ways[seed % ways.length]!;
    const tool = ours([...checks, ...way], compilerOptions(values["raw"] === true));
    const exe = join(dir, level);
    const pie = !values["no-pie"] && !way.includes("static");
    const made = await tool.build({ ...job, level, exe, dir: join(dir, `build-${level}`), pie });
    const label = `seed ${seed} -${level} ${way.join(" ")}`;
    if (made.failed !== undefined) {
      fail(source, `${label}: ${made.failed}: ${made.message}`);
      continue;
    }
    const found = await run([exe], { timeoutMs: 20_000, sandbox: true });
    if (found.status !== 0 || !found.stdout.equals(wanted.stdout))
      fail(source, `${label}: status ${found.status}, wrong output`);
    else passed++;
  }
  rmSync(dir, { recursive: true, force: true });
});
rmSync(scratch, { recursive: true, force: true });
if (failed > 0) console.log(`failing programs are in ${keep}`);
console.log(`${passed} passed, ${failed} failed`);
process.exitCode = failed > 0 ? 1 : 0;
