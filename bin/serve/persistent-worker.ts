/**
 * `--persistent_worker`: a worker that Bazel, or whoever speaks its protocol, starts and keeps (bazel.build/remote/persistent). It reads
 * requests from standard input and runs the command with the words that it was started with and those of the request, in the same
 * processes that stay warm as the service does, several at a time where requests have numbers (multiplex workers). Relative
 * paths start from the request's sandbox, or the directory of the worker, which a sandboxed one has changed from request to
 * request. What the command writes to standard output and error is in the response.
 *
 * A request that is taken back is ended, and nothing of it is left before that is said. The end of the input, and signals, take
 * back all. What is no request ends the worker with an error: the build tool starts another.
 */
import { statSync } from "node:fs";
import { availableParallelism } from "node:os";
import { resolve } from "node:path";
import { writeAll } from "../host/host.js";
import { formatMessage, usualStyle } from "../host/messages.js";
import type { JobDone } from "./jobs.js";
import { runByItself } from "./own-process.js";
import { Pool, type Task, usualMemoryLimit } from "./pool.js";
import type { CommandName, Request } from "./protocol.js";
import { WorkMessageError, WorkMessages, type WorkRequest, type WorkResponse } from "./work-messages.js";

/** A request under way, as whoever can end it. */
interface Work {
  /** Resolved when nothing of it is left. */
  end(): Promise<void>;
}

/**
 * Works until the input ends.
 * @param args what the command was started with
 * @param bundles the folder of the commands' bundles
 * @returns the exit code
 */
export async function persist(
  command: CommandName,
  args: readonly string[],
  bundles: string,
): Promise<number> {
  const worker = new PersistentWorker(command, args, bundles);
  let signalled: NodeJS.Signals | undefined;
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const)
    process.on(signal, () => {
      signalled ??= signal;
      void worker.end(0);
    });
  const code = await worker.ended;
  if (signalled !== undefined) {
    process.removeAllListeners(signalled);
    process.kill(process.pid, signalled);
  }
  return code;
}

class PersistentWorker {
  /** The exit code, when nothing is left of what was under way. */
  readonly ended: Promise<number>;
  private readonly messages = new WorkMessages();
  private readonly pool: Pool;
  private readonly works = new Map<number, Work>();
  private readonly cwd = process.cwd();
  private readonly umask = process.umask();
  private readonly env = { ...process.env } as Record<string, string>;
  private isOver = false;
  private finish: (code: number) => void = () => {};

  constructor(
    private readonly command: CommandName,
    private readonly args: readonly string[],
    private readonly bundles: string,
  ) {
    this.pool = new Pool(bundles, availableParallelism(), usualMemoryLimit);
    this.pool.warmUp();
    this.ended = new Promise((resolve) => {
      this.finish = resolve;
    });
    const { stdin, stdout } = process;
    stdout.on("error", () => void this.end(1));
    stdin.on("error", () => void this.end(1));
    stdin.on("data", (chunk) => this.understand(() => this.read(chunk)));
    stdin.on("end", () => {
      this.understand(() => this.messages.end());
      void this.end(0);
    });
  }

  /** Takes back what is under way. */
  async end(code: number): Promise<void> {
    if (this.isOver) return;
    this.isOver = true;
    process.stdin.destroy();
    await Promise.all([...this.works.values()].map((work) => work.end()));
    await this.pool.close();
    this.finish(code);
  }

  private understand(read: () => void): void {
    if (this.isOver) return;
    try {
      read();
    } catch (e) {
      if (!(e instanceof WorkMessageError)) throw e;
      const message = `--persistent_worker: ${e.message}`;
      writeAll(2, Buffer.from(formatMessage("tsc-lto", { severity: "error", message }, usualStyle(plain))));
      void this.end(1);
    }
  }

  private read(chunk: Buffer): void {
    for (const request of this.messages.push(chunk)) {
      if (request.cancel) void this.cancel(request.requestId);
      else if (this.works.has(request.requestId))
        throw new WorkMessageError(`request ${request.requestId} is under way already`);
      else this.start(request);
    }
  }

  /** Of a request that has been answered meanwhile, nothing is said: a build tool waits for one response. */
  private async cancel(requestId: number): Promise<void> {
    const work = this.works.get(requestId);
    if (work === undefined) return;
    const ended = work.end();
    // What it says in its end is not for anybody.
    const cancelled: Work = { end: () => ended };
    this.works.set(requestId, cancelled);
    await ended;
    this.answer(cancelled, { requestId, exitCode: 0, output: "", wasCancelled: true });
  }

  private start({ requestId, arguments: words, sandboxDir }: WorkRequest): void {
    const { command, env, umask, pool } = this;
    const cwd = resolve(this.cwd, sandboxDir);
    const request: Request = { command, args: [...this.args, ...words], cwd, env, umask, colour: false };
    const task: Task = {
      request,
      finish: (outcome) => {
        if (outcome.kind === "cannot") this.startByItself(requestId, request);
        else this.answer(work, { requestId, ...responseOf(outcome), wasCancelled: false });
      },
    };
    const work: Work = { end: () => pool.cancel(task) };
    this.works.set(requestId, work);
    pool.add(task);
  }

  /** What no worker process does, or none has survived. */
  private startByItself(requestId: number, request: Request): void {
    if (this.isOver) return;
    if (!isFolder(request.cwd)) {
      this.answer(this.works.get(requestId), {
        requestId,
        exitCode: 1,
        output: `tsc-lto: error: ${request.cwd}: no such folder\n`,
        wasCancelled: false,
      });
      return;
    }
    const own = runByItself(this.bundles, request);
    this.works.set(requestId, own);
    void own.ended.then(({ code, output }) =>
      this.answer(own, { requestId, exitCode: code, output: output.toString(), wasCancelled: false }),
    );
  }

  /** Once for each request: by its end, or by who has taken it back. */
  private answer(work: Work | undefined, response: WorkResponse): void {
    if (this.isOver || this.works.get(response.requestId) !== work) return;
    this.works.delete(response.requestId);
    process.stdout.write(this.messages.write(response));
  }
}

const plain = { colour: false };

const isFolder = (path: string): boolean => statSync(path, { throwIfNoEntry: false })?.isDirectory() === true;

const responseOf = ({ code, output }: JobDone): { exitCode: number; output: string } => ({
  exitCode: code,
  output: Buffer.concat(output.map(({ bytes }) => bytes)).toString(),
});
