/**
 * `npm run bench:allocators [-- package… -Oz]`: what every allocator, coalescer and cost policy costs and gives.
 *
 * Each package is compiled once; then only the whole-program step differs. Prints, as the table of MEASUREMENTS.md, bytes
 * of code and CPU seconds of that step, both relative to the default (the first line).
 */
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { programSizes } from "./elf-size.js";
import { parseCommandLine } from "./options.js";
import { selectRecipes } from "./packages/registry.js";
import { prepare } from "./prepared.js";
import { cacheDir } from "./root.js";
import { type BuildJob, toolchain } from "./toolchain.js";

const usage = `usage: npm run bench:allocators -- [package…] [-Oz] [--flags "…"] [--jobs N]
  package   lua bzip2 zlib sqlite3 (the default)
  --flags   further options for tsc-lto`;

const { values, words, levels, ltoFlags } = parseCommandLine({}, usage);
const level = levels.length === 3 ? "Oz" : levels[0]!;
const tool = toolchain("ours");

interface Way {
  readonly allocator: string;
  readonly coalescer: string;
  /** "" is the default: by the goal of each function. */
  readonly policy: string;
}
const ways: Way[] = [];
for (const allocator of ["ssa", "greedy", "linear", "graph"]) {
  for (const coalescer of ["pereira", "dominance", "none"]) ways.push({ allocator, coalescer, policy: "" });
  for (const policy of ["size", "speed"]) ways.push({ allocator, coalescer: "pereira", policy });
}

interface Linked {
  readonly job: BuildJob;
  readonly objects: readonly string[];
}

/** Compiles the main program of each package. */
async function compileAll(): Promise<Linked[]> {
  const result: Linked[] = [];
  for (const recipe of selectRecipes(words)) {
    const prepared = await prepare(recipe);
    const program = prepared.programs.get(recipe.main);
    if (program === undefined) throw new Error(`${recipe.name} has no program ${recipe.main}`);
    const dir = cacheDir("bench-allocators", recipe.name, level);
    mkdirSync(join(dir, "build"), { recursive: true });
    const job: BuildJob = {
      units: program.units,
      level,
      libs: program.libs,
      ...(program.objects === undefined ? {} : { objects: program.objects }),
      exe: join(dir, recipe.main),
      dir: join(dir, "build"),
      pie: true,
      jobs: Number(values["jobs"]),
      measure: true,
    };
    const objects = await tool.compile(job);
    if (!Array.isArray(objects)) throw new Error(`${recipe.name}: ${objects.message}`);
    result.push({ job, objects });
  }
  return result;
}

async function measure(programs: readonly Linked[], way: Way): Promise<{ code: number; cpu: number }> {
  let code = 0;
  let cpu = 0;
  const flags = [`--regalloc=${way.allocator}`, `--coalesce=${way.coalescer}`, "-j1", ...ltoFlags];
  if (way.policy !== "") flags.push(`--spill-cost=${way.policy}`);
  for (const { job, objects } of programs) {
    const built = await tool.link({ ...job, ltoFlags: flags }, objects);
    if (built.failed !== undefined) throw new Error(`${flags.join(" ")}: ${built.failed}: ${built.message}`);
    code += programSizes(job.exe).code;
    cpu += built.cpuSeconds;
  }
  return { code, cpu };
}

const programs = await compileAll();
console.log(`Code and CPU of tsc-lto at -${level}, relative to the first line:\n`);
console.log("| --regalloc | --coalesce | --spill-cost | code bytes | relative | CPU, s | relative |");
console.log("| ---------- | ---------- | ------------ | ---------: | -------: | -----: | -------: |");
let base: { code: number; cpu: number } | null = null;
for (const way of ways) {
  const result = await measure(programs, way);
  base ??= result;
  const cells = [
    way.allocator,
    way.coalescer,
    way.policy === "" ? "by goal" : way.policy,
    String(result.code),
    (result.code / base.code).toFixed(3),
    result.cpu.toFixed(1),
    (result.cpu / base.cpu).toFixed(2),
  ];
  console.log(`| ${cells.join(" | ")} |`);
}
