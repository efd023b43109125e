/** A service of its own for a test: in a folder that nobody else uses, with the commands of a package built for it. */
import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { afterAll } from "vitest";

export type Command = "lto" | "ld" | "cc";

export interface Run {
  readonly status: number | null;
  readonly signal: string | null;
  readonly stdout: string;
  readonly stderr: string;
}

export interface Way {
  readonly server?: "auto" | "on" | "off";
  readonly env?: Record<string, string>;
  readonly cwd?: string;
  /** A line of the shell before the command, and whose. */
  readonly first?: string;
  readonly shell?: string;
  readonly stdout?: number;
}

export class Service {
  /** For files. */
  readonly folder = mkdtempSync(join(tmpdir(), "serve-"));
  readonly runtime = join(this.folder, "runtime");
  readonly temporary = join(this.folder, "tmp");
  readonly work = join(this.folder, "work");

  /** @param built the package, once tests run */
  constructor(readonly built: () => string) {
    for (const folder of [this.runtime, this.temporary, this.work]) mkdirSync(folder, { mode: 0o700 });
    afterAll(async () => {
      for (const { pid } of this.supervisors()) process.kill(pid, "SIGKILL");
      await this.until(() => this.processes().length === 0);
      rmSync(this.folder, { recursive: true, force: true });
    });
  }

  environment(server: string, env: Record<string, string> = {}): Record<string, string | undefined> {
    const own = {
      XDG_RUNTIME_DIR: this.runtime,
      TMPDIR: this.temporary,
      XDG_CACHE_HOME: join(this.folder, "cache"),
    };
    return { ...process.env, ...own, TSC_LTO_SERVER: server, ...env };
  }

  private words(command: Command, args: readonly string[], first: string): string[] {
    const start = join(this.built(), "dist/bin/start.cjs");
    return ["-c", `${first}\nexec "$@"`, "sh", process.execPath, start, command, ...args];
  }

  run(command: Command, args: readonly string[], way: Way = {}): Run {
    const { server = "on", env, cwd = this.work, first = "", shell = "sh", stdout } = way;
    const {
      status,
      signal,
      stdout: out,
      stderr,
    } = spawnSync(shell, this.words(command, args, first), {
      cwd,
      env: this.environment(server, env),
      encoding: "utf8",
      stdio: ["ignore", stdout ?? "pipe", "pipe"],
      timeout: 100_000,
    });
    return { status, signal, stdout: out ?? "", stderr };
  }

  start(command: Command, args: readonly string[], server = "on"): ChildProcess {
    return spawn("sh", this.words(command, args, ""), {
      cwd: this.work,
      env: this.environment(server),
      stdio: ["ignore", "pipe", "pipe"],
    });
  }

  /** Processes of this service, by what they are started with. */
  processes(): { pid: number; args: string }[] {
    const found: { pid: number; args: string }[] = [];
    for (const name of readdirSync("/proc")) {
      if (!/^\d+$/.test(name)) continue;
      try {
        const args = readFileSync(`/proc/${name}/cmdline`, "latin1").split("\0");
        if (!args.some((word) => word.startsWith(this.built()))) continue;
        const environment = readFileSync(`/proc/${name}/environ`, "latin1").split("\0");
        if (environment.includes(`XDG_RUNTIME_DIR=${this.runtime}`))
          found.push({ pid: Number(name), args: args.join(" ") });
      } catch {
        // It has ended.
      }
    }
    return found;
  }

  supervisors(): { pid: number; args: string }[] {
    return this.processes().filter(({ args }) => args.includes(" serve --foreground"));
  }

  workers(): { pid: number; args: string }[] {
    return this.processes().filter(({ args }) => / work ?$/.test(args));
  }

  /** Waits until something is so; false: it is not after a while. */
  async until(isSo: () => boolean, milliseconds = 20_000): Promise<boolean> {
    const end = Date.now() + milliseconds;
    while (!isSo()) {
      if (Date.now() > end) return false;
      await wait(20);
    }
    return true;
  }

  /** Without a service, and without its files. */
  async end(): Promise<void> {
    for (const { pid } of this.supervisors()) process.kill(pid, "SIGKILL");
    await this.until(() => this.processes().length === 0);
    rmSync(join(this.runtime, "tsc-lto"), { recursive: true, force: true });
  }

  /** Where services are met. */
  socketFolder(): string {
    return join(this.runtime, "tsc-lto");
  }

  /** The socket of the one that is there. */
  socket(): string {
    const folder = join(this.runtime, "tsc-lto");
    return join(folder, readdirSync(folder).find((name) => name.endsWith(".sock"))!);
  }

  /** What is left in the folders of files. */
  left(): string[] {
    return [this.temporary, this.work].flatMap((folder) => readdirSync(folder)).sort();
  }
}

/** LLVM's text of a program whose link takes a while. */
export function slowProgram(functions: number): string {
  const text = Array.from({ length: functions }, (_, n) => {
    const steps = Array.from(
      { length: 30 },
      (_, i) =>
        `  %m${i} = mul i32 ${i === 0 ? "%x" : `%p${i - 1}`}, ${n + 3 * i + 3}\n  %s${i} = xor i32 %m${i}, %y\n  store volatile i32 %s${i}, ptr %p, align 4\n  %p${i} = add i32 %s${i}, ${i + n}\n`,
    ).join("");
    return `define i32 @f${n}(i32 %x, i32 %y, ptr %p) noinline {\n${steps}  %r = call i32 @f${n === 0 ? "none" : n - 1}(i32 %p29, i32 %y, ptr %p)\n  ret i32 %r\n}\n`;
  }).join("");
  return `declare i32 @fnone(i32, i32, ptr)\n${text}define i32 @main(i32 %0, ptr %1) {\n  %r = call i32 @f${functions - 1}(i32 %0, i32 %0, ptr %1)\n  ret i32 %r\n}\n`;
}
