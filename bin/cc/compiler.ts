/**
 * The compiler that was chosen, behind one interface: run the driver on some arguments, or compile a source to an
 * IR object. Several compilations at a time are child processes with a system clang, worker threads with the
 * embedded one (a lone one too: only worker threads may have a large stack). Conversion of bitcode is in worker
 * threads, if there is more than one.
 */
import type { Piscina } from "piscina";
import type { EmbeddedCompiler } from "../../frontend/clang/embedded.js";
import type { Host } from "../host/host.js";
import { runTool } from "../host/tools.js";
import type { CompilerChoice } from "./compilers.js";
import type { EmbeddedJob, JobResult } from "./embedded-job.js";
import type { WorkerTask } from "./worker.js";

// Imports that only some runs need are made when they do: a configure script runs its compiler hundreds of times,
// mostly for a version or the preprocessor.

/** Clang descends recursively into what it reads, on frames larger than those of a native clang with its 8 MB. */
const stackSizeMb = 64;

export class Compiler {
  private pool: Promise<Piscina> | undefined;
  private embedded: Promise<EmbeddedCompiler> | undefined;

  /** @param parallel jobs at one time */
  constructor(
    private readonly choice: CompilerChoice,
    private readonly host: Host,
    private readonly parallel: number,
  ) {}

  /** Runs one job. @throws InputError when the embedded compiler is not installed */
  async run(job: EmbeddedJob): Promise<JobResult> {
    return this.choice.kind === "embedded" ? this.runEmbedded(job) : this.runSystem(this.choice.path, job);
  }

  async close(): Promise<void> {
    await (await this.pool)?.destroy();
  }

  private async runEmbedded(job: EmbeddedJob): Promise<JobResult> {
    this.embedded ??= sharedEmbeddedCompiler();
    if (this.host.workers) {
      const pool = this.workers(); // the threads start while the compiler loads
      const compiler = await this.embedded;
      return (await pool).run({ kind: "compile", compiler, job } satisfies WorkerTask);
    }
    const { runEmbeddedJob } = await import("./embedded-job.js");
    return runEmbeddedJob(await this.embedded, job);
  }

  private async runSystem(path: string, job: EmbeddedJob): Promise<JobResult> {
    const { bitcode, source } = job;
    const inThread = this.parallel < 2 || !this.host.workers;
    // A lone compiler talks as it goes; several would interleave.
    const running = runTool(path, job.args, this.host, { live: this.parallel < 2, stdin: job.stdin });
    if (bitcode === undefined) return running;
    const converter = inThread ? import("./embedded-job.js") : undefined;
    const pool = inThread ? undefined : this.workers();
    const result = await running;
    if (result.exitCode !== 0) return result;
    const error: string | undefined =
      converter === undefined
        ? await (await pool!).run({ kind: "convert", bitcode, source } satisfies WorkerTask)
        : (await converter).convert(bitcode, source);
    return error === undefined ? result : { ...result, exitCode: 1, error };
  }

  private workers(): Promise<Piscina> {
    this.pool ??= import("piscina").then(
      ({ Piscina }) =>
        new Piscina({
          filename: new URL("worker.js", import.meta.url).href,
          minThreads: this.parallel,
          maxThreads: this.parallel,
          resourceLimits: { stackSizeMb },
        }),
    );
    return this.pool;
  }
}

let shared: Promise<EmbeddedCompiler> | undefined;

function sharedEmbeddedCompiler(): Promise<EmbeddedCompiler> {
  shared ??= import("../../frontend/clang/embedded.js").then((m) => m.loadEmbeddedCompiler());
  return shared;
}
