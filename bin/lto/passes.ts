/** The passes of one run of `tsc-lto`: those on the linked module, and what runners in all threads are told. */
import { bodyCodec, inMemoryCodec } from "../../formats/object/body-codec.js";
import { printFunction } from "../../formats/text/index.js";
import type { SessionPasses } from "../../lto/codegen/program/function-compiler.js";
import { type CodegenOptions, goalOf } from "../../lto/codegen/program/options.js";
import { TrialCodegen } from "../../lto/codegen/program/trial.js";
import type { Target } from "../../lto/codegen/target.js";
import type { BodyCodec, Module } from "../../lto/ir/module.js";
import type { ModuleSummary } from "../../lto/link/index.js";
import { summary as summaryAnalysis } from "../../lto/pass/analyses.js";
import { runModulePipeline, type Stage } from "../../lto/pass/module-pipeline.js";
import { noPassOptions } from "../../lto/pass/options.js";
import type { TrialCode } from "../../lto/pass/pass.js";
import { emptyReport, type PassReport } from "../../lto/pass/report.js";
import { PassRunner, type RunnerServices, showsText } from "../../lto/pass/runner.js";
import {
  arranged,
  fastStages,
  loweringOf,
  type Pipelines,
  programLevel,
  simplificationOf,
  withoutOwnCode,
} from "../../lto/pipeline/pipelines.js";
import type { Addresses } from "../../lto/target/addresses.js";
import type { TargetCosts } from "../../lto/target/costs.js";
import { costsOf, targetOf } from "../../lto/targets.js";
import type { DriverOptions } from "./driver-options.js";
import type { LinkServices } from "./job.js";
import { collectGarbage, collectWhenGrown } from "./memory.js";
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

/** Whose runner it is: what its passes are told to do, and what for. */
type RunnerOptions = Pick<CodegenOptions, "passes" | "sizeTime">;

function services(
  { passes, sizeTime }: RunnerOptions,
  costs: TargetCosts,
  origin: number,
  thread: number,
  log: Log,
): RunnerServices {
  const print = showsText(passes) ? printFunction : (): string => "";
  return {
    print,
    costs,
    sizeTime,
    now: clockSince(origin),
    thread,
    log,
    released: collectGarbage,
    partDone: collectWhenGrown,
  };
}

/** The runner of one thread's lowering. @param thread 0 for the main one */
export function sessionPasses(
  options: RunnerOptions,
  { costs }: Target,
  { pipelines, origin, earlierRuns }: CodegenPasses,
  thread: number,
  log: Log,
): SessionPasses {
  const runner = new PassRunner(options.passes, services(options, costs, origin, thread, log), null);
  return { runner, pipelines: loweringOf(pipelines), earlierRuns };
}

/** Instructions of small functions that may be compiled on trial: a part of the program, but of small ones some. */
const shareAlone = 16;
const leastAlone = 2000;

/**
 * Code generation on trial, for decisions by size.
 * @param effort percent of the program's instructions that may be compiled
 */
function trialCode(
  module: Module,
  summary: ModuleSummary,
  pipelines: Pipelines,
  program: readonly Stage[],
  options: CodegenOptions,
  effort: number,
): TrialCode {
  const { skipPass, onlyPasses, skipRule } = options.passes;
  const quiet = { ...noPassOptions, skipPass, onlyPasses, skipRule };
  const runner = new PassRunner(
    quiet,
    services({ passes: quiet, sizeTime: options.sizeTime }, costsOf(module), 0, 0, () => {}),
    null,
  );
  const instructions = summary.symbols.reduce((sum, symbol) => sum + symbol.instructions, 0);
  const budget = Math.ceil((instructions * effort) / 100);
  const lowering = loweringOf(pipelines);
  return new TrialCodegen({
    module,
    options,
    target: targetOf(module),
    runner,
    lowering,
    simplification: simplificationOf(program),
    budget,
    budgetAlone: Math.max(leastAlone, Math.ceil(instructions / shareAlone)),
  });
}

function addressesIn({ relocation, codeModel = "small" }: CodegenOptions): Addresses {
  if (codeModel !== "small") return "anywhere";
  return relocation === "static" ? "low" : "near";
}

/** Whatever is sent to other threads, or has a name in a cache, has to be bytes. */
function codecFor(
  { cacheDir, farm, jobs, parallelThreshold, thinltoDistributor }: DriverOptions,
  linked: ModuleSummary,
): BodyCodec {
  const instructions = linked.symbols.reduce((sum, symbol) => sum + symbol.instructions, 0);
  if (cacheDir !== null || farm !== null || thinltoDistributor !== null) return bodyCodec();
  const staysHere = jobs === 1 || instructions < parallelThreshold;
  return staysHere ? inMemoryCodec() : bodyCodec();
}

/**
 * Runs the passes on the linked module.
 * @param codegen of our own code generator; null: LLVM generates the code
 * @returns its summary as it is then, and the runs that bisection counts
 */
export async function optimise(
  module: Module,
  linked: ModuleSummary,
  driver: DriverOptions,
  codegen: CodegenOptions | null,
  origin: number,
  { set: { pipelines }, scheduler, print }: LinkServices,
): Promise<{ readonly summary: ModuleSummary; readonly runs: number; readonly report: PassReport }> {
  const { level: forced, passes: options, inlineEffort: effort } = driver;
  const functions = module.functions.filter((fn) => !fn.isDeclaration);
  const level = programLevel(
    functions.map((fn) => goalOf(fn, forced)),
    forced,
  );
  const arrangement = arranged(pipelines[level].program, options.passOrder);
  const all = driver.effort === "fast" ? fastStages(arrangement, level) : arrangement;
  const program = codegen === null ? withoutOwnCode(all, level) : all;
  if (program.length === 0) return { summary: linked, runs: 0, report: emptyReport };
  const runner = new PassRunner(options, services(driver, costsOf(module), origin, 0, print), module);
  runner.cache.know(summaryAnalysis, linked);
  const trials = codegen === null ? null : trialCode(module, linked, pipelines, program, codegen, effort);
  const steps = runModulePipeline(
    runner,
    program,
    module,
    codecFor(driver, linked),
    (fn) => goalOf(fn, forced),
    trials,
    codegen === null ? "anywhere" : addressesIn(codegen),
  );
  const next = await scheduler.take("passes", steps);
  return {
    summary: runner.cache.ofModule(summaryAnalysis),
    runs: next - 1,
    report: runner.takeReport(),
  };
}
