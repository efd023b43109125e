/**
 * Programs run in single steps, with the stack unwound before each instruction (stepper.c): how the stepper is built, a
 * program run under it, and what it reports.
 */
import { existsSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { mustRun, type RunResult, run } from "./process.js";
import { findProgram, projectRoot } from "./root.js";

/** What was seen in a run. */
export interface Steps {
  /** Instructions of the executable that were stepped over, in `main` and what it calls. */
  readonly steps: number;
  /** Frames that were found where they have to be, summed over all steps. */
  readonly frames: number;
  /** Values of preserved registers that were compared, summed over all steps. */
  readonly registers: number;
  /** Steps at which the unwinder went wrong. */
  readonly misses: number;
  /** The first misses: offset in the executable, and what was wrong there. */
  readonly told: readonly Miss[];
}

export interface Miss {
  readonly offset: number;
  /** As "frame 1: rbx is 0 instead of 1b"; frame 0 is that of the instruction. */
  readonly what: string;
}

/** How a program is stepped. */
export interface SteppedRun {
  /** After so many instructions the program runs on by itself. */
  readonly limit: number;
  /** Each function keeps to the platform's convention, so that registers of all frames are compared. */
  readonly strict: boolean;
  readonly timeoutMs: number;
}

/** Builds the library that steps, in `dir`: its path. @throws Error where there is no compiler, or it fails */
export async function buildStepper(dir: string): Promise<string> {
  const compiler = findProgram("gcc", "cc", "clang-19");
  if (compiler === undefined) throw new Error("no C compiler on PATH (Debian package: gcc)");
  const library = join(dir, "stepper.so");
  const source = join(projectRoot(), "test", "tools", "stepper.c");
  const flags = ["-O2", "-fPIC", "-shared", "-fasynchronous-unwind-tables"];
  await mustRun([compiler, ...flags, source, "-o", library, "-ldl", "-lgcc_s"]);
  return library;
}

/**
 * Runs `exe`, dynamically linked, with the stepper. Its report stands beside the executable.
 * @returns what the program did, and what was seen; undefined where the program ended without a report, by a signal say
 */
export async function runInSteps(
  stepper: string,
  exe: string,
  { limit, strict, timeoutMs }: SteppedRun,
): Promise<{ readonly result: RunResult; readonly steps: Steps | undefined }> {
  const report = `${exe}.steps`;
  rmSync(report, { force: true });
  const env = {
    LD_PRELOAD: stepper,
    LD_BIND_NOW: "1",
    STEPS_REPORT: report,
    STEPS_LIMIT: String(limit),
    STEPS_STRICT: strict ? "1" : "0",
  };
  const command = ["env", ...Object.entries(env).map(([name, value]) => `${name}=${value}`), exe];
  const result = await run(command, { timeoutMs, sandbox: true });
  return { result, steps: existsSync(report) ? readSteps(readFileSync(report, "utf8")) : undefined };
}

function readSteps(text: string): Steps | undefined {
  const [first, ...lines] = text.trimEnd().split("\n");
  const counts = /^steps (\d+) frames (\d+) registers (\d+) misses (\d+)$/.exec(first!)?.slice(1).map(Number);
  if (counts === undefined) return undefined;
  const [steps, frames, registers, misses] = counts as [number, number, number, number];
  const told = lines.map((line): Miss => {
    const space = line.indexOf(" ");
    return { offset: Number.parseInt(line.slice(0, space), 16), what: line.slice(space + 1) };
  });
  return { steps, frames, registers, misses, told };
}

/** Names the code at offsets of an executable, as function+3: by the last symbol before each. */
export async function namesOf(exe: string, offsets: readonly number[]): Promise<string[]> {
  const { stdout } = await run(["nm", "-n", exe]);
  const symbols = [...stdout.toString("latin1").matchAll(/^([0-9a-f]+) [tTwWiu] (.*)$/gm)];
  return offsets.map((offset) => {
    const symbol = symbols.findLast(([, value]) => Number.parseInt(value!, 16) <= offset);
    return symbol === undefined ? "?" : `${symbol[2]}+${offset - Number.parseInt(symbol[1]!, 16)}`;
  });
}
