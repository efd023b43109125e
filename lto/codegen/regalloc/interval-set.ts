/**
 * A set of disjoint half-open intervals of program points with an owner each: what one physical register (or one
 * spill slot) holds when.
 *
 * Method: sorted chunks of at most 128 entries, so that insertion moves little memory even in functions with a
 * hundred thousand intervals a register. Lookup is two binary searches.
 */
const chunkLimit = 128;

interface Chunk<T> {
  starts: number[];
  ends: number[];
  owners: T[];
}

export class IntervalSet<T> {
  private chunks: Chunk<T>[] = [{ starts: [], ends: [], owners: [] }];

  /** True if no interval of the set overlaps [from, to). */
  isFree(from: number, to: number): boolean {
    return this.firstOverlap(from, to) === null;
  }

  /** The owner of the first interval that overlaps [from, to); null if there is none. */
  firstOverlap(from: number, to: number): T | null {
    this.seek(from);
    return this.current(to);
  }

  // A cursor, so that a caller can walk over the overlaps without allocating.
  private chunkAt = 0;
  private entryAt = 0;

  /** Puts the cursor on the first interval that ends after `from`. */
  seek(from: number): void {
    const chunks = this.chunks;
    let c = this.findChunk(from);
    const chunk = chunks[c]!;
    let e = lastAtOrBefore(chunk.starts, from);
    if (e < 0) e = 0;
    else if (chunk.ends[e]! <= from) e++;
    if (e >= chunk.starts.length && c + 1 < chunks.length) {
      c++;
      e = 0;
    }
    this.chunkAt = c;
    this.entryAt = e;
  }

  /** Owner under the cursor if its interval starts before `to`, else null. */
  current(to: number): T | null {
    const chunk = this.chunks[this.chunkAt]!;
    const e = this.entryAt;
    return e < chunk.starts.length && chunk.starts[e]! < to ? chunk.owners[e]! : null;
  }

  /** Start of the interval under the cursor; only after `current` gave an owner. */
  currentStart(): number {
    return this.chunks[this.chunkAt]!.starts[this.entryAt]!;
  }
  currentEnd(): number {
    return this.chunks[this.chunkAt]!.ends[this.entryAt]!;
  }

  /** Moves the cursor to the next interval. */
  advance(): void {
    this.entryAt++;
    if (this.entryAt >= this.chunks[this.chunkAt]!.starts.length && this.chunkAt + 1 < this.chunks.length) {
      this.chunkAt++;
      this.entryAt = 0;
    }
  }

  /** Adds [from, to), which must not overlap the set. */
  insert(from: number, to: number, owner: T): void {
    const c = this.findChunk(from);
    const chunk = this.chunks[c]!;
    const at = lastAtOrBefore(chunk.starts, from) + 1;
    chunk.starts.splice(at, 0, from);
    chunk.ends.splice(at, 0, to);
    chunk.owners.splice(at, 0, owner);
    if (chunk.starts.length > chunkLimit) {
      const half = chunkLimit >> 1;
      this.chunks.splice(c + 1, 0, {
        starts: chunk.starts.splice(half),
        ends: chunk.ends.splice(half),
        owners: chunk.owners.splice(half),
      });
    }
  }

  /** Removes the interval that starts at `from`. */
  remove(from: number): void {
    const c = this.findChunk(from);
    const chunk = this.chunks[c]!;
    const at = lastAtOrBefore(chunk.starts, from);
    if (at < 0 || chunk.starts[at] !== from) throw new Error(`no interval starts at ${from}`);
    chunk.starts.splice(at, 1);
    chunk.ends.splice(at, 1);
    chunk.owners.splice(at, 1);
    if (chunk.starts.length === 0 && this.chunks.length > 1) this.chunks.splice(c, 1);
  }

  /** Index of the last chunk whose first start is at most `point`; 0 if there is none. */
  private findChunk(point: number): number {
    const chunks = this.chunks;
    let low = 0;
    let high = chunks.length - 1;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (chunks[middle]!.starts[0]! <= point) low = middle;
      else high = middle - 1;
    }
    return low;
  }
}

/** Index of the last entry ≤ `point`; -1 if there is none. */
function lastAtOrBefore(starts: readonly number[], point: number): number {
  let low = -1;
  let high = starts.length - 1;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (starts[middle]! <= point) low = middle;
    else high = middle - 1;
  }
  return low;
}
