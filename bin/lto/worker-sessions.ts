/**
 * Code generation sessions in worker threads. A component of the call graph always goes to the same worker,
 * chosen by its smallest function number, since the worker keeps the allocated functions until they are
 * finished.
 */
import { Piscina } from "piscina";
import type { AsmPrinter, PoolContents } from "../../formats/asm/index.js";
import { writeObject } from "../../formats/object/writer.js";
import type { RegMask } from "../../lto/codegen/mir.js";
import type { Module } from "../../lto/ir/module.js";
import type { CodegenOptions } from "../../lto/pipeline.js";
import type { FunctionFacts } from "../../lto/program.js";
import type { ProgramPlan } from "../../lto/program-plan.js";
import type { Sessions } from "./codegen.js";
import type { FinishOrder } from "./finish-orders.js";
import { addStatistics, type CodegenStatistics, noStatistics } from "./statistics.js";

/** What a worker is started with. */
export interface WorkerSetup {
  readonly object: SharedArrayBuffer;
  readonly file: string;
  readonly options: CodegenOptions;
  /** As the main thread decided. */
  readonly conventions: ProgramPlan["conventions"];
  readonly indirect: ProgramPlan["indirect"];
}

/** Tasks of a worker; masks published since its last task come along. */
export type WorkerTask =
  | { readonly kind: "allocate"; readonly masks: Masks; readonly components: readonly (readonly number[])[] }
  | {
      readonly kind: "finish";
      readonly orders: readonly FinishOrder[];
      readonly changes: readonly RegMask[];
      readonly aligned: Uint8Array;
    };
export type Masks = readonly (readonly [number, RegMask])[];
export interface FinishedBatch {
  readonly texts: readonly string[];
  readonly constants: PoolContents;
  readonly statistics: CodegenStatistics;
}

type Worker = Piscina<WorkerTask, FunctionFacts[][] | FinishedBatch>;

export class WorkerSessions implements Sessions {
  statistics = noStatistics;
  private readonly workers: Worker[];
  /** The worker that holds each allocated function. */
  private readonly owners = new Map<number, number>();
  private readonly unseen: (readonly [number, RegMask])[][];
  /** Components waiting to be sent in one message, by worker. */
  private waiting: {
    readonly component: readonly number[];
    readonly resolve: (f: FunctionFacts[]) => void;
    readonly reject: (e: unknown) => void;
  }[][];

  constructor(
    module: Module,
    options: CodegenOptions,
    { conventions, indirect }: ProgramPlan,
    jobs: number,
    private readonly printer: AsmPrinter,
  ) {
    const bytes = writeObject(module);
    const object = new SharedArrayBuffer(bytes.length);
    new Uint8Array(object).set(bytes);
    const setup: WorkerSetup = { object, file: module.file, options, conventions, indirect };
    this.workers = Array.from(
      { length: jobs },
      () =>
        new Piscina({
          filename: new URL("./worker.js", import.meta.url).href,
          minThreads: 1,
          maxThreads: 1,
          workerData: setup,
        }),
    );
    this.unseen = this.workers.map(() => []);
    this.waiting = this.workers.map(() => []);
  }

  private workerOf(number: number): number {
    // Neighbours in the module go together: cheap locality, and an even share.
    return (number >> 4) % this.workers.length;
  }

  allocate(component: readonly number[]): Promise<FunctionFacts[]> {
    if (component.length === 0) return Promise.resolve([]);
    const w = this.workerOf(component[0]!);
    for (const number of component) this.owners.set(number, w);
    return new Promise((resolve, reject) => {
      const queue = this.waiting[w]!;
      queue.push({ component, resolve, reject });
      if (queue.length === 1) queueMicrotask(() => void this.send(w));
    });
  }

  private async send(w: number): Promise<void> {
    const queue = this.waiting[w]!;
    this.waiting[w] = [];
    const masks = this.unseen[w]!;
    this.unseen[w] = [];
    try {
      const components = queue.map((q) => q.component);
      const facts = (await this.workers[w]!.run({
        kind: "allocate",
        masks,
        components,
      })) as FunctionFacts[][];
      queue.forEach((q, i) => {
        q.resolve(facts[i]!);
      });
    } catch (e) {
      for (const q of queue) q.reject(e);
    }
  }

  publish(masks: Masks): void {
    for (const list of this.unseen) list.push(...masks);
  }

  async finish(
    orders: readonly FinishOrder[],
    changes: readonly RegMask[],
    aligned: Uint8Array,
  ): Promise<string[]> {
    const texts = new Array<string>(orders.length);
    const batches = this.workers.map((_, w) => orders.filter((o) => this.owners.get(o.number) === w));
    const results = (await Promise.all(
      batches.map((batch, w) => this.workers[w]!.run({ kind: "finish", orders: batch, changes, aligned })),
    )) as FinishedBatch[];
    results.forEach((result, w) => {
      batches[w]!.forEach((order, i) => {
        texts[order.number] = result.texts[i]!;
      });
      this.printer.addPoolConstants(result.constants);
      this.statistics = addStatistics(this.statistics, result.statistics);
    });
    return texts;
  }

  async close(): Promise<void> {
    await Promise.all(this.workers.map((w) => w.destroy()));
  }
}
