/**
 * Things by number in chains, which are put before each other: blocks in a function, functions in a program. A chain
 * is found by union-find, so that none closes to a ring; joining is as good as constant.
 */
export class Chains {
  /** What follows each thing; -1: nothing. */
  readonly next: Int32Array;
  readonly previous: Int32Array;
  /** Parents towards what stands for a chain; for that, its first and last thing. */
  private readonly parent: Int32Array;
  private readonly first: Int32Array;
  private readonly last: Int32Array;

  constructor(count: number) {
    this.next = new Int32Array(count).fill(-1);
    this.previous = new Int32Array(count).fill(-1);
    this.parent = Int32Array.from(this.next, (_, i) => i);
    this.first = this.parent.slice();
    this.last = this.parent.slice();
  }

  private find(thing: number): number {
    const { parent } = this;
    while (parent[thing] !== thing) {
      parent[thing] = parent[parent[thing]!]!;
      thing = parent[thing]!;
    }
    return thing;
  }

  /** The first of the chain that the thing is in. */
  firstOf(thing: number): number {
    return this.first[this.find(thing)]!;
  }

  /** Puts the chain of the one before the other's. @returns false: they are the same */
  join(a: number, b: number): boolean {
    const before = this.find(a);
    const behind = this.find(b);
    if (before === behind) return false;
    const end = this.last[before]!;
    const start = this.first[behind]!;
    this.next[end] = start;
    this.previous[start] = end;
    this.parent[behind] = before;
    this.last[before] = this.last[behind]!;
    return true;
  }

  /** Has the one follow the other if both are free for that, and in different chains. */
  link(a: number, b: number): boolean {
    return this.next[a] === -1 && this.previous[b] === -1 && this.join(a, b);
  }
}
