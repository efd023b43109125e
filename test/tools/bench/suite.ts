/**
 * `npm run bench -- --suite DIR`: programs of the LLVM test suite beside `clang -flto` with lld at the same level.
 *
 * Size is .text, and what is loaded besides writable data. Instructions are those of the program's own code, counted by
 * cachegrind, which are exact. Time is the least processor time of several runs, the two sides in turn. A program whose
 * output or exit status is another one than clang's is named, unless clang's own is another one each time.
 */
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { loadedSizes, programSizes } from "../elf-size.js";
import type { ThreadPool } from "../in-process.js";
import { run } from "../process.js";
import { cacheDir } from "../root.js";
import type { BuildJob, BuildResult, Toolchain } from "../toolchain.js";
import { clangOption, ours, toolchain } from "../toolchain.js";
import { inThreads, levelOf } from "./measure.js";
import { type SuiteProgram, suitePrograms } from "./suite-programs.js";
import { printRatios } from "./tables.js";

/** Programs that optimisations may be tried on, and those that only tell how others fare. Neither list is of extremes. */
export const suiteLists: Readonly<Record<string, string>> = {
  worked: "hexxagon HACCKernels matmul_f64_4x4 ks cfrac oopack_v1p8 HPCCG miniGMG toast tramp3d-v4",
  others: "anagram yacr2 automotive-susan sim minisat Obsequi health ray fannkuch consumer-jpeg",
};

/** What is known of one side of a program. */
export interface SuiteMeasurement {
  readonly text: number;
  readonly loaded: number;
  readonly instructions: number;
  readonly seconds: number;
  /** Status and output. */
  readonly output: string;
}

export interface SuiteOptions {
  readonly suite: string;
  readonly level: string;
  readonly repeat: number;
  readonly jobs: number;
  readonly count: boolean;
  readonly variants: readonly string[];
  readonly out: string | undefined;
  readonly resume: boolean;
}

/** @throws Error where the suite has no such program */
export function selectPrograms(suite: string, words: readonly string[]): SuiteProgram[] {
  const all = suitePrograms(resolve(suite));
  if (all.length === 0) throw new Error(`${suite}: no programs of the LLVM test suite`);
  const names = (words.length === 0 ? ["others"] : words).flatMap((w) => suiteLists[w]?.split(" ") ?? [w]);
  if (names.includes("all")) return all;
  return names.map((name) => {
    const found = all.find((p) => p.name === name);
    if (found === undefined) throw new Error(`${suite}: no program '${name}'`);
    return found;
  });
}

/** Objects by folder, made in this run. */
const objectCache = new Map<string, Promise<string[] | BuildResult>>();

/**
 * Links a program, whose sources are compiled once.
 * @returns the program, and the processor time of the link where that is measured
 * @throws Error that names the step that failed
 */
export async function linkProgram(
  p: SuiteProgram,
  tool: Toolchain,
  options: Pick<SuiteOptions, "level" | "jobs"> & { readonly measure?: boolean },
): Promise<{ readonly exe: string; readonly linkSeconds: number }> {
  const level = levelOf(tool, options.level);
  const part = (what: string) => cacheDir("suite", p.name, `${level}-${what.replace(/[^A-Za-z0-9]+/g, "_")}`);
  const { jobs, measure = false } = options;
  const dir = part(tool.name);
  const job: BuildJob = {
    units: p.units,
    libs: p.libs,
    level,
    exe: join(dir, "program"),
    dir,
    pie: false,
    jobs,
    measure,
  };
  const objectDir = part(`objects ${tool.objectKind}`);
  let compiled = objectCache.get(objectDir);
  if (compiled === undefined)
    objectCache.set(objectDir, (compiled = tool.compile({ ...job, dir: objectDir })));
  const objects = await compiled;
  if (!Array.isArray(objects)) throw new Error(`${p.name}: ${objects.failed}: ${objects.message}`);
  const linked = await tool.link(job, objects);
  if (linked.failed !== undefined) throw new Error(`${p.name}: ${linked.failed}: ${linked.message}`);
  return { exe: job.exe, linkSeconds: linked.cpuSeconds };
}

/** Runs `command` (quoted for the shell) with the program's data around it. */
export async function runProgram(p: SuiteProgram, command: string, measured: boolean) {
  const cwd = mkdtempSync(join(tmpdir(), "suite-"));
  try {
    for (const [name, from] of p.data) {
      if (!existsSync(from)) continue;
      mkdirSync(dirname(join(cwd, name)), { recursive: true });
      cpSync(from, join(cwd, name), { recursive: true });
    }
    return await run(["sh", "-c", `${command} ${p.runOptions}`], {
      cwd,
      measure: measured,
      timeoutMs: 900_000,
    });
  } finally {
    rmSync(cwd, { recursive: true, force: true });
  }
}

/** Instructions of the functions that `own` names, in the text of a cachegrind profile. */
export function ownInstructions(profile: string, own: { has(name: string): boolean }): number {
  let inside = false;
  let total = 0;
  for (const line of profile.split("\n")) {
    if (line.startsWith("fn=")) inside = own.has(line.slice(3));
    else if (inside && /^\d/.test(line)) total += Number(line.split(" ")[1]);
  }
  return total;
}

/** Counted by cachegrind, which takes a sixth of callgrind's time: functions tell the program's code from libraries'. */
export async function countInstructions(p: SuiteProgram, exe: string): Promise<number> {
  const dir = mkdtempSync(join(tmpdir(), "count-"));
  const out = `--cachegrind-out-file=${dir}/profile.%p`;
  const valgrind = `valgrind -q --tool=cachegrind --cache-sim=no --demangle=no --log-file=/dev/null ${out}`;
  await runProgram(p, `${valgrind} ${exe}`, false);
  const { functions } = programSizes(exe);
  let total = 0;
  for (const f of readdirSync(dir)) total += ownInstructions(readFileSync(join(dir, f), "latin1"), functions);
  rmSync(dir, { recursive: true, force: true });
  return total > 0 ? total : Number.NaN;
}

/** Both sides of a program, or what failed. */
async function measureProgram(
  p: SuiteProgram,
  tools: readonly Toolchain[],
  options: SuiteOptions,
  known: (tool: string) => SuiteMeasurement | undefined,
): Promise<Map<string, SuiteMeasurement>> {
  const programs = new Map<string, string>();
  const results = new Map<string, SuiteMeasurement>();
  for (const tool of tools) {
    const before = known(tool.name);
    if (before !== undefined) results.set(tool.name, before);
    else programs.set(tool.name, (await linkProgram(p, tool, options)).exe);
  }
  const outputs = new Map<string, string[]>();
  const seconds = new Map<string, number>();
  for (let i = 0; i < Math.max(1, options.repeat); i++) {
    for (const [tool, exe] of programs) {
      const r = await runProgram(p, exe, true);
      outputs.set(tool, [...(outputs.get(tool) ?? []), `${r.status} ${r.stdout.toString("latin1")}`]);
      seconds.set(tool, Math.min(seconds.get(tool) ?? Number.POSITIVE_INFINITY, r.cpuSeconds));
    }
  }
  for (const [tool, exe] of programs) {
    const sizes = loadedSizes(programSizes(exe));
    const [first = "", ...others] = outputs.get(tool)!;
    results.set(tool, {
      text: sizes.text,
      loaded: sizes.text + sizes.unwind + sizes.rodata,
      instructions: options.count ? await countInstructions(p, exe) : Number.NaN,
      seconds: seconds.get(tool)!,
      output: others.every((o) => o === first) ? first.slice(0, 100_000) : "",
    });
  }
  return results;
}

/** Measures the programs and prints the tables. */
export async function compareSuite(
  words: readonly string[],
  options: SuiteOptions,
  pool: ThreadPool,
): Promise<void> {
  const programs = selectPrograms(options.suite, words);
  const variants = options.variants.map((v) => ours(v.split(" "), clangOption()));
  const tools = [toolchain("clang-lto"), toolchain("ours"), ...variants].map((t) => inThreads(t, pool));
  const cells = new Map<string, SuiteMeasurement>(
    options.resume && options.out !== undefined && existsSync(options.out)
      ? (JSON.parse(readFileSync(options.out, "utf8")) as [string, SuiteMeasurement][])
      : [],
  );
  const done: string[] = [];
  for (const p of programs) {
    try {
      const known = (tool: string) => cells.get(`${p.name} ${tool}`);
      const results = await measureProgram(p, tools, options, known);
      for (const [tool, m] of results) cells.set(`${p.name} ${tool}`, m);
      done.push(p.name);
      const expected = results.get("clang-lto")!.output;
      for (const [tool, { output }] of results)
        if (output !== expected && output !== "" && expected !== "")
          console.error(`${p.name}: ${tool} and clang-lto write different output`);
    } catch (e) {
      console.error((e as Error).message.slice(0, 400));
    }
    if (options.out !== undefined) writeFileSync(options.out, JSON.stringify([...cells], null, 1));
  }
  console.log(`-${options.level}, -no-pie, ratio to clang -flto`);
  const columns = tools.slice(1).map((t) => t.name);
  const table = (title: string, of: (m: SuiteMeasurement) => number, format: (x: number) => string) => {
    const value = (n: string, tool: string) => of(cells.get(`${n} ${tool}`)!) ?? Number.NaN;
    printRatios(
      title,
      done,
      columns.map((c) => ({ title: c, above: (n) => value(n, c), below: (n) => value(n, "clang-lto") })),
      [{ title: "(clang-lto)", of: (n) => format(value(n, "clang-lto")) }],
    );
  };
  table(".text", (m) => m.text, String);
  table(".text + unwind tables + .rodata", (m) => m.loaded, String);
  table(
    "instructions in the program's own code",
    (m) => m.instructions,
    (x) => `${(x / 1e6).toFixed(1)}M`,
  );
  table(
    "processor time",
    (m) => m.seconds,
    (x) => x.toFixed(2),
  );
}
