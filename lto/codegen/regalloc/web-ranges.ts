/**
 * The live ranges of bundles while they are being merged.
 *
 * A block that thousands of others jump to makes one bundle of thousands, joined one by one; copying the ranges
 * of the larger one each time would take quadratic time. So the ranges of large bundles are held in chunks of
 * bounded length, into which those of the smaller one are inserted. Merging all of n ranges takes n log n
 * searches and moves of at most a chunk.
 */
import { type Bundle, type LiveRange, mergeRanges } from "./bundle.js";

/** Bundles of more ranges than this are held in chunks, none longer than this. */
const chunkLength = 256;

const nothing: readonly LiveRange[] = [];

export class WebRanges {
  /** Ranges of large bundles, by bundle id. */
  private readonly large = new Map<number, Chunks>();
  /** Where the walk that `firstEndingAfter` began is. */
  private chunks: readonly (readonly LiveRange[])[] = [];
  private chunkIndex = 0;
  private chunk = nothing;
  private index = 0;

  /** Number of ranges of `bundle`. */
  count(bundle: Bundle): number {
    return this.large.get(bundle.id)?.count ?? bundle.ranges.length;
  }

  /** The ranges of `bundle`, in order. */
  all(bundle: Bundle): readonly LiveRange[] {
    return this.large.get(bundle.id)?.flat() ?? bundle.ranges;
  }

  /** The first range of `bundle` that ends after `point`, null if there is none; `next` goes on from there. */
  firstEndingAfter(bundle: Bundle, point: number): LiveRange | null {
    const chunks = this.large.get(bundle.id);
    this.chunks = chunks === undefined ? [] : chunks.lists;
    this.chunkIndex = chunks === undefined ? 0 : chunks.firstEndingAfter(point);
    this.chunk = chunks === undefined ? bundle.ranges : (this.chunks[this.chunkIndex] ?? nothing);
    this.index = rangeEndingAfter(this.chunk, point);
    return this.index < this.chunk.length ? this.chunk[this.index]! : null;
  }

  /** The range after the last one returned, null at the end. */
  next(): LiveRange | null {
    if (++this.index < this.chunk.length) return this.chunk[this.index]!;
    if (++this.chunkIndex >= this.chunks.length) return null;
    this.chunk = this.chunks[this.chunkIndex]!;
    this.index = 0;
    return this.chunk[0]!;
  }

  /** Adds ranges, in order and disjoint from those that `bundle` has. */
  add(bundle: Bundle, ranges: readonly LiveRange[]): void {
    let chunks = this.large.get(bundle.id);
    if (chunks === undefined && bundle.ranges.length + ranges.length <= chunkLength) {
      bundle.ranges = mergeRanges(bundle.ranges, ranges);
      return;
    }
    if (chunks === undefined) {
      chunks = new Chunks(bundle.ranges);
      this.large.set(bundle.id, chunks);
    }
    for (let k = 0; k < ranges.length; k++) chunks.insert(ranges[k]!);
  }

  /** Forgets the ranges of a bundle that has been merged into another. */
  clear(bundle: Bundle): void {
    this.large.delete(bundle.id);
    bundle.ranges = [];
  }

  /** Puts the ranges of large bundles back into one list each. */
  finish(bundles: readonly Bundle[]): void {
    for (let b = 0; b < bundles.length; b++) {
      const chunks = this.large.get(bundles[b]!.id);
      if (chunks !== undefined) bundles[b]!.ranges = chunks.flat();
    }
    this.large.clear();
  }
}

/** Disjoint ranges in order, as a list of short lists, none of them empty. */
class Chunks {
  readonly lists: LiveRange[][] = [];
  count: number;

  constructor(ranges: readonly LiveRange[]) {
    this.count = ranges.length;
    const half = chunkLength / 2;
    for (let k = 0; k < ranges.length; k += half) this.lists.push(ranges.slice(k, k + half));
  }

  flat(): LiveRange[] {
    return this.lists.flat();
  }

  /** Index of the first list with a range that ends after `point`. */
  firstEndingAfter(point: number): number {
    let low = 0;
    let high = this.lists.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      const list = this.lists[middle]!;
      if (list[list.length - 1]!.end <= point) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  insert(range: LiveRange): void {
    const k = Math.min(this.firstEndingAfter(range.start), this.lists.length - 1);
    const list = this.lists[k]!;
    list.splice(rangeEndingAfter(list, range.start), 0, range);
    this.count++;
    if (list.length > chunkLength) this.lists.splice(k + 1, 0, list.splice(chunkLength / 2));
  }
}

/** Index of the first of the disjoint ranges, in order, that ends after `point`. */
export function rangeEndingAfter(ranges: readonly LiveRange[], point: number): number {
  let low = 0;
  let high = ranges.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (ranges[middle]!.end <= point) low = middle + 1;
    else high = middle;
  }
  return low;
}
