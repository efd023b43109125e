/** A farm of a tool's own: Redis on a Unix socket, workers as programs, a way to Redis that is slow. */
import { type ChildProcess, spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { createServer, connect as openSocket, type Server, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Redis } from "ioredis";
import { projectRoot } from "../root.js";

export class FarmPlace {
  readonly folder = mkdtempSync(join(tmpdir(), "farm-"));
  readonly socket = join(this.folder, "redis.sock");
  readonly redis = new Redis(this.socket, { lazyConnect: true, retryStrategy: () => 100 });
  private server: ChildProcess | null = null;
  private readonly workers = new Set<ChildProcess>();
  private readonly proxies = new Map<number, Server>();
  private readonly sockets = new Set<Socket>();

  async start(): Promise<void> {
    const words = ["--port", "0", "--unixsocket", this.socket, "--dir", this.folder, "--save", ""];
    const server = spawn("redis-server", words, { stdio: ["ignore", "pipe", "inherit"] });
    this.server = server;
    await new Promise<void>((ready, failed) => {
      server.on("error", () => failed(new Error("there is no redis-server (Debian package: redis-server)")));
      server.stdout.on("data", (text) => {
        if (/ready to accept connections/i.test(String(text))) ready();
      });
    });
    this.redis.on("error", () => {});
    if (this.redis.status === "wait") await this.redis.connect();
  }

  /** All in it is gone. */
  async restart(): Promise<void> {
    const { server } = this;
    const gone = new Promise((done) => server?.once("exit", done));
    server?.kill("SIGKILL");
    await gone;
    await this.start();
  }

  /** The address of Redis; with milliseconds there and back, through something that takes so long. */
  async address(latency = 0): Promise<string> {
    if (latency === 0) return `unix://${this.socket}`;
    const path = join(this.folder, `slow-${latency}.sock`);
    if (this.proxies.has(latency)) return `unix://${path}`;
    const proxy = createServer((near) => {
      const far = openSocket(this.socket);
      for (const [from, to] of [
        [near, far],
        [far, near],
      ] as const) {
        this.sockets.add(from);
        from.on("data", (bytes) => setTimeout(() => to.writable && to.write(bytes), latency / 2));
        from.on("close", () => setTimeout(() => to.destroy(), latency / 2));
        from.on("error", () => to.destroy());
      }
    });
    this.proxies.set(latency, proxy);
    await new Promise<void>((ready) => proxy.listen(path, ready));
    return `unix://${path}`;
  }

  async startWorker(address: string, jobs = 1, env: NodeJS.ProcessEnv = {}): Promise<ChildProcess> {
    const words = [join(projectRoot(), "bin/tsc-lto"), "worker", "--redis", address, `-j${jobs}`];
    const worker = spawn(process.execPath, words, {
      env: { ...process.env, ...env },
      stdio: ["ignore", "pipe", "pipe"],
    });
    this.workers.add(worker);
    let said = "";
    await new Promise<void>((ready, failed) => {
      for (const stream of [worker.stdout, worker.stderr])
        stream.on("data", (text) => {
          said += text;
          if (said.includes("units at a time")) ready();
        });
      worker.on("exit", () => {
        this.workers.delete(worker);
        failed(new Error(`a worker has ended: ${said}`));
      });
    });
    return worker;
  }

  async endWorkers(): Promise<void> {
    await Promise.all([...this.workers].map((worker) => this.kill(worker)));
  }
  async kill(worker: ChildProcess): Promise<void> {
    if (!this.workers.has(worker)) return;
    const gone = new Promise((done) => worker.once("exit", done));
    worker.kill("SIGKILL");
    await gone;
  }

  /** Nothing is known any more, and no job waits. */
  async forget(): Promise<void> {
    const names = (await this.redis.keys("tsc-lto:*")).filter((name) => name !== "tsc-lto:workers");
    for (let from = 0; from < names.length; from += 1000)
      await this.redis.unlink(names.slice(from, from + 1000));
  }

  async close(): Promise<void> {
    await this.endWorkers();
    this.redis.disconnect();
    for (const proxy of this.proxies.values()) proxy.close();
    for (const socket of this.sockets) socket.destroy();
    this.server?.kill("SIGKILL");
    rmSync(this.folder, { recursive: true, force: true });
  }
}
