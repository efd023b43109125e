/** What the driver sees of the process it runs in; tests put something else in its place. */
import { fstatSync, readFileSync, writeSync } from "node:fs";
import { InputError } from "../../lto/ir/errors.js";
import { formatMessage, type Severity, usualStyle } from "./messages.js";
import { OutputError, reasonOf } from "./system-errors.js";

export interface Host {
  /** Absolute path that relative paths start from. */
  readonly cwd: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Standard error is a terminal that shows colours. */
  readonly colour: boolean;
  /** Columns of the terminal that standard error is; null or absent: it is none. */
  readonly columns?: number | null;
  /** Whether worker threads may be started; otherwise all is done in this thread, one after the other. */
  readonly workers: boolean;
  /** Runs tsc-lto in this process; absent: it gets one of its own. */
  optimise?(args: readonly string[], host: Host): Promise<number>;
  /** Told of an internal error, which is reported as well. */
  fault?(): void;
  /** All of standard input. */
  stdin(): Uint8Array;
  /** @throws OutputError when that fails, but not when nobody reads any more */
  stdout(bytes: Uint8Array): void;
  stderr(bytes: Uint8Array): void;
}

export function processHost(): Host {
  return {
    cwd: process.cwd(),
    env: process.env,
    get colour() {
      return showsColours();
    },
    get columns() {
      return isTerminal() ? process.stderr.columns || 80 : null;
    },
    workers: true,
    stdin: () => readFileSync(0),
    stdout: (bytes) => writeAll(1, bytes),
    stderr: (bytes) => writeAll(2, bytes),
  };
}

/** Whether standard error is a terminal that shows colours. */
export const showsColours = (): boolean =>
  (process.env["NO_COLOR"] ?? "") === "" && process.env["TERM"] !== "dumb" && isTerminal();

/** Standard error is one. Node's own test loads sockets and streams, so it is asked only about what may be one. */
function isTerminal(): boolean {
  try {
    return fstatSync(2).isCharacterDevice() && process.stderr.isTTY === true;
  } catch {
    return false; // closed
  }
}

/**
 * Synchronous, so that nothing is lost when the process ends; a full pipe is tried again.
 * @throws OutputError when standard output takes no more
 */
export function writeAll(fd: number, bytes: Uint8Array): void {
  for (let at = 0; at < bytes.length; ) {
    try {
      at += writeSync(fd, bytes, at);
    } catch (e) {
      const code = (e as NodeJS.ErrnoException).code;
      if (code === "EPIPE") return;
      if (code !== "EAGAIN") {
        if (fd === 2) return; // There is nowhere left to complain.
        throw new OutputError(`cannot write to standard output: ${reasonOf(e)}`);
      }
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 5);
    }
  }
}

/**
 * Node decodes arguments as UTF-8 and puts U+FFFD for what is none: the bytes are lost, and with them the file meant.
 * @throws InputError for such an argument
 */
export function refuseLostBytes(args: readonly string[]): void {
  const lost = args.find((word) => word.includes("\ufffd"));
  if (lost !== undefined) throw new InputError(`argument '${lost}' is not valid UTF-8`);
}

/** A line of the compiler driver's own on standard error. */
export function report(host: Host, severity: Severity, message: string): void {
  host.stderr(Buffer.from(formatMessage("tsc-cc", { severity, message }, usualStyle(host))));
}
