/**
 * Running programs: output captured, time and resources limited, CPU time and peak memory measured.
 *
 * A program runs as the leader of its own process group, so that a time-out ends what it started as well.
 * CPU time and peak resident memory come from GNU time, which reads them with wait4 (so they count every
 * descendant that was waited for; the peak is that of the largest single process).
 */
import { spawn } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { findProgram } from "./root.js";

export interface RunOptions {
  readonly cwd?: string;
  readonly input?: string | Buffer;
  readonly env?: Readonly<Record<string, string>>;
  /** Wall-clock limit in milliseconds; 10 minutes unless given. */
  readonly timeoutMs?: number;
  /** Measure CPU time and peak memory (needs GNU time). */
  readonly measure?: boolean;
  /** Limit address space (bytes), CPU seconds and file sizes: for programs that may misbehave. */
  readonly sandbox?: boolean;
  /** End the program when it has written so many bytes to stdout. */
  readonly maxOutput?: number;
}

export interface RunResult {
  /** Exit status, or 128 + n after signal n, or 127 when the program could not be started. */
  readonly status: number;
  readonly stdout: Buffer;
  readonly stderr: string;
  readonly timedOut: boolean;
  /** User plus system time in seconds; NaN unless measured. */
  readonly cpuSeconds: number;
  /** Peak resident set size in KiB; NaN unless measured. */
  readonly peakKiB: number;
}

const SANDBOX_MEMORY = 2 ** 31;
const SANDBOX_FILE = 2 ** 28;
const signalNumbers: Readonly<Record<string, number>> = {
  SIGHUP: 1,
  SIGINT: 2,
  SIGQUIT: 3,
  SIGILL: 4,
  SIGTRAP: 5,
  SIGABRT: 6,
  SIGBUS: 7,
  SIGFPE: 8,
  SIGKILL: 9,
  SIGUSR1: 10,
  SIGSEGV: 11,
  SIGUSR2: 12,
  SIGPIPE: 13,
  SIGALRM: 14,
  SIGTERM: 15,
  SIGXCPU: 24,
  SIGXFSZ: 25,
};

/** Runs `command` to its end; never rejects on account of what the program does. */
export function run(command: readonly string[], options: RunOptions = {}): Promise<RunResult> {
  const timeoutMs = options.timeoutMs ?? 600_000;
  const maxOutput = options.maxOutput ?? 2 ** 26;
  let argv = [...command];
  if (options.sandbox) {
    const cpu = Math.ceil(timeoutMs / 1000) + 1;
    argv = [
      "prlimit",
      `--as=${SANDBOX_MEMORY}`,
      `--fsize=${SANDBOX_FILE}`,
      `--cpu=${cpu}`,
      "--core=0",
      ...argv,
    ];
  }
  let scratch: string | undefined;
  if (options.measure) {
    const time = findProgram("time");
    if (time === undefined) throw new Error("measuring needs GNU time (Debian package: time)");
    scratch = mkdtempSync(join(tmpdir(), "measure-"));
    argv = [time, "-q", "-f", "%U %S %M", "-o", join(scratch, "usage"), ...argv];
  }
  return new Promise((resolve) => {
    const out: Buffer[] = [];
    const err: Buffer[] = [];
    let size = 0;
    let timedOut = false;
    const child = spawn(argv[0]!, argv.slice(1), {
      cwd: options.cwd,
      env: options.env === undefined ? process.env : { ...process.env, ...options.env },
      detached: true,
      stdio: ["pipe", "pipe", "pipe"],
    });
    const kill = () => {
      try {
        if (child.pid !== undefined) process.kill(-child.pid, "SIGKILL");
      } catch {
        // the group is gone already
      }
    };
    const timer = setTimeout(() => {
      timedOut = true;
      kill();
    }, timeoutMs);
    const finish = (status: number, extra = "") => {
      clearTimeout(timer);
      let cpuSeconds = Number.NaN;
      let peakKiB = Number.NaN;
      if (scratch !== undefined) {
        [cpuSeconds, peakKiB] = readUsage(join(scratch, "usage"));
        rmSync(scratch, { recursive: true, force: true });
      }
      const stderr = Buffer.concat(err).toString("utf8") + extra;
      resolve({ status, stdout: Buffer.concat(out), stderr, timedOut, cpuSeconds, peakKiB });
    };
    child.stdout.on("data", (b: Buffer) => {
      size += b.length;
      if (size > maxOutput) kill();
      else out.push(b);
    });
    child.stderr.on("data", (b: Buffer) => {
      if (err.length < 1000) err.push(b);
    });
    child.stdin.on("error", () => {}); // the program ended without reading its input
    child.on("error", (e) => finish(127, String(e)));
    child.on("close", (code, signal) => {
      finish(code ?? 128 + (signal === null ? 0 : (signalNumbers[signal] ?? 0)));
    });
    child.stdin.end(options.input ?? "");
  });
}

function readUsage(file: string): [number, number] {
  try {
    const [user, system, peak] = readFileSync(file, "utf8").trim().split("\n").at(-1)!.split(" ").map(Number);
    return [user! + system!, peak!];
  } catch {
    return [Number.NaN, Number.NaN];
  }
}

/** Runs a command that has to succeed; throws an Error with its output otherwise. */
export async function mustRun(command: readonly string[], options: RunOptions = {}): Promise<RunResult> {
  const r = await run(command, options);
  if (r.status !== 0) {
    const output = r.stdout.toString("utf8").slice(-1000) + r.stderr.slice(-2000);
    throw new Error(`${command.join(" ")}: ${r.timedOut ? "timed out" : `status ${r.status}`}\n${output}`);
  }
  return r;
}

/** Calls `work` for every item, at most `jobs` at a time; results in the order of the items. */
export async function mapLimit<T, R>(
  items: readonly T[],
  jobs: number,
  work: (item: T, index: number) => Promise<R>,
): Promise<R[]> {
  const results = new Array<R>(items.length);
  let next = 0;
  const lane = async () => {
    while (next < items.length) {
      const i = next++;
      results[i] = await work(items[i]!, i);
    }
  };
  await Promise.all(Array.from({ length: Math.max(1, Math.min(jobs, items.length)) }, lane));
  return results;
}
