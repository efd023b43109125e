/** Worker thread of `tsc-lto`: holds the module and a session that compiles a share of its functions; or does units of work. */
import { workerData } from "node:worker_threads";
import { AsmPrinter } from "../../formats/asm/index.js";
import { readObject } from "../../formats/object/reader.js";
import { FunctionCompiler } from "../../lto/codegen/program/function-compiler.js";
import { instructionCount } from "../../lto/codegen/program/statistics.js";
import { pipelines } from "../../lto/pipeline/pipelines.js";
import { targetOf } from "../../lto/targets.js";
import { sessionPasses } from "./passes.js";
import { type Report, reporter } from "./reports.js";
import {
  type Attempt,
  attempt,
  type WorkerAnswer,
  type WorkerSetup,
  type WorkerTask,
} from "./worker-protocol.js";

let reports: Report[] = [];
const deliver = (report: Report): number => reports.push(report);

async function start(setup: WorkerSetup) {
  const { object, file, options, plan, reports: requests, thread, ...run } = setup;
  const module = readObject(new Uint8Array(object), file);
  const target = targetOf(module);
  const passes = sessionPasses(options, target, { ...run, pipelines }, thread, (text) =>
    deliver({ kind: "print", text }),
  );
  const observe = reporter(requests, deliver);
  const session = new FunctionCompiler(module, options, plan, target, passes, observe);
  return {
    session,
    runner: passes.runner,
    printer: new AsmPrinter(module, options),
  };
}
const started = workerData === null ? null : start(workerData as WorkerSetup);

async function doUnit(bytes: Uint8Array): Promise<Uint8Array | null> {
  const { compileUnit } = await import("../farm/compile-unit.js");
  const done = attempt(() => compileUnit(bytes));
  return "result" in done ? done.result : null;
}

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

export default async function run(task: WorkerTask): Promise<WorkerAnswer> {
  if (task.kind === "unit") return doUnit(task.bytes);
  const { session, runner, printer } = await started!;
  switch (task.kind) {
    case "allocate":
      session.publish(task.masks);
      return each(task.components, (component) => component.map((number) => session.allocate(number)));
    case "complete":
      return each(task.numbers, (number) => session.complete(number, task.decisions));
    case "collect":
      return task.numbers.map((number) => session.take(number));
    case "replace":
      for (const [number, packed] of task.functions) session.give(number, packed);
      return;
    case "emit":
      return each(task.numbers, (number) => {
        const machine = session.layOut(number);
        const printed = runner.phase("print", machine.name, () => printer.functionText(machine));
        return { printed, machineInstructions: instructionCount(machine) };
      });
    case "rest":
      return { constants: printer.poolConstants(), passes: runner.takeReport() };
  }
}
