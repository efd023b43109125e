/**
 * The final code of a program as one sequence of numbers, in which equal instructions have equal numbers.
 *
 * Instructions are compared as words of packed functions. Ends of blocks, and what by its opcode must stay where it is,
 * have a number that equals nothing; functions that are not to be touched are left out. What else the target says of an
 * instruction is asked of each different one once, and only of those that may be part of a repeat: most instructions
 * never become objects. Linear in the code; some words an instruction are kept.
 *
 * What is known of instructions serves all rounds, and of functions that a round left alone their part of the sequence
 * is copied from the one before. Numbers are those of the first round, then; nothing that is chosen depends on them.
 * Breaks if: which blocks of a function take part depends on more than its words.
 */
import type { ProgramCode } from "../late/program-code.js";
import type { MInst } from "../mir.js";
import { HasTargets, opcodeMask, type PackedFunction } from "../pack/format.js";
import { isBound, packedHead, skipInstruction, withoutLandingPad } from "../pack/walk.js";
import { Outlining } from "../target.js";

/** Numbers that become more. */
class Numbers {
  private words = new Int32Array(1 << 14);
  private used = 0;

  get length(): number {
    return this.used;
  }
  at(index: number): number {
    return this.words[index]!;
  }
  push(word: number): void {
    if (this.used === this.words.length) {
      const larger = new Int32Array(this.words.length * 2);
      larger.set(this.words);
      this.words = larger;
    }
    this.words[this.used++] = word;
  }
  /** Some of an array's words. */
  append(words: Int32Array, from: number, to: number): void {
    const end = this.used + to - from;
    if (end > this.words.length) {
      let size = this.words.length * 2;
      while (size < end) size *= 2;
      const larger = new Int32Array(size);
      larger.set(this.words.subarray(0, this.used));
      this.words = larger;
    }
    this.words.set(words.subarray(from, to), this.used);
    this.used = end;
  }
  /** The words as they are, until more are added. */
  get all(): Int32Array {
    return this.words;
  }
  finish(): Int32Array {
    return this.words.subarray(0, this.used);
  }
}

/** What is known of an instruction, wherever it occurs. */
export interface InstructionKind {
  readonly kind: Outlining;
  readonly bytes: number;
  /** Bytes of asynchronous unwind tables, where no frame pointer makes them superfluous. */
  readonly rows: number;
  readonly usesStack: boolean;
  /** As `TargetOutlining.stackOffset`; Infinity where it does not use the stack. */
  readonly stackOffset: number;
}

const never: InstructionKind = {
  kind: Outlining.Never,
  bytes: 0,
  rows: 0,
  usesStack: false,
  stackOffset: Number.POSITIVE_INFINITY,
};

/** Each different instruction, by number. */
export class Dictionary {
  private readonly kinds: (InstructionKind | undefined)[] = [];
  private readonly pool = new Numbers();
  /** Where the words of each end; the last ones' are first. */
  private readonly ends = new Numbers();
  private readonly hashes = new Numbers();
  /** Open addressing: 1 more than the number. */
  private table = new Int32Array(1 << 12);

  constructor(private readonly code: ProgramCode) {}

  /** How many there are: their numbers are below it. */
  get size(): number {
    return this.ends.length;
  }

  /** The number of the instruction in some words of a function. */
  numberOf(words: Int32Array, from: number, to: number): number {
    let hash = to - from;
    for (let i = from; i < to; i++) {
      hash = Math.imul(hash ^ words[i]!, 0x9e3779b1);
      hash ^= hash >>> 15;
    }
    const mask = this.table.length - 1;
    for (let slot = hash & mask; ; slot = (slot + 1) & mask) {
      const number = this.table[slot]! - 1;
      if (number < 0) return this.enter(words, from, to, hash);
      if (this.hashes.at(number) === hash && this.equals(number, words, from, to)) return number;
    }
  }

  private startOf(number: number): number {
    return number === 0 ? 0 : this.ends.at(number - 1);
  }

  private equals(number: number, words: Int32Array, from: number, to: number): boolean {
    const start = this.startOf(number);
    if (this.ends.at(number) - start !== to - from) return false;
    const other = this.pool.all;
    const shift = start - from;
    for (let i = from; i < to; i++) if (other[i + shift] !== words[i]) return false;
    return true;
  }

  private enter(words: Int32Array, from: number, to: number, hash: number): number {
    const number = this.ends.length;
    this.pool.append(words, from, to);
    this.ends.push(this.pool.length);
    this.hashes.push(hash);
    if (2 * (number + 1) > this.table.length) this.grow();
    this.place(hash, number);
    return number;
  }

  private place(hash: number, number: number): void {
    const mask = this.table.length - 1;
    let slot = hash & mask;
    while (this.table[slot] !== 0) slot = (slot + 1) & mask;
    this.table[slot] = number + 1;
  }

  private grow(): void {
    const count = this.ends.length - 1;
    this.table = new Int32Array(this.table.length * 2);
    for (let number = 0; number < count; number++) this.place(this.hashes.at(number), number);
  }

  /** What is known of the instruction with this number. */
  kind(number: number): InstructionKind {
    return (this.kinds[number] ??= this.describe(number));
  }

  /** Bytes of code and of unwind tables; 0 where nobody asked for the kind. */
  knownBytes(number: number): number {
    const kind = this.kinds[number];
    return kind === undefined ? 0 : kind.bytes + kind.rows;
  }

  private describe(number: number): InstructionKind {
    if (isBound(this.pool.all, this.startOf(number))) return never;
    const { outlining, instructions, frame } = this.code.target;
    const inst = this.instruction(number);
    const kind = outlining.kind(inst);
    if (kind === Outlining.Never) return never;
    const usesStack = outlining.usesStack(inst);
    return {
      kind,
      bytes: instructions.length(inst),
      rows: frame.tableBytes(inst, false),
      usesStack,
      stackOffset: usesStack ? outlining.stackOffset(inst) : Number.POSITIVE_INFINITY,
    };
  }

  /** A new object of the instruction with this number. */
  instruction(number: number): MInst {
    return this.code.instruction(this.pool.all, this.startOf(number));
  }
}

export interface CodeSequence {
  /** Numbers of the dictionary; below 0: equal to nothing. */
  readonly symbols: Int32Array;
  /** For each symbol the function's word at which its instruction starts. */
  readonly words: Int32Array;
  /** For each symbol its block, as an index into the next two. */
  readonly blockOf: Int32Array;
  /** The function that a block is in. */
  readonly functionOf: Int32Array;
  /** The word with the number of a block's instructions. */
  readonly counts: Int32Array;
  /** By function number, what it was made of. */
  readonly parts: readonly SequencePart[];
}

/** The part of a function in the sequence. */
interface SequencePart {
  readonly words: Int32Array;
  readonly start: number;
  readonly end: number;
  readonly firstBlock: number;
  readonly endBlock: number;
}

/** Which blocks of a function may be changed, by position; null: none. */
export type BlockChoice = (fn: number, packed: PackedFunction) => ((block: number) => boolean) | null;

/** @param previous of the round before, with the same dictionary */
export function codeSequence(
  code: ProgramCode,
  dictionary: Dictionary,
  choose: BlockChoice,
  previous: CodeSequence | null,
): CodeSequence {
  const symbols = new Numbers();
  const words = new Numbers();
  const blockOf = new Numbers();
  const functionOf = new Numbers();
  const counts = new Numbers();
  const parts: SequencePart[] = [];
  const { opcodes } = code.target.outlining;
  for (let fn = 0; fn < code.count; fn++) {
    const packed = code.packed(fn);
    const start = symbols.length;
    const firstBlock = counts.length;
    const known = previous?.parts[fn];
    if (known !== undefined && known.words === packed.words) copyFunction(previous!, known);
    else addFunction(fn, packed);
    parts.push({ words: packed.words, start, end: symbols.length, firstBlock, endBlock: counts.length });
  }
  return {
    symbols: symbols.finish(),
    words: words.finish(),
    blockOf: blockOf.finish(),
    functionOf: functionOf.finish(),
    counts: counts.finish(),
    parts,
  };

  function copyFunction(from: CodeSequence, part: SequencePart): void {
    const shift = counts.length - part.firstBlock;
    symbols.append(from.symbols, part.start, part.end);
    words.append(from.words, part.start, part.end);
    for (let i = part.start; i < part.end; i++) blockOf.push(from.blockOf[i]! + shift);
    functionOf.append(from.functionOf, part.firstBlock, part.endBlock);
    counts.append(from.counts, part.firstBlock, part.endBlock);
  }

  function add(symbol: number, at: number): void {
    symbols.push(symbol);
    words.push(at);
    blockOf.push(counts.length - 1);
  }

  function addFunction(fn: number, packed: PackedFunction): void {
    const wanted = choose(fn, packed);
    if (wanted === null) return;
    const own = packed.words;
    // A call that leads to a landing pad is like one that does not: what stands for it leads there.
    const hasPads = code.functionOf(fn).personality !== null;
    let at = packed.blocks;
    for (let block = 0, count = packedHead(packed).blocks; block < count; block++) {
      const isWanted = wanted(block);
      functionOf.push(fn);
      counts.push(at);
      let open = false;
      for (let n = own[at++]!; n > 0; n--) {
        const end = skipInstruction(own, at);
        if (isWanted) {
          const head = own[at]!;
          const kind = (head & HasTargets) !== 0 ? Outlining.Never : opcodes[head & opcodeMask]!;
          if (kind === Outlining.Never) {
            // One of them is as good as many.
            if (open) add(-1, at);
            open = false;
          } else if (kind !== Outlining.Invisible) {
            const call = hasPads ? withoutLandingPad(own, at, end) : null;
            add(
              call === null ? dictionary.numberOf(own, at, end) : dictionary.numberOf(call, 0, call.length),
              at,
            );
            open = true;
          }
        }
        at = end;
      }
      if (open) add(-1, at);
    }
  }
}
