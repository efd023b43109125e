/**
 * Bodies of a module that stay decoded while nobody works on them.
 *
 * Linking, passes, planning and compiling look at each body one after the other. A body that all of them decode anew
 * costs about as much again as two passes; all bodies decoded at once cost some 370 bytes an instruction. So those that
 * fit into a bound stay, first come, first served: of a small program all, of a large one a part, and no body
 * is given up for another, since whoever walks over more than fits would find none of them.
 *
 * What is decoded anew is the same body, but for the order of its uses, which a few choices go by (`hoist-sink`). So the
 * bound is a constant: another one gives other code, now and then.
 */
import type { BodyCodec, Func } from "./module.js";

/**
 * Instructions that may stay decoded: 74 MB. With 100 000 links of SQLite (172 000) take 1.24 of the processor time and 1.14 of the
 * memory at -Oz (least of three in turn; 1.05 to 1.11 and 1.03 without outliners): what is decoded or rests again and again is
 * garbage, and more of it is there at the peak than the bound saves. With 150 000 they take 1.09 and 1.05; with 30 000 gawk and
 * zstd took 1.21 of the time that they take with 100 000, and no less memory.
 */
const mostKept = 200_000;

export class BodyPool {
  private readonly sizes = new Map<Func, number>();
  private total = 0;

  constructor(private readonly limit = mostKept) {}

  /**
   * Takes the body of a function that nobody works on for the time being. Without room it is let go.
   * @param codec for bodies that were changed, of which this is the only copy; without it those stay in any case
   */
  rest(fn: Func, codec: BodyCodec | null = null): void {
    const used = this.total - (this.sizes.get(fn) ?? 0);
    let size = 0;
    if (fn.isDecoded) for (const { insts } of fn.view().blocks) size += insts.length;
    if (size > 0 && used + size <= this.limit) {
      this.sizes.set(fn, size);
      this.total = used + size;
      fn.settle();
      return;
    }
    this.sizes.delete(fn);
    this.total = used;
    if (codec === null) fn.release();
    else fn.commit(codec);
  }

  /** Lets go of all bodies but those that were changed. */
  empty(): void {
    for (const fn of this.sizes.keys()) fn.release();
    this.sizes.clear();
    this.total = 0;
  }
}
