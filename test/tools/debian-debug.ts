/** What gdb shows of programs that are installed from Debian packages, with what is in their -dbgsym packages. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { run } from "./process.js";

export interface DebuggerStop {
  /** In the package's folder, where sources are in `source` and what is installed in `root`. */
  readonly program: string;
  readonly words: readonly string[];
  /** A source file, and text of the line of it to stop at. */
  readonly file: string;
  readonly text: string;
  /** Of backtraces, locals and arguments there. */
  readonly says: readonly RegExp[];
}

export interface Said {
  readonly pattern: string;
  readonly isSaid: boolean;
  /** All that gdb wrote. */
  readonly all: string;
}

/** Runs the program to the line. @returns of each pattern, and of the line's own text, whether gdb wrote it */
export async function debuggerSays(gdb: string, folder: string, stop: DebuggerStop): Promise<Said[]> {
  const source = join(folder, "source", stop.file);
  const lines = readFileSync(source, "latin1").split("\n");
  const line = 1 + lines.findIndex((text) => text.includes(stop.text));
  const commands = [
    "set width 0",
    "set confirm off",
    "set breakpoint pending on",
    `set debug-file-directory ${join(folder, "root/usr/lib/debug")}`,
    `file ${join(folder, stop.program)}`,
    // Packages say where sources are in terms of their own folder.
    `directory ${join(folder, "source")}`,
    `break ${stop.file.split("/").at(-1)}:${line}`,
    `run ${stop.words.join(" ")} >/dev/null`,
    "backtrace",
    "info args",
    "info locals",
  ];
  const { stdout, stderr } = await run(
    [gdb, "-q", "-nx", "-batch", ...commands.flatMap((command) => ["-ex", command])],
    {
      cwd: folder,
      timeoutMs: 60_000,
      env: { ...(process.env as Record<string, string>), DEBUGINFOD_URLS: "" },
    },
  );
  const all = `${stdout.toString("latin1")}${stderr}`;
  const shown = all.split("\n").some((text) => text.startsWith(`${line}\t`) && text.includes(stop.text));
  return [
    { pattern: `stops at ${stop.file}:${line} and shows it`, isSaid: shown, all },
    ...stop.says.map((says) => ({ pattern: says.source, isSaid: says.test(all), all })),
  ];
}
