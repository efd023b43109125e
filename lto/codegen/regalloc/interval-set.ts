/**
 * A set of disjoint half-open intervals of program points with an owner each: what one physical register (or one
 * spill slot) holds when.
 *
 * Method: sorted chunks of at most 128 entries, so that insertion moves little memory even in functions with a
 * hundred thousand intervals a register. Lookup is two binary searches.
 */
const chunkLimit = 128;

class Chunk<T> {
  /** Start and end of each interval, one after the other. */
  bounds: number[] = [];
  owners: T[] = [];
}

export class IntervalSet<T> {
  private readonly chunks: Chunk<T>[] = [new Chunk()];

  /** True if no interval of the set overlaps [from, to). */
  isFree(from: number, to: number): boolean {
    this.seek(from);
    return this.current(to) === null;
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
    let c = chunks.length === 1 ? 0 : this.findChunk(from);
    const { bounds } = chunks[c]!;
    let e = lastAtOrBefore(bounds, from);
    if (e < 0) e = 0;
    else if (bounds[2 * e + 1]! <= from) e++;
    if (2 * e >= bounds.length && c + 1 < chunks.length) {
      c++;
      e = 0;
    }
    this.chunkAt = c;
    this.entryAt = e;
  }

  /** Owner under the cursor if its interval starts before `to`, else null. */
  current(to: number): T | null {
    const { bounds, owners } = this.chunks[this.chunkAt]!;
    const e = this.entryAt;
    return e < owners.length && bounds[2 * e]! < to ? owners[e]! : null;
  }

  /** Start of the interval under the cursor; only after `current` gave an owner. */
  currentStart(): number {
    return this.chunks[this.chunkAt]!.bounds[2 * this.entryAt]!;
  }
  currentEnd(): number {
    return this.chunks[this.chunkAt]!.bounds[2 * this.entryAt + 1]!;
  }

  /** Moves the cursor to the next interval. */
  advance(): void {
    this.entryAt++;
    if (this.entryAt >= this.chunks[this.chunkAt]!.owners.length && this.chunkAt + 1 < this.chunks.length) {
      this.chunkAt++;
      this.entryAt = 0;
    }
  }

  /** Adds [from, to), which must not overlap the set. */
  insert(from: number, to: number, owner: T): void {
    const c = this.findChunk(from);
    const { bounds, owners } = this.chunks[c]!;
    const at = lastAtOrBefore(bounds, from) + 1;
    const last = owners.length;
    owners.push(owner);
    bounds.push(from, to);
    for (let e = last; e > at; e--) {
      owners[e] = owners[e - 1]!;
      bounds[2 * e] = bounds[2 * e - 2]!;
      bounds[2 * e + 1] = bounds[2 * e - 1]!;
    }
    owners[at] = owner;
    bounds[2 * at] = from;
    bounds[2 * at + 1] = to;
    if (last >= chunkLimit) {
      const half = chunkLimit >> 1;
      const rest = new Chunk<T>();
      rest.bounds = bounds.splice(2 * half);
      rest.owners = owners.splice(half);
      this.chunks.splice(c + 1, 0, rest);
    }
  }

  /** Removes the interval that starts at `from`. */
  remove(from: number): void {
    const c = this.findChunk(from);
    const { bounds, owners } = this.chunks[c]!;
    const at = lastAtOrBefore(bounds, from);
    if (at < 0 || bounds[2 * at] !== from) throw new Error(`no interval starts at ${from}`);
    const last = owners.length - 1;
    for (let e = at; e < last; e++) {
      owners[e] = owners[e + 1]!;
      bounds[2 * e] = bounds[2 * e + 2]!;
      bounds[2 * e + 1] = bounds[2 * e + 3]!;
    }
    owners.pop();
    bounds.pop();
    bounds.pop();
    if (last === 0 && this.chunks.length > 1) this.chunks.splice(c, 1);
  }

  /** Index of the last chunk whose first start is at most `point`; 0 if there is none. */
  private findChunk(point: number): number {
    const chunks = this.chunks;
    let low = 0;
    let high = chunks.length - 1;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (chunks[middle]!.bounds[0]! <= point) low = middle;
      else high = middle - 1;
    }
    return low;
  }
}

/** Index of the last interval that starts at or before `point`; -1 if there is none. */
function lastAtOrBefore(bounds: readonly number[], point: number): number {
  let low = -1;
  let high = (bounds.length >> 1) - 1;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (bounds[2 * middle]! <= point) low = middle;
    else high = middle - 1;
  }
  return low;
}
