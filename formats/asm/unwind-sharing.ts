/**
 * One unwind description for functions that stand beside each other.
 *
 * Each description costs 17 bytes and padding in .eh_frame and 8 in .eh_frame_hdr, more than what most functions
 * need to have said of them. A description may cover several functions: rows say how to find the frame from an
 * address on, and what is after the last row of one function is the next one's start, where the state on entry has to
 * hold again. Functions without frame then cost nothing.
 *
 * Not shared: functions with a personality, whose tables belong to one description and count from its start; those in
 * sections of their own, since a description lies in one section; code that tells the unwinder things of its own.
 * The unwinder goes through a description from its start, for each frame it passes: what functions share is limited to
 * `operationLimit` operations. libgcc takes some nanoseconds for one and about a microsecond for all else it does at a
 * frame, so unwinding takes at most about twice as long; and a description's fixed cost is spread over two dozen
 * functions then, beyond which there is nothing to gain.
 * Breaks if: a tool takes the start of a description for that of a function (`--no-shared-unwind` is for those), or
 * text gets between the functions of a description that is not theirs.
 * Source: GNU as manual, "CFI directives"; Linux Standard Base, Core, "Exception Frames".
 */
import type { PrintedFunction } from "../../lto/codegen/program/function-compilers.js";

const operationLimit = 256;

export class UnwindSharing {
  /** Directive of the section whose description is open; "" if none is. */
  private section = "";
  private operations = 0;
  private reset = "";
  /** Those that were written. Told one twice, GNU as (2.40) may find no value of it where it sizes jumps. */
  private readonly aliases = new Set<string>();

  /** @param write takes all text in order */
  constructor(private readonly write: (text: string) => void) {}

  /** @param printed a function whose exit is decided */
  add({ section, head: own, aliases, text, unwind }: PrintedFunction): void {
    const head = own + aliases.filter((line) => !this.aliases.has(line)).join("");
    for (const line of aliases) this.aliases.add(line);
    const goesOn =
      unwind !== null && section === this.section && this.operations + unwind.operations <= operationLimit;
    if (!goesOn) this.close();
    if (unwind === null) {
      this.write(head + text);
      return;
    }
    if (goesOn) this.write(`${this.reset === "" ? "" : `${this.section}\n${this.reset}`}${head}${text}`);
    else this.write(`${head}\t.cfi_startproc\n${text}`);
    this.section = section;
    this.operations += unwind.operations;
    this.reset = unwind.reset;
  }

  /** Ends the description that is open. Has to be called before any other text is written. */
  close(): void {
    if (this.section !== "") this.write(`${this.section}\n\t.cfi_endproc\n`);
    this.section = "";
    this.operations = 0;
    this.reset = "";
  }
}
