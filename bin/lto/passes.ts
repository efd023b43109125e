/** The passes of one run of `tsc-lto`: those on the linked module, and what runners in all threads are told. */
import { goalOf } from "../../lto/codegen/program/options.js";
import type { SessionPasses } from "../../lto/codegen/program/session.js";
import type { Module } from "../../lto/ir/module.js";
import type { ModuleSummary } from "../../lto/link/index.js";
import { summary as summaryAnalysis } from "../../lto/pass/analyses.js";
import { runModulePipeline } from "../../lto/pass/module-pipeline.js";
import type { PassOptions } from "../../lto/pass/options.js";
import { loweringOf, type Pipelines, programLevel } from "../../lto/pass/pipelines.js";
import { emptyReport, type PassReport } from "../../lto/pass/report.js";
import { PassRunner, type RunnerServices, showsText } from "../../lto/pass/runner.js";
import type { DriverOptions } from "./driver-options.js";
import type { LinkServices } from "./job.js";
import { collectGarbage } from "./memory.js";
import { clockSince } from "./timer.js";

/** What runners are told besides their options. All but the pipelines is plain data. */
export interface CodegenPasses {
  readonly pipelines: Pipelines;
  /** When the run began (timer.ts). */
  readonly origin: number;
  /** Runs of passes on the linked module that bisection counts. */
  readonly earlierRuns: number;
}

type Log = (text: string) => void;

async function services(
  options: PassOptions,
  origin: number,
  thread: number,
  log: Log,
): Promise<RunnerServices> {
  // The printer is loaded only where a runner will ask.
  const print = showsText(options)
    ? (await import("../../formats/text/index.js")).printFunction
    : (): string => "";
  return { print, now: clockSince(origin), thread, log, released: collectGarbage };
}

/** The runner of one thread's lowering. @param thread 0 for the main one */
export async function sessionPasses(
  options: PassOptions,
  { pipelines, origin, earlierRuns }: CodegenPasses,
  thread: number,
  log: Log,
): Promise<SessionPasses> {
  const runner = new PassRunner(options, await services(options, origin, thread, log), null);
  return { runner, pipelines: loweringOf(pipelines), earlierRuns };
}

/** Runs the passes on the linked module. @returns its summary as it is then, and the runs that bisection counts */
export async function optimise(
  module: Module,
  linked: ModuleSummary,
  { level: forced, passes: options }: DriverOptions,
  origin: number,
  { set: { pipelines }, turns, print }: LinkServices,
): Promise<{ readonly summary: ModuleSummary; readonly runs: number; readonly report: PassReport }> {
  const functions = module.functions.filter((fn) => !fn.isDeclaration);
  const level = programLevel(
    functions.map((fn) => goalOf(fn, forced)),
    forced,
  );
  const { program } = pipelines[level];
  if (program.length === 0) return { summary: linked, runs: 0, report: emptyReport };
  const { bodyCodec } = await import("../../formats/object/body-codec.js");
  const runner = new PassRunner(options, await services(options, origin, 0, print), module);
  runner.cache.know(summaryAnalysis, linked);
  const steps = runModulePipeline(runner, program, module, bodyCodec(), (fn) => goalOf(fn, forced));
  const next = await turns.take("passes", steps);
  return {
    summary: runner.cache.ofModule(summaryAnalysis),
    runs: next - 1,
    report: runner.takeReport(),
  };
}
