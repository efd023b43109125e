/**
 * What a function passes in each substitute register: how many calls, and how often each source. Kept up to date
 * while conventions are chosen, so that asking for the one value in a register costs nothing in the common cases.
 */
import { dyingValue } from "./argument-flow.js";

export class PassedValues {
  /** Calls that pass something in a substitute; those that pass a dying value; those that could be jumps. */
  readonly totals: Int32Array;
  readonly dying: Int32Array;
  readonly tails: Int32Array;
  private readonly distinct: Int32Array;
  private readonly counts: Int32Array;

  /** @param sources number of different sources of the function (see `ArgumentFlow`) */
  constructor(
    private readonly sources: number,
    substitutes: number,
  ) {
    this.totals = new Int32Array(substitutes);
    this.dying = new Int32Array(substitutes);
    this.tails = new Int32Array(substitutes);
    this.distinct = new Int32Array(substitutes);
    this.counts = new Int32Array(substitutes * sources);
  }

  /** One call more (`by` is 1) or less (-1) that passes `source` in a substitute. */
  count(which: number, source: number, tail: boolean, by: number): void {
    this.totals[which]! += by;
    if (tail) this.tails[which]! += by;
    if (source === dyingValue) {
      this.dying[which]! += by;
      return;
    }
    const at = which * this.sources + source;
    const before = this.counts[at]!;
    this.counts[at] = before + by;
    if (before === 0) this.distinct[which]!++;
    else if (before + by === 0) this.distinct[which]!--;
  }

  /** The only source that does not die; -1 if there is none, or several. @param likely looked at first, or -1 */
  only(which: number, likely: number): number {
    if (this.distinct[which] !== 1) return -1;
    const start = which * this.sources;
    if (likely >= 0 && this.counts[start + likely]! > 0) return likely;
    for (let source = 0; source < this.sources; source++) if (this.counts[start + source]! > 0) return source;
    return -1;
  }
}
