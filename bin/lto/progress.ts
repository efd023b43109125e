/** `--progress`: a line on standard error that says how far the link is, written anew a few times a second. */
import type { Steps } from "../../lto/ir/steps.js";
import { collectBetweenSteps } from "./memory.js";
import type { Phase, Scheduler } from "./scheduler.js";
import { microseconds } from "./timer.js";

/** In microseconds: before it nothing is shown, and how often what is shown changes. */
export interface Pace {
  readonly delay: number;
  readonly interval: number;
}

/** Small links show nothing. */
export const usualPace: Pace = { delay: 2_000_000, interval: 100_000 };

/**
 * Parts of a link's time by phase, in percent, for the length of the bar; SQLite at -Oz in one thread. What a phase takes differs
 * from program to program, so the bar is no clock.
 */
const shares: readonly (readonly [Phase, number])[] = [
  ["read", 3],
  ["link", 4],
  ["verify", 0],
  ["passes", 34],
  ["plan", 2],
  ["compile", 34],
  ["complete", 12],
  ["program steps", 3],
  ["emit", 8],
];

/** Columns of the bar. */
const width = 24;

/** A scheduler that shows how far it is, for a link that has its thread for itself. */
export class ShownProgress implements Scheduler {
  readonly signal = undefined;
  private readonly start = microseconds();
  private next: number;
  private shown = false;
  /** It never falls, though a phase may have several parts. */
  private percent = 0;
  private phase: Phase = "read";
  private done = 0;
  private total = 1;

  /**
   * @param write takes text for the terminal
   * @param columns of the terminal
   */
  constructor(
    private readonly write: (text: string) => void,
    private readonly columns: number,
    private readonly pace: Pace = usualPace,
  ) {
    this.next = this.start + pace.delay;
  }

  take<Result>(phase: Phase, steps: Steps<Result>): Result {
    for (;;) {
      const step = steps.next();
      if (step.done === true) return step.value;
      collectBetweenSteps();
      this.reached(phase, step.value.done, step.value.total);
    }
  }

  reached(phase: Phase, done: number, total: number): void {
    this.phase = phase;
    this.done = done;
    this.total = total;
    const now = microseconds();
    if (now < this.next) return;
    this.next = now + this.pace.interval;
    this.shown = true;
    this.write(`\r${this.line(now)}\x1b[K`);
  }

  finished(phase: Phase): void {
    this.reached(phase, 1, 1);
  }

  /** Takes the line away, so that something else can be written, or because the link is over. */
  clear(): void {
    if (this.shown) this.write("\r\x1b[K");
    this.shown = false;
  }

  private line(now: number): string {
    const { phase, done, total } = this;
    const at = shares.findIndex(([name]) => name === phase);
    const before = shares.slice(0, at < 0 ? shares.length : at).reduce((sum, [, share]) => sum + share, 0);
    const share = at < 0 ? 0 : shares[at]![1];
    const percent = Math.max(this.percent, Math.floor(before + (share * done) / Math.max(1, total)));
    this.percent = percent;
    const full = Math.round((width * percent) / 100);
    const bar = `[${"#".repeat(full)}${".".repeat(width - full)}]`;
    const seconds = Math.floor((now - this.start) / 1e6);
    const count = total > 1 ? ` ${Math.floor(done)}/${total}` : "";
    return `tsc-lto ${bar} ${String(percent).padStart(2)}% ${seconds} s  ${phase}${count}`.slice(
      0,
      this.columns - 1,
    );
  }
}
