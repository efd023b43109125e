/**
 * A link from its options to its output, for whoever wants one: the command (main.ts) and programs (bin/api.ts). It
 * prints nothing and ends no process; what there is to say goes to its services and into its result.
 */
import { writeFileSync } from "node:fs";
import { availableParallelism, tmpdir } from "node:os";
import { resolve } from "node:path";
import { printModule } from "../../formats/text/index.js";
import type { CodeCache } from "../../lto/codegen/program/code-cache.js";
import type { CodegenOptions } from "../../lto/codegen/program/options.js";
import type { CodegenStatistics } from "../../lto/codegen/program/statistics.js";
import type { RegisterSet } from "../../lto/codegen/register-set.js";
import { InputError } from "../../lto/ir/errors.js";
import type { Func, Module } from "../../lto/ir/module.js";
import type { Diagnostic } from "../../lto/link/index.js";
import { formatRemarks, placeOfSubprogram, type Remark } from "../../lto/pass/remarks.js";
import { emptyReport, mergeReports, type PassReport } from "../../lto/pass/report.js";
import { formatTrace } from "../../lto/pass/trace.js";
import { type PassSet, productPasses } from "../../lto/pipeline/registry.js";
import { isTarget } from "../../lto/targets-by-triple.js";
import type { UnitEngine } from "../farm/engine.js";
import type { Host } from "../host/host.js";
import { settle } from "../host/interrupts.js";
import { isSameFile, OutputFile } from "../host/output-file.js";
import { ScratchFile } from "../host/scratch-file.js";
import { Slots } from "../host/slots.js";
import { isSystemError, reasonOf } from "../host/system-errors.js";
import type { FileCodeCache } from "./code-cache.js";
import {
  type CodegenResult,
  type CodegenSink,
  generate,
  type PlannedModule,
  planModule,
  type Threads,
} from "./codegen.js";
import { codegenOptions } from "./codegen-options.js";
import type { DriverOptions } from "./driver-options.js";
import { LinkError } from "./errors.js";
import { ClaimCollector } from "./ipra-claims.js";
import type { LinkCache } from "./link-cache.js";
import { blame, type Linked, linkInputs, placed } from "./link-step.js";
import { collectGarbage } from "./memory.js";
import type { NativeModules } from "./native-modules.js";
import { type CodegenPasses, optimise } from "./passes.js";
import type { ReportRequests } from "./reports.js";
import type { Phase, Scheduler } from "./scheduler.js";
import type { SizeReportWriter } from "./size-report.js";
import { type Lap, Timer } from "./timer.js";

/** What a link works with. */
export interface LinkServices {
  readonly host: Host;
  /** The passes there are, and where they run. */
  readonly set: PassSet;
  readonly scheduler: Scheduler;
  /** Takes errors and warnings as they are found; errors come also as a `LinkError`. */
  diagnose(diagnostic: Diagnostic): void;
  /** Takes what options want to be printed on the way: IR and machine IR after passes, runs of passes. */
  print(text: string): void;
  /** Takes what the link does, for who wants to know; absent: nobody does. */
  tell?(text: string): void;
}

/** The same inside of one link. */
export interface JobServices extends LinkServices {
  /** A phase is over, and the next one begins. */
  finished(phase: Phase): void;
}

export interface JobResult {
  /** Null if they are in the output file. */
  readonly contents: Uint8Array | null;
  /** Null where no code was wanted. */
  readonly code: CodeReport | null;
  readonly passes: PassReport;
  readonly phases: readonly Lap[];
}

/** What is known of the code besides its text. */
export interface CodeReport {
  readonly statistics: CodegenStatistics;
  /** Registers that a call of each function may change, by name. */
  readonly usage: readonly (readonly [string, RegisterSet])[];
}

/**
 * Links. The output file appears whole or not at all; after an error there is none, also none of an earlier link.
 * @throws InputError, LinkError, InternalError, the system's errors, and the reason of `scheduler.signal`
 */
export async function runJob(options: DriverOptions, given: LinkServices): Promise<JobResult> {
  const services = options.nativeModules === null ? given : sayingOnce(given);
  const { host, scheduler } = services;
  const same = options.inputs.find(
    ({ name, bytes }) => bytes === undefined && isSameFile(name, options.output),
  );
  if (same !== undefined) throw new InputError(`output file ${options.output} is also an input`);
  if (options.emit === "elf") {
    const { emitElf } = await import("./emit-elf.js");
    return emitElf(options, services, runJob);
  }
  const output = new OutputFile(
    options.output,
    host.cwd,
    (path, reason) => `cannot open output file ${path}: ${reason}`,
  );
  try {
    const cache = await openLinkCache(options, services);
    const kept = cache?.output() ?? null;
    if (kept !== null) {
      scheduler.signal?.throwIfAborted();
      services.tell?.(
        `nothing has changed since the last link: its output is taken from ${options.cacheDir}`,
      );
      const contents = options.output === "-" ? kept : null;
      if (contents === null) await output.write(kept);
      return { contents, code: null, passes: emptyReport, phases: [] };
    }
    const attempt = async (natives: NativeModules | null): Promise<JobResult> => {
      const scratch = await ScratchFile.create(output.scratch ?? (options.checkIpra ? tmpdir() : null));
      try {
        const report = await new Job(options, output, scratch, services, cache, natives).run();
        scheduler.signal?.throwIfAborted();
        if (options.output === "-") return { contents: scratch.contents(), ...report };
        await output.take(scratch);
        return { contents: null, ...report };
      } finally {
        scratch.close();
      }
    };
    if (options.nativeModules === null) return await attempt(null);
    const { withNativeModules } = await import("./native-modules.js");
    return await withNativeModules(options.nativeModules, options, services, attempt);
  } catch (e) {
    await settle();
    output.discard();
    throw e;
  }
}

/** What is found by several tries of a link is said once. */
function sayingOnce(services: LinkServices): LinkServices {
  const said = new Set<string>();
  return {
    ...services,
    diagnose: (diagnostic) => {
      if (!said.has(diagnostic.message)) services.diagnose(diagnostic);
      said.add(diagnostic.message);
    },
  };
}

/** Null where there is none, or other passes than the product's. */
async function openLinkCache(options: DriverOptions, { host, set }: LinkServices): Promise<LinkCache | null> {
  if (options.cacheDir === null || set !== productPasses) return null;
  const { LinkCache } = await import("./link-cache.js");
  return LinkCache.open(options, host.cwd);
}

/** A module after the passes on it. */
interface Prepared {
  readonly module: Module;
  /** Null where no code is wanted. */
  readonly planned: PlannedModule | null;
  readonly passes: CodegenPasses;
  readonly report: PassReport;
}

interface Produced {
  /** Null where no assembly was wanted. */
  readonly generated: CodegenResult | null;
  readonly code: CodeReport | null;
  readonly passes: PassReport;
}

class Job {
  private sizeReport: SizeReportWriter | null = null;
  /** By the names that they had before any pass; only where remarks tell where they are. */
  private functions: ReadonlyMap<string, Func> = new Map();
  private readonly timer = new Timer();
  private readonly services: JobServices;

  constructor(
    private readonly options: DriverOptions,
    private readonly output: OutputFile,
    private readonly scratch: ScratchFile,
    services: LinkServices,
    private readonly cache: LinkCache | null,
    private readonly natives: NativeModules | null,
  ) {
    this.services = {
      ...services,
      diagnose: (diagnostic) => {
        cache?.spoke();
        services.diagnose(diagnostic);
      },
      finished: (phase) => {
        if (phase === "compile" || phase === "complete") collectGarbage();
        this.timer.lap(phase);
        services.tell?.(`${phase}: ${this.timer.laps.at(-1)!.milliseconds.toFixed(1)} ms`);
        services.scheduler.finished(phase);
      },
    };
  }

  /** Fills the scratch file. */
  async run(): Promise<Omit<JobResult, "contents">> {
    const linked = await linkInputs(this.options, this.services, this.cache?.read, this.natives?.replace);
    this.cache?.forgetInputs();
    try {
      const prepared = await this.prepare(linked);
      const { code, passes: produced, generated } = await this.produce(prepared);
      const passes = mergeReports([prepared.report, produced]);
      if (generated !== null) this.writeSizeReport(prepared.planned!, generated, passes);
      this.writeTrace(passes);
      for (const { message } of [...passes.warnings].sort((a, b) => a.number - b.number))
        this.services.diagnose({ severity: "warning", message });
      this.writeRemarks(prepared.report.remarks, produced.remarks);
      this.natives?.keepOnly(linked.loaded);
      this.complain(this.cache?.keep(this.scratch.contents()) ?? null);
      return { code, passes, phases: this.timer.laps };
    } catch (e) {
      const { signal } = this.services.scheduler;
      throw signal?.aborted === true ? signal.reason : placed(blame(e, [linked.module]), linked);
    }
  }

  /** Runs the passes on the linked module and plans code generation, which is the last to need the summary. */
  private async prepare(linked: Linked): Promise<Prepared> {
    const { options, services } = this;
    if (options.passes.optRemarksFilename !== null)
      this.functions = new Map(linked.module.functions.map((fn) => [fn.name, fn]));
    const { module } = linked;
    const { origin } = this.timer;
    const codegen = generatesCode(module, options) ? codegenOptions(module, options) : null;
    await this.keepBitcode(module, "2.internalize");
    const { summary, runs, report } = await optimise(
      module,
      linked.summary!,
      options,
      codegen,
      origin,
      services,
    );
    linked.summary = null;
    services.finished("passes");
    await this.keepBitcode(module, "4.opt");
    if (options.sizeReport !== null) {
      const { SizeReportWriter } = await import("./size-report.js");
      this.sizeReport = new SizeReportWriter(module, summary, linked.roots ?? new Map());
    }
    const passes = { pipelines: services.set.pipelines, origin, earlierRuns: runs };
    if (codegen === null || (options.emit !== "asm" && options.emit !== "machine"))
      return { module, planned: null, passes, report };
    const plan = planModule(module, summary, codegen);
    const planned = await services.scheduler.take("plan", plan);
    services.finished("plan");
    return { module, planned, passes, report };
  }

  /** Under the names that lld's --save-temps has. */
  private async keepBitcode(module: Module, stage: string): Promise<void> {
    const { saveTemps, bitcodeVersion } = this.options;
    if (saveTemps === null) return;
    const { writeBitcode } = await import("../../formats/bitcode/index.js");
    const path = resolve(this.services.host.cwd, `${saveTemps}.0.${stage}.bc`);
    try {
      writeFileSync(path, writeBitcode(module, bitcodeVersion));
    } catch (e) {
      if (!isSystemError(e)) throw e;
      throw new InputError(`cannot write ${path}: ${reasonOf(e)}`);
    }
  }

  /** Writes what is asked for. */
  private async produce({ module, planned, passes }: Prepared): Promise<Produced> {
    const { options, scratch } = this;
    try {
      let produced: Produced = { generated: null, code: null, passes: emptyReport };
      if (planned !== null) produced = await this.compile(planned, passes);
      else if (options.emit === "ir") {
        scratch.write(printModule(module));
      } else if (options.emit === "bitcode") {
        const { writeBitcode } = await import("../../formats/bitcode/index.js");
        scratch.bytes(writeBitcode(module, options.bitcodeVersion));
      } else {
        const { writeObject } = await import("../../formats/object/writer.js");
        scratch.bytes(writeObject(module));
      }
      scratch.flush();
      return produced;
    } catch (e) {
      throw isSystemError(e) ? this.output.refusal(e) : e;
    }
  }

  /** Writes assembly or machine IR. */
  private async compile(planned: PlannedModule, passes: CodegenPasses): Promise<Produced> {
    const { options, services, scratch } = this;
    const assembly = await assemblyFile(options, scratch);
    const collector = new ClaimCollector();
    const { sizeReport } = this;
    const sizes: Remark[] = [];
    const threads = {
      slots: new Slots(
        services.host.workers ? (options.jobs ?? availableParallelism()) : 1,
        services.host.env,
      ),
      threshold: options.parallelThreshold,
      scheduler: services.scheduler,
    };
    const file = await this.openCache(planned);
    const engine = await this.openEngine(planned, threads, file !== null);
    const cache = file ?? (engine === null ? null : await memoryCache(planned));
    const sink: CodegenSink = {
      requests: reportRequests(options),
      cache,
      masks: file?.masks ?? null,
      engine,
      tell: (text) => services.tell?.(text),
      finished: services.finished,
      write: (text) => assembly?.write(text),
      report(report) {
        switch (report.kind) {
          case "print":
            return services.print(report.text);
          case "facts":
            return sizeReport?.accept(report.facts);
          case "place":
            return sizeReport?.place(report.place);
          case "remark":
            sizes.push(report.remark);
            return;
          case "machine":
            return scratch.write(report.text);
          default:
            collector.accept(report);
        }
      },
    };
    try {
      const generated = await generate(planned, threads, passes, sink);
      if (options.checkIpra && assembly !== null) {
        assembly.flush();
        const claims = collector.claims(generated.indirect);
        await checkIpra(assembly, claims, planned, services);
      }
      this.complain(file?.close() ?? null);
      const { statistics, usage } = generated;
      const told = mergeReports([generated.passes, { ...emptyReport, remarks: sizes }]);
      return { generated, code: { statistics, usage }, passes: told };
    } finally {
      await engine?.close();
      threads.slots.close();
      if (assembly !== scratch) assembly?.close();
    }
  }

  /** @param reason why the cache cannot be written; null: it can */
  private complain(reason: string | null): void {
    if (reason === null) return;
    const message = `cannot write to the cache ${this.options.cacheDir}: ${reason}`;
    this.services.diagnose({ severity: "warning", message });
  }

  /** Who compiles functions for this thread; null: nobody, or somebody wants to see all functions being compiled. */
  private async openEngine(
    { options, size }: PlannedModule,
    { slots, threshold }: Threads,
    hasCache: boolean,
  ): Promise<UnitEngine | null> {
    const { services } = this;
    const { thinltoDistributor: program, farm } = this.options;
    if (program !== null || farm !== null) {
      const option = program !== null ? "--thinlto-distributor" : "--farm";
      if (program !== null && farm !== null)
        throw new InputError("--thinlto-distributor and --farm: only one of them can have the functions");
      if (await this.seesAll(options)) {
        const message = `${option}: other options ask to see functions compiled: nothing is distributed`;
        services.diagnose({ severity: "warning", message });
        return null;
      }
    }
    if (program !== null) {
      const { DistributorEngine } = await import("../farm/distributor-engine.js");
      const { thinltoDistributorArg, thinltoRemoteCompiler, output } = this.options;
      const told = {
        program,
        args: thinltoDistributorArg,
        compiler: thinltoRemoteCompiler,
        compilerPrependArgs: this.options.thinltoRemoteCompilerPrependArg,
        compilerArgs: this.options.thinltoRemoteCompilerArg,
        output,
      };
      return new DistributorEngine(told, services.host, services.scheduler.signal);
    }
    if (farm !== null) return this.openFarm(farm);
    // Without a cache threads have a way of their own.
    if (!hasCache || slots.most === 1 || size < threshold) return null;
    const { ThreadEngine } = await import("../farm/thread-engine.js");
    return new ThreadEngine(slots, services.scheduler.signal);
  }

  /** @throws InputError where it cannot be reached */
  private async openFarm(name: string): Promise<UnitEngine> {
    const { host, scheduler, tell, diagnose } = this.services;
    const { farmDirectory: directory } = this.options;
    const { redisAddress } = await import("../farm/redis/address.js");
    const { QueueEngine } = await import("../farm/redis/queue-engine.js");
    return QueueEngine.open({
      address: redisAddress(name, host.env, host.cwd),
      name,
      directory: directory === null ? null : resolve(host.cwd, directory),
      urgency: this.options.farmPriority,
      signal: scheduler.signal,
      tell: (text) => tell?.(text),
      warn: (message) => diagnose({ severity: "warning", message }),
      reached: (done, total) => scheduler.reached("compile", done, total),
    });
  }

  /** Somebody wants to see all functions being compiled, or they are compiled otherwise than usual. */
  private async seesAll(options: CodegenOptions): Promise<boolean> {
    const { emit, printMachine, checkIpra } = this.options;
    if (emit !== "asm" || printMachine !== null || checkIpra) return true;
    const { wantsToSee } = await import("./code-cache.js");
    return wantsToSee(options) || this.services.set !== productPasses;
  }

  /** Null where there is none, or somebody wants to see all functions being compiled. */
  private async openCache({ module, options }: PlannedModule): Promise<FileCodeCache | null> {
    const { cacheDir, cacheSize, inputs } = this.options;
    if (cacheDir === null || (await this.seesAll(options))) return null;
    const { openCodeCache } = await import("./code-cache.js");
    const names = inputs.map(({ name }) => name);
    return openCodeCache(cacheDir, cacheSize, this.services.host.cwd, names, module, options);
  }

  private writeSizeReport(planned: PlannedModule, generated: CodegenResult, { counts }: PassReport): void {
    const { sizeReport, options } = this;
    this.writeReport("size report", sizeReport === null ? null : options.sizeReport, () =>
      sizeReport!.text(options.output, planned, generated, counts),
    );
  }

  private writeTrace({ events }: PassReport): void {
    const { timer } = this;
    this.writeReport("trace", this.options.passes.timeTrace, () =>
      formatTrace([...timer.events(), ...events], timer.epoch),
    );
  }

  /** Those of code generation by function: threads give theirs back in an order of their own. */
  private writeRemarks(program: readonly Remark[], functions: readonly Remark[]): void {
    this.writeReport("remarks", this.options.passes.optRemarksFilename, () => {
      const ordered = [...functions].sort((a, b) =>
        a.function < b.function ? -1 : Number(a.function > b.function),
      );
      return formatRemarks([...program, ...ordered], (name) =>
        placeOfSubprogram(this.functions.get(name)?.subprogram ?? null),
      );
    });
  }

  private writeReport(what: string, file: string | null, text: () => string): void {
    if (file === null) return;
    const path = resolve(this.services.host.cwd, file);
    try {
      writeFileSync(path, text());
    } catch (e) {
      throw new InputError(`cannot write the ${what}: ${(e as Error).message}`, path);
    }
  }
}

async function memoryCache({ module, options }: PlannedModule): Promise<CodeCache> {
  const { keyedOptions, MemoryCodeCache } = await import("./code-keys.js");
  return new MemoryCodeCache(module, keyedOptions(options));
}

/** Where assembly goes: to the output, to a file for the checker only, or nowhere. */
async function assemblyFile(
  { emit, checkIpra }: DriverOptions,
  output: ScratchFile,
): Promise<ScratchFile | null> {
  if (emit !== "machine") return output;
  return checkIpra ? ScratchFile.create(tmpdir()) : null;
}

/** @throws LinkError with what calls change and were not to change */
async function checkIpra(
  assembly: ScratchFile,
  claims: ReturnType<ClaimCollector["claims"]>,
  { module, options }: PlannedModule,
  { host, scheduler, diagnose, finished }: JobServices,
): Promise<void> {
  const { checkAssembly } = await import("./ipra-check.js");
  const report = await checkAssembly(
    assembly,
    claims,
    options.relocation === "pic",
    module.moduleAsm,
    host,
    scheduler.signal,
  );
  for (const what of report.unchecked) diagnose({ severity: "warning", message: `not checked: ${what}` });
  finished("check");
  const errors = report.violations.map((message): Diagnostic => ({ severity: "error", message }));
  if (errors.length === 0) return;
  for (const error of errors) diagnose(error);
  throw new LinkError(errors);
}

function reportRequests({
  printMachine,
  passes,
  emit,
  checkIpra,
  sizeReport,
}: DriverOptions): ReportRequests {
  return {
    print: printMachine === null ? null : { stage: printMachine, fn: passes.filterFunction },
    machine: emit === "machine",
    claims: checkIpra,
    facts: sizeReport !== null && emit === "asm",
    remarks: passes.optRemarksFilename === null ? null : { passes: passes.optRemarksPasses },
  };
}

/** Whether this program generates the code, or would; otherwise LLVM does. */
const generatesCode = (module: Module, { codegen, emit }: DriverOptions): boolean =>
  codegen === "own" || (codegen === null && emit !== "bitcode" && isTarget(module));
