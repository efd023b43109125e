/** A Redis of a test's own: on a Unix socket, in a folder that goes with it. */
import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

export const hasRedis = spawnSync("redis-server", ["--version"]).status === 0;
if (!hasRedis) console.warn("redis-server is missing: farms on Redis are not tested");

export class RedisServer {
  readonly folder = mkdtempSync(join(tmpdir(), "farm-redis-"));
  readonly socket = join(this.folder, "redis.sock");
  readonly address = `unix://${this.socket}`;
  private server: ChildProcess | null = null;

  /** @param options of redis-server, besides those that keep it in its folder */
  async start(...options: string[]): Promise<void> {
    const own = [
      "--port",
      "0",
      "--unixsocket",
      this.socket,
      "--dir",
      this.folder,
      "--save",
      "",
      "--appendonly",
      "no",
    ];
    const server = spawn("redis-server", [...own, ...options], { stdio: ["ignore", "pipe", "pipe"] });
    this.server = server;
    await new Promise<void>((ready, failed) => {
      let said = "";
      server.stdout.on("data", (text) => {
        said += text;
        if (said.includes("Ready to accept connections") || said.includes("now ready to accept connections"))
          ready();
      });
      server.on("exit", (code) => failed(new Error(`redis-server ended with ${code}: ${said}`)));
    });
  }

  /** Without a word: nothing is saved. */
  async kill(): Promise<void> {
    const { server } = this;
    this.server = null;
    if (server === null || server.exitCode !== null || server.signalCode !== null) return;
    const ended = new Promise((done) => server.once("exit", done));
    server.kill("SIGKILL");
    await ended;
  }

  async close(): Promise<void> {
    await this.kill();
    rmSync(this.folder, { recursive: true, force: true });
  }
}

/** A worker as a program; killed with what it has begun, if need be. */
export class WorkerProgram {
  private constructor(
    private readonly program: ChildProcess,
    /** What it has said. */
    readonly said: () => string,
  ) {}

  /** @param command that runs `tsc-lto worker`, with its options */
  static async start(
    command: readonly string[],
    env: NodeJS.ProcessEnv = process.env,
  ): Promise<WorkerProgram> {
    const [file, ...words] = command;
    const program = spawn(file!, words, { stdio: ["ignore", "pipe", "pipe"], env });
    let text = "";
    await new Promise<void>((ready, failed) => {
      for (const stream of [program.stdout, program.stderr])
        stream.on("data", (more) => {
          text += more;
          if (text.includes("units at a time")) ready();
        });
      program.on("exit", (code) => failed(new Error(`the worker ended with ${code}: ${text}`)));
    });
    return new WorkerProgram(program, () => text);
  }

  /** @returns the exit code; null: a signal ended it */
  async end(signal: NodeJS.Signals): Promise<number | null> {
    const { program } = this;
    if (program.exitCode !== null || program.signalCode !== null) return program.exitCode;
    const ended = new Promise<number | null>((done) => program.once("exit", done));
    program.kill(signal);
    return ended;
  }
}
