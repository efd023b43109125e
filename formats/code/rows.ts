/**
 * Asynchronous unwind tables held against the code: a step through every instruction that can run, comparing what the
 * row for its address says with the stack and the registers that abstract execution (preserve.ts) finds there.
 * Constant time for each instruction and row.
 * Registers that unknown callers count on, or that the function stores somewhere, are either stored or unchanged; what
 * a closed function does to the others is between it and its callers.
 */

import { isImplied } from "./decode.js";
import { rowAt } from "./frame-info.js";
import { type CodeFunction, hex } from "./functions.js";
import type { Snapshot } from "./preserve.js";

export class RowChecker {
  /** The first of each kind. */
  readonly violations: string[] = [];
  private readonly seen = new Set<string>();

  /** @param preserved registers that any caller finds unchanged, one bit each */
  constructor(
    private readonly fn: CodeFunction,
    private preserved: number,
  ) {
    for (const { stored } of fn.rows ?? [])
      for (const register of stored.keys()) this.preserved |= 1 << register;
    if (fn.rows === null) this.complain(0, "has no unwind description");
  }

  /** Looks at the instruction with this number. */
  readonly look = (at: number, snapshot: Snapshot): void => {
    const { rows, offsets, insts } = this.fn;
    // Where control only goes on to the next function, that one's row counts.
    if (rows === null || isImplied(insts[at]!)) return;
    const row = rowAt(rows, offsets[at]!);
    const distance = snapshot.fromCfa(row.register);
    if (distance + row.offset !== 0) {
      this.complain(at, "the unwinder does not find the frame between calls");
      return;
    }
    for (const [register, offset] of row.stored)
      if (!snapshot.isStored(register, offset))
        this.complain(at, `the unwinder does not find register ${register} where it looks between calls`);
    for (let r = 0; r < 16; r++)
      if (((this.preserved >> r) & 1) !== 0 && r !== 4 && !row.stored.has(r) && !snapshot.isKept(r))
        this.complain(at, `the unwinder is not told where register ${r} is`);
  };

  private complain(at: number, what: string): void {
    if (this.seen.has(what)) return;
    this.seen.add(what);
    const { names, offsets } = this.fn;
    this.violations.push(`@${names[0]}+${hex(offsets[at] ?? 0)}: ${what}`);
  }
}
