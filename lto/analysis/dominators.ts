/**
 * Dominator trees.
 *
 * Method: Cooper, Harvey, Kennedy, "A Simple, Fast Dominance Algorithm" (2001): immediate dominators are
 * refined in reverse postorder until nothing changes, intersecting along the tree so far. Quadratic in the
 * worst case, linear on the graphs that programs have. Ancestor queries take constant time, by depth-first
 * intervals of the tree.
 */
import type { BodyView, Inst } from "../ir/instructions.js";
import { bodySuccessors, predecessorLists, reversePostOrderOf, type Successors } from "./cfg.js";

/**
 * Immediate dominators by block number.
 * @returns the entry's own number for the entry, -1 for unreachable blocks
 */
export function computeDominators(
  successors: Successors,
  entry = 0,
  order: readonly number[] = reversePostOrderOf(successors, entry),
  predecessors: Successors = predecessorLists(successors),
): Int32Array {
  const idom = new Int32Array(successors.length).fill(-1);
  /** Position in reverse postorder; dominators have lower positions than what they dominate. */
  const position = new Int32Array(successors.length).fill(-1);
  for (let i = 0; i < order.length; i++) position[order[i]!] = i;
  idom[entry] = entry;
  for (let changed = true; changed; ) {
    changed = false;
    for (let i = 1; i < order.length; i++) {
      const block = order[i]!;
      let best = -1;
      for (const pred of predecessors[block]!) {
        if (idom[pred] === -1) continue;
        if (best === -1) {
          best = pred;
          continue;
        }
        let other = pred;
        while (best !== other) {
          while (position[best]! > position[other]!) best = idom[best]!;
          while (position[other]! > position[best]!) other = idom[other]!;
        }
      }
      if (idom[block] !== best) {
        idom[block] = best;
        changed = true;
      }
    }
  }
  return idom;
}

export class DominatorTree {
  /** Preorder number of each block in the tree, and the largest one below it; -1 if unreachable. */
  private readonly first: Int32Array;
  private readonly last: Int32Array;

  constructor(
    /** As `computeDominators` returns. */
    readonly idom: Int32Array,
    /** Reverse postorder: parents before children. */
    readonly order: readonly number[],
  ) {
    const n = idom.length;
    this.first = new Int32Array(n).fill(-1);
    this.last = new Int32Array(n).fill(-1);
    // Sizes of subtrees bottom up, then intervals top down: each block takes the next free one of its parent.
    const size = new Int32Array(n).fill(1);
    for (let i = order.length - 1; i > 0; i--) size[idom[order[i]!]!]! += size[order[i]!]!;
    const free = new Int32Array(n);
    for (let i = 0; i < order.length; i++) {
      const block = order[i]!;
      const start = i === 0 ? 0 : free[idom[block]!]!;
      if (i > 0) free[idom[block]!] = start + size[block]!;
      this.first[block] = start;
      this.last[block] = start + size[block]! - 1;
      free[block] = start + 1;
    }
  }

  static of(successors: Successors, entry = 0): DominatorTree {
    const order = reversePostOrderOf(successors, entry);
    return new DominatorTree(computeDominators(successors, entry, order), order);
  }

  isReachable(block: number): boolean {
    return this.first[block]! >= 0;
  }
  /** Whether every path from the entry to `b` goes through `a`. False if either is unreachable. */
  dominates(a: number, b: number): boolean {
    const at = this.first[b]!;
    return at >= 0 && this.first[a]! >= 0 && this.first[a]! <= at && at <= this.last[a]!;
  }
  strictlyDominates(a: number, b: number): boolean {
    return a !== b && this.dominates(a, b);
  }
  /** Whether every path from the entry to `b` runs `a` first. Both are in numbered blocks, and are not the same. */
  runsBefore(a: Inst, b: Inst): boolean {
    return a.parent === b.parent ? a.id < b.id : this.dominates(a.parent!.id, b.parent!.id);
  }
}

/** Dominator tree of a body with numbered blocks. */
export const dominatorTree = (body: BodyView): DominatorTree => DominatorTree.of(bodySuccessors(body));
