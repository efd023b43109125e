/**
 * Maximum flow in small integer networks (Dinic's algorithm, 1970): level graph by breadth-first search,
 * blocking flow by depth-first search with an explicit path. O(E·√V) on the networks of save placement, whose
 * capacities are on nodes and bounded.
 */
/** More than all other capacities together; sums stay exact in a double. */
export const infinite = 2 ** 50;

export class FlowNetwork {
  private readonly head: number[] = [];
  private readonly next: number[] = [];
  private readonly to: number[] = [];
  private readonly capacity: number[] = [];

  /** @returns the number of the new node */
  addNode(): number {
    this.head.push(-1);
    return this.head.length - 1;
  }

  addEdge(from: number, to: number, capacity: number): void {
    this.addHalf(from, to, capacity);
    this.addHalf(to, from, 0);
  }
  private addHalf(from: number, to: number, capacity: number): void {
    this.to.push(to);
    this.capacity.push(capacity);
    this.next.push(this.head[from]!);
    this.head[from] = this.to.length - 1;
  }

  /** Pushes as much as possible from `source` to `sink`; the residual network stays for `reaches`. */
  maximize(source: number, sink: number): number {
    let total = 0;
    const level = new Int32Array(this.head.length);
    while (this.findLevels(source, sink, level)) {
      const edge = Int32Array.from(this.head);
      for (let pushed = this.augment(source, sink, level, edge); pushed > 0; ) {
        total += pushed;
        pushed = this.augment(source, sink, level, edge);
      }
    }
    return total;
  }

  private findLevels(source: number, sink: number, level: Int32Array): boolean {
    level.fill(-1);
    level[source] = 0;
    const queue = [source];
    for (let i = 0; i < queue.length; i++) {
      const node = queue[i]!;
      for (let e = this.head[node]!; e >= 0; e = this.next[e]!) {
        const target = this.to[e]!;
        if (this.capacity[e]! > 0 && level[target]! < 0) {
          level[target] = level[node]! + 1;
          queue.push(target);
        }
      }
    }
    return level[sink]! >= 0;
  }

  /** One augmenting path in the level graph; `edge` remembers exhausted edges of each node. */
  private augment(source: number, sink: number, level: Int32Array, edge: Int32Array): number {
    const path: number[] = [];
    let node = source;
    while (node !== sink) {
      let e = edge[node]!;
      while (e >= 0 && !(this.capacity[e]! > 0 && level[this.to[e]!] === level[node]! + 1)) e = this.next[e]!;
      edge[node] = e;
      if (e >= 0) {
        path.push(e);
        node = this.to[e]!;
        continue;
      }
      const last = path.pop();
      if (last === undefined) return 0;
      // A dead end: its edge is exhausted for this phase.
      node = this.to[last ^ 1]!;
      edge[node] = this.next[last]!;
    }
    let amount = infinite;
    for (const e of path) amount = Math.min(amount, this.capacity[e]!);
    for (const e of path) {
      this.capacity[e]! -= amount;
      this.capacity[e ^ 1]! += amount;
    }
    return amount;
  }

  /** After `maximize`: the nodes from which `sink` can still be reached, as 1. */
  reaches(sink: number): Uint8Array {
    const seen = new Uint8Array(this.head.length);
    seen[sink] = 1;
    const stack = [sink];
    while (stack.length > 0) {
      const node = stack.pop()!;
      for (let e = this.head[node]!; e >= 0; e = this.next[e]!) {
        const from = this.to[e]!;
        // The edge from `from` to `node` is the other half of e.
        if (this.capacity[e ^ 1]! > 0 && seen[from] === 0) {
          seen[from] = 1;
          stack.push(from);
        }
      }
    }
    return seen;
  }
}
