/** A command in a process of its own, for what a worker process cannot do: read standard input, say, or outlive a fault. */
import { spawn } from "node:child_process";
import { join } from "node:path";
import { signalGroup, startProgram } from "../host/interrupts.js";
import { reasonOf } from "../host/system-errors.js";
import type { Request } from "./protocol.js";

export interface Ended {
  readonly code: number;
  readonly output: Buffer;
}

export interface OwnProcess {
  readonly ended: Promise<Ended>;
  /** Ends it. Resolved when it is gone. */
  end(): Promise<void>;
}

/** Milliseconds that it has to clean up after a signal. */
const patience = 1500;
/** Codes that a shell gives a command that it cannot start, and one that a signal has ended. */
const notStarted = 126;
const bySignal = 128;

/** @param bundles the folder of the commands' bundles */
export function runByItself(bundles: string, { command, args, cwd, env }: Request): OwnProcess {
  const output: Buffer[] = [];
  const child = startProgram(() =>
    spawn(process.execPath, [join(bundles, "../bin/start.cjs"), command, ...args], {
      cwd,
      env: { ...env, TSC_LTO_SERVER: "off" },
      stdio: ["ignore", "pipe", "pipe"],
      detached: true,
    }),
  );
  for (const stream of [child.stdout, child.stderr])
    stream?.on("data", (bytes: Buffer) => output.push(bytes));
  const ended = new Promise<Ended>((resolve) => {
    child.on("error", (e) => resolve({ code: notStarted, output: Buffer.from(`${reasonOf(e)}\n`) }));
    child.on("close", (code, signal) => {
      if (signal !== null) output.push(Buffer.from(`ended by ${signal}\n`));
      resolve({ code: code ?? bySignal, output: Buffer.concat(output) });
    });
  });
  return {
    ended,
    end: async () => {
      signalGroup(child, "SIGTERM");
      const timer = setTimeout(() => signalGroup(child, "SIGKILL"), patience);
      await ended;
      clearTimeout(timer);
    },
  };
}
