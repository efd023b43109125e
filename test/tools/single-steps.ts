/**
 * `npm run single-steps -- --count N --seed S`: random programs run in single steps, with the platform's unwinder asked
 * before each instruction for all frames up to the one that called `main` (stepping.ts says what has to be right).
 *
 * Programs are those of csmith, of exceptions, and of call-graphs, in turn; levels and options of tsc-lto rotate with the
 * seed, so that each kind of program meets all of them. A program must also do what it does when it is not stepped.
 */
import { copyFileSync, existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { callGraphProgram } from "./call-graph-programs.js";
import { exceptionProgram } from "./exception-programs.js";
import { hasCxxLibrary } from "./fixtures.js";
import { fastToolchain } from "./in-process.js";
import { parseCommandLine, rawOption } from "./options.js";
import { mapLimit, run } from "./process.js";
import { cacheDir, findProgram } from "./root.js";
import { buildStepper, namesOf, runInSteps } from "./stepping.js";
import type { Unit } from "./toolchain.js";

const usage = `usage: npm run single-steps -- [--count N] [--seed S] [--levels O0,O1,O2,Os,Oz] [options]
  --count N      number of programs (default 50)
  --seed S       seed of the first (default 1)
  --kinds LIST   kinds of programs: csmith, exceptions, call-graphs (default: those that can be built here)
  --limit N      a program runs on by itself after so many instructions of its own (default 50000)
  --include DIR  csmith's headers (default /usr/include/csmith)
  --keep DIR     where failing programs go (default: in the cache directory)
  --tool NAME    tool under test: ours (default), clang, gcc, …
  --all-levels   each program at all levels, not at the one that is its turn
  --jobs N, --raw, --no-pie, --flags="…" in place of those that rotate, -v   as for torture`;

/** Ways of linking, by seed. */
const rotating: readonly (readonly string[])[] = [
  [],
  ["--no-ipra", "--no-outline"],
  ["--no-shrink-wrap"],
  ["--regalloc", "greedy"],
  ["--no-ipra"],
  ["--regalloc", "linear", "--no-shared-unwind"],
  ["--no-shared-epilogues"],
  ["--relocation-model", "static"],
];
/** Options with which each function keeps to the platform's convention. */
const strictOptions = ["--no-ipra", "--no-outline"];

const { values, levels, ltoFlags } = parseCommandLine(
  {
    count: { type: "string", default: "50" },
    seed: { type: "string", default: "1" },
    kinds: { type: "string" },
    limit: { type: "string", default: "50000" },
    include: { type: "string", default: "/usr/include/csmith" },
    keep: { type: "string" },
    levels: { type: "string", default: "O0,O1,O2,Os,Oz" },
    "all-levels": { type: "boolean", default: false },
    ...rawOption,
  },
  usage,
);

/** Writes a program into `dir`: its files. Undefined where the generator makes none of this seed. */
type Generate = (seed: number, dir: string) => Promise<Unit[] | undefined>;
interface Kind {
  readonly generate: Generate;
  readonly libs: readonly string[];
  /** What is missing here to build such programs; undefined: nothing. */
  readonly missing?: string | undefined;
}

const include = String(values["include"]);
const csmith = findProgram("csmith");
const kinds: Readonly<Record<string, Kind>> = {
  csmith: {
    libs: ["-lm"],
    missing:
      csmith !== undefined && existsSync(join(include, "csmith.h")) ? undefined : "csmith libcsmith-dev",
    async generate(seed, dir) {
      const source = join(dir, `csmith-${seed}.c`);
      const size = ["--max-funcs", "6", "--max-block-depth", "3"];
      const made = await run([csmith!, "--seed", String(seed), ...size, "-o", source], {
        cwd: dir,
        timeoutMs: 60_000,
      });
      return made.status === 0 ? [{ source, flags: ["-w", `-I${include}`] }] : undefined;
    },
  },
  exceptions: {
    libs: ["-lstdc++"],
    missing: hasCxxLibrary() ? undefined : "g++",
    async generate(seed, dir) {
      const source = join(dir, `exceptions-${seed}.cpp`);
      writeFileSync(source, exceptionProgram(seed));
      return [{ source, flags: ["-w"] }];
    },
  },
  "call-graphs": {
    libs: [],
    async generate(seed, dir) {
      return callGraphProgram(seed, false).map((text, i) => {
        const source = join(dir, `call-graphs-${seed}-${i}.c`);
        writeFileSync(source, text);
        return { source, flags: ["-w", "-std=gnu17"] };
      });
    },
  },
};

const asked = values["kinds"] === undefined ? undefined : String(values["kinds"]).split(",");
for (const kind of asked ?? Object.keys(kinds)) {
  const known = kinds[kind];
  if (known === undefined || (asked !== undefined && known.missing !== undefined)) {
    console.error(
      known === undefined ? `no kind of programs ${kind}` : `${kind}: not installed: ${known.missing}`,
    );
    process.exit(2);
  }
}
const usable = (asked ?? Object.keys(kinds)).filter((kind) => kinds[kind]!.missing === undefined);

const first = Number(values["seed"]);
const jobs = Number(values["jobs"]);
const name = String(values["tool"]);
const isOurs = name.startsWith("ours");
const keep = String(values["keep"] ?? cacheDir("single-steps-failures"));
const scratch = mkdtempSync(join(tmpdir(), "single-steps-"));
const stepper = await buildStepper(scratch);
const tool = await fastToolchain(name, jobs, [], values["raw"] === true);
const sum = { programs: 0, skipped: 0, steps: 0, frames: 0, registers: 0 };
let passed = 0;
let failed = 0;

function fail(units: readonly Unit[], what: string): void {
  failed++;
  mkdirSync(keep, { recursive: true });
  for (const { source } of units) copyFileSync(source, join(keep, basename(source)));
  console.log(`FAIL ${what}`);
}

const seeds = Array.from({ length: Number(values["count"]) }, (_, i) => first + i);
await mapLimit(seeds, jobs, async (seed) => {
  const kindName = usable[seed % usable.length]!;
  const turn = Math.floor(seed / usable.length);
  const kind = kinds[kindName]!;
  const dir = join(scratch, String(seed));
  mkdirSync(dir);
  const units = await kind.generate(seed, dir);
  if (units === undefined) {
    sum.skipped++;
    return;
  }
  const chosen = values["all-levels"] ? levels : [levels[turn % levels.length]!];
  for (const [i, level] of chosen.entries()) {
    const own = ltoFlags.length > 0 ? ltoFlags : rotating[(turn + i) % rotating.length]!;
    const way = isOurs ? own : [];
    const strict = !isOurs || strictOptions.every((option) => way.includes(option));
    const label = `${kindName} ${seed} -${level} ${way.join(" ")}`;
    const exe = join(dir, level);
    const job = { units, level, libs: kind.libs, exe, dir: join(dir, `build-${level}`), timeoutMs: 120_000 };
    const pie = !values["no-pie"] && !way.includes("static");
    const made = await tool.build({ ...job, ltoFlags: way, pie });
    if (made.failed !== undefined) {
      fail(units, `${label}: ${made.failed}: ${made.message}`);
      continue;
    }
    const wanted = await run([exe], { timeoutMs: 10_000, sandbox: true });
    if (wanted.timedOut || wanted.status >= 128) {
      sum.skipped++;
      if (values["verbose"]) console.log(`${label}: ends with ${wanted.status} without steps`);
      continue;
    }
    const limits = { limit: Number(values["limit"]), strict, timeoutMs: 120_000 };
    const { result, steps } = await runInSteps(stepper, exe, limits);
    if (steps === undefined) {
      fail(
        units,
        `${label}: no report, status ${result.status}${result.timedOut ? ", timed out" : ""}; ${result.stderr.slice(0, 200)}`,
      );
      continue;
    }
    sum.programs++;
    sum.steps += steps.steps;
    sum.frames += steps.frames;
    sum.registers += steps.registers;
    if (values["verbose"]) console.log(`${label}: ${steps.steps} steps, ${steps.misses} misses`);
    if (steps.misses > 0) {
      const places = await namesOf(
        exe,
        steps.told.map((miss) => miss.offset),
      );
      const told = steps.told.slice(0, 5).map(({ what }, k) => `\n  ${places[k]} ${what}`);
      fail(units, `${label}: ${steps.misses} of ${steps.steps} steps${told.join("")}`);
    } else if (steps.steps === 0) fail(units, `${label}: nothing was stepped`);
    else if (result.status !== wanted.status || !result.stdout.equals(wanted.stdout))
      fail(units, `${label}: stepped, it ends with ${result.status} and another output`);
    else passed++;
  }
  rmSync(dir, { recursive: true, force: true });
});
await tool.close();
rmSync(scratch, { recursive: true, force: true });
if (failed > 0) console.log(`failing programs are in ${keep}`);
console.log(
  `${sum.programs} programs, ${sum.steps} steps, ${sum.frames} frames, ${sum.registers} registers; ${sum.skipped} skipped`,
);
console.log(`${passed} passed, ${failed} failed`);
process.exitCode = failed > 0 || passed === 0 ? 1 : 0;
