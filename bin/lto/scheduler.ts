/**
 * How a link shares its thread with others. The command has its thread for itself; a link in somebody else's process
 * lets the event loop run every few milliseconds, tells how far it is, and ends when it is aborted.
 */
import { finish, type Steps } from "../../lto/ir/steps.js";
import { collectBetweenSteps } from "./memory.js";
import { microseconds } from "./timer.js";

/** What a link does, in this order; some are left out. The last are optional or too short to have steps. */
export type Phase =
  | "read"
  | "link"
  | "verify"
  | "passes"
  | "plan"
  | "compile"
  | "complete"
  | "program steps"
  | "emit"
  | "data"
  | "check";

export interface Scheduler {
  /** Ends the link when it is aborted. */
  readonly signal: AbortSignal | undefined;
  /** Takes all steps of a phase, or of a part of it. @throws the signal's reason when that is aborted */
  take<Result>(phase: Phase, steps: Steps<Result>): Result | Promise<Result>;
  /** Somebody else has done a part of a phase. */
  reached(phase: Phase, done: number, total: number): void;
  /** The phase is over. */
  finished(phase: Phase): void;
}

export const runToCompletion: Scheduler = {
  signal: undefined,
  take: (_, steps) => finish(steps, collectBetweenSteps),
  reached: () => {},
  finished: () => {},
};

/** Told how far a phase is. `done` does not fall, and in the end is `total`. */
export type ProgressListener = (phase: Phase, done: number, total: number) => void;

/** Microseconds that a link keeps the event loop waiting, if its steps are not longer. */
const patience = 10_000;

export class YieldingScheduler implements Scheduler {
  private last = microseconds();
  private phase: Phase | null = null;
  private done = 0;
  private total = 1;
  private told: { readonly phase: Phase | null; readonly done: number; readonly total: number } = {
    phase: null,
    done: 0,
    total: 0,
  };

  constructor(
    readonly signal: AbortSignal | undefined,
    private readonly listener: ProgressListener = () => {},
  ) {}

  async take<Result>(phase: Phase, steps: Steps<Result>): Promise<Result> {
    try {
      for (;;) {
        if (microseconds() - this.last >= patience) await this.pause();
        const step = steps.next();
        if (step.done === true) return step.value;
        this.enter(phase);
        ({ done: this.done, total: this.total } = step.value);
      }
    } finally {
      // What the steps have to leave in order, they do.
      steps.return(undefined as Result);
    }
  }

  reached(phase: Phase, done: number, total: number): void {
    this.enter(phase);
    this.done = done;
    this.total = total;
    this.tell();
  }

  finished(phase: Phase): void {
    this.enter(phase);
    this.done = this.total;
    this.tell();
  }

  /** Nothing is told twice. */
  private tell(): void {
    const { phase, done, total, told } = this;
    if (phase === null || (phase === told.phase && done === told.done && total === told.total)) return;
    this.told = { phase, done, total };
    this.listener(phase, done, total);
  }

  private enter(phase: Phase): void {
    if (phase === this.phase) return;
    this.phase = phase;
    this.done = 0;
    this.total = 1;
  }

  private async pause(): Promise<void> {
    this.tell();
    await new Promise<void>((resume) => setImmediate(resume));
    this.signal?.throwIfAborted();
    this.last = microseconds();
  }
}
