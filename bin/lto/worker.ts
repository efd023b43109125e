/** Worker thread of `tsc-lto`: holds the module and a session that compiles a share of its functions. */
import { workerData } from "node:worker_threads";
import { AsmPrinter } from "../../formats/asm/index.js";
import { readObject } from "../../formats/object/reader.js";
import { CodegenSession } from "../../lto/codegen/program/session.js";
import { targetOf } from "../../lto/targets.js";
import { type Report, reporter } from "./reports.js";
import {
  type Attempt,
  attempt,
  type WorkerAnswer,
  type WorkerSetup,
  type WorkerTask,
} from "./worker-protocol.js";

const { object, file, options, plan, reports: requests } = workerData as WorkerSetup;
const module = readObject(new Uint8Array(object), file);
let reports: Report[] = [];
const observe = reporter(requests, (report) => reports.push(report));
const session = new CodegenSession(module, options, plan, targetOf(module), observe);
const printer = new AsmPrinter(module, { relocation: options.relocation });

/** Does something for each item in turn, up to the first that fails. */
function each<I, T>(items: readonly I[], work: (item: I) => T): Attempt<T>[] {
  const done: Attempt<T>[] = [];
  for (const item of items) {
    reports = [];
    const result = attempt(() => work(item));
    done.push({ ...result, reports });
    if ("failure" in result) break;
  }
  return done;
}

export default function run(task: WorkerTask): WorkerAnswer {
  switch (task.kind) {
    case "allocate":
      session.publish(task.masks);
      return each(task.components, (component) => component.map((number) => session.allocate(number)));
    case "finish":
      return each(task.numbers, (number) => {
        const { machine, statistics } = session.finish(number, task.decisions);
        return { text: printer.functionText(machine), statistics };
      });
    case "constants":
      return printer.poolConstants();
  }
}
