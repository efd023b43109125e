/** One run of the embedded compiler on one source, to an IR object. Runs in the main thread or in a worker. */
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { withoutCompilerHeaders } from "../../frontend/clang/dependencies.js";
import { type EmbeddedCompiler, runEmbeddedClang } from "../../frontend/clang/embedded.js";
import { InputError } from "../../lto/ir/errors.js";
import { convertFile } from "./convert.js";

/** Plain data: it crosses to worker threads. */
export interface EmbeddedJob {
  readonly args: readonly string[];
  readonly cwd: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly stdin: Uint8Array | undefined;
  /** Where the arguments make clang put bitcode, which is then converted; undefined: nothing to convert. */
  readonly bitcode: string | undefined;
  /** The source, for messages. */
  readonly source: string;
  /** Absolute path of the dependency file that the arguments ask for. */
  readonly dependencies: string | undefined;
  /** The arguments make clang print dependencies on standard output. */
  readonly printsDependencies: boolean;
}

export interface JobResult {
  readonly exitCode: number;
  readonly stdout: Uint8Array;
  readonly stderr: Uint8Array;
  /** Why the job failed after (or outside) the compiler's own diagnostics. */
  readonly error?: string;
}

/** @throws nothing for bad input; that is in the result */
export function runEmbeddedJob(compiler: EmbeddedCompiler, job: EmbeddedJob): JobResult {
  const stdout: Uint8Array[] = [];
  const stderr: Uint8Array[] = [];
  let exitCode = 1;
  let error: string | undefined;
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
    const file = job.dependencies;
    if (file !== undefined && existsSync(file))
      writeFileSync(file, withoutCompilerHeaders(readFileSync(file, "utf8")));
    error = convert(job.bitcode, job.source);
    if (error !== undefined) exitCode = 1;
  }
  const text = job.printsDependencies
    ? Buffer.from(withoutCompilerHeaders(Buffer.concat(stdout).toString("utf8")))
    : Buffer.concat(stdout);
  return { exitCode, stdout: text, stderr: Buffer.concat(stderr), error };
}

/** Converts the file at `bitcode`, if any; the error to report, if any. */
export function convert(bitcode: string | undefined, source: string): string | undefined {
  if (bitcode === undefined) return undefined;
  try {
    convertFile(bitcode, source);
    return undefined;
  } catch (e) {
    if (!(e instanceof InputError)) throw e;
    return `${e.file ?? source}: ${e.message}`;
  }
}
