/** Wall-clock time of the phases of a run, for `--time-passes` and the trace. */
import { type Clock, Trace, type TraceEvent } from "../../lto/pass/trace.js";

/** Microseconds since some moment before the process. (The global `performance` would load its module, 3% of an empty run.) */
export function microseconds(): number {
  const [seconds, nanoseconds] = process.hrtime();
  return seconds * 1e6 + nanoseconds / 1e3;
}
/** A clock that began at `origin`, in this thread or another. */
export const clockSince = (origin: number): Clock => {
  return () => microseconds() - origin;
};

export interface Lap {
  readonly name: string;
  readonly milliseconds: number;
}

export class Timer {
  /** When the run began, as `microseconds` has it: the same in all threads. */
  readonly origin = microseconds();
  /** The same in microseconds since the epoch. */
  readonly epoch = Date.now() * 1000;
  private readonly now = clockSince(this.origin);
  private readonly trace = new Trace(this.now, 0, 0);
  readonly laps: Lap[] = [];
  private last = 0;

  /** Ends a phase that began when the previous one ended. */
  lap(name: string): void {
    this.trace.end(name, "", this.last);
    const now = this.now();
    this.laps.push({ name, milliseconds: (now - this.last) / 1000 });
    this.last = now;
  }

  /** The phases, and the whole around them. */
  events(): readonly TraceEvent[] {
    return [{ name: "tsc-lto", detail: "", start: 0, duration: this.last, thread: 0 }, ...this.trace.events];
  }
}

/** One line a phase, and the sum. */
export function formatPhases(laps: readonly Lap[]): string {
  const total = laps.reduce((sum, l) => sum + l.milliseconds, 0);
  return [...laps, { name: "total", milliseconds: total }]
    .map((l) => `${l.milliseconds.toFixed(1).padStart(10)} ms  ${l.name}\n`)
    .join("");
}
