/**
 * The compiler that was chosen, behind one interface: run the driver on some arguments, or compile a source to an
 * IR object. Several compilations at a time are child processes with a system clang, worker threads with the
 * embedded one (a lone one too: only worker threads may have a large stack). Conversion of bitcode is in worker
 * threads, if there is more than one.
 */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { Piscina } from "piscina";
import type { EmbeddedCompiler } from "../../frontend/clang/embedded.js";
import type { Host } from "../host/host.js";
import { removeTemporary, settle, temporaryDirectory, writeTemporary } from "../host/interrupts.js";
import { runTool } from "../host/tools.js";
import type { CompilerChoice } from "./compilers.js";
import type { ConversionError } from "./convert.js";
import type { Job, JobResult } from "./job.js";
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

  /** Runs one job. @throws InputError when the embedded compiler is not installed, or no temporary file can be made */
  async run(job: Job): Promise<JobResult> {
    if (job.bitcodeIn === undefined) return this.compile(job, undefined);
    // A directory, since compilers make temporary files beside their output, and leave them when they are killed.
    const directory = temporaryDirectory(job.bitcodeIn, ".tsc-cc-");
    const bitcode = join(directory, "0.bc");
    try {
      const compiled = await this.compile({ ...job, args: [...job.args, "-o", bitcode] }, bitcode);
      if (compiled.exitCode !== 0 || compiled.object !== undefined) return compiled;
      const bytes = readFileSync(bitcode);
      removeTemporary(directory);
      const result: JobResult = job.keepsBitcode === true ? { ...compiled, bitcode: bytes } : compiled;
      if (job.machineCode?.wanted === "beside") {
        const { object, ...made } = await this.generate(job, bytes);
        if (object === undefined) return { ...made, stderr: Buffer.concat([result.stderr, made.stderr]) };
        const { withBitcode } = await import("../../formats/elf-edit.js");
        return { ...result, object: withBitcode(object, bytes) };
      }
      const converted = await this.convert(bytes, job.source, job.bare === true);
      if (!("message" in converted)) return { ...result, object: converted };
      const { message, constructs } = converted;
      const failed = { ...result, exitCode: 1, error: message };
      if (job.machineCode === undefined || constructs.length === 0) return failed;
      const { object } = await this.generate(job, bytes);
      if (object === undefined) return failed;
      const warning = `${job.source}: compiled to machine code, without link-time optimisation; unsupported: ${constructs.join("; ")}`;
      return { ...result, object, warning };
    } finally {
      removeTemporary(directory);
    }
  }

  /** Has clang make machine code of bitcode, which is optimised already. */
  private async generate(job: Job, bitcode: Uint8Array): Promise<JobResult> {
    const directory = temporaryDirectory(job.bitcodeIn!, ".tsc-cc-");
    try {
      const source = join(directory, "0.bc");
      const output = join(directory, "0.o");
      writeTemporary(source, bitcode);
      const { options: given, wanted } = job.machineCode!;
      const options = [
        ...given,
        "-Qunused-arguments",
        "-Wno-override-module",
        "-Xclang",
        "-disable-llvm-passes",
      ];
      const args = [...options, "-c", "-o", output, "-x", "ir", source];
      const result = await this.compile(
        { ...job, stdin: undefined, args, captured: wanted === "instead" },
        undefined,
      );
      return result.exitCode === 0 ? { ...result, object: readFileSync(output) } : result;
    } finally {
      removeTemporary(directory);
    }
  }

  async close(): Promise<void> {
    await (await this.pool)?.destroy();
  }

  private compile(job: Job, bitcode: string | undefined): Promise<JobResult> {
    const { choice, host, parallel } = this;
    if (choice.kind === "embedded") return this.compileEmbedded(job, bitcode);
    // The converter is loaded while the compiler runs.
    if (bitcode !== undefined && this.convertsHere) void import("./convert.js");
    else if (bitcode !== undefined) void this.workers();
    // A lone compiler talks as it goes; several would interleave.
    const live = parallel < 2 && job.captured !== true;
    return runTool(choice.path, job.args, host, { live, stdin: job.stdin });
  }

  private get convertsHere(): boolean {
    return this.parallel < 2 || !this.host.workers;
  }

  private async compileEmbedded(job: Job, bitcode: string | undefined): Promise<JobResult> {
    this.embedded ??= sharedEmbeddedCompiler();
    if (this.host.workers) {
      const pool = this.workers(); // the threads start while the compiler loads
      const compiler = await this.embedded;
      const result = (await pool).run({ kind: "compile", compiler, job, bitcode } satisfies WorkerTask);
      return result;
    }
    const { runEmbeddedJob } = await import("./embedded-job.js");
    return runEmbeddedJob(await this.embedded, job, bitcode);
  }

  private async convert(
    bitcode: Uint8Array,
    source: string,
    bare: boolean,
  ): Promise<Uint8Array | ConversionError> {
    if (!this.convertsHere)
      return (await this.workers()).run({ kind: "convert", bitcode, source, bare } satisfies WorkerTask);
    const { convert } = await import("./convert.js");
    await settle();
    return convert(bitcode, source, bare);
  }

  private workers(): Promise<Piscina> {
    this.pool ??= import("piscina").then(
      ({ Piscina }) =>
        new Piscina({
          filename: new URL("thread.cjs", import.meta.url).href,
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
