/** Worker thread of the driver. */
import type { EmbeddedCompiler } from "../../frontend/clang/embedded.js";
import { convert, type EmbeddedJob, type JobResult, runEmbeddedJob } from "./embedded-job.js";

/** Compile with the embedded compiler (whose code the threads share), or convert what a system compiler made. */
export type WorkerTask =
  | { readonly kind: "compile"; readonly compiler: EmbeddedCompiler; readonly job: EmbeddedJob }
  | { readonly kind: "convert"; readonly bitcode: string; readonly source: string };

export default function run(task: WorkerTask): JobResult | string | undefined {
  return task.kind === "compile"
    ? runEmbeddedJob(task.compiler, task.job)
    : convert(task.bitcode, task.source);
}
