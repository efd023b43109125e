/**
 * Leaves out the jump at the end of a function to what follows it.
 *
 * Which functions stand after which is lto/codegen/late/function-order.ts's; here is what must hold. Each function is
 * held back until the next one is known.
 * Proof obligations: both are in one section, so that no linker puts anything between; of the second nothing lies before
 * its entry but padding, which in a section of code is instructions without effect. It becomes part of the first, whose
 * unwind description covers it. Directives for the unwinder add no code, and at the jump it finds what it finds at
 * the entry of what is jumped to.
 * Breaks if: other text is written to the section between the two.
 */
import type { PrintedFunction } from "../../lto/codegen/program/function-compilers.js";
import { alignText } from "./functions.js";

/** Bytes of alignment beyond which padding takes longer than a jump. */
const mostPadding = 16;

export class FallThrough {
  private held: PrintedFunction | null = null;

  /** @param write takes the functions, in order, and whether one goes on into the next */
  constructor(private readonly write: (printed: PrintedFunction, runsOn: boolean) => void) {}

  add(printed: PrintedFunction): void {
    this.release(printed);
    this.held = printed;
  }

  /** Has to be called before any other text is written. */
  close(): void {
    this.release(null);
    this.held = null;
  }

  private release(next: PrintedFunction | null): void {
    if (this.held === null) return;
    const { exit, ...printed } = this.held;
    if (exit === null) this.write(this.held, false);
    else if (next !== null && this.mayFollow(next, exit.into))
      this.write({ ...printed, text: printed.text + alignText(next.align) + exit.behind, exit: null }, true);
    else this.write({ ...printed, text: printed.text + exit.jump + exit.behind, exit: null }, false);
  }

  private mayFollow({ symbol, section, align, startsEarly }: PrintedFunction, wanted: string): boolean {
    return symbol === wanted && section === this.held!.section && align <= mostPadding && !startsEarly;
  }
}
