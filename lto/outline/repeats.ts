/**
 * All substrings that occur more than once in a sequence of symbols.
 *
 * They are the intervals of a suffix array whose suffixes have a prefix in common (Abouelhoda, Kurtz, Ohlebusch,
 * "Replacing suffix trees with enhanced suffix arrays", J. Discrete Algorithms 2004), nested as the nodes of a suffix
 * tree are: a repeat inside of another that occurs more often has an interval of its own. Shorter prefixes down to the
 * enclosing interval's length have the same occurrences and are not listed; `shortest` tells how far down that goes.
 * Fewer intervals than symbols; linear time. Occurrences are copied only of those repeats that somebody asks about,
 * since all of them together may be quadratic.
 */
import { commonPrefixes, suffixArray } from "./suffix-array.js";

export interface Repeat {
  /** In symbols. */
  readonly length: number;
  /** Prefixes of at least this many symbols occur at the same places and nowhere else. */
  readonly shortest: number;
  /** Where it occurs, ascending; occurrences may overlap. */
  readonly starts: Int32Array;
}

export interface RepeatLimits {
  readonly minimumLength: number;
  /** Longer repeats are cut to this. */
  readonly maximumLength: number;
  /**
   * Whether the repeat is worth a copy of its occurrences; by default all are.
   * @param first one of its starts
   */
  readonly wanted?: (length: number, count: number, first: number) => boolean;
}

/**
 * The sequence that is searched. Symbols from 0 on are equal where their numbers are; a negative number is equal to
 * nothing, so that no repeat contains it.
 */
function densely(symbols: Int32Array): { text: Int32Array; alphabet: number } {
  let largest = -1;
  for (const symbol of symbols) largest = Math.max(largest, symbol);
  const text = new Int32Array(symbols.length);
  // Symbols that do not occur cost memory: numbers that are not dense are made so.
  const dense = new Int32Array(largest + 1).fill(-1);
  let alphabet = 0;
  for (let i = 0; i < symbols.length; i++) {
    const symbol = symbols[i]!;
    if (symbol < 0) text[i] = alphabet++;
    else {
      if (dense[symbol]! < 0) dense[symbol] = alphabet++;
      text[i] = dense[symbol]!;
    }
  }
  return { text, alphabet };
}

/**
 * The repeats of a sequence, in the order of the suffix array, inner ones first: it depends on the sequence alone.
 * @param symbols numbers below a small multiple of the length; negative ones are equal to nothing
 */
export function findRepeats(symbols: Int32Array, limits: RepeatLimits): Repeat[] {
  const { minimumLength, maximumLength, wanted = () => true } = limits;
  const { text, alphabet } = densely(symbols);
  const sa = suffixArray(text, alphabet);
  const lcp = commonPrefixes(text, sa);
  const repeats: Repeat[] = [];
  /** Intervals that are open: their lengths, and where they begin. */
  const lengths: number[] = [];
  const begins: number[] = [];
  const close = (end: number, outer: number): void => {
    const begin = begins.pop()!;
    const whole = lengths.pop()!;
    const enclosing = Math.max(outer, lengths.at(-1) ?? 0);
    if (whole < minimumLength || enclosing >= maximumLength) return;
    const length = Math.min(whole, maximumLength);
    if (!wanted(length, end - begin, sa[begin]!)) return;
    repeats.push({
      length,
      shortest: Math.max(enclosing + 1, minimumLength),
      starts: sa.slice(begin, end).sort(),
    });
  };
  for (let i = 1; i <= sa.length; i++) {
    const common = i < sa.length ? lcp[i]! : 0;
    let begin = i - 1;
    while (lengths.length > 0 && lengths.at(-1)! > common) {
      begin = begins.at(-1)!;
      close(i, common);
    }
    if (common > 0 && common > (lengths.at(-1) ?? 0)) {
      lengths.push(common);
      begins.push(begin);
    }
  }
  return repeats;
}
