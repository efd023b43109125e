/**
 * Code generation of a linked module: which functions, in which order, in which thread.
 *
 * Callees come before callers (bottom-up over the call graph's strongly connected components), so that what
 * is known of a callee can serve its callers. Small programs stay in this thread; for large ones the module is
 * written once in the object format and shared with worker threads, which decode only the bodies they compile.
 * The text of each function depends on nothing but the module and the options, so neither the number of
 * workers nor their timing can show in the result.
 */
import { availableParallelism } from "node:os";
import { Piscina } from "piscina";
import { AsmPrinter } from "../../formats/asm/index.js";
import { writeObject } from "../../formats/object/index.js";
import type { PoolConstant } from "../../lto/codegen/mir.js";
import type { Func, Module } from "../../lto/ir/module.js";
import { type CodegenOptions, compileFunction } from "../../lto/pipeline.js";
import { addStatistics, type CodegenStatistics, noStatistics } from "./statistics.js";

/** IR instructions from which on worker threads pay for their start-up and the second JIT warm-up. */
const parallelThreshold = 400_000;
/** Functions a task: enough to drown the cost of a message. */
const batchSize = 64;

export interface CodegenResult {
  readonly assembly: string;
  readonly statistics: CodegenStatistics;
}

/** What a worker is started with. */
export interface WorkerSetup {
  readonly object: SharedArrayBuffer;
  readonly file: string;
  readonly options: CodegenOptions;
}
export interface CompiledBatch {
  readonly texts: readonly string[];
  /** Literal-pool constants the texts refer to. */
  readonly constants: readonly PoolConstant[];
  readonly statistics: CodegenStatistics;
}

/** Functions to compile, in the order of the module. */
export function definedFunctions(module: Module): Func[] {
  return module.functions.filter((f) => !f.isDeclaration && f.linkage !== "available_externally");
}

/** Compiles functions in this thread. */
export function compileBatch(module: Module, functions: readonly Func[], options: CodegenOptions, printer: AsmPrinter): CompiledBatch {
  const texts: string[] = [];
  let statistics = noStatistics;
  for (const fn of functions) {
    const compiled = compileFunction(fn, module.dataLayout, options);
    texts.push(printer.functionText(compiled.machine));
    statistics = addStatistics(statistics, compiled);
  }
  return { texts, constants: printer.poolConstants(), statistics };
}

/** @param size IR instructions in the module, as far as known */
export async function generate(
  module: Module,
  options: CodegenOptions,
  jobs: number,
  size: number,
): Promise<CodegenResult> {
  const functions = definedFunctions(module);
  const printer = new AsmPrinter(module, { relocation: options.relocation });
  const parallel = jobs > 1 && size >= parallelThreshold && options.observe === undefined;
  const { texts, constants, statistics } = parallel
    ? await compileInWorkers(module, functions, options, Math.min(jobs, availableParallelism() * 2))
    : compileBatch(module, functions, options, printer);
  if (parallel) printer.addPoolConstants(constants);
  return { assembly: [printer.header(), ...texts, printer.data()].join(""), statistics };
}

async function compileInWorkers(
  module: Module,
  functions: readonly Func[],
  options: CodegenOptions,
  jobs: number,
): Promise<CompiledBatch> {
  const bytes = writeObject(module);
  const object = new SharedArrayBuffer(bytes.length);
  new Uint8Array(object).set(bytes);
  const setup: WorkerSetup = { object, file: module.file, options };
  const pool = new Piscina<readonly number[], CompiledBatch>({
    filename: new URL("./worker.js", import.meta.url).href,
    minThreads: jobs,
    maxThreads: jobs,
    workerData: setup,
  });
  try {
    const tasks: Promise<CompiledBatch>[] = [];
    for (let start = 0; start < functions.length; start += batchSize) {
      const length = Math.min(batchSize, functions.length - start);
      tasks.push(pool.run(Array.from({ length }, (_, i) => start + i)));
    }
    const batches = await Promise.all(tasks);
    return {
      texts: batches.flatMap((b) => b.texts),
      constants: batches.flatMap((b) => b.constants),
      statistics: batches.reduce((sum, b) => addStatistics(sum, b.statistics), noStatistics),
    };
  } finally {
    await pool.destroy();
  }
}
