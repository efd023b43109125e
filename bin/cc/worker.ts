/** Worker thread of the driver. */
import type { EmbeddedCompiler } from "../../frontend/clang/embedded.js";
import { type ConversionError, convert } from "./convert.js";
import type { Job, JobResult } from "./job.js";

/** Compile with the embedded compiler (whose code the threads share), or convert what a system compiler made. */
export type WorkerTask =
  | {
      readonly kind: "compile";
      readonly compiler: EmbeddedCompiler;
      readonly job: Job;
      readonly bitcode: string | undefined;
    }
  | {
      readonly kind: "convert";
      readonly bitcode: Uint8Array;
      readonly source: string;
      readonly bare: boolean;
    };

export default async function run(task: WorkerTask): Promise<JobResult | Uint8Array | ConversionError> {
  if (task.kind === "convert") return convert(task.bitcode, task.source, task.bare);
  const { runEmbeddedJob } = await import("./embedded-job.js");
  return runEmbeddedJob(task.compiler, task.job, task.bitcode);
}
