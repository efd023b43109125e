/** Other programs: run with a list of arguments, never through a shell. */
import type { Host } from "./host.js";

export interface ToolResult {
  readonly exitCode: number;
  readonly stdout: Uint8Array;
  readonly stderr: Uint8Array;
  /** Why the program did not run to its end by itself. */
  readonly error?: string;
}

/**
 * Runs `path` in the host's working directory.
 * @param live pass its output on as it comes; otherwise it is only in the result
 */
export async function runTool(
  path: string,
  args: readonly string[],
  host: Host,
  { live, stdin }: { live: boolean; stdin?: Uint8Array },
): Promise<ToolResult> {
  // Most links run no other program.
  const { spawn } = await import("node:child_process");
  return new Promise((resolve) => {
    const stdout: Buffer[] = [];
    const stderr: Buffer[] = [];
    const child = spawn(path, args, { cwd: host.cwd, env: host.env, stdio: "pipe" });
    child.stdout.on("data", (b: Buffer) => (live ? host.stdout(b) : stdout.push(b)));
    child.stderr.on("data", (b: Buffer) => (live ? host.stderr(b) : stderr.push(b)));
    child.stdin.on("error", () => {}); // a program may end without reading it all
    child.stdin.end(stdin);
    const end = (exitCode: number, error?: string) =>
      resolve({ exitCode, stdout: Buffer.concat(stdout), stderr: Buffer.concat(stderr), error });
    child.on("error", (e) => end(1, `cannot run '${path}': ${e.message}`));
    child.on("close", (code, signal) =>
      signal === null ? end(code ?? 1) : end(1, `'${path}' was ended by ${signal}`),
    );
  });
}
