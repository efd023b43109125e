/**
 * Times as nested events, in the form that Chrome's tracing page, Perfetto and speedscope read: "Trace Event Format",
 * complete events (`"ph": "X"`) in microseconds. One `Trace` a thread; clocks agree, so that threads line up.
 */

/** Plain data. */
export interface TraceEvent {
  readonly name: string;
  /** The function or file that it is about. */
  readonly detail: string;
  /** Microseconds since the beginning of the run. */
  readonly start: number;
  readonly duration: number;
  readonly thread: number;
}

/** Microseconds since the beginning of the run, in all threads. */
export type Clock = () => number;

export class Trace {
  readonly events: TraceEvent[] = [];

  constructor(
    readonly now: Clock,
    readonly thread: number,
    /** Shorter events are left out, in microseconds. */
    private readonly granularity: number,
  ) {}

  /** Records what began at `start` and ends now. */
  end(name: string, detail: string, start: number): void {
    const duration = this.now() - start;
    if (duration >= this.granularity)
      this.events.push({ name, detail, start, duration, thread: this.thread });
  }
}

/** The file's text. @param epoch when the run began, in microseconds since the epoch */
export function formatTrace(events: readonly TraceEvent[], epoch: number): string {
  const threads = [...new Set([0, ...events.map((e) => e.thread)])].sort((a, b) => a - b);
  const names = [
    { name: "process_name", ph: "M", pid: 1, tid: 0, args: { name: "tsc-lto" } },
    ...threads.map((thread) => ({
      name: "thread_name",
      ph: "M",
      pid: 1,
      tid: thread,
      args: { name: thread === 0 ? "main" : `worker ${thread}` },
    })),
  ];
  // Those around others first: readers nest by order where times are equal.
  const ordered = [...events].sort((a, b) => a.start - b.start || b.duration - a.duration);
  const shown = ordered.map(({ name, detail, start, duration, thread }) => ({
    name,
    ph: "X",
    pid: 1,
    tid: thread,
    ts: Math.round(start),
    dur: Math.round(duration),
    args: detail === "" ? {} : { detail },
  }));
  const lines = [...names, ...shown].map((e) => JSON.stringify(e));
  return `{"traceEvents":[\n${lines.join(",\n")}\n],"beginningOfTime":${Math.round(epoch)}}\n`;
}
