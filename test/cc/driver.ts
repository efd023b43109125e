/** Runs the driver inside the test's process, with the embedded compiler, in a directory of its own. */
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterAll } from "vitest";
import { runDriver } from "../../bin/cc/main.js";
import type { Host } from "../../bin/host/host.js";
import { readElf } from "../../formats/elf.js";

const directories: string[] = [];

/** Arranges for the end of all workspaces. Each test file calls it: files share their modules, hooks are each file's own. */
export function removeWorkspaces(): void {
  afterAll(() => {
    for (const d of directories.splice(0)) rmSync(d, { recursive: true, force: true });
  });
}

export interface Outcome {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

export class Workspace {
  readonly directory = mkdtempSync(join(tmpdir(), "tsc-cc-test-"));

  /** @param files path → contents */
  constructor(files: Readonly<Record<string, string>> = {}) {
    directories.push(this.directory);
    for (const [path, text] of Object.entries(files)) this.write(path, text);
  }
  path(name: string): string {
    return join(this.directory, name);
  }
  write(name: string, text: string): void {
    mkdirSync(dirname(this.path(name)), { recursive: true });
    writeFileSync(this.path(name), text);
  }
  read(name: string): Buffer {
    return readFileSync(this.path(name));
  }
  text(name: string): string {
    return this.read(name).toString("utf8");
  }
  /** The IR object in its ELF shell. */
  object(name: string): Uint8Array {
    return readElf(this.read(name), name).ir!;
  }
  /** All names in a folder, hidden ones too: temporary files must not stay. */
  list(folder = "."): string[] {
    return readdirSync(this.path(folder)).sort();
  }

  async run(
    args: readonly string[],
    options: {
      cwd?: string;
      stdin?: string;
      env?: Record<string, string>;
      colour?: boolean;
      clang?: string;
    } = {},
  ): Promise<Outcome> {
    const out: Uint8Array[] = [];
    const err: Uint8Array[] = [];
    const host: Host = {
      cwd: this.path(options.cwd ?? "."),
      env: { PATH: process.env["PATH"], ...options.env },
      colour: options.colour ?? false,
      workers: false,
      stdin: () => Buffer.from(options.stdin ?? ""),
      stdout: (bytes) => out.push(bytes),
      stderr: (bytes) => err.push(bytes),
    };
    const code = await runDriver([`--clang=${options.clang ?? "embedded"}`, ...args], host);
    return { code, stdout: Buffer.concat(out).toString("utf8"), stderr: Buffer.concat(err).toString("utf8") };
  }
}
