/**
 * The final code of a program as one sequence of numbers, in which equal instructions have equal numbers.
 *
 * Instructions are compared as words of packed functions; each different one is made an object once, to ask the target
 * about it. What must stay where it is and ends of blocks have numbers that equal nothing; functions that are not to be
 * touched are left out. Linear in the code; some words an instruction are kept.
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
  /** Where one of them is: function, word, and number of words. */
  private readonly functions = new Numbers();
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
    const other = this.code.packed(this.functions.at(number)).words;
    const shift = this.starts.at(number) - from;
    for (let i = from; i < to; i++) if (other[i + shift] !== words[i]) return false;
    return true;
  }

  private enter(fn: number, words: Int32Array, from: number, to: number, hash: number): number {
    const number = this.kinds.length;
    this.functions.push(fn);
    this.starts.push(from);
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
    return this.code.instruction(this.functions.at(number), this.starts.at(number));
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
}

/** Which blocks of a function may be changed, by position; null: none. */
export type BlockChoice = (
  fn: number,
  packed: PackedFunction,
  blocks: number,
) => ((block: number) => boolean) | null;

export function codeSequence(code: ProgramCode, dictionary: Dictionary, choose: BlockChoice): CodeSequence {
  const symbols = new Numbers();
  const words = new Numbers();
  const blockOf = new Numbers();
  const blocks: BlockPlace[] = [];
  const add = (symbol: number, at: number): void => {
    symbols.push(symbol);
    words.push(at);
    blockOf.push(blocks.length - 1);
  };
  for (let fn = 0; fn < code.count; fn++) {
    const packed = code.packed(fn);
    const count = packedHead(packed).blocks;
    const wanted = choose(fn, packed, count);
    if (wanted === null) continue;
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
  return { symbols: symbols.finish(), words: words.finish(), blockOf: blockOf.finish(), blocks };
}
