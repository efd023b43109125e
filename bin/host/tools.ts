/** Other programs: run with a list of arguments, never through a shell. */
import { InputError } from "../../lto/ir/errors.js";
import type { Host } from "./host.js";
import { settle, startProgram } from "./interrupts.js";

export interface ToolResult {
  readonly exitCode: number;
  readonly stdout: Uint8Array;
  readonly stderr: Uint8Array;
  /** Why the program did not run to its end by itself. */
  readonly error?: string;
}

export interface ToolOptions {
  /** Pass its output on as it comes; otherwise it is only in the result. */
  readonly live: boolean;
  readonly stdin?: Uint8Array;
  /** Milliseconds after which it is ended. */
  readonly timeout?: number;
  /** Ends it when it is aborted. */
  readonly signal?: AbortSignal;
  /** Absolute path of the file it writes: removed if the program is interrupted meanwhile. */
  readonly output?: string;
}

/** Runs `path` in the host's working directory. */
export async function runTool(
  path: string,
  args: readonly string[],
  host: Host,
  { live, stdin, output, timeout, signal }: ToolOptions,
): Promise<ToolResult> {
  // Most links run no other program.
  const { spawn } = await import("node:child_process");
  const result = await new Promise<ToolResult>((resolve, reject) => {
    const stdout: Buffer[] = [];
    const stderr: Buffer[] = [];
    const child = spawnGroup();
    const to = (list: Buffer[], write: (bytes: Uint8Array) => void) => (bytes: Buffer) => {
      if (!live) list.push(bytes);
      else
        try {
          write(bytes);
        } catch (e) {
          child.kill();
          reject(e);
        }
    };
    child.stdout!.on("data", to(stdout, host.stdout));
    child.stderr!.on("data", to(stderr, host.stderr));
    child.stdin!.on("error", () => {}); // a program may end without reading it all
    child.stdin!.end(stdin);
    // (The option of `spawn` waits even for a program that could not be started.)
    const timer = timeout === undefined ? undefined : setTimeout(() => child.kill(), timeout);
    const end = (exitCode: number, error?: string) => {
      clearTimeout(timer);
      resolve({
        exitCode,
        stdout: Buffer.concat(stdout),
        stderr: Buffer.concat(stderr),
        ...(error === undefined ? {} : { error }),
      });
    };
    child.on("error", (e) => end(1, `cannot run '${path}': ${e.message}`));
    child.on("close", (code, signal) =>
      signal === null ? end(code ?? 1) : end(1, `'${path}' was ended by ${signal}`),
    );
  });
  await settle();
  return result;

  function spawnGroup() {
    const options = { cwd: host.cwd, env: host.env, stdio: "pipe", detached: true, signal } as const;
    return startProgram(() => spawn(path, args, options), output);
  }
}

/** Characters of what a program printed that a message repeats. */
const mostShown = 2000;

/**
 * Runs a program that is to succeed; its output is not shown.
 * @param what begins the message where it does not
 * @throws InputError with what it printed, or why it did not run to its end
 */
export async function runChecked(
  path: string,
  args: readonly string[],
  host: Host,
  { what, output }: { readonly what?: string; readonly output?: string } = {},
): Promise<void> {
  const options = output === undefined ? {} : { output };
  const { exitCode, stderr, error } = await runTool(path, args, host, { live: false, ...options });
  if (exitCode === 0) return;
  const printed = new TextDecoder().decode(stderr).trim().slice(0, mostShown);
  throw new InputError(
    what === undefined ? (error ?? `${path} failed: ${printed}`) : `${what}: ${error ?? printed}`,
  );
}
