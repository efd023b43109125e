/**
 * Code generation of a linked module: in this thread, or for large programs in several.
 *
 * The algorithm is lto/codegen/program/driver.ts; here it gets its sessions and the printer.
 */

import { AsmPrinter } from "../../formats/asm/index.js";
import { sealFunctions } from "../../formats/asm/seals.js";
import { bodyCodec } from "../../formats/object/body-codec.js";
import { guardCallees } from "../../lto/codegen/lowering/guard-callees.js";
import { generateCode } from "../../lto/codegen/program/driver.js";
import { LocalSessions } from "../../lto/codegen/program/local-sessions.js";
import { definedFunctions } from "../../lto/codegen/program/numbering.js";
import type { CodegenOptions } from "../../lto/codegen/program/options.js";
import { type ProgramPlan, planProgram } from "../../lto/codegen/program/plan.js";
import { CodegenSession } from "../../lto/codegen/program/session.js";
import type { Sessions } from "../../lto/codegen/program/sessions.js";
import type { CodegenStatistics } from "../../lto/codegen/program/statistics.js";
import type { RegisterSet } from "../../lto/codegen/register-set.js";
import type { Module } from "../../lto/ir/module.js";
import type { ModuleSummary } from "../../lto/link/index.js";
import type { PassReport } from "../../lto/pass/report.js";
import { targetOf } from "../../lto/targets.js";
import { type IndirectNames, indirectNames } from "./ipra-claims.js";
import { type CodegenPasses, sessionPasses } from "./passes.js";
import { type Report, type ReportRequests, reporter } from "./reports.js";

/** How many threads may compile, and from which size of program on they pay. */
export interface Threads {
  readonly jobs: number;
  /** IR instructions. */
  readonly threshold: number;
}

/** Where the results go, in order. */
export interface CodegenSink {
  write(text: string): void;
  report(report: Report): void;
}

export interface CodegenResult {
  /** Registers that a call of each function may change, by name. */
  readonly usage: readonly (readonly [string, RegisterSet])[];
  readonly statistics: CodegenStatistics;
  readonly indirect: IndirectNames;
  /** Of the passes on single functions, in all threads. */
  readonly passes: PassReport;
}

export async function generate(
  module: Module,
  summary: ModuleSummary,
  options: CodegenOptions,
  threads: Threads,
  requests: ReportRequests,
  sink: CodegenSink,
  passes: CodegenPasses,
): Promise<CodegenResult> {
  const size = summary.symbols.reduce((sum, s) => sum + s.instructions, 0);
  const printer = new AsmPrinter(module, { relocation: options.relocation });
  const plan = planProgram(module, summary, options, targetOf(module), bodyCodec());
  const sealed = definedFunctions(module).filter((fn, number) => fn.isLocal && plan.open[number] === 0);
  const traps =
    options.ipra && options.passes.enabled.includes(guardCallees.name)
      ? sealFunctions(sealed, module.globals)
      : "";
  const compile = (sessions: Sessions): ReturnType<typeof generateCode> =>
    generateCode(plan, options, targetOf(module).registers, sessions, (text) => sink.write(text));
  sink.write(printer.header());
  let generated: Awaited<ReturnType<typeof generateCode>>;
  if (threads.jobs > 1 && size >= threads.threshold) {
    const { jobs } = threads;
    // Most programs never need it.
    const { WorkerSessions } = await import("./worker-sessions.js");
    const deliver = (report: Report): void => sink.report(report);
    const sessions = new WorkerSessions(module, options, plan, jobs, printer, requests, passes, deliver);
    try {
      generated = await compile(sessions);
    } finally {
      await sessions.close();
    }
  } else {
    const session = await localSession(module, options, plan, requests, sink, passes);
    generated = await compile(new LocalSessions(session, (mf) => printer.functionText(mf)));
  }
  sink.write(printer.data() + traps);
  const names = definedFunctions(module).map((fn) => fn.name);
  return {
    usage: names.map((name, i) => [name, generated.clobbers[i]!] as const),
    statistics: generated.statistics,
    indirect: indirectNames(plan.indirect, names, plan.open),
    passes: generated.passes,
  };
}

async function localSession(
  module: Module,
  options: CodegenOptions,
  plan: ProgramPlan,
  requests: ReportRequests,
  sink: CodegenSink,
  passes: CodegenPasses,
): Promise<CodegenSession> {
  const observe = reporter(requests, (report) => sink.report(report));
  const own = await sessionPasses(options.passes, passes, 0, (text) => sink.report({ kind: "print", text }));
  return new CodegenSession(module, options, plan, targetOf(module), own, observe);
}
