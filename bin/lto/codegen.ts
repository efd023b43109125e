/**
 * Code generation of a linked module: in this thread, or for large programs in several.
 *
 * The algorithm is lto/codegen/program/driver.ts; here it gets its sessions and the printer.
 */

import { entryVariable, trapEntries } from "../../formats/asm/entry-traps.js";
import { AsmPrinter, FallThrough, UnwindSharing } from "../../formats/asm/index.js";
import type { DebugWriter } from "../../formats/dwarf/writer.js";
import { bodyCodec } from "../../formats/object/body-codec.js";
import { guardCallees } from "../../lto/codegen/lowering/guard-callees.js";
import { enteredSymbol, guardEntries } from "../../lto/codegen/lowering/guard-entries.js";
import type { MFunction } from "../../lto/codegen/mir.js";
import type { CodeCache } from "../../lto/codegen/program/code-cache.js";
import { type CodegenJob, generateCode } from "../../lto/codegen/program/driver.js";
import { FunctionCompiler } from "../../lto/codegen/program/function-compiler.js";
import type { PrintedFunction } from "../../lto/codegen/program/function-compilers.js";
import { LocalCompilers, type StepTaker } from "../../lto/codegen/program/local-compilers.js";
import { nativeBoundaryRefusals } from "../../lto/codegen/program/native-boundary.js";
import { definedFunctions } from "../../lto/codegen/program/numbering.js";
import type { CodegenOptions } from "../../lto/codegen/program/options.js";
import { planProgram } from "../../lto/codegen/program/plan.js";
import type { CodegenStatistics } from "../../lto/codegen/program/statistics.js";
import type { RegisterSet } from "../../lto/codegen/register-set.js";
import type { Module } from "../../lto/ir/module.js";
import type { Steps } from "../../lto/ir/steps.js";
import type { ModuleSummary } from "../../lto/link/index.js";
import type { PassReport } from "../../lto/pass/report.js";
import { targetOf } from "../../lto/targets.js";
import type { UnitEngine } from "../farm/engine.js";
import type { Slots } from "../host/slots.js";
import { throwAny } from "./errors.js";
import { type IndirectNames, indirectNames } from "./ipra-claims.js";
import type { MaskMemory } from "./mask-memory.js";
import { collectWhenGrown } from "./memory.js";
import { type CodegenPasses, sessionPasses } from "./passes.js";
import { type Report, type ReportRequests, reporter } from "./reports.js";
import type { Phase, Scheduler } from "./scheduler.js";

/** How many threads may compile, from which size of program on they pay, and how this one is shared. */
export interface Threads {
  readonly slots: Slots;
  /** IR instructions. */
  readonly threshold: number;
  readonly scheduler: Scheduler;
}

/** A module that is ready for code generation. Nothing in it leads back to the inputs. */
export interface PlannedModule extends CodegenJob {
  /** IR instructions of each function, and of all. */
  readonly instructions: Uint32Array;
  readonly size: number;
}

/** What is wanted besides the text, and where everything goes, in order. */
export interface CodegenSink {
  readonly requests: ReportRequests;
  /** Code of earlier links, or of helpers, which only this thread knows; null: none. */
  readonly cache: CodeCache | null;
  /** What calls change in links of this program, one after the other; null: nobody keeps it. */
  readonly masks: MaskMemory | null;
  /** Who compiles functions for this thread, with `cache`; null: nobody. */
  readonly engine: UnitEngine | null;
  tell(text: string): void;
  write(text: string): void;
  report(report: Report): void;
  /** A phase is over. */
  finished(phase: Phase): void;
}

export interface CodegenResult {
  /** Registers that a call of each function may change, by name. */
  readonly usage: readonly (readonly [string, RegisterSet])[];
  /** Callee-saved registers that each function saves, in the same order. */
  readonly saved: readonly RegisterSet[];
  readonly statistics: CodegenStatistics;
  readonly indirect: IndirectNames;
  /** Of the passes on single functions, in all threads. */
  readonly passes: PassReport;
}

/**
 * @param summary of the module, which has served then
 * @throws InputError where native code is to be passed what code generation cannot pass it
 */
export function* planModule(
  module: Module,
  summary: ModuleSummary,
  options: CodegenOptions,
): Steps<PlannedModule> {
  const target = targetOf(module);
  const plan = yield* planProgram(module, summary, options, target, bodyCodec());
  throwAny(nativeBoundaryRefusals(module, plan.open, target.boundary));
  const size = summary.symbols.reduce((sum, s) => sum + s.instructions, 0);
  const counts = new Map(module.globals.map((global, i) => [global, summary.symbols[i]?.instructions ?? 0]));
  const instructions = Uint32Array.from(definedFunctions(module), (fn) => counts.get(fn) ?? 0);
  return { module, plan, options, target, instructions, size };
}

/** What makes debug information of the marks in the text of functions. Most links need none. */
async function debugWriter(module: Module, printer: AsmPrinter): Promise<DebugWriter> {
  const { DebugWriter: Writer } = await import("../../formats/dwarf/writer.js");
  return new Writer(module, (global) => printer.symbol(global));
}

async function unitCompilers(
  { module, options, target, instructions, plan }: PlannedModule,
  compiler: FunctionCompiler,
  print: (mf: MFunction) => PrintedFunction,
  take: StepTaker,
  cache: CodeCache,
  engine: UnitEngine,
  { tell, masks }: CodegenSink,
): Promise<LocalCompilers> {
  const { UnitCompilers } = await import("../../lto/codegen/program/unit-compilers.js");
  const { UnitHelpers } = await import("../farm/helpers.js");
  const lastMasks = masks?.last() ?? null;
  const program = { module, options, target, compiler, cache, instructions, lastMasks };
  const helpers = new UnitHelpers(program, engine, tell);
  const waveOf = new Uint32Array(plan.open.length);
  for (const [wave, components] of plan.waves.entries())
    for (const component of components)
      for (const number of plan.components[component]!) waveOf[number] = wave;
  return new UnitCompilers(compiler, print, take, helpers, waveOf);
}

/** Where engines know of code that others make, they are told of this link's. */
async function keptCache({ cache, engine }: CodegenSink): Promise<CodeCache | null> {
  if (cache === null || engine?.store === undefined) return cache;
  const { KeptCache } = await import("../farm/kept-cache.js");
  return new KeptCache(cache, engine.store);
}

export async function generate(
  planned: PlannedModule,
  threads: Threads,
  passes: CodegenPasses,
  sink: CodegenSink,
): Promise<CodegenResult> {
  const { module, plan, options, target, size } = planned;
  const deliver = (report: Report): void => sink.report(report);
  const write = (text: string): void => sink.write(text);
  const finished = (phase: Phase): void => sink.finished(phase);
  const printer = new AsmPrinter(module, options);
  const sealed = definedFunctions(module).filter((fn, number) => fn.isLocal && plan.open[number] === 0);
  const traps =
    options.ipra && options.passes.enabled.includes(guardCallees.name)
      ? trapEntries(sealed, module.globals)
      : "";
  const entries = options.passes.enabled.includes(guardEntries.name) ? entryVariable(enteredSymbol) : "";
  write(printer.header());
  const sharing = new UnwindSharing(write);
  const debug = options.debugInfo === true ? await debugWriter(module, printer) : null;
  const functions = new FallThrough((printed, runsOn) => {
    const { symbol, section, align } = printed;
    if (sink.requests.facts) deliver({ kind: "place", place: { symbol, section, align, runsOn } });
    sharing.add(debug?.resolved(printed) ?? printed);
  });
  const print = (printed: PrintedFunction): void => functions.add(printed);
  const report = reporter(sink.requests, deliver);
  const printAdded = (mf: MFunction): PrintedFunction => {
    report?.("finish", mf);
    return printer.functionText(mf);
  };
  let generated: Awaited<ReturnType<typeof generateCode>>;
  if (threads.slots.most > 1 && size >= threads.threshold && sink.cache === null) {
    const { slots, scheduler } = threads;
    // Most programs never need it.
    const { WorkerCompilers } = await import("./worker-compilers.js");
    const { requests } = sink;
    const sessions = new WorkerCompilers(
      module,
      options,
      plan,
      slots,
      printer,
      requests,
      passes,
      scheduler,
      deliver,
    );
    try {
      generated = await generateCode(planned, sessions, print, printAdded, finished);
    } finally {
      await sessions.close();
    }
  } else {
    const dump = (text: string): void => deliver({ kind: "print", text });
    const own = sessionPasses(options, target, passes, 0, dump);
    const observer = reporter(sink.requests, deliver);
    const session = new FunctionCompiler(module, options, plan, target, own, observer, await keptCache(sink));
    const text = (mf: MFunction): PrintedFunction => printer.functionText(mf);
    const take: StepTaker = (phase, steps) => threads.scheduler.take(phase, steps);
    const sessions =
      sink.engine === null || sink.cache === null
        ? new LocalCompilers(session, text, take)
        : await unitCompilers(planned, session, text, take, sink.cache, sink.engine, sink);
    generated = await generateCode(planned, sessions, print, printAdded, finished);
    if (sink.masks !== null) {
      const { functions: all } = session.numbering;
      sink.masks.keep(new Map(session.published().map(([number, mask]) => [all[number]!.name, mask])));
    }
  }
  functions.close();
  sharing.close();
  write(printer.data(generated.cluster));
  write(traps + entries);
  debug?.write((text) => {
    write(text);
    collectWhenGrown();
  }, collectWhenGrown);
  finished("data");
  const names = definedFunctions(module).map((fn) => fn.name);
  return {
    usage: names.map((name, i) => [name, generated.clobbers[i]!] as const),
    saved: generated.saved,
    statistics: generated.statistics,
    indirect: indirectNames(plan.indirect, names, plan.open),
    passes: generated.passes,
  };
}
