/** Worker thread of the driver. The compiler's code comes with the thread, so that it is compiled once a process. */
import { workerData } from "node:worker_threads";
import type { EmbeddedCompiler } from "../../frontend/clang/embedded.js";
import { convert, type EmbeddedJob, type JobResult, runEmbeddedJob } from "./embedded-job.js";

/** Compile with the embedded compiler, or only convert what a system compiler made. */
export type WorkerTask =
  | { readonly kind: "compile"; readonly job: EmbeddedJob }
  | { readonly kind: "convert"; readonly bitcode: string; readonly source: string };

export default function run(task: WorkerTask): JobResult | string | undefined {
  return task.kind === "compile"
    ? runEmbeddedJob(workerData as EmbeddedCompiler, task.job)
    : convert(task.bitcode, task.source);
}
