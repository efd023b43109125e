/**
 * Code generation compilers in worker threads.
 *
 * The module is written once in the object format and shared; each worker decodes only the bodies it compiles. A
 * component of the call graph always goes to the same worker, chosen by its smallest function number, since the worker
 * keeps the allocated functions until they are finished. Answers are put back into the order of the questions, and
 * of several failures the first in that order counts, so that neither the number of workers nor their timing shows.
 */
import { Piscina } from "piscina";
import type { AsmPrinter } from "../../formats/asm/index.js";
import { writeObject } from "../../formats/object/writer.js";
import type { PackedFunction } from "../../lto/codegen/pack/format.js";
import type { FunctionFacts } from "../../lto/codegen/program/facts.js";
import type {
  Component,
  Decisions,
  FunctionCompilers,
  PrintedFunction,
  PublishedMask,
} from "../../lto/codegen/program/function-compilers.js";
import type { FunctionNumber } from "../../lto/codegen/program/numbering.js";
import type { CodegenOptions } from "../../lto/codegen/program/options.js";
import type { ProgramPlan } from "../../lto/codegen/program/plan.js";
import { addStatistics, type FunctionStatistics, noFunctions } from "../../lto/codegen/program/statistics.js";
import type { Module } from "../../lto/ir/module.js";
import { emptyReport, mergeReports } from "../../lto/pass/report.js";
import type { Slots } from "../host/slots.js";
import type { CodegenPasses } from "./passes.js";
import type { Report, ReportRequests } from "./reports.js";
import type { Scheduler } from "./scheduler.js";
import { threadFile } from "./thread-file.js";
import {
  type Attempt,
  errorOf,
  type Printed,
  type Rest,
  type WorkerAnswer,
  type WorkerSetup,
  type WorkerTask,
} from "./worker-protocol.js";

/** Functions that are printed before their texts are written: what bounds the text in memory. */
const printedAtATime = 1024;

export class WorkerCompilers implements FunctionCompilers {
  statistics = noFunctions;
  passes = emptyReport;
  private readonly workers: Piscina<WorkerTask, WorkerAnswer>[];
  /** The worker that holds each allocated function. */
  private readonly owners: number[] = [];
  /** Masks that a worker has not been told. */
  private readonly unseen: PublishedMask[][];
  /** Functions of the program, and how many of them are allocated. */
  private readonly total: number;
  private allocated = 0;

  /** @param deliver takes what was reported, in the order of the functions */
  constructor(
    module: Module,
    options: CodegenOptions,
    { conventions, passed, indirect, componentOf, open }: ProgramPlan,
    private readonly slots: Slots,
    private readonly printer: AsmPrinter,
    reports: ReportRequests,
    { origin, earlierRuns }: CodegenPasses,
    private readonly scheduler: Scheduler,
    private readonly deliver: (report: Report) => void,
  ) {
    const bytes = writeObject(module, undefined, { forThreads: true });
    const object = new SharedArrayBuffer(bytes.length);
    new Uint8Array(object).set(bytes);
    this.total = open.length;
    const setup = {
      object,
      file: module.file,
      options,
      plan: { conventions, passed, indirect, componentOf },
      reports,
      origin,
      earlierRuns,
    };
    const filename = threadFile();
    this.workers = Array.from({ length: slots.most }, (_, w) => {
      const workerData: WorkerSetup = { ...setup, thread: w + 1 };
      return new Piscina({ filename, minThreads: 1, maxThreads: 1, workerData });
    });
    this.unseen = this.workers.map(() => []);
    scheduler.signal?.addEventListener("abort", this.stop);
  }

  /** What the threads were asked for is never answered then, but with an error. */
  private readonly stop = (): void => void this.workers.forEach((worker) => void worker.destroy());

  /** Neighbours in the module go together: cheap locality, and an even share. */
  private workerOf(number: FunctionNumber): number {
    return (number >> 4) % this.workers.length;
  }

  async allocate(components: readonly Component[]): Promise<FunctionFacts[][]> {
    const facts = await this.share<Component, FunctionFacts[]>(
      components,
      (component) => (component.length === 0 ? 0 : this.workerOf(component[0]!)),
      (w, share) => {
        for (const component of share) for (const number of component) this.owners[number] = w;
        const masks = this.unseen[w]!;
        this.unseen[w] = [];
        return { kind: "allocate", masks, components: share };
      },
    );
    for (const component of components) this.allocated += component.length;
    this.scheduler.reached("compile", this.allocated, this.total);
    return facts;
  }

  publish(masks: readonly PublishedMask[]): void {
    for (const list of this.unseen) list.push(...masks);
  }

  async complete(decisions: Decisions): Promise<void> {
    const completed = await this.share<FunctionNumber, FunctionStatistics>(
      this.numbers(0, this.owners.length),
      (number) => this.owners[number]!,
      (_, numbers) => ({ kind: "complete", decisions, numbers }),
    );
    for (const statistics of completed) this.statistics = addStatistics(this.statistics, statistics);
  }

  async collect(): Promise<PackedFunction[]> {
    const functions = new Array<PackedFunction>(this.owners.length);
    await this.each(async (worker, numbers) => {
      const own = (await worker.run({ kind: "collect", numbers })) as PackedFunction[];
      for (const [i, number] of numbers.entries()) functions[number] = own[i]!;
    });
    return functions;
  }

  async replace(functions: readonly PackedFunction[]): Promise<void> {
    await this.each(async (worker, numbers) => {
      await worker.run({ kind: "replace", functions: numbers.map((n) => [n, functions[n]!] as const) });
    });
  }

  async emit(order: readonly FunctionNumber[], write: (printed: PrintedFunction) => void): Promise<void> {
    let machineInstructions = 0;
    for (let from = 0; from < order.length; from += printedAtATime) {
      const printed = await this.share<FunctionNumber, Printed>(
        order.slice(from, from + printedAtATime),
        (number) => this.owners[number]!,
        (_, numbers) => ({ kind: "emit", numbers }),
      );
      for (const { printed: fn, machineInstructions: count } of printed) {
        write(fn);
        machineInstructions += count;
      }
      this.scheduler.reached("emit", Math.min(from + printedAtATime, this.total), this.total);
    }
    this.statistics = addStatistics(this.statistics, { ...noFunctions, machineInstructions });
    for (const worker of this.workers) {
      const { constants, passes } = (await worker.run({ kind: "rest" })) as Rest;
      this.printer.addPoolConstants(constants);
      this.passes = mergeReports([this.passes, passes]);
    }
  }

  private numbers(from: number, to: number): FunctionNumber[] {
    return Array.from({ length: to - from }, (_, i) => (from + i) as FunctionNumber);
  }

  /** Does something for every worker and the functions it holds, at the same time. */
  private async each(
    work: (worker: Piscina<WorkerTask, WorkerAnswer>, numbers: readonly FunctionNumber[]) => Promise<void>,
  ): Promise<void> {
    const all = this.numbers(0, this.owners.length);
    await this.slots.run(this.workers.length, (w) =>
      work(
        this.workers[w]!,
        all.filter((number) => this.owners[number] === w),
      ),
    );
  }

  /** Has each worker do its share of the items. @returns the results in the order of the items */
  private async share<I, T>(
    items: readonly I[],
    workerOf: (item: I) => number,
    task: (worker: number, share: readonly I[]) => WorkerTask,
  ): Promise<T[]> {
    const shares: I[][] = this.workers.map(() => []);
    const where = items.map((item) => shares[workerOf(item)]!.push(item) - 1);
    const busy = shares.flatMap((share, w) => (share.length === 0 ? [] : [w]));
    const given = await this.slots.run(busy.length, (i) =>
      this.workers[busy[i]!]!.run(task(busy[i]!, shares[busy[i]!]!)),
    );
    const answers = new Map(busy.map((w, i) => [w, given[i] as Attempt<T>[]]));
    return items.map((item, i) => {
      const answer = answers.get(workerOf(item))![where[i]!]!;
      for (const report of answer.reports) this.deliver(report);
      if ("failure" in answer) throw errorOf(answer.failure);
      return answer.result;
    });
  }

  async close(): Promise<void> {
    this.scheduler.signal?.removeEventListener("abort", this.stop);
    await Promise.all(this.workers.map((worker) => worker.destroy()));
  }
}
