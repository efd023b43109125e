/** Wall-clock time of the phases of a run, for `--time-passes`. */
export class Timer {
  private readonly laps: { readonly name: string; readonly milliseconds: number }[] = [];
  private last = now();

  /** Ends a phase that began when the previous one ended. */
  lap(name: string): void {
    const at = now();
    this.laps.push({ name, milliseconds: at - this.last });
    this.last = at;
  }

  format(): string {
    const total = this.laps.reduce((sum, l) => sum + l.milliseconds, 0);
    return [...this.laps, { name: "total", milliseconds: total }]
      .map((l) => `${l.milliseconds.toFixed(1).padStart(10)} ms  ${l.name}\n`)
      .join("");
  }
}

/** Milliseconds since some moment. (The global `performance` would load its module, 3% of an empty run.) */
function now(): number {
  const [seconds, nanoseconds] = process.hrtime();
  return seconds * 1e3 + nanoseconds / 1e6;
}
