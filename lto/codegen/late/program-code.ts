/**
 * The final code of a whole program: every function with its frame and registers, before layout.
 *
 * Functions are packed (../pack/format.ts), so that all of them fit in memory and can be compared as words; what is to
 * be changed is unpacked for as long as that takes.
 */
import type { MFunction } from "../mir.js";
import type { PackedFunction } from "../pack/format.js";
import { packFunction } from "../pack/pack.js";
import type { SymbolNumbers } from "../pack/symbol-numbers.js";
import { unpackFunction } from "../pack/unpack.js";
import type { Target } from "../target.js";

export class ProgramCode {
  /** @param functions by function number */
  constructor(
    private readonly functions: PackedFunction[],
    private readonly symbols: SymbolNumbers,
    private readonly target: Target,
  ) {}

  get count(): number {
    return this.functions.length;
  }

  packed(number: number): PackedFunction {
    return this.functions[number]!;
  }

  /** A function to look at: what is changed in it is lost. */
  view(number: number): MFunction {
    return unpackFunction(this.functions[number]!, this.symbols, this.target);
  }

  /** Has a function changed. Its edges must be up to date afterwards. */
  edit(number: number, change: (mf: MFunction) => void): void {
    const mf = this.view(number);
    change(mf);
    this.functions[number] = packFunction(mf, this.symbols);
  }
}
