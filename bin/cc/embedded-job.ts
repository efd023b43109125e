/** One run of the embedded compiler on one source, to an IR object. Runs in the main thread or in a worker. */
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { withoutCompilerHeaders } from "../../frontend/clang/dependencies.js";
import { type EmbeddedCompiler, runEmbeddedClang } from "../../frontend/clang/embedded.js";
import { isSystemError, reasonOf } from "../host/system-errors.js";
import { convert } from "./convert.js";
import type { Job, JobResult } from "./job.js";

/**
 * @param bitcode where the job's arguments make the compiler put bitcode, which is then converted
 * @throws nothing for bad input; that is in the result
 */
export function runEmbeddedJob(compiler: EmbeddedCompiler, job: Job, bitcode: string | undefined): JobResult {
  const stdout: Uint8Array[] = [];
  const stderr: Uint8Array[] = [];
  let exitCode = 1;
  let error: string | undefined;
  let object: Uint8Array | undefined;
  let bytes: Uint8Array | undefined;
  try {
    exitCode = runEmbeddedClang(compiler, job.args, {
      cwd: job.cwd,
      env: job.env,
      stdin: job.stdin,
      stdout: (bytes) => stdout.push(bytes),
      stderr: (bytes) => stderr.push(bytes),
    });
  } catch (e) {
    error = `${job.source}: the embedded compiler crashed: ${(e as Error).message}`;
  }
  if (exitCode === 0) {
    try {
      const file = job.dependencies;
      if (file !== undefined && existsSync(file))
        writeFileSync(file, withoutCompilerHeaders(readFileSync(file, "utf8")));
      bytes = bitcode === undefined ? undefined : readFileSync(bitcode);
      const converted = bytes === undefined ? undefined : convert(bytes, job.source, job.bare === true);
      if (converted !== undefined && "message" in converted) error = converted.message;
      else object = converted;
    } catch (e) {
      if (!isSystemError(e)) throw e;
      error = `${job.source}: ${reasonOf(e)}`;
    }
    if (error !== undefined) exitCode = 1;
  }
  const text = job.printsDependencies
    ? Buffer.from(withoutCompilerHeaders(Buffer.concat(stdout).toString("utf8")))
    : Buffer.concat(stdout);
  return {
    exitCode,
    stdout: text,
    stderr: Buffer.concat(stderr),
    ...(error === undefined ? {} : { error }),
    ...(object === undefined ? {} : { object }),
    ...(bytes === undefined || job.keepsBitcode !== true ? {} : { bitcode: bytes }),
  };
}
