/** The worker processes, and who waits for one. */
import type { Request } from "./protocol.js";
import { type Outcome, WorkerProcess } from "./worker-process.js";

export interface Task {
  readonly request: Request;
  finish(outcome: Outcome): void;
}

/** Bytes of memory beyond which a worker process is replaced. */
export const usualMemoryLimit = 1 << 30;

export class Pool {
  private readonly workers = new Set<WorkerProcess>();
  /** The warmest is the last. */
  private readonly idle: WorkerProcess[] = [];
  private readonly waiting: Task[] = [];
  private readonly running = new Map<Task, WorkerProcess>();
  /** Those that are cleaned up after: what runs next might write the same files. */
  private ending = 0;
  /** Jobs that were done. */
  jobs = 0;

  /**
   * @param size how many there may be
   * @param memoryLimit bytes beyond which one is replaced
   */
  constructor(
    private readonly bundles: string,
    private readonly size: number,
    private readonly memoryLimit: number,
  ) {}

  get isIdle(): boolean {
    return this.running.size === 0 && this.waiting.length === 0 && this.ending === 0;
  }

  get memory(): number {
    return [...this.workers].reduce((sum, { memory }) => sum + memory, 0);
  }

  get busy(): number {
    return this.running.size;
  }

  get processes(): number {
    return this.workers.size;
  }

  /** Starts one before it is asked for. */
  warmUp(): void {
    if (this.workers.size === 0) this.idle.push(this.start());
  }

  add(task: Task): void {
    this.waiting.push(task);
    this.dispatch();
  }

  /** Ends a task that nobody waits for; its `finish` is not called. Resolved when nothing is left of it. */
  async cancel(task: Task): Promise<void> {
    const at = this.waiting.indexOf(task);
    if (at >= 0) this.waiting.splice(at, 1);
    const worker = this.running.get(task);
    if (worker === undefined) return;
    this.running.delete(task);
    await this.end(worker);
  }

  async close(): Promise<void> {
    await Promise.all([...this.workers].map((worker) => this.end(worker)));
  }

  private start(): WorkerProcess {
    const worker = new WorkerProcess(this.bundles);
    this.workers.add(worker);
    void worker.gone.then(() => {
      this.workers.delete(worker);
      const at = this.idle.indexOf(worker);
      if (at >= 0) this.idle.splice(at, 1);
      this.dispatch();
    });
    return worker;
  }

  private dispatch(): void {
    while (this.waiting.length > 0 && this.ending === 0) {
      const worker = this.idle.pop() ?? (this.workers.size < this.size ? this.start() : undefined);
      if (worker === undefined) return;
      if (worker.isIdle) void this.run(worker, this.waiting.shift()!);
    }
  }

  private async run(worker: WorkerProcess, task: Task): Promise<void> {
    this.running.set(task, worker);
    const outcome = await worker.run(task.request);
    if (!this.running.delete(task)) return;
    task.finish(outcome);
    // Whatever it could not do, another may.
    if (outcome.kind === "cannot" || worker.memory > this.memoryLimit) void this.end(worker);
    else {
      this.jobs++;
      this.idle.push(worker);
    }
    this.dispatch();
  }

  private async end(worker: WorkerProcess): Promise<void> {
    this.ending++;
    const at = this.idle.indexOf(worker);
    if (at >= 0) this.idle.splice(at, 1);
    await worker.end();
    this.ending--;
    this.dispatch();
  }
}
