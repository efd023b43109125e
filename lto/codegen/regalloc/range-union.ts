/**
 * Unions of register sets over ranges of blocks, by a sparse table: n log n to build, two lookups a question.
 */
import type { MFunction, RegMask } from "../mir.js";

export class RangeUnion {
  /** `levels[k][b]`: union over blocks [b, b + 2^k). */
  private readonly levels: Int32Array[];

  constructor(masks: Int32Array) {
    this.levels = [masks];
    for (let width = 1; 2 * width <= masks.length; width *= 2) {
      const below = this.levels[this.levels.length - 1]!;
      const level = new Int32Array(masks.length - 2 * width + 1);
      for (let b = 0; b < level.length; b++) level[b] = below[b]! | below[b + width]!;
      this.levels.push(level);
    }
  }

  /** Union over [first, last], which is not empty. */
  over(first: number, last: number): RegMask {
    const k = 31 - Math.clz32(last - first + 1);
    const level = this.levels[k]!;
    return level[first]! | level[last - 2 ** k + 1]!;
  }
}

/** By place in `order`: registers that some instruction of the block clobbers. */
export function clobbersByBlock(fn: MFunction, order: readonly number[]): Int32Array {
  const masks = new Int32Array(order.length);
  for (let b = 0; b < masks.length; b++) {
    for (const inst of fn.blocks[order[b]!]!.insts) {
      const { extra } = inst;
      const all = extra !== null && extra.kind === "call" && extra.returnsTwice;
      masks[b]! |= all ? -1 : inst.clobbers;
    }
  }
  return masks;
}
