/**
 * One program built by one toolchain, measured.
 *
 * Objects are made once per kind and level and shared by the toolchains that link the same ones; only the
 * whole-program step is repeated for timing. CPU time is the least of N runs: noise of a shared machine only adds.
 */
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { type LoadedSizes, loadedSizes, programSizes } from "../elf-size.js";
import type { ThreadPool } from "../in-process.js";
import type { Prepared } from "../prepared.js";
import { cacheDir, findProgram } from "../root.js";
import type { BuildJob, BuildResult, Toolchain } from "../toolchain.js";
import { clangOption, findClang, ours, oursPerFile, toolchain } from "../toolchain.js";

export interface BenchOptions {
  readonly level: string;
  readonly pie: boolean;
  readonly jobs: number;
  /** More options for every compilation, of all toolchains. */
  readonly compilerFlags: readonly string[];
}

export interface Measurement extends LoadedSizes {
  /** User and system seconds, and peak KiB, of the whole-program step; NaN where it was not measured. */
  readonly cpuSeconds: number;
  readonly peakKiB: number;
  readonly failed: string | undefined;
}

/** The toolchain of the name, or undefined when its compiler is not on this machine. */
export function available(name: string): Toolchain | undefined {
  if (name.startsWith("gcc") && findProgram("gcc") === undefined) return undefined;
  if (name.startsWith("clang") && findClang() === undefined) return undefined;
  if (name.startsWith("clang-lto") && findProgram("ld.lld", "ld.lld-22", "ld.lld-19") === undefined)
    return undefined;
  return toolchain(name);
}

/** The toolchain with unmeasured steps of ours in threads; measured ones stay processes. */
export function inThreads(tool: Toolchain, pool: ThreadPool): Toolchain {
  if (!tool.name.startsWith("ours")) return tool;
  if (tool.name === "ours-per-file") return oursPerFile(clangOption(), pool.execute);
  const { compile } = ours([], clangOption(), pool.execute);
  return { ...tool, compile };
}

/** gcc has no level of its own for -Oz; -Os is its level for size. */
export function levelOf(tool: Toolchain, level: string): string {
  return tool.name.startsWith("gcc") && level === "Oz" ? "Os" : level;
}

/** Objects by package, kind and level, made in this run. */
const objectCache = new Map<string, Promise<string[] | BuildResult>>();

function plainName(text: string): string {
  return text.replace(/[^A-Za-z0-9]+/g, "_");
}

/** Builds the package's main program; the link step `repeat` times, the quickest counted. */
export async function build(
  p: Prepared,
  tool: Toolchain,
  options: BenchOptions,
  repeat = 0,
): Promise<{ exe: string; result: BuildResult }> {
  const name = p.recipe.main;
  const program = p.programs.get(name);
  if (program === undefined) throw new Error(`${p.recipe.name} has no program ${name}`);
  const level = levelOf(tool, options.level);
  const more = options.compilerFlags;
  const kind = `${level}${options.pie ? "-pie" : ""}${plainName(more.join(""))}`;
  const folder = (what: string) => cacheDir("bench", p.recipe.name, `${kind}-${plainName(what)}`);
  const job: BuildJob = {
    ...program,
    units: program.units.map((unit) => ({ ...unit, flags: [...unit.flags, ...more] })),
    level,
    exe: join(folder(tool.name), name),
    dir: folder(tool.name),
    pie: options.pie,
    jobs: options.jobs,
    measure: repeat > 0,
  };
  const key = `${p.recipe.name} ${kind} ${tool.objectKind}`;
  let objects = objectCache.get(key);
  if (objects === undefined) {
    objects = tool.compile({ ...job, dir: folder(`objects-${tool.objectKind}`) });
    objectCache.set(key, objects);
  }
  const made = await objects;
  if (!Array.isArray(made)) return { exe: job.exe, result: made };
  mkdirSync(job.dir, { recursive: true });
  let best: BuildResult | undefined;
  for (let i = 0; i < Math.max(1, repeat); i++) {
    const result = await tool.link(job, made);
    if (result.failed !== undefined) return { exe: job.exe, result };
    if (best === undefined || result.cpuSeconds < best.cpuSeconds) best = result;
  }
  return { exe: job.exe, result: best! };
}

/** Builds and measures; a failure is a measurement without numbers. */
export async function measure(
  p: Prepared,
  tool: Toolchain,
  options: BenchOptions,
  repeat: number,
): Promise<Measurement> {
  const { exe, result } = await build(p, tool, options, repeat);
  if (result.failed !== undefined) {
    const none = Number.NaN;
    const failed = `${result.failed}: ${result.message.split("\n")[0]}`;
    return { text: none, unwind: none, rodata: none, cpuSeconds: none, peakKiB: none, failed };
  }
  const { cpuSeconds, peakKiB } = result;
  return { ...loadedSizes(programSizes(exe)), cpuSeconds, peakKiB, failed: undefined };
}
