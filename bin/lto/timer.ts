/** Wall-clock time of the phases of a run, for `--time-passes`. */
export class Timer {
  private readonly laps: { readonly name: string; readonly milliseconds: number }[] = [];
  private last = performance.now();

  /** Ends a phase that began when the previous one ended. */
  lap(name: string): void {
    const now = performance.now();
    this.laps.push({ name, milliseconds: now - this.last });
    this.last = now;
  }

  format(): string {
    const total = this.laps.reduce((sum, l) => sum + l.milliseconds, 0);
    return [...this.laps, { name: "total", milliseconds: total }]
      .map((l) => `${l.milliseconds.toFixed(1).padStart(10)} ms  ${l.name}\n`)
      .join("");
  }
}
