/** The project's commands inside the test's process: a host that captures what they say, and a folder of their own. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll } from "vitest";
import type { Host } from "../../bin/host/host.js";
import { main as runLto } from "../../bin/lto/main.js";
import type { RunResult } from "../tools/process.js";
import { builtModule } from "./built.js";

/** Exit status and output of a command. */
export interface Outcome {
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

/** What may differ from an empty terminal-less process in `cwd`. */
export type HostOptions = Partial<Pick<Host, "env" | "colour" | "columns" | "workers" | "stdin">> &
  Pick<Host, "cwd">;

type Main = (args: readonly string[], host: Host) => Promise<number>;

/** Runs a command's main function. Without `env`, the environment is this process'. */
export async function capture(main: Main, args: readonly string[], options: HostOptions): Promise<Outcome> {
  const out: Uint8Array[] = [];
  const err: Uint8Array[] = [];
  const host: Host = {
    env: process.env,
    colour: false,
    workers: false,
    stdin: () => new Uint8Array(),
    ...options,
    stdout: (bytes) => void out.push(bytes),
    stderr: (bytes) => void err.push(bytes),
  };
  const code = await main(args, host);
  return { code, out: Buffer.concat(out).toString("utf8"), err: Buffer.concat(err).toString("utf8") };
}

/** `tsc-lto -j1` with `args`. */
export const tscLto = (args: readonly string[], options: HostOptions): Promise<Outcome> =>
  capture(runLto, ["-j1", ...args], options);

/**
 * The commands as the differential tools call them. Their code is that of the built package, whose enumerations are constants: it
 * takes five sixths of the time that the sources take as vitest loads them.
 */
export function inThisProcess(cwd: string): (command: readonly string[]) => Promise<RunResult> {
  return async (command) => {
    const main = command[0]!.endsWith("tsc-cc")
      ? (await builtModule<typeof import("../../bin/cc/main.js")>("bin/cc/main.js")).runDriver
      : (await builtModule<typeof import("../../bin/lto/main.js")>("bin/lto/main.js")).main;
    const { code, out, err } = await capture(main, command.slice(1), { cwd });
    const nothing = { timedOut: false, cpuSeconds: Number.NaN, peakKiB: Number.NaN };
    return { status: code, stdout: Buffer.from(out), stderr: err, ...nothing };
  };
}

/** A folder that is removed after the tests of the file. */
export function temporaryFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), "tsc-lto-test-"));
  afterAll(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}
