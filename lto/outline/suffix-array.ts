/**
 * Suffix array of a sequence of numbers: the starts of its suffixes in lexicographic order.
 *
 * Induced sorting (Nong, Zhang, Chan, "Linear Suffix Array Construction by Almost Pure Induced-Sorting", DCC 2009). A
 * suffix is of type S if it is smaller than the one that starts after it, else of type L; the last one is L, since
 * the end of the text is smaller than every symbol. An S after an L is a leftmost S (LMS). Once the LMS suffixes are
 * sorted, one scan up brings the L suffixes in order and one scan down the S suffixes. The LMS suffixes are sorted by
 * the same scans, applied to the pieces between them, whose ranks are a text of at most half the length.
 *
 * Linear in the length of the text plus the size of the alphabet, in time and memory: packed arrays only.
 * Breaks if: symbols are not in 0..alphabet-1.
 */

/** @param text symbols below `alphabet` */
export function suffixArray(text: Int32Array, alphabet: number): Int32Array {
  const sa = new Int32Array(text.length);
  sortSuffixes(text, alphabet, sa);
  return sa;
}

/** Where the suffixes that begin with each symbol start; the last entry is the length. */
function bucketStarts(text: Int32Array, alphabet: number): Int32Array {
  const starts = new Int32Array(alphabet + 1);
  for (let i = 0; i < text.length; i++) starts[text[i]! + 1]!++;
  for (let c = 0; c < alphabet; c++) starts[c + 1]! += starts[c]!;
  return starts;
}

/** 1 for each suffix of type S. */
function suffixTypes(text: Int32Array): Uint8Array {
  const types = new Uint8Array(text.length);
  for (let i = text.length - 2; i >= 0; i--) {
    const difference = text[i]! - text[i + 1]!;
    types[i] = difference < 0 ? 1 : difference === 0 ? types[i + 1]! : 0;
  }
  return types;
}

function sortSuffixes(text: Int32Array, alphabet: number, sa: Int32Array): void {
  const n = text.length;
  if (n <= 1) {
    sa.fill(0);
    return;
  }
  const types = suffixTypes(text);
  const buckets = bucketStarts(text, alphabet);
  const next = new Int32Array(alphabet);
  const isLms = (i: number): boolean => types[i] === 1 && i > 0 && types[i - 1] === 0;

  const lms = collectLms(types);
  if (lms.length > 1) {
    // In any order: the scans sort the pieces that start there.
    induce(text, types, buckets, next, lms, sa);
    const names = new Int32Array(n).fill(-1);
    const count = namePieces(text, types, isLms, sa, names);
    sortLms(lms, names, count);
  }
  induce(text, types, buckets, next, lms, sa);
}

/** Starts of the LMS suffixes, ascending. */
function collectLms(types: Uint8Array): Int32Array {
  let count = 0;
  for (let i = 1; i < types.length; i++) if (types[i] === 1 && types[i - 1] === 0) count++;
  const lms = new Int32Array(count);
  count = 0;
  for (let i = 1; i < types.length; i++) if (types[i] === 1 && types[i - 1] === 0) lms[count++] = i;
  return lms;
}

/** Sorts all suffixes, given the LMS ones in the order they are to have among those of their first symbol. */
function induce(
  text: Int32Array,
  types: Uint8Array,
  buckets: Int32Array,
  next: Int32Array,
  lms: Int32Array,
  sa: Int32Array,
): void {
  const n = text.length;
  const alphabet = next.length;
  sa.fill(-1);
  for (let c = 0; c < alphabet; c++) next[c] = buckets[c + 1]!;
  for (let i = lms.length - 1; i >= 0; i--) sa[--next[text[lms[i]!]!]!] = lms[i]!;
  // L suffixes stand before the S suffixes of their symbol, each after what it is followed by.
  for (let c = 0; c < alphabet; c++) next[c] = buckets[c]!;
  sa[next[text[n - 1]!]!++] = n - 1;
  for (let i = 0; i < n; i++) {
    const before = sa[i]! - 1;
    if (before >= 0 && types[before] === 0) sa[next[text[before]!]!++] = before;
  }
  // S suffixes from the end of each bucket; they overwrite the LMS ones, before those are read.
  for (let c = 0; c < alphabet; c++) next[c] = buckets[c + 1]!;
  for (let i = n - 1; i >= 0; i--) {
    const before = sa[i]! - 1;
    if (before >= 0 && types[before] === 1) sa[--next[text[before]!]!] = before;
  }
}

/**
 * Numbers the pieces from one LMS start to the next by their order; equal pieces have equal numbers.
 * @param names receives the number of each LMS start
 * @returns how many different ones there are
 */
function namePieces(
  text: Int32Array,
  types: Uint8Array,
  isLms: (i: number) => boolean,
  sa: Int32Array,
  names: Int32Array,
): number {
  const n = text.length;
  let count = 0;
  let previous = -1;
  for (let i = 0; i < n; i++) {
    const start = sa[i]!;
    if (!isLms(start)) continue;
    if (previous < 0 || !samePiece(text, types, isLms, previous, start)) count++;
    names[start] = count - 1;
    previous = start;
  }
  return count;
}

function samePiece(
  text: Int32Array,
  types: Uint8Array,
  isLms: (i: number) => boolean,
  a: number,
  b: number,
): boolean {
  const n = text.length;
  for (let k = 0; ; k++) {
    // The end of the text is a symbol of its own.
    if (a + k >= n || b + k >= n) return false;
    if (text[a + k] !== text[b + k] || types[a + k] !== types[b + k]) return false;
    if (k > 0) {
      const ends = isLms(a + k);
      if (ends !== isLms(b + k)) return false;
      if (ends) return true;
    }
  }
}

/** Brings the LMS starts into the order of their suffixes. */
function sortLms(lms: Int32Array, names: Int32Array, count: number): void {
  const reduced = new Int32Array(lms.length);
  for (let i = 0; i < lms.length; i++) reduced[i] = names[lms[i]!]!;
  const order = new Int32Array(lms.length);
  if (count === lms.length) for (let i = 0; i < lms.length; i++) order[reduced[i]!] = i;
  else sortSuffixes(reduced, count, order);
  for (let i = 0; i < lms.length; i++) order[i] = lms[order[i]!]!;
  lms.set(order);
}

/**
 * Symbols that each suffix has in common with the one before it in the suffix array; 0 for the first
 * (Kärkkäinen, Manzini, Puglisi, "Permuted Longest-Common-Prefix Array", CPM 2009). Linear.
 */
export function commonPrefixes(text: Int32Array, sa: Int32Array): Int32Array {
  const n = text.length;
  const before = new Int32Array(n);
  const lcp = new Int32Array(n);
  if (n === 0) return lcp;
  before[sa[0]!] = -1;
  for (let i = 1; i < n; i++) before[sa[i]!] = sa[i - 1]!;
  // By place in the text: from one suffix to the next at most one symbol is lost.
  let common = 0;
  for (let i = 0; i < n; i++) {
    const other = before[i]!;
    if (other < 0) common = 0;
    else while (i + common < n && other + common < n && text[i + common] === text[other + common]) common++;
    before[i] = common;
    if (common > 0) common--;
  }
  for (let i = 0; i < n; i++) lcp[i] = before[sa[i]!]!;
  return lcp;
}
