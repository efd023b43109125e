/**
 * `npm run call-graphs -- --count N --seed S`: random C programs about calls (call-graph-programs.ts), built by clang
 * -O0 and by the tool under test with its checkers on, compared by what they print. Options of tsc-lto rotate with the
 * seed: IPRA, allocators, shrink-wrapping, position independence. Programs that differ are kept.
 *
 * Most of the time is that of starting clang. So the reference is one file, and each file is compiled once for all
 * links: at a level that rotates too, since what was compiled at one level may be linked at another.
 */
import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { callGraphProgram } from "./call-graph-programs.js";
import { threadPool } from "./in-process.js";
import { linkObjects } from "./native.js";
import { parseCommandLine, rawOption } from "./options.js";
import { mapLimit, type RunResult, run } from "./process.js";
import { cacheDir } from "./root.js";
import { type BuildJob, compilerOptions, ours, systemClang, toolchain } from "./toolchain.js";

const usage = `usage: npm run call-graphs -- [--count N] [--seed S] [--levels O0,O2,Oz] [options]
  --count N      number of programs (default 50)
  --seed S       seed of the first (default 1)
  --keep DIR     where failing programs go (default: in the cache directory)
  --jobs N, --raw, --no-pie, --flags="…" in place of those that rotate, -v   as for torture`;

/** Ways of linking, by seed. */
const ways: readonly (readonly string[])[] = [
  ["--check-ipra"],
  [],
  ["--no-ipra"],
  ["--regalloc", "greedy", "--check-ipra"],
  ["--guard-callees"],
  ["--regalloc", "linear"],
  ["--no-shrink-wrap", "--check-ipra"],
  ["--regalloc", "graph", "--check-ipra"],
  ["--relocation-model", "static"],
  ["--effort", "fast", "--check-ipra"],
];

const { values, levels, ltoFlags } = parseCommandLine(
  {
    count: { type: "string", default: "50" },
    seed: { type: "string", default: "1" },
    keep: { type: "string" },
    ...rawOption,
  },
  usage,
);
const first = Number(values["seed"]);
const jobs = Number(values["jobs"]);
const keep = String(values["keep"] ?? cacheDir("call-graph-failures"));
const scratch = mkdtempSync(join(tmpdir(), "call-graphs-"));
const pool = threadPool(jobs);
const flags = compilerOptions(values["raw"] === true);
const checks = ["-j1", "--check-regalloc", "--verify"];
let passed = 0;
let failed = 0;
let skipped = 0;
let disputed = 0;

const fail = (seed: number, folder: string, what: string): void => {
  failed++;
  cpSync(folder, join(keep, String(seed)), { recursive: true });
  console.log(`FAIL ${what}`);
};

/** All files as one; what is wrong, if something is. */
async function buildReference(
  units: readonly { readonly source: string }[],
  dir: string,
  exe: string,
): Promise<string | undefined> {
  const whole = join(dir, "whole.c");
  writeFileSync(whole, units.map(({ source }) => `#include "${source}"\n`).join(""));
  const object = join(dir, "whole.o");
  const flags = ["-w", "-std=gnu17", "-O0", "-fPIE", "-c"];
  const made = await run([systemClang(), ...flags, whole, "-o", object]);
  if (made.status !== 0) return made.stderr.slice(0, 2000);
  const { result } = await linkObjects([object], exe, { pie: true });
  return result.status === 0 ? undefined : result.stderr.slice(0, 2000);
}

/** Whether clang's own program of the level prints something else, too: then the source says too little. */
async function disagrees(job: BuildJob, wanted: RunResult): Promise<boolean> {
  const exe = join(job.dir, "native");
  const made = await toolchain("clang").build({ ...job, exe, dir: join(job.dir, "native-objects") });
  if (made.failed !== undefined) return false;
  const found = await run([exe], { timeoutMs: 20_000, sandbox: true });
  return found.status !== wanted.status || !found.stdout.equals(wanted.stdout);
}

const seeds = Array.from({ length: Number(values["count"]) }, (_, i) => first + i);
await mapLimit(seeds, jobs, async (seed) => {
  const dir = join(scratch, String(seed));
  const sources = join(dir, "sources");
  mkdirSync(sources, { recursive: true });
  const units = callGraphProgram(seed).map((text, i) => {
    const source = join(sources, `${i}.c`);
    writeFileSync(source, text);
    return { source, flags: ["-w", "-std=gnu17"] };
  });
  const expected = join(dir, "expected");
  const problem = await buildReference(units, dir, expected);
  if (problem !== undefined) return fail(seed, sources, `seed ${seed}: the reference failed: ${problem}`);
  const wanted = await run([expected], { timeoutMs: 20_000, sandbox: true });
  if (wanted.status !== 0) {
    // Callbacks may go on for ever at some depth of recursion that has no fuel.
    skipped++;
    if (values["verbose"]) console.log(`seed ${seed}: the reference ends with ${wanted.status}`);
    return;
  }
  // All pairs of way and level come up, though not with every program.
  const turn = Math.floor(seed / ways.length);
  const chosen = levels.map((_, i) => ways[(seed + i * (1 + (turn % (ways.length - 1)))) % ways.length]!);
  const used = ltoFlags.length > 0 ? levels.map(() => ltoFlags) : chosen;
  const pie = !values["no-pie"] && !used.some((way) => way.includes("static"));
  const job = { units, libs: [], timeoutMs: 120_000, exe: "", dir, pie };
  const compiled = { ...job, level: levels[turn % levels.length]! };
  const objects = await ours(checks, flags, pool.execute).compile(compiled);
  if (!Array.isArray(objects))
    return fail(seed, sources, `seed ${seed} -${compiled.level}: ${objects.failed}: ${objects.message}`);
  for (const [i, level] of levels.entries()) {
    const way = used[i]!;
    const tool = ours([...checks, ...way], flags, pool.execute);
    const exe = join(dir, level);
    const made = await tool.link({ ...job, level, exe }, objects);
    const label = `seed ${seed} -${compiled.level} -${level} ${way.join(" ")}`;
    if (made.failed !== undefined) {
      fail(seed, sources, `${label}: ${made.failed}: ${made.message}`);
      continue;
    }
    const found = await run([exe], { timeoutMs: 20_000, sandbox: true });
    if (found.status === 0 && found.stdout.equals(wanted.stdout)) passed++;
    else if (await disagrees(compiled, wanted)) {
      disputed++;
      if (values["verbose"]) console.log(`seed ${seed}: clang -${compiled.level} disagrees with clang -O0`);
      break;
    } else fail(seed, sources, `${label}: status ${found.status}, wrong output`);
  }
  rmSync(dir, { recursive: true, force: true });
  if ((seed - first) % 50 === 49) console.error(`${seed - first + 1} programs, ${failed} failed`);
});
await pool.close();
rmSync(scratch, { recursive: true, force: true });
if (failed > 0) console.log(`failing programs are in ${keep}`);
if (disputed > 0) console.log(`${disputed} programs mean different things to levels of clang`);
if (skipped > 0) console.log(`${skipped} programs do not end by themselves`);
console.log(`${passed} passed, ${failed} failed`);
process.exitCode = failed > 0 ? 1 : 0;
