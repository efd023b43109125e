/** Worker thread of `tsc-lto`: holds the module and a session that compiles a share of its functions. */
import { workerData } from "node:worker_threads";
import { AsmPrinter } from "../../formats/asm/index.js";
import { readObject } from "../../formats/object/reader.js";
import { CodegenSession, type FunctionFacts } from "../../lto/program.js";
import { finishOrders } from "./finish-orders.js";
import type { FinishedBatch, WorkerSetup, WorkerTask } from "./worker-sessions.js";

const { object, file, options, conventions, indirect } = workerData as WorkerSetup;
const module = readObject(new Uint8Array(object), file);
const session = new CodegenSession(module, options, conventions, indirect);
const printer = new AsmPrinter(module, { relocation: options.relocation });

export default function run(task: WorkerTask): FunctionFacts[][] | FinishedBatch {
  if (task.kind === "allocate") {
    session.publish(task.masks);
    return task.components.map((component) => component.map((number) => session.allocate(number)));
  }
  const { texts, statistics } = finishOrders(session, printer, task.orders, task.changes, task.aligned);
  return { texts, constants: printer.poolConstants(), statistics };
}
