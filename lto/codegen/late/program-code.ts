/**
 * The final code of a whole program: every function with its frame and registers, before layout.
 *
 * Functions are packed (../pack/format.ts), so that all of them fit in memory and can be compared as words; what is to
 * be changed is unpacked for as long as that takes.
 */
import type { DataLayout } from "../../ir/data-layout.js";
import type { Func, GlobalValue } from "../../ir/module.js";
import type { Origins } from "../../ir/origins.js";
import { MFunction, type MInst } from "../mir.js";
import { type PackedFunction, Property, propertiesAt } from "../pack/format.js";
import { packFunction } from "../pack/pack.js";
import type { SymbolNumbers } from "../pack/symbol-numbers.js";
import { restoreFunction, unpackFunction, unpackInstruction } from "../pack/unpack.js";
import { calledAt } from "../pack/walk.js";
import type { Target } from "../target.js";
import type { GlobalCluster } from "./global-cluster.js";

/** What steps may have to know of the program besides its code. */
export interface ProgramFacts {
  readonly globals: readonly GlobalValue[];
  readonly layout: DataLayout;
  /** Variables that have sections of their own. */
  readonly retained: ReadonlySet<GlobalValue>;
  readonly isPositionIndependent: boolean;
  /** Told of functions that steps make; absent: nobody wants to know. */
  readonly origins?: Origins | null;
}

interface AddedFunction {
  readonly fn: Func;
  readonly goal: MFunction["goal"];
  readonly startsFramed: boolean;
  packed: PackedFunction;
}

export class ProgramCode {
  private readonly added: AddedFunction[] = [];
  /** Stands for the function of single instructions. */
  private nowhere: MFunction | null = null;
  /** Variables that code expects to find side by side. */
  cluster: GlobalCluster | null = null;
  /** In which functions, by number, stand one after the other; null: in that of their numbers. */
  order: readonly number[] | null = null;

  /** @param functions by function number */
  constructor(
    private readonly functions: PackedFunction[],
    private readonly symbols: SymbolNumbers,
    readonly target: Target,
    readonly facts: ProgramFacts,
  ) {}

  /** Functions that were there from the start, which have the first numbers. */
  get programCount(): number {
    return this.functions.length;
  }

  /** Functions that were added have the last numbers. */
  get count(): number {
    return this.functions.length + this.added.length;
  }

  packed(number: number): PackedFunction {
    return this.functions[number] ?? this.added[number - this.functions.length]!.packed;
  }

  functionOf(number: number): Func {
    const own = this.functions[number];
    return own === undefined
      ? this.added[number - this.functions.length]!.fn
      : (this.symbols.global(own.symbol) as Func);
  }

  /** A function to look at: what is changed in it is lost. */
  view(number: number): MFunction {
    const own = this.functions[number];
    if (own !== undefined) return unpackFunction(own, this.symbols, this.target);
    const { fn, goal, startsFramed, packed } = this.added[number - this.functions.length]!;
    const mf = new MFunction(fn, fn.name, goal, this.target);
    mf.outlined = true;
    mf.startsFramed = startsFramed;
    restoreFunction(mf, packed, this.symbols);
    return mf;
  }

  /**
   * One instruction, which must name no block and no table of its function.
   * @param words of a function, or as many of them as the instruction has
   * @param at its first word
   */
  instruction(words: Int32Array, at: number): MInst {
    this.nowhere ??= new MFunction(this.functionOf(0), "", "none", this.target);
    return unpackInstruction(words, at, this.nowhere, this.symbols);
  }

  /** What a call in a function's words enters; no global: a pointer, or what has no other than its name. */
  calledAt(
    words: Int32Array,
    at: number,
  ): { readonly callee: GlobalValue | null; readonly calleeSet: number } {
    const { global, set } = calledAt(words, at);
    return { callee: global < 0 ? null : this.symbols.global(global), calleeSet: this.symbols.setOf(set) };
  }

  private pack(mf: MFunction): PackedFunction {
    return packFunction(mf, this.symbols);
  }

  /** One instruction as words of a function. */
  packInstruction(inst: MInst): Int32Array {
    const mf = new MFunction(this.functionOf(0), "", "none", this.target);
    mf.newBlock().insts = [inst];
    const packed = this.pack(mf);
    return packed.words.subarray(packed.blocks + 1);
  }

  /**
   * Gives a function other words for its code; the head stays.
   * @param origins of its instructions, where that changes @param debug likewise
   */
  replace(
    number: number,
    words: Int32Array,
    origins = this.packed(number).origins,
    debug = this.packed(number).debug,
  ): void {
    const { symbol, code, blocks } = this.packed(number);
    const packed: PackedFunction = {
      symbol,
      words,
      code,
      blocks,
      ...(origins === undefined ? {} : { origins }),
      ...(debug === undefined ? {} : { debug }),
    };
    if (number < this.functions.length) this.functions[number] = packed;
    else this.added[number - this.functions.length]!.packed = packed;
  }

  /** Layout is to end a function in the jump to the one that will stand after it. */
  letFallThrough(number: number): void {
    const words = this.packed(number).words.slice();
    words[propertiesAt]! |= Property.FallsThrough;
    this.replace(number, words);
  }

  /**
   * A new function, whose frame is done, too.
   * @param by the step that made it @param of whose code it has
   */
  add(mf: MFunction, by: string, of: () => readonly Func[]): void {
    const { fn, goal, startsFramed } = mf;
    this.facts.origins?.recordMade(fn as Func, by, of());
    this.added.push({ fn: fn as Func, goal, startsFramed, packed: this.pack(mf) });
  }

  /**
   * Has a function changed. Its edges must be up to date afterwards.
   * @param change tells whether it changed anything
   */
  edit(number: number, change: (mf: MFunction) => boolean): void {
    const mf = this.view(number);
    if (!change(mf)) return;
    const { words, origins, debug } = this.pack(mf);
    this.replace(number, words, origins, debug);
  }
}
