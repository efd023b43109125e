/**
 * The final code of a program as one sequence of numbers, in which equal instructions have equal numbers.
 *
 * Instructions are compared as words of packed functions; each different one is made an object once, to ask the target
 * about it. What must stay where it is and ends of blocks have numbers that equal nothing; functions that are not to be
 * touched are left out. Linear in the code; some words an instruction are kept.
 *
 * What is known of instructions serves all rounds, and of functions that a round left alone their part of the sequence
 * is copied from the one before. Numbers are those of the first round, then; nothing that is chosen depends on them.
 * Breaks if: which blocks of a function take part depends on more than its words.
 */
import type { ProgramCode } from "../late/program-code.js";
import type { MInst } from "../mir.js";
import type { PackedFunction } from "../pack/format.js";
import { isBound, packedHead, skipInstruction } from "../pack/walk.js";
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
}

const never: InstructionKind = { kind: Outlining.Never, bytes: 0, rows: 0, usesStack: false };

/** Each different instruction, by number. */
export class Dictionary {
  readonly kinds: InstructionKind[] = [];
  /** A function that has it, and its words: those of functions change. */
  private readonly functions = new Numbers();
  private readonly pool = new Numbers();
  private readonly starts = new Numbers();
  private readonly sizes = new Numbers();
  private readonly hashes = new Numbers();
  /** Open addressing: 1 more than the number. */
  private table = new Int32Array(1 << 12);

  constructor(private readonly code: ProgramCode) {}

  /** The number of the instruction in some words of a function. */
  numberOf(fn: number, words: Int32Array, from: number, to: number): number {
    let hash = to - from;
    for (let i = from; i < to; i++) {
      hash = Math.imul(hash ^ words[i]!, 0x9e3779b1);
      hash ^= hash >>> 15;
    }
    const mask = this.table.length - 1;
    for (let slot = hash & mask; ; slot = (slot + 1) & mask) {
      const number = this.table[slot]! - 1;
      if (number < 0) return this.enter(fn, words, from, to, hash);
      if (this.hashes.at(number) === hash && this.equals(number, words, from, to)) return number;
    }
  }

  private equals(number: number, words: Int32Array, from: number, to: number): boolean {
    if (this.sizes.at(number) !== to - from) return false;
    const other = this.pool.all;
    const shift = this.starts.at(number) - from;
    for (let i = from; i < to; i++) if (other[i + shift] !== words[i]) return false;
    return true;
  }

  private enter(fn: number, words: Int32Array, from: number, to: number, hash: number): number {
    const number = this.kinds.length;
    this.functions.push(fn);
    this.starts.push(this.pool.length);
    this.pool.append(words, from, to);
    this.sizes.push(to - from);
    this.hashes.push(hash);
    this.kinds.push(isBound(words, from) ? never : this.describe(this.instruction(number)));
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
    const count = this.kinds.length - 1;
    this.table = new Int32Array(this.table.length * 2);
    for (let number = 0; number < count; number++) this.place(this.hashes.at(number), number);
  }

  private describe(inst: MInst): InstructionKind {
    const { outlining, instructions, frame } = this.code.target;
    const kind = outlining.kind(inst);
    if (kind === Outlining.Never) return never;
    return {
      kind,
      bytes: instructions.length(inst),
      rows: frame.tableBytes(inst, false),
      usesStack: outlining.usesStack(inst),
    };
  }

  /** A new object of the instruction with this number. */
  instruction(number: number): MInst {
    return this.code.instruction(this.functions.at(number), this.starts.at(number), this.pool.all);
  }
}

/** A block of the sequence. */
interface BlockPlace {
  readonly fn: number;
  /** The word with the number of its instructions. */
  readonly count: number;
}

export interface CodeSequence {
  /** Numbers of the dictionary; below 0: equal to nothing. */
  readonly symbols: Int32Array;
  /** For each symbol the function's word at which its instruction starts. */
  readonly words: Int32Array;
  /** For each symbol its block, as an index into `blocks`. */
  readonly blockOf: Int32Array;
  readonly blocks: readonly BlockPlace[];
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
export type BlockChoice = (
  fn: number,
  packed: PackedFunction,
  blocks: number,
) => ((block: number) => boolean) | null;

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
  const blocks: BlockPlace[] = [];
  const parts: SequencePart[] = [];
  const add = (symbol: number, at: number): void => {
    symbols.push(symbol);
    words.push(at);
    blockOf.push(blocks.length - 1);
  };
  for (let fn = 0; fn < code.count; fn++) {
    const packed = code.packed(fn);
    const start = symbols.length;
    const firstBlock = blocks.length;
    const known = previous?.parts[fn];
    if (known !== undefined && known.words === packed.words) {
      symbols.append(previous!.symbols, known.start, known.end);
      words.append(previous!.words, known.start, known.end);
      const shift = firstBlock - known.firstBlock;
      for (let i = known.start; i < known.end; i++) blockOf.push(previous!.blockOf[i]! + shift);
      for (let i = known.firstBlock; i < known.endBlock; i++) blocks.push(previous!.blocks[i]!);
    } else addFunction(fn, packed);
    parts.push({
      words: packed.words,
      start,
      end: symbols.length,
      firstBlock,
      endBlock: blocks.length,
    });
  }
  return { symbols: symbols.finish(), words: words.finish(), blockOf: blockOf.finish(), blocks, parts };

  function addFunction(fn: number, packed: PackedFunction): void {
    const count = packedHead(packed).blocks;
    const wanted = choose(fn, packed, count);
    if (wanted === null) return;
    const own = packed.words;
    let at = packed.blocks;
    for (let block = 0; block < count; block++) {
      const isWanted = wanted(block);
      blocks.push({ fn, count: at });
      let open = false;
      for (let n = own[at++]!; n > 0; n--) {
        const end = skipInstruction(own, at);
        if (isWanted) {
          const number = dictionary.numberOf(fn, own, at, end);
          const { kind } = dictionary.kinds[number]!;
          if (kind === Outlining.Never) {
            // One of them is as good as many.
            if (open) add(-1, at);
            open = false;
          } else if (kind !== Outlining.Invisible) {
            add(number, at);
            open = true;
          }
        }
        at = end;
      }
      if (open) add(-1, at);
    }
  }
}
