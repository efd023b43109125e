/**
 * The project's two commands inside worker threads of one process, for batches of thousands of programs: starting
 * Node and loading the modules costs more than compiling a small file.
 *
 * Each thread imports the built command modules once and calls them as the executables would, one command at a
 * time. A command that runs into its time limit costs its thread, which is replaced.
 */

import { basename } from "node:path";
import { Worker } from "node:worker_threads";
import type { RunOptions, RunResult } from "./process.js";
import { projectRoot } from "./root.js";
import type { Execute, Toolchain } from "./toolchain.js";
import { clangOption, compilerOptions, ours, oursThroughLlvm, toolchain } from "./toolchain.js";

export interface ClosableToolchain extends Toolchain {
  close(): Promise<void>;
}

/** What a thread is asked to do. */
export interface CommandMessage {
  readonly command: "tsc-cc" | "tsc-lto";
  readonly args: readonly string[];
  readonly cwd: string;
}

/** What it answers. */
export interface CommandAnswer {
  readonly status: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** Threads that run the commands, and the way to them. */
export interface ThreadPool {
  readonly execute: Execute;
  close(): Promise<void>;
}

/** `jobs` threads; started at the first command each gets. */
export function threadPool(jobs: number): ThreadPool {
  const threads = Array.from({ length: jobs }, () => new Lane());
  const idle = [...threads];
  const waiting: ((lane: Lane) => void)[] = [];
  return {
    async execute(command: readonly string[], options: RunOptions): Promise<RunResult> {
      const lane = idle.pop() ?? (await new Promise<Lane>((resolve) => waiting.push(resolve)));
      try {
        return await lane.run(command, options);
      } finally {
        const next = waiting.shift();
        if (next === undefined) idle.push(lane);
        else next(lane);
      }
    },
    async close() {
      await Promise.all(threads.map((t) => t.close()));
    },
  };
}

/** The named toolchain in its fastest form for many small builds: ours in threads, the others as they are. */
export async function fastToolchain(
  name: string,
  jobs: number,
  ltoFlags: readonly string[] = [],
  raw = false,
): Promise<ClosableToolchain> {
  if (name !== "ours" && name !== "ours-embedded") return { ...toolchain(name, raw), close: async () => {} };
  const pool = threadPool(jobs);
  const flags = compilerOptions(raw, name === "ours" ? clangOption() : ["--clang=embedded"]);
  return { ...ours(["-j1", ...ltoFlags], flags, pool.execute), name, close: () => pool.close() };
}

/** The same for programs of another machine (foreign/machines.ts), with code that clang generates. */
export function foreignToolchain(
  words: readonly string[],
  jobs: number,
  ltoFlags: readonly string[] = [],
): ClosableToolchain {
  const pool = threadPool(jobs);
  return { ...oursThroughLlvm(words, ["-j1", ...ltoFlags], pool.execute), close: () => pool.close() };
}

type Finish = (status: number, stdout: string, stderr: string, timedOut?: boolean) => void;

/** One worker thread and what it is doing. */
class Lane {
  private worker: Worker | undefined;
  private finish: Finish = () => {};

  run(command: readonly string[], options: RunOptions): Promise<RunResult> {
    const worker = (this.worker ??= this.start());
    const message: CommandMessage = {
      command: basename(command[0]!) === "tsc-cc" ? "tsc-cc" : "tsc-lto",
      args: command.slice(1),
      cwd: options.cwd ?? "/",
    };
    return new Promise((resolve) => {
      const timer = setTimeout(() => {
        this.drop(worker);
        this.finish(124, "", "", true);
      }, options.timeoutMs ?? 600_000);
      this.finish = (status, stdout, stderr, timedOut = false) => {
        clearTimeout(timer);
        this.finish = () => {};
        const none = Number.NaN;
        resolve({ status, stdout: Buffer.from(stdout), stderr, timedOut, cpuSeconds: none, peakKiB: none });
      };
      worker.postMessage(message);
    });
  }

  private start(): Worker {
    const worker = new Worker(new URL("in-process-worker.js", import.meta.url), {
      workerData: projectRoot(),
      resourceLimits: { stackSizeMb: 64, maxOldGenerationSizeMb: 4096 },
    });
    worker.on("message", (a: CommandAnswer) => this.finish(a.status, a.stdout, a.stderr));
    worker.on("error", (e) => {
      if (this.worker !== worker) return; // one that was dropped
      this.drop(worker);
      this.finish(70, "", `internal error: ${e instanceof Error ? (e.stack ?? e.message) : String(e)}`);
    });
    worker.on("exit", (code) => {
      if (this.worker !== worker) return;
      this.worker = undefined;
      this.finish(code, "", `the command ended its thread with status ${code}`);
    });
    return worker;
  }

  private drop(worker: Worker): void {
    this.worker = undefined;
    void worker.terminate();
  }

  async close(): Promise<void> {
    const worker = this.worker;
    this.worker = undefined;
    await worker?.terminate();
  }
}
