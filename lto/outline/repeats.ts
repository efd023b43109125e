/**
 * All substrings that occur more than once in a sequence of symbols.
 *
 * They are the intervals of a suffix array whose suffixes have a prefix in common (Abouelhoda, Kurtz, Ohlebusch,
 * "Replacing suffix trees with enhanced suffix arrays", J. Discrete Algorithms 2004), nested as the nodes of a suffix
 * tree are: a repeat inside of another that occurs more often has an interval of its own. Shorter prefixes down to the
 * enclosing interval's length have the same occurrences and are not listed; `shortest` tells how far down that goes.
 * Fewer intervals than symbols; linear time. Occurrences are copied only of those repeats that somebody asks about,
 * since all of them together may be quadratic.
 *
 * Only what can be part of a repeat is sorted: a symbol whose pairs with both neighbours occur nowhere else is part of
 * none of two symbols or more. Pairs are counted by hash; two that share one are sorted for nothing.
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

export interface NewSymbols {
  /** New are symbols from this number on, */
  readonly symbol: number;
  /** and all that stands from this place of the sequence on. */
  readonly place: number;
}

export interface RepeatLimits {
  readonly minimumLength: number;
  /** Longer repeats are cut to this. */
  readonly maximumLength: number;
  /**
   * Whether no repeat may contain a symbol. It is asked at most once of each different one, and only of those that
   * might be part of a repeat; by default none is.
   */
  readonly isBarrier?: (symbol: number) => boolean;
  /**
   * What is new since all that was worth it was made of what was found before: repeats none of whose occurrences
   * contain something new, or stand next to it, may be left out or cut, since they were there before. By default all is new.
   */
  readonly since?: NewSymbols | null;
  /**
   * Whether the repeat is worth a copy of its occurrences; by default all are.
   * @param first one of its starts
   */
  readonly wanted?: (length: number, count: number, first: number) => boolean;
}

/** What is searched: pieces of the sequence, with a symbol between them that is equal to nothing. */
interface SearchText {
  readonly text: Int32Array;
  /** Symbols are below it. */
  readonly alphabet: number;
  /** Where in the sequence each symbol stands; ascending. */
  readonly places: Int32Array;
}

/** The symbols may not follow each other in a repeat. */
const apart = -1;

/**
 * For each symbol, where the pair of it and the one before it is counted, or `apart`; and the counts, 2 for all from 2 on.
 * A number below 0 is equal to nothing.
 */
function countPairs(symbols: Int32Array): { slots: Int32Array; counts: Uint8Array } {
  const n = symbols.length;
  const bits = 34 - Math.clz32(n | 1);
  const shift = 32 - bits;
  const slots = new Int32Array(n);
  const counts = new Uint8Array(2 ** bits);
  const { imul } = Math;
  let before = -1;
  for (let i = 0; i < n; i++) {
    const symbol = symbols[i]!;
    if (symbol < 0 || before < 0) slots[i] = apart;
    else {
      const slot = imul(imul(before, 0x2c1b3c6d) + symbol, 0x9e3779b1) >>> shift;
      slots[i] = slot;
      if (counts[slot]! < 2) counts[slot]!++;
    }
    before = symbol;
  }
  return { slots, counts };
}

/** As `countPairs`, where single symbols are looked for: every pair counts. */
function allPairs(symbols: Int32Array): { slots: Int32Array; counts: Uint8Array } {
  const slots = symbols.map((symbol, i) => (symbol < 0 || i === 0 || symbols[i - 1]! < 0 ? apart : 0));
  return { slots, counts: Uint8Array.of(2) };
}

/** What `counts` says of pairs that are in a piece with something new. */
const near = 3;

/**
 * Looks at the pieces of the sequence whose pairs all occur again, and marks those pairs that are in a piece in which
 * something is new, or next to which.
 */
function markNear(symbols: Int32Array, slots: Int32Array, counts: Uint8Array, since: NewSymbols): void {
  const n = symbols.length;
  const { symbol: firstSymbol, place: firstPlace } = since;
  let start = 0;
  let isNear = false;
  let wasNew = false;
  for (let i = 0; i <= n; i++) {
    const isNew = i < n && (i >= firstPlace || symbols[i]! >= firstSymbol);
    isNear ||= isNew;
    const goesOn = i < n && slots[i]! >= 0 && counts[slots[i]!]! >= 2;
    if (!goesOn) {
      if (isNear) for (let k = start + 1; k < i; k++) counts[slots[k]!] = near;
      start = i;
      isNear = isNew || wasNew;
    }
    wasNew = isNew;
  }
}

/** Symbols get numbers in the order in which they appear. */
function searchText(symbols: Int32Array, limits: RepeatLimits): SearchText {
  const { minimumLength, isBarrier, since = null } = limits;
  const n = symbols.length;
  const { slots, counts } = minimumLength > 1 ? countPairs(symbols) : allPairs(symbols);
  const isPartial = minimumLength > 1 && since !== null;
  if (isPartial) markNear(symbols, slots, counts, since);
  const wanted = isPartial ? near : 2;
  let largest = -1;
  for (let i = 0; i < n; i++) if (symbols[i]! > largest) largest = symbols[i]!;
  /** 0: not seen; -1: a barrier; else 1 more than the number. */
  const numbers = new Int32Array(largest + 1);
  const text = new Int32Array(2 * n);
  const places = new Int32Array(2 * n);
  let used = 0;
  let alphabet = 0;
  let follows = false;
  for (let i = 0; i < n; i++) {
    const isFollowed = i + 1 < n && slots[i + 1]! >= 0 && counts[slots[i + 1]!] === wanted;
    const symbol = symbols[i]!;
    if (symbol >= 0 && (follows || isFollowed || minimumLength === 1)) {
      let number = numbers[symbol]!;
      if (number === 0) number = numbers[symbol] = isBarrier?.(symbol) === true ? -1 : ++alphabet;
      if (number > 0) {
        if (!follows && used > 0) {
          text[used] = alphabet++;
          places[used++] = i;
        }
        text[used] = number - 1;
        places[used++] = i;
        follows = isFollowed;
      } else follows = false;
    } else follows = false;
  }
  return { text: text.subarray(0, used), alphabet, places };
}

/** Where a repeat occurs, from a part of the suffix array. */
function startsIn(sa: Int32Array, begin: number, end: number, places: Int32Array): Int32Array {
  const starts = sa.slice(begin, end);
  if (starts.length > 2) starts.sort();
  else if (starts[0]! > starts[1]!) starts.reverse();
  for (let i = 0; i < starts.length; i++) starts[i] = places[starts[i]!]!;
  return starts;
}

/**
 * The repeats of a sequence, in the order of the suffix array, inner ones first: it depends on the sequence alone.
 * @param symbols numbers below a small multiple of the length; negative ones are equal to nothing
 */
export function findRepeats(symbols: Int32Array, limits: RepeatLimits): Repeat[] {
  const { minimumLength, maximumLength, wanted } = limits;
  const { text, alphabet, places } = searchText(symbols, limits);
  const sa = suffixArray(text, alphabet);
  const lcp = commonPrefixes(text, sa);
  const repeats: Repeat[] = [];
  /** Intervals that are open, the innermost last: their lengths, and where they begin. */
  const lengths: number[] = [0];
  const begins: number[] = [0];
  for (let i = 1; i <= sa.length; i++) {
    const common = i < sa.length ? lcp[i]! : 0;
    let begin = i - 1;
    for (let whole = lengths.at(-1)!; whole > common; whole = lengths.at(-1)!) {
      lengths.pop();
      begin = begins.pop()!;
      const enclosing = Math.max(common, lengths.at(-1)!);
      if (whole < minimumLength || enclosing >= maximumLength) continue;
      const length = Math.min(whole, maximumLength);
      if (wanted !== undefined && !wanted(length, i - begin, places[sa[begin]!]!)) continue;
      const shortest = Math.max(enclosing + 1, minimumLength);
      repeats.push({ length, shortest, starts: startsIn(sa, begin, i, places) });
    }
    if (common > lengths.at(-1)!) {
      lengths.push(common);
      begins.push(begin);
    }
  }
  return repeats;
}
