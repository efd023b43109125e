/** A process that runs commands, one at a time, and stays warm; the service's side of it. */
import { type ChildProcess, spawn } from "node:child_process";
import { join } from "node:path";
import { type FromWorker, type JobDone, markName, type ToWorker } from "./jobs.js";
import { Journal } from "./journal.js";
import type { Request } from "./protocol.js";

/** That cannot be set once it runs: bin/engine.cts has the others. */
const engine = ["--max-semi-space-size=8"];
/** Milliseconds that it has to end after a signal; it gives as much to the programs that it has started. */
const patience = 1500;
/** Milliseconds in which the channel of one that has ended is read to its end. */
const lastWords = 1000;

export type Outcome = JobDone | { readonly kind: "cannot"; readonly why: string };

export class WorkerProcess {
  private readonly child: ChildProcess;
  private readonly journal = new Journal();
  private finish: ((outcome: Outcome) => void) | null = null;
  private isEnding = false;
  /** Resolved when it is gone, and nothing is left of it. */
  readonly gone: Promise<void>;
  /** Bytes of memory after its last job. */
  memory = 0;

  /** @param bundles the folder of the commands' bundles */
  constructor(bundles: string) {
    this.child = spawn(process.execPath, [...engine, join(bundles, "../bin/start.cjs"), "work"], {
      cwd: "/",
      env: { ...process.env, [markName]: this.journal.mark },
      // Signals of a terminal go to the service, which passes them on.
      detached: true,
      stdio: ["ignore", "ignore", "inherit", "ipc"],
      serialization: "advanced",
    });
    this.gone = new Promise((resolve) => {
      const end = (): void => {
        this.isEnding = true;
        void this.journal.clean().then(() => {
          this.answer({ kind: "cannot", why: "the service's process has ended" });
          resolve();
        });
      };
      this.child.once("exit", () => {
        this.isEnding = true;
        // What it said last is still on its way, perhaps.
        if (!this.child.connected) return end();
        const timer = setTimeout(end, lastWords);
        this.child.once("disconnect", () => {
          clearTimeout(timer);
          end();
        });
      });
      this.child.once("error", end);
    });
    this.child.on("message", (message: FromWorker) => this.take(message));
  }

  get isIdle(): boolean {
    return this.finish === null && !this.isEnding;
  }

  run(request: Request): Promise<Outcome> {
    return new Promise((resolve) => {
      this.finish = resolve;
      this.send({ kind: "job", request });
    });
  }

  /** Ends it, also in the middle of a job. */
  async end(): Promise<void> {
    this.isEnding = true;
    this.child.kill("SIGTERM");
    const timer = setTimeout(() => this.child.kill("SIGKILL"), patience);
    await this.gone;
    clearTimeout(timer);
  }

  private take(message: FromWorker): void {
    if (this.journal.take(message)) return;
    if (message.kind === "ask") {
      // A client that has gone meanwhile is noticed first.
      setImmediate(() => setImmediate(() => this.go()));
    } else if (message.kind === "done" || message.kind === "cannot") {
      if (message.kind === "done") this.memory = message.memory;
      this.answer(message);
    }
  }

  private go(): void {
    if (!this.isEnding) this.send({ kind: "go" });
  }

  private answer(outcome: Outcome): void {
    const { finish } = this;
    this.finish = null;
    finish?.(outcome);
  }

  private send(message: ToWorker): void {
    // One that has ended is noticed by its end.
    if (this.child.connected) this.child.send(message, () => {});
  }
}
