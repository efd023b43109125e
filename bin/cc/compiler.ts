/**
 * The compiler that was chosen, behind one interface: run the driver on some arguments, or compile a source to an
 * IR object. Several compilations at a time are child processes with a system clang, worker threads with the
 * embedded one (a lone one too: only worker threads may have a large stack). Conversion of bitcode is in worker
 * threads, if there is more than one.
 */
import { Piscina } from "piscina";
import { type EmbeddedCompiler, loadEmbeddedCompiler } from "../../frontend/clang/embedded.js";
import type { CompilerChoice } from "./compilers.js";
import { convert, type EmbeddedJob, type JobResult, runEmbeddedJob } from "./embedded-job.js";
import type { Host } from "./host.js";
import { runTool } from "./tools.js";
import type { WorkerTask } from "./worker.js";

/** Clang descends recursively into what it reads, on frames larger than those of a native clang with its 8 MB. */
const stackSizeMb = 64;

export class Compiler {
  private pool: Piscina | undefined;
  private embedded: Promise<EmbeddedCompiler> | undefined;

  /** @param parallel jobs at one time */
  constructor(
    private readonly choice: CompilerChoice,
    private readonly host: Host,
    private readonly parallel: number,
  ) {}

  /** Runs one job. @throws InputError when the embedded compiler is not installed */
  async run(job: EmbeddedJob): Promise<JobResult> {
    if (this.choice.kind === "embedded") {
      const compiler = await (this.embedded ??= sharedEmbeddedCompiler());
      if (!this.host.workers) return runEmbeddedJob(compiler, job);
      return this.workers(compiler).run({ kind: "compile", job } satisfies WorkerTask);
    }
    // A lone compiler talks as it goes; several would interleave.
    const result = await runTool(this.choice.path, job.args, this.host, {
      live: this.parallel < 2,
      stdin: job.stdin,
    });
    if (result.exitCode !== 0 || job.bitcode === undefined) return result;
    const task: WorkerTask = { kind: "convert", bitcode: job.bitcode, source: job.source };
    const error: string | undefined =
      this.parallel < 2 || !this.host.workers
        ? convert(job.bitcode, job.source)
        : await this.workers(undefined).run(task);
    return error === undefined ? result : { ...result, exitCode: 1, error };
  }

  async close(): Promise<void> {
    await this.pool?.destroy();
  }

  private workers(workerData: EmbeddedCompiler | undefined): Piscina {
    this.pool ??= new Piscina({
      filename: new URL("worker.js", import.meta.url).href,
      minThreads: 0,
      maxThreads: this.parallel,
      workerData,
      resourceLimits: { stackSizeMb },
    });
    return this.pool;
  }
}

let shared: Promise<EmbeddedCompiler> | undefined;

function sharedEmbeddedCompiler(): Promise<EmbeddedCompiler> {
  shared ??= loadEmbeddedCompiler();
  return shared;
}
