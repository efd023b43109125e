/**
 * Units of work done by a distributor, the program that users plug their farm in with: LLVM's DTLTO protocol
 * (llvm/docs/DTLTO.rst). It is called with a file that describes jobs, and ends when all are done:
 * `{ common: { linker_output, args, inputs }, jobs: [{ args, inputs, outputs }] }`. A job is the command `common.args` and
 * `args` together; it reads no file but its inputs and writes its outputs.
 *
 * Here a job's input is a unit, its output the answer, and the command `tsc-lto compile-unit UNIT -o ANSWER` of the same build.
 * A distributor that cannot be started, or fails, is an error, as it is for lld; an answer that is missing or damaged is not.
 */
import { spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import { availableParallelism, tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { InputError } from "../../lto/ir/errors.js";
import type { Host } from "../host/host.js";
import {
  removeTemporary,
  settle,
  signalGroup,
  startProgram,
  temporaryDirectory,
  writeTemporary,
} from "../host/interrupts.js";
import { withJobserver } from "../host/jobserver.js";
import { reasonOf } from "../host/system-errors.js";
import { ownPackage } from "../package.js";
import type { SentUnit, UnitEngine } from "./engine.js";

export interface DistributorOptions {
  readonly program: string;
  readonly args: readonly string[];
  /** Null: this package's command. */
  readonly compiler: string | null;
  readonly compilerPrependArgs: readonly string[];
  readonly compilerArgs: readonly string[];
  /** The output of the link, as the distributor is told. */
  readonly output: string;
}

/** Characters of what a distributor has to say that an error repeats, and bytes that are kept for them. */
const mostWords = 2000;
const keptWords = 4 * mostWords;

export class DistributorEngine implements UnitEngine {
  readonly parallel = Math.max(8, availableParallelism());

  constructor(
    private readonly options: DistributorOptions,
    private readonly host: Host,
    private readonly signal: AbortSignal | undefined,
  ) {}

  async run(units: readonly SentUnit[], take: (index: number, answer: Uint8Array) => boolean): Promise<void> {
    const { output } = this.options;
    // Beside the output, as lld does: distributors know that place, and other machines may see it.
    const parent = output === "-" ? tmpdir() : dirname(resolve(this.host.cwd, output));
    const folder = temporaryDirectory(parent, ".tsc-lto-units-");
    try {
      const files = units.map(({ bytes }, i) => {
        const input = join(folder, `${i}.unit`);
        writeTemporary(input, bytes);
        return { input, output: join(folder, `${i}.answer`) };
      });
      const description = join(folder, "dist-file.json");
      writeTemporary(description, Buffer.from(JSON.stringify(this.describe(files))));
      await this.start(description);
      for (const [i, file] of files.entries()) {
        const answer = contentsOf(file.output);
        if (answer !== null) take(i, answer);
      }
    } finally {
      removeTemporary(folder);
      await settle();
    }
  }

  private describe(files: readonly { readonly input: string; readonly output: string }[]): unknown {
    const { compiler, compilerPrependArgs, compilerArgs, output } = this.options;
    const program = compiler ?? join(ownPackage().directory, "bin/tsc-lto");
    return {
      common: {
        linker_output: output,
        args: [program, ...compilerPrependArgs, "compile-unit", ...compilerArgs],
        inputs: [],
      },
      jobs: files.map((file) => ({
        args: [file.input, "-o", file.output],
        inputs: [file.input],
        outputs: [file.output],
      })),
    };
  }

  /** @throws InputError when it does not end well */
  private async start(description: string): Promise<void> {
    const { program, args } = this.options;
    const { host, signal } = this;
    // Its last words; how much it says is its own affair.
    let words = Buffer.alloc(0);
    const code = await new Promise<number | string>((ended, failed) => {
      const child = startProgram(() =>
        spawn(program, [...args, description], {
          cwd: host.cwd,
          env: host.env as NodeJS.ProcessEnv,
          stdio: withJobserver(["ignore", "pipe", "pipe"], host.env),
          detached: true,
        }),
      );
      const stop = (): void => void signalGroup(child, "SIGTERM");
      signal?.addEventListener("abort", stop);
      for (const stream of [child.stdout, child.stderr])
        stream?.on("data", (bytes: Buffer) => {
          words = Buffer.concat([words, bytes]).subarray(-keptWords);
        });
      child.on("error", (e) =>
        failed(new InputError(`cannot run the distributor ${program}: ${reasonOf(e)}`)),
      );
      child.on("close", (status, ending) => {
        signal?.removeEventListener("abort", stop);
        ended(status ?? ending ?? 1);
      });
    });
    signal?.throwIfAborted();
    if (code === 0) return;
    const said = words.toString("utf8").trim().slice(-mostWords);
    const how = typeof code === "number" ? `with code ${code}` : `by ${code}`;
    throw new InputError(`the distributor ${program} ended ${how}${said === "" ? "" : `: ${said}`}`);
  }

  async close(): Promise<void> {}
}

function contentsOf(file: string): Uint8Array | null {
  try {
    return readFileSync(file);
  } catch {
    return null;
  }
}
