/** Worker thread of `tsc-lto`: holds the module and a session that compiles a share of its functions. */
import { workerData } from "node:worker_threads";
import { AsmPrinter } from "../../formats/asm/index.js";
import { readObject } from "../../formats/object/index.js";
import type { RegMask } from "../../lto/codegen/mir.js";
import { CodegenSession, type FunctionFacts } from "../../lto/program.js";
import { addStatistics, noStatistics } from "./statistics.js";
import type { FinishedBatch, WorkerSetup, WorkerTask } from "./worker-sessions.js";

const { object, file, options, conventions } = workerData as WorkerSetup;
const module = readObject(new Uint8Array(object), file);
const session = new CodegenSession(module, options, conventions);
const printer = new AsmPrinter(module, { relocation: options.relocation });

export default function run(task: WorkerTask): FunctionFacts[][] | FinishedBatch {
  if (task.kind === "allocate") {
    session.publish(task.masks);
    return task.components.map((component) => component.map((number) => session.allocate(number)));
  }
  let statistics = noStatistics;
  const texts = task.orders.map(({ number, saves, free }) => {
    const changesOf = (callee: number): RegMask => task.changes[callee]!;
    const alignedOf = (callee: number): boolean => task.aligned[callee] === 1;
    const compiled = session.finish(number, saves, free, changesOf, alignedOf);
    statistics = addStatistics(statistics, compiled);
    return printer.functionText(compiled.machine);
  });
  return { texts, constants: printer.poolConstants(), statistics };
}
