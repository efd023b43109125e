/**
 * What can be made of repeated code: the forms that an outlined function may take, and what each is worth in bytes.
 *
 *     call      S      →  call F;   F: S; ret
 *     thunk     S; call X  →  call F;   F: S; jmp X        X returns to the caller of F, whose stack it sees as before
 *     jump      S; ret  →  jmp F;   F: S; ret              (or another way out of the function)
 *
 * In the first two the stack pointer is lower in F by the return address, so addresses on the stack change (and may
 * become longer), pushes and pops in S must be balanced, no push may be an argument of the call, nothing may address what
 * S has pushed, and no call but the last may be one that finds arguments in the frame, or of an outlined function that itself
 * addresses the frame: it would find it elsewhere. A call inside of S
 * needs its alignment: where the callee counts on it, F lowers the stack pointer once more. A third form of S; call X is
 * none: the thunk is shorter and asks for nothing.
 *
 * Bytes are exact: encoded lengths, rows of unwind tables, and a description where functions share none. A jump or
 * call that replaces code is counted in its longest form; branches around it can only become shorter.
 * Proof obligations: the instructions are equal and in one block, so what F does with registers and flags is what S did;
 * call and ret change neither. Nothing is kept below the stack pointer (functions with a red zone are not looked at).
 * Exceptions: where calls in S may throw, they all lead to the same landing pad at a place, or none does. The call of F
 * leads there, too: the unwinder finds nothing to do in F, and the registers and the stack of its caller as they were at
 * the call in S. From a jump nothing leads back to the function.
 * Frames: at the start of S in the third form nothing is on the stack but the return address, since S leaves the
 * function and changes the stack pointer only in balance. So each outlined function looks to the unwinder like one
 * without a frame, and needs no directive for its start.
 */

import type { Repeat } from "../../outline/repeats.js";
import type { Candidate } from "../../outline/select.js";
import { wantedStarts } from "../../outline/select.js";
import type { MInst } from "../mir.js";
import { landingPadOf } from "../pack/walk.js";
import {
  intersect,
  isEmptySet,
  minus,
  noRegisters,
  type RegisterSet,
  union,
  withRegister,
} from "../register-set.js";
import { Outlining, type Target } from "../target.js";
import type { OutlineForm } from "./forms.js";
import type { CodeSequence, Dictionary } from "./sequence.js";

export interface OutlineCandidate extends Candidate {
  readonly form: OutlineForm;
  /** Numbers of its instructions. */
  readonly symbols: Int32Array;
  /** Bytes of code that each occurrence has. */
  readonly bytes: number;
  /** And of unwind tables, where it needs them. */
  readonly rows: number;
  /** Bytes of code of the outlined function, and of unwind tables. */
  readonly bodyBytes: number;
  /** The stack is lowered once more, for calls inside. */
  readonly padded: boolean;
  readonly bodyRows: number;
}

/** Bytes of places and of the function made of them, and of the places as they are. */
export interface OutlineSizes {
  readonly code: number;
  readonly codeBefore: number;
  /** Of unwind tables. */
  readonly tables: number;
  readonly tablesBefore: number;
  readonly benefit: number;
}

/** Bits of what a function says about the code in it. */
export const enum Site {
  /** An index into `unwindTables`; 0: it has none. */
  Unwind = 3,
  /** Unwind tables tell of every push and pop there. */
  HasRows = 4,
  /** Calls may lead to landing pads of the function. */
  HasPads = 8,
}

/** What is the same in all rounds. */
export interface OutlinedProgram {
  readonly dictionary: Dictionary;
  readonly target: Target;
  readonly aligned: AlignedCall;
  readonly forms: ReadonlySet<OutlineForm>;
  readonly sharedUnwind: boolean;
  /** Bytes that an instruction is worth which is executed less in a block of a function, by their numbers. */
  readonly timeOf: (fn: number, block: number) => number;
  /** Bits of `Site`, by function number. */
  readonly sites: Uint8Array;
  /** Functions of earlier rounds that address the frame of their caller. */
  readonly framed: ReadonlySet<string>;
}

/** What a call needs. */
export type AlignedCall = (call: MInst) => boolean;

interface CallFacts {
  /** It returns: it may stand inside of an outlined function. */
  readonly returns: boolean;
  /** Bytes of arguments and padding on the stack, which have to be pushed in the outlined function if it does. */
  readonly pushed: number;
  /** It finds arguments at the stack pointer that nothing pushed. */
  readonly hasStored: boolean;
  /** An outlined function that addresses the frame of its caller. */
  readonly isFramed: boolean;
  /** It needs the stack aligned. */
  readonly isAligned: boolean;
  /** No exception comes from it. */
  readonly noUnwind: boolean;
  /** It goes through a pointer. */
  readonly isIndirect: boolean;
}

/** Name of the outlined function that a call enters; "" for other instructions. */
const calleeName = ({ symbol }: MInst): string =>
  symbol?.kind === "direct" && symbol.target.kind === "external" ? symbol.target.name : "";

/** Instructions that are executed where code was outlined, besides the code. */
const moreExecuted: Readonly<Record<OutlineForm, number>> = { call: 2, thunk: 1, jump: 1 };

/** What moves the stack pointer for calls inside, and back. */
const executedByPadding = 2;

/**
 * Instructions that a call through a pointer counts for which several places share: what it is predicted by is where it was
 * called before, and that is no longer this place alone.
 */
const lostPrediction = 8;

const isTransfer = (kind: Outlining): boolean => kind === Outlining.Call || kind === Outlining.Exit;

export class CandidateFinder {
  private readonly calls: (CallFacts | undefined)[] = [];
  private readonly lowered = new Map<number, number>();
  private readonly dictionary: Dictionary;
  private readonly target: Target;
  /** Bytes of what stands where code was. */
  private readonly transferBytes: number;
  private bytesBefore: Int32Array | null = null;

  constructor(
    private readonly sequence: CodeSequence,
    private readonly program: OutlinedProgram,
    /** Of a function, as it was when the sequence was made of it. */
    private readonly wordsOf: (fn: number) => Int32Array,
  ) {
    this.dictionary = program.dictionary;
    this.target = program.target;
    this.transferBytes = this.target.instructions.length(this.target.outlining.call(""));
  }

  /** No outlined function may have the instruction. */
  readonly isBarrier = (symbol: number): boolean => this.dictionary.kind(symbol).kind === Outlining.Never;

  /** Whether so many places of code that starts at `first` may save anything, were all of them free and legal. */
  readonly mayPay = (length: number, count: number, first: number): boolean => {
    this.bytesBefore ??= this.prefixBytes();
    const bytes = this.bytesBefore[first + length]! - this.bytesBefore[first]!;
    return count * (bytes - this.transferBytes) - bytes > 0;
  };

  /** Bytes before each place of the sequence, unwind tables included; only what may be in a repeat counts. */
  private prefixBytes(): Int32Array {
    const { symbols } = this.sequence;
    const sums = new Int32Array(symbols.length + 1);
    let sum = 0;
    for (let i = 0; i < symbols.length; i++) {
      if (symbols[i]! >= 0) sum += this.dictionary.knownBytes(symbols[i]!);
      sums[i + 1] = sum;
    }
    return sums;
  }

  /** Adds what can be made of a repeat. */
  add(repeat: Repeat, out: OutlineCandidate[]): void {
    const { symbols } = this.sequence;
    const { dictionary } = this;
    const first = repeat.starts[0]!;
    let depth = 0;
    let call = 0;
    let thunk = 0;
    let hasCall = false;
    let callHasCall = false;
    let thunkHasCall = false;
    for (let length = 1; length <= repeat.length; length++) {
      const symbol = symbols[first + length - 1]!;
      const { kind, stackOffset } = dictionary.kind(symbol);
      if (kind === Outlining.Exit) {
        if (depth === 0) this.make(repeat, length, "jump", hasCall, out);
        return;
      }
      if (kind === Outlining.Push) depth++;
      else if (kind === Outlining.Pop && --depth < 0) break;
      if (depth > 0) {
        // What S has pushed lies where it did; only what is above that is further up.
        if (stackOffset < depth * this.target.outlining.pushBytes) break;
        if (kind !== Outlining.Call) continue;
        if (!this.mayStandInside(symbol, depth)) break;
        hasCall = true;
        continue;
      }
      if (kind === Outlining.Call) {
        thunk = length;
        thunkHasCall = hasCall;
        if (!this.mayStandInside(symbol, depth)) break;
        hasCall = true;
      } else {
        call = length;
        callHasCall = hasCall;
      }
    }
    // What ends in a call is worth more as a thunk than what ends just before or after it.
    if (thunk >= repeat.shortest && thunk > 1) this.make(repeat, thunk, "thunk", thunkHasCall, out);
    if (call >= repeat.shortest && call > 1) this.make(repeat, call, "call", callHasCall, out);
  }

  private callFacts(symbol: number): CallFacts {
    let facts = this.calls[symbol];
    if (facts === undefined) {
      const inst = this.dictionary.instruction(symbol);
      const { extra } = inst;
      const isCall = extra?.kind === "call";
      const returns = isCall && !extra.noReturn;
      const pushed = isCall ? extra.pushed : 0;
      const hasStored = isCall && extra.hasStored;
      const noUnwind = isCall && extra.noUnwind;
      const isFramed = this.program.framed.has(calleeName(inst));
      facts = this.calls[symbol] = {
        returns,
        pushed,
        hasStored,
        isFramed,
        isAligned: this.program.aligned(inst),
        noUnwind,
        isIndirect: isCall && inst.symbol === null,
      };
    }
    return facts;
  }

  /** Whether a function made of the candidate addresses the frame of its caller. */
  isFramed({ symbols }: OutlineCandidate): boolean {
    return symbols.some((symbol) => {
      const { kind, usesStack } = this.dictionary.kind(symbol);
      return usesStack || (isTransfer(kind) && this.callFacts(symbol).isFramed);
    });
  }

  /** @param depth pushes before the call that are not popped */
  private mayStandInside(symbol: number, depth: number): boolean {
    const { returns, pushed, hasStored, isFramed } = this.callFacts(symbol);
    return returns && !hasStored && !isFramed && pushed <= depth * this.target.outlining.pushBytes;
  }

  private make(
    repeat: Repeat,
    length: number,
    form: OutlineForm,
    hasCall: boolean,
    out: OutlineCandidate[],
  ): void {
    if (length < repeat.shortest || !this.program.forms.has(form)) return;
    const { sequence, dictionary, target } = this;
    const first = repeat.starts[0]!;
    let { starts } = repeat;
    if (hasCall || form === "thunk") starts = this.withOnePad(starts, length, form);
    let bytes = 0;
    let rows = 0;
    for (let i = 0; i < length; i++) {
      const kind = dictionary.kind(sequence.symbols[first + i]!);
      bytes += kind.bytes;
      rows += kind.rows;
    }
    const symbols = sequence.symbols.subarray(first, first + length);
    const padded = form !== "jump" && hasCall && this.needsPadding(symbols, form);
    const executed =
      moreExecuted[form] + (padded ? executedByPadding : 0) + lostPrediction * this.indirectCalls(symbols);
    starts = this.worthTime(starts, bytes + rows, executed);
    if (starts.length < 2) return;
    // The function has at least the code of one place.
    if (starts.length * (bytes + rows - this.transferBytes) <= bytes + rows) return;
    const { costs, instructions, outlining } = target;
    let bodyBytes = form === "call" ? costs.frames.return : 0;
    let bodyRows = rows;
    if (padded) {
      // A thunk cannot take the padding away again.
      if (form === "thunk") return;
      const pads = outlining.pad(deadAfter(symbols, dictionary, target));
      for (const inst of pads) {
        bodyBytes += instructions.length(inst);
        bodyRows += target.frame.tableBytes(inst, false);
      }
    }
    const lower = form === "jump" ? 0 : outlining.returnAddress + (padded ? outlining.padding : 0);
    for (const symbol of symbols) {
      const own = this.loweredBytes(symbol, lower);
      if (own < 0) return;
      bodyBytes += own;
    }
    out.push({ length, starts, form, symbols, bytes, rows, bodyBytes, padded, bodyRows });
  }

  private indirectCalls(symbols: Int32Array): number {
    let count = 0;
    for (const symbol of symbols) if (this.callFacts(symbol).isIndirect) count++;
    return count;
  }

  /** Whether a call inside is one that counts on the alignment of the stack. */
  private needsPadding(symbols: Int32Array, form: OutlineForm): boolean {
    const inside = form === "thunk" ? symbols.subarray(0, -1) : symbols;
    return inside.some((symbol) => {
      return this.dictionary.kind(symbol).kind === Outlining.Call && this.callFacts(symbol).isAligned;
    });
  }

  /** Those of which each saves more bytes than the time is worth. @param instructions that are executed more */
  private worthTime(starts: Int32Array, bytes: number, instructions: number): Int32Array {
    const saved = bytes - this.transferBytes;
    const { blockOf, functionOf, parts } = this.sequence;
    const isWorth = (start: number): boolean => {
      const block = blockOf[start]!;
      const fn = functionOf[block]!;
      const time = this.program.timeOf(fn, block - parts[fn]!.firstBlock);
      return time === 0 || saved > time * instructions;
    };
    return wantedStarts(starts, isWorth);
  }

  functionAt(place: number): number {
    const { functionOf, blockOf } = this.sequence;
    return functionOf[blockOf[place]!]!;
  }

  /**
   * The landing pad that what stands for the code at a place has to lead to, as a position: every call that may throw
   * leads there. -1: none leads anywhere; null: not all lead to the same.
   */
  padAt(start: number, length: number): number | null {
    if ((this.siteAt(start) & Site.HasPads) === 0) return -1;
    const words = this.wordsOf(this.functionAt(start));
    let pad: number | null = null;
    for (let place = start; place < start + length; place++) {
      const symbol = this.sequence.symbols[place]!;
      if (this.dictionary.kind(symbol).kind !== Outlining.Call) continue;
      const own = landingPadOf(words, this.sequence.words[place]!);
      if (own < 0 && this.callFacts(symbol).noUnwind) continue;
      if (pad !== null && pad !== own) return null;
      pad = own;
    }
    return pad ?? -1;
  }

  /** Those places from which exceptions may still go where they went. */
  private withOnePad(starts: Int32Array, length: number, form: OutlineForm): Int32Array {
    const isRight = (start: number): boolean => {
      const pad = this.padAt(start, length);
      // After a jump the function's frame is gone.
      return pad !== null && (pad < 0 || form !== "jump");
    };
    for (let i = 0; i < starts.length; i++) if (!isRight(starts[i]!)) return starts.filter(isRight);
    return starts;
  }

  /** Bits of `Site`. */
  siteAt(place: number): number {
    return this.program.sites[this.functionAt(place)]!;
  }

  /** Bytes of an instruction where the stack pointer is lower; -1: it cannot be there. */
  private loweredBytes(symbol: number, bytes: number): number {
    const known = this.dictionary.kind(symbol);
    if (bytes === 0 || !known.usesStack) return known.bytes;
    const key = symbol * 64 + bytes;
    let length = this.lowered.get(key);
    if (length === undefined) {
      const inst = this.target.outlining.lowered(this.dictionary.instruction(symbol), bytes);
      length = inst === null ? -1 : this.target.instructions.length(inst);
      this.lowered.set(key, length);
    }
    return length;
  }

  /** Bytes that outlining saves at these places, all told. */
  readonly benefit = (candidate: OutlineCandidate, starts: Int32Array): number =>
    this.sizes(candidate, starts).benefit;

  /** Bytes with the function and without. @param starts of the places that would lead to it */
  sizes(candidate: OutlineCandidate, starts: Int32Array): OutlineSizes {
    let withRows = 0;
    let all = 0;
    for (let i = 0; i < starts.length; i++) {
      const site = this.siteAt(starts[i]!);
      all |= site;
      if ((site & Site.HasRows) !== 0) withRows++;
    }
    const tablesBefore = withRows * candidate.rows;
    const codeBefore = starts.length * candidate.bytes;
    const code = starts.length * this.transferBytes + candidate.bodyBytes;
    const isDescribed = (all & Site.Unwind) !== 0 && !this.program.sharedUnwind;
    const tables =
      (withRows > 0 ? candidate.bodyRows : 0) +
      (isDescribed ? this.program.target.costs.frames.description : 0);
    return { code, codeBefore, tables, tablesBefore, benefit: codeBefore + tablesBefore - code - tables };
  }
}

/** Registers that a call changed and nothing set since: nobody can rely on them. */
export function deadAfter(symbols: Int32Array, dictionary: Dictionary, target: Target): RegisterSet {
  let dead = noRegisters;
  for (const symbol of symbols) {
    const { kind } = dictionary.kind(symbol);
    if (kind !== Outlining.Call && isEmptySet(dead)) continue;
    const inst = dictionary.instruction(symbol);
    if (kind === Outlining.Call) {
      dead = union(dead, inst.clobbers);
      dead = minus(dead, resultsOf(inst));
    } else dead = minus(dead, target.instructions.writes(inst));
  }
  return intersect(dead, target.registers.callClobbers);
}

/** Registers that an instruction defines, without what it merely changes. */
export function resultsOf(inst: MInst): RegisterSet {
  let set = noRegisters;
  for (const def of inst.defs) if (def.loc >= 0) set = withRegister(set, def.loc);
  return set;
}
