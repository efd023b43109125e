/**
 * The service: it listens, and passes what it is asked to worker processes, at most one for each core. It computes nothing itself,
 * so it always answers. It ends when nobody has asked for a while, when its socket is no longer what others find, by `stop`
 * and by signals; of what runs then, clients see that it has gone, and do it themselves.
 */
import { randomBytes } from "node:crypto";
import * as fs from "node:fs";
import { createServer, type Server, type Socket } from "node:net";
import { InputError } from "../../lto/ir/errors.js";
import { reasonOf } from "../host/system-errors.js";
import { Connection, type Service } from "./connection.js";
import type { Place } from "./place.js";
import { Pool } from "./pool.js";
import { heartbeat, tokenHalf } from "./protocol.js";

export interface ServiceOptions {
  /** Seconds without a question after which it ends; 0: never. */
  readonly idleTimeout: number;
  /** Bytes of memory beyond which a worker process is replaced after a link. */
  readonly memoryLimit: number;
  /** Most worker processes. */
  readonly jobs: number;
}

/** Beyond these, clients do it themselves. */
const mostClients = 1000;

export class Supervisor implements Service {
  readonly pool: Pool;
  readonly halves: readonly [client: string, service: string];
  private readonly server: Server;
  private readonly connections = new Set<Connection>();
  private readonly begin = Date.now();
  private lastUse = Date.now();
  private inode = 0;
  private isStopping = false;
  private end: () => void = () => {};

  /** @param bundles the folder of the commands' bundles */
  constructor(
    readonly place: Place,
    bundles: string,
    private readonly options: ServiceOptions,
  ) {
    this.pool = new Pool(bundles, options.jobs, options.memoryLimit);
    const token = randomBytes(tokenHalf).toString("hex");
    this.halves = [token.slice(0, tokenHalf), token.slice(tokenHalf)];
    this.server = createServer({ allowHalfOpen: true }, (socket) => this.accept(socket));
    this.server.maxConnections = mostClients;
  }

  /** Listens until it ends. @throws InputError when it cannot listen */
  async run(): Promise<void> {
    closeInherited();
    process.umask(0o077);
    process.chdir("/");
    await this.listen();
    this.pool.warmUp();
    const ended = new Promise<void>((resolve) => {
      this.end = resolve;
    });
    for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.on(signal, () => this.end());
    const timer = setInterval(() => this.look(), heartbeat);
    await ended;
    clearInterval(timer);
    if (this.isFound()) for (const file of [this.place.socket, this.place.token]) fs.rmSync(file);
    this.server.close();
    await this.pool.close();
    process.exit(0);
  }

  status(): string {
    const { pool } = this;
    const seconds = Math.round((Date.now() - this.begin) / 1000);
    const megabytes = Math.round(pool.memory / 1e6);
    const links = `${pool.jobs} command${pool.jobs === 1 ? "" : "s"} in ${seconds} s`;
    return `process ${process.pid}, ${pool.processes} of ${this.options.jobs} workers, ${pool.busy} busy, ${links}, ${megabytes} MB`;
  }

  stop(): void {
    this.isStopping = true;
    this.look();
  }

  /** Others find it as soon as it is there as a whole: the token before the socket, both under names of their own first. */
  private async listen(): Promise<void> {
    const { folder, name, socket, token, starting } = this.place;
    const own = `${folder}/${name}.${process.pid}`;
    try {
      await new Promise<void>((resolve, reject) => {
        this.server.once("error", reject);
        this.server.listen(`${own}.sock`, resolve);
      });
      this.inode = fs.statSync(`${own}.sock`).ino;
      fs.writeFileSync(`${own}.token`, this.halves.join(""), { mode: 0o600, flag: "wx" });
      fs.renameSync(`${own}.token`, token);
      fs.renameSync(`${own}.sock`, socket);
    } catch (e) {
      this.server.close();
      for (const file of [`${own}.sock`, `${own}.token`]) fs.rmSync(file, { force: true });
      throw new InputError(`cannot listen in ${folder}: ${reasonOf(e)}`);
    } finally {
      fs.rmSync(starting, { force: true });
    }
  }

  private isFound(): boolean {
    return fs.statSync(this.place.socket, { throwIfNoEntry: false })?.ino === this.inode;
  }

  private accept(socket: Socket): void {
    this.lastUse = Date.now();
    const connection = new Connection(socket, this);
    this.connections.add(connection);
    socket.on("close", () => {
      this.connections.delete(connection);
      this.lastUse = Date.now();
      if (this.isStopping) this.look();
    });
  }

  private look(): void {
    for (const connection of this.connections) connection.beat();
    const { idleTimeout } = this.options;
    const isOver = idleTimeout > 0 && Date.now() - this.lastUse > 1000 * idleTimeout;
    if (!isOver && !this.isStopping && this.isFound()) return;
    if (this.connections.size === 0 && this.pool.isIdle) this.end();
  }
}

/**
 * Files that whoever started it had open, as scripts have locks: they would stay open as long as the service runs. Node's own
 * are closed in what it starts (O_CLOEXEC, in proc(5)'s `flags`), and inherited ones are not.
 */
function closeInherited(): void {
  const closesItself = 0o2000000;
  let names: string[] = [];
  try {
    names = fs.readdirSync("/proc/self/fd");
  } catch {
    // Nobody tells.
  }
  for (const name of names) {
    if (Number(name) < 3) continue;
    try {
      const info = fs.readFileSync(`/proc/self/fdinfo/${name}`, "latin1");
      const flags = Number.parseInt(/^flags:\s*(\d+)/m.exec(info)?.[1] ?? "0", 8);
      if (/^flags:/m.test(info) && (flags & closesItself) === 0) fs.closeSync(Number(name));
    } catch {
      // It was closed meanwhile.
    }
  }
}
