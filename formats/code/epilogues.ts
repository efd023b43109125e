/**
 * Epilogues that functions share: code of nothing but pops and a return is no function, since it would lose its caller's
 * stack. It belongs to each function that jumps there, and is looked at as if it stood after that function's own code.
 * Linear in the functions' code.
 * Breaks if: assembly has a routine that takes words off its caller's stack, which then counts as part of who jumps there.
 */
import { Flow, type MachineInst, StackOp } from "./decode.js";
import { type FrameRow, rowsFrom } from "./frame-info.js";

export function isEpilogue(insts: readonly MachineInst[]): boolean {
  return (
    insts.length > 1 &&
    insts.at(-1)!.flow === Flow.Return &&
    insts.every(({ stack }, i) => i === insts.length - 1 || stack === StackOp.Pop)
  );
}

/** Code with an address for each of its instructions. */
export interface EpilogueCode {
  readonly insts: readonly MachineInst[];
  readonly offsets: Int32Array;
}

/** The code of a function, and after it what it jumps to. */
export class CodeWithEpilogues {
  readonly insts: MachineInst[];
  private readonly offsetList: number[];
  private readonly rowList: FrameRow[] | null;
  private readonly starts = new Map<EpilogueCode, number>();

  constructor(own: EpilogueCode, rows: readonly FrameRow[] | null) {
    this.insts = [...own.insts];
    this.offsetList = [...own.offsets];
    this.rowList = rows === null ? null : [...rows];
  }

  /** @returns the number of its first instruction */
  append(code: EpilogueCode, rows: readonly FrameRow[] | null): number {
    const known = this.starts.get(code);
    if (known !== undefined) return known;
    const first = this.insts.length;
    this.starts.set(code, first);
    const start = this.offsetList[first]!;
    for (const inst of code.insts) this.insts.push(inst);
    for (const offset of code.offsets.subarray(1)) this.offsetList.push(start + offset);
    if (rows !== null)
      for (const row of rowsFrom(rows, 0, code.offsets.at(-1)!))
        this.rowList?.push({ ...row, start: row.start + start });
    return first;
  }

  get offsets(): Int32Array {
    return Int32Array.from(this.offsetList);
  }

  get rows(): readonly FrameRow[] | null {
    return this.rowList;
  }
}
