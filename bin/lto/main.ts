/**
 * `tsc-lto`: link, optimise, generate code, write one file.
 *
 * Exit codes: 0 done, 1 error in the input or the output, 2 wrong usage. Diagnostics go to standard error in
 * lld's form; the output appears whole or not at all.
 */
import { writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { resolve } from "node:path";
import { CommanderError } from "commander";
import type { CodegenOptions } from "../../lto/codegen/program/options.js";
import { refusedRequests } from "../../lto/codegen/requests.js";
import { InputError } from "../../lto/ir/errors.js";
import type { Module } from "../../lto/ir/module.js";
import {
  type LinkResult,
  linkModules,
  type ModuleSummary,
  parseExportList,
  parseVersionScript,
} from "../../lto/link/index.js";
import type { LinkInput, LinkOptions } from "../../lto/link/input.js";
import { type PassSet, productPasses } from "../../lto/pass/registry.js";
import {
  emptyReport,
  formatCounts,
  formatTimes,
  mergeReports,
  type PassReport,
} from "../../lto/pass/report.js";
import { formatTrace } from "../../lto/pass/trace.js";
import { targetOf } from "../../lto/targets.js";
import { verifyModule } from "../../lto/verify/verifier.js";
import { reportFault } from "../host/fault.js";
import { type Host, processHost } from "../host/host.js";
import { isSameFile, OutputFile } from "../host/output-file.js";
import { ScratchFile } from "../host/scratch-file.js";
import { isSystemError, OutputError } from "../host/system-errors.js";
import { ownPackage } from "../package.js";
import { type CodegenSink, generate, type PlannedModule, planModule } from "./codegen.js";
import { readInputFile, readOperand } from "./inputs.js";
import { ClaimCollector } from "./ipra-claims.js";
import { type DriverOptions, makeCommand, parseOptions } from "./options.js";
import { type CodegenPasses, optimise } from "./passes.js";
import { formatRegisterUsage } from "./register-usage.js";
import type { ReportRequests } from "./reports.js";
import { formatStatistics } from "./statistics.js";
import { Timer } from "./timer.js";

/** @param set the passes there are, and where they run */
export async function main(
  args: readonly string[],
  host: Host = processHost(),
  set: PassSet = productPasses,
): Promise<number> {
  const log = (text: string): void => host.stderr(Buffer.from(text));
  let options: DriverOptions;
  try {
    options = parse(args, host, set);
  } catch (e) {
    if (e instanceof CommanderError) return e.exitCode === 0 ? 0 : 2;
    if (e instanceof InputError) log(`tsc-lto: error: ${e.message}\n`);
    else reportFault("tsc-lto", e, host);
    return e instanceof InputError && !(e instanceof OutputError) ? 2 : 1;
  }
  if (options.inputs.length === 0) {
    log("tsc-lto: error: no input files\n");
    return 2;
  }
  let output: OutputFile | null = null;
  try {
    const same = options.inputs.find((input) => isSameFile(input.name, options.output));
    if (same !== undefined) throw new InputError(`output file ${options.output} is also an input`);
    output = new OutputFile(
      options.output,
      host.cwd,
      (path, reason) => `cannot open output file ${path}: ${reason}`,
    );
    const scratch = await ScratchFile.create(output.scratch ?? (options.checkIpra ? tmpdir() : null));
    try {
      if (!(await run(options, output, scratch, log, host, set))) {
        output.discard();
        return 1;
      }
      if (options.output === "-") host.stdout(scratch.contents());
      else await output.take(scratch);
    } finally {
      scratch.close();
    }
    return 0;
  } catch (e) {
    output?.discard();
    if (!(e instanceof InputError)) reportFault("tsc-lto", e, host, options.stackTrace);
    else log(`tsc-lto: error: ${e.file === undefined ? "" : `${e.file}: `}${e.message}\n`);
    return 1;
  }
}

function parse(args: readonly string[], host: Host, set: PassSet): DriverOptions {
  const command = makeCommand(ownPackage().version, set)
    .exitOverride()
    .configureOutput({
      writeOut: (text) => host.stdout(Buffer.from(text)),
      writeErr: (text) => host.stderr(Buffer.from(text.replace(/^error:/, "tsc-lto: error:"))),
    });
  return parseOptions(command, args, set);
}

/** Fills the output file. @returns false after errors were reported */
async function run(
  options: DriverOptions,
  output: OutputFile,
  scratch: ScratchFile,
  log: (text: string) => void,
  host: Host,
  set: PassSet,
): Promise<boolean> {
  const timer = new Timer();
  const module = link(options, timer, log);
  if (module === null) return false;
  try {
    const prepared = await prepare(module, options, set, timer, log);
    const passes = await produce(prepared, options, output, scratch, timer, log, host);
    if (passes === null) return false;
    const { times, counts, events } = mergeReports([prepared.report, passes]);
    if (options.passes.stats) log(formatCounts(counts, set.passes));
    if (options.passes.timePasses) log(timer.format() + formatTimes(times));
    const { timeTrace } = options.passes;
    if (timeTrace !== null)
      writeTrace(resolve(host.cwd, timeTrace), formatTrace([...timer.events(), ...events], timer.epoch));
    return true;
  } catch (e) {
    throw blame(e, [module.module]);
  }
}

/** A linked module; what is known of it goes once it has served. */
interface Linked {
  readonly module: Module;
  summary: ModuleSummary | null;
}

/** Reads and links the inputs, which are forgotten then. @returns null after errors were reported */
function link(options: DriverOptions, timer: Timer, log: (text: string) => void): Linked | null {
  const inputs = readInputs(options, log);
  timer.lap("read");
  if (inputs === null) return null;
  const given = linkOptions(options);
  let linked: LinkResult;
  try {
    linked = linkModules(inputs, given);
  } catch (e) {
    const modules = inputs.flatMap((input) => (input.kind === "module" ? [input.module] : []));
    throw blame(e, modules);
  }
  const { module, diagnostics, summary, symbols } = linked;
  if (options.entryGiven && given.output === "executable" && !symbols.get(given.entry)?.isDefined)
    log(`tsc-lto: warning: cannot find entry symbol ${given.entry}; all visible definitions stay\n`);
  for (const { severity, message } of diagnostics) log(`tsc-lto: ${severity}: ${message}\n`);
  if (module === null) return null;
  timer.lap("link");
  if (options.verify) {
    const complaints = verifyModule(module);
    for (const complaint of complaints.slice(0, 20)) log(`tsc-lto: error: ${complaint}\n`);
    if (complaints.length > 0) return null;
    timer.lap("verify");
  }
  const wantsCode = options.emit === "asm" || options.emit === "machine";
  if (wantsCode && reportRefusals(module, linked, log)) return null;
  return { module, summary };
}

/** Reports what the inputs ask of code generation in vain. @returns whether there is anything */
function reportRefusals(module: Module, linked: LinkResult, log: (text: string) => void): boolean {
  const refusals = refusedRequests(module, targetOf(module).requests);
  for (const { what, by } of refusals) {
    const isFunction = "fn" in by;
    const file = (isFunction ? linked.fileOf(by.fn) : linked.fileOfFlag(by.flag)) ?? module.file;
    const where = isFunction ? ` (in function '${by.fn.name}')` : "";
    log(`tsc-lto: error: ${file}: unsupported: ${what}${where}\n`);
  }
  return refusals.length > 0;
}

/** A module behind the passes on it. */
interface Prepared {
  readonly module: Module;
  /** Null where no code is wanted. */
  readonly planned: PlannedModule | null;
  readonly passes: CodegenPasses;
  readonly report: PassReport;
}

/** Runs the passes on the linked module and plans code generation, which is the last to need the summary. */
async function prepare(
  linked: Linked,
  options: DriverOptions,
  set: PassSet,
  timer: Timer,
  log: (text: string) => void,
): Promise<Prepared> {
  const { module } = linked;
  const { origin } = timer;
  const { summary, runs, report } = await optimise(module, linked.summary!, options, set, origin, log);
  linked.summary = null;
  timer.lap("passes");
  const passes = { pipelines: set.pipelines, origin, earlierRuns: runs };
  if (options.emit === "ir" || options.emit === "object") return { module, planned: null, passes, report };
  const planned = planModule(module, summary, codegenOptions(module, options));
  timer.lap("plan");
  return { module, planned, passes, report };
}

function writeTrace(path: string, text: string): void {
  try {
    writeFileSync(path, text);
  } catch (e) {
    throw new InputError(`cannot write the trace: ${(e as Error).message}`, path);
  }
}

/** The error to report: a fault that the verifier can explain by the input is one of the input. */
function blame(e: unknown, modules: readonly Module[]): unknown {
  if (e instanceof InputError) return e;
  try {
    for (const module of modules) {
      const [complaint] = verifyModule(module);
      if (complaint !== undefined) return new InputError(`invalid IR: ${complaint}`, module.file);
    }
  } catch {
    // What cannot even be verified explains nothing.
  }
  return e;
}

/** Reads all inputs, reporting every one that fails. */
function readInputs(options: DriverOptions, log: (text: string) => void): LinkInput[] | null {
  const inputs: LinkInput[] = [];
  let failed = false;
  for (const operand of options.inputs) {
    try {
      inputs.push(...readOperand(operand, options.directories));
    } catch (e) {
      if (!(e instanceof InputError)) throw e;
      log(`tsc-lto: error: ${e.file === undefined ? "" : `${e.file}: `}${e.message}\n`);
      failed = true;
    }
  }
  return failed ? null : inputs;
}

function linkOptions(options: DriverOptions): LinkOptions {
  const textOf = (file: string): string => new TextDecoder().decode(readInputFile(file));
  const listed = options.exportLists.flatMap((file) => parseExportList(textOf(file), file));
  const scripts = options.versionScripts.map((file) => parseVersionScript(textOf(file), file));
  return {
    output: options.relocatable ? "relocatable" : options.shared ? "shared" : "executable",
    entry: options.shared || options.relocatable ? "" : options.entry,
    requireMain: options.noUndefined && !options.shared && !options.relocatable,
    noUndefined: options.noUndefined && !options.relocatable,
    exports: [...options.exports, ...listed],
    undefined: options.undefinedSymbols,
    exportDynamic: options.exportDynamic,
    wrap: options.wrap,
    errorLimit: options.errorLimit,
    ...(scripts.length === 0
      ? {}
      : {
          versions: {
            global: scripts.flatMap((script) => script.global),
            local: scripts.flatMap((script) => script.local),
          },
        }),
  };
}

/** Writes what is asked for. @returns what passes report; null after errors were reported */
async function produce(
  { module, planned, passes }: Prepared,
  options: DriverOptions,
  output: OutputFile,
  scratch: ScratchFile,
  timer: Timer,
  log: (text: string) => void,
  host: Host,
): Promise<PassReport | null> {
  try {
    let report: PassReport | null = emptyReport;
    if (planned !== null) report = await compile(planned, passes, options, scratch, timer, log, host);
    else if (options.emit === "ir") {
      const { printModule } = await import("../../formats/text/index.js");
      scratch.write(printModule(module));
    } else {
      const { writeObject } = await import("../../formats/object/writer.js");
      scratch.bytes(writeObject(module));
    }
    scratch.flush();
    return report;
  } catch (e) {
    throw isSystemError(e) ? output.refusal(e) : e;
  }
}

/** Writes assembly or machine IR. @returns what passes report; null after errors were reported */
async function compile(
  planned: PlannedModule,
  passes: CodegenPasses,
  options: DriverOptions,
  output: ScratchFile,
  timer: Timer,
  log: (text: string) => void,
  host: Host,
): Promise<PassReport | null> {
  const assembly = await assemblyFile(options, output);
  const collector = new ClaimCollector();
  const sink: CodegenSink = {
    requests: reportRequests(options),
    finished: (phase) => timer.lap(phase),
    write: (text) => assembly?.write(text),
    report(report) {
      switch (report.kind) {
        case "print":
          return log(report.text);
        case "machine":
          return output.write(report.text);
        default:
          collector.accept(report);
      }
    },
  };
  const threads = { jobs: host.workers ? options.jobs : 1, threshold: options.parallelThreshold };
  try {
    const generated = await generate(planned, threads, passes, sink);
    if (options.passes.stats) log(formatStatistics(generated.statistics));
    if (options.printRegisterUsage && options.ipra) log(formatRegisterUsage(generated.usage));
    if (!options.checkIpra || assembly === null) return generated.passes;
    assembly.flush();
    const { checkAssembly } = await import("./ipra-check.js");
    const report = await checkAssembly(
      assembly,
      collector.claims(generated.indirect),
      planned.options.relocation === "pic",
      planned.module.moduleAsm,
      host,
    );
    for (const what of report.unchecked) log(`tsc-lto: warning: not checked: ${what}\n`);
    for (const what of report.violations) log(`tsc-lto: error: ${what}\n`);
    timer.lap("check");
    return report.violations.length === 0 ? generated.passes : null;
  } finally {
    if (assembly !== output) assembly?.close();
  }
}

/** Where assembly goes: to the output, to a file for the checker only, or nowhere. */
async function assemblyFile(
  { emit, checkIpra }: DriverOptions,
  output: ScratchFile,
): Promise<ScratchFile | null> {
  if (emit !== "machine") return output;
  return checkIpra ? ScratchFile.create(tmpdir()) : null;
}

function reportRequests({ printMachine, passes, emit, checkIpra }: DriverOptions): ReportRequests {
  return {
    print: printMachine === null ? null : { stage: printMachine, fn: passes.filterFunction },
    machine: emit === "machine",
    claims: checkIpra,
  };
}

function codegenOptions(module: Module, options: DriverOptions): CodegenOptions {
  return {
    relocation: options.relocation ?? defaultRelocation(module, options),
    level: options.level,
    allocator: options.allocator,
    coalesce: options.coalesce,
    spillCost: options.spillCost,
    checkAllocation: options.checkRegalloc,
    ipra: options.ipra,
    shrinkWrap: options.shrinkWrap,
    checkPacking: options.checkPacking,
    passes: options.passes,
    verify: options.verify,
  };
}

/** Position-independent if any module is; a program needs no more than PIE, a library needs PIC. */
function defaultRelocation(module: Module, options: DriverOptions): CodegenOptions["relocation"] {
  const pic = Number(module.flag("PIC Level") ?? 0) > 0;
  if (options.shared) return "pic";
  if (options.relocatable)
    return pic ? (Number(module.flag("PIE Level") ?? 0) > 0 ? "pie" : "pic") : "static";
  return pic ? "pie" : "static";
}
