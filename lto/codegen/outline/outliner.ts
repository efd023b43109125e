/**
 * The machine outliner: code that occurs several times in the final code of a program becomes a function of its own
 * where that makes the program smaller, all that is loaded counted.
 *
 *   1. sequence.ts    the code as one sequence of numbers
 *   2. outline/       its repeats, and among what candidates.ts makes of them those that save most
 *   3. body.ts        their functions
 *   4. here           calls and jumps in place of their code, as words of the packed functions
 *
 * Then again, since outlined functions and calls of them are code, while a round saves something and at most as often
 * as asked for. Functions for size take part; of those for -Os, and of hot ones, only cold functions, and
 * code that leads to nothing but calls that never return or of cold functions, or that a profile found rare: with what a frequency estimated from the shape of the code calls rare, bzip2 executed
 * 12% more instructions for 1% of its bytes.
 * No register is freed or needed anywhere: a call changes none, so what is allocated stays right.
 * Linear in the code for each round, but for the choice among candidates (outline/select.ts).
 * Repeats are equal instructions. What more would be found up to something, as upper bounds from liveness and with prices of
 * what connects a place (lua, bzip2, mawk, zlib and sqlite3 at -Oz, share of .text, first round): up to a renaming of
 * registers that nothing needs behind the sequence, where the other ones are free, 0.09%; of all registers, with a move of 3
 * bytes for each input and output in another one, 0.07%; with one constant passed in a register for 3 bytes 0.08%, for 5
 * bytes 0.01%. A renaming that costs nothing, as an allocator might have chosen it, would be worth 4.4%. With independent
 * instructions of a block sorted by their text where dependences allow it, programs came out 0.1 to 0.2% larger (lua, bzip2,
 * mawk): selection and allocation leave equal computations in one order already, and neighbours are torn apart.
 * Breaks if: code that was measured moves into another section, or a later step changes what instructions do.
 */
import { temperature } from "../../analysis/profile.js";
import { findRepeats } from "../../outline/repeats.js";
import { type Selected, selectCandidates } from "../../outline/select.js";
import type { Remark, Remarks } from "../../pass/remarks.js";
import { rareBlocks } from "../late/block-frequency.js";
import type { ProgramCode } from "../late/program-code.js";
import type { MFunction, UnwindTables } from "../mir.js";
import { goals, Property, unwindTables } from "../pack/format.js";
import { packedHead, skipInstruction } from "../pack/walk.js";
import { outlinedFunction } from "./body.js";
import {
  type AlignedCall,
  CandidateFinder,
  type OutlineCandidate,
  type OutlineForm,
  type OutlineSite,
} from "./candidates.js";
import { notOutlined, outlined } from "./remarks.js";
import { type CodeSequence, codeSequence, Dictionary } from "./sequence.js";

export interface OutlineOptions {
  readonly forms: readonly OutlineForm[];
  readonly rounds: number;
  readonly sharedUnwind: boolean;
  /** Where decisions are told; absent: nobody wants them. */
  readonly remarks?: Remarks | null;
}

/** What was made. */
export interface OutlineReport {
  readonly outlinedFunctions: number;
  /** Calls and jumps that stand for code. */
  readonly outlinedPlaces: number;
  /** Bytes saved, unwind tables included. */
  readonly outlinedBytes: number;
}

export const nothingOutlined: OutlineReport = { outlinedFunctions: 0, outlinedPlaces: 0, outlinedBytes: 0 };

/** Longer repeats are cut: what is saved beyond is little of them. */
const maximumLength = 400;

interface FunctionFacts extends OutlineSite {
  readonly unwind: UnwindTables;
}

/**
 * @param aligned whether a call needs the stack aligned
 * @param isTaken whether a symbol has the name already
 */
export function outlineCode(
  code: ProgramCode,
  options: OutlineOptions,
  aligned: AlignedCall,
  isTaken: (name: string) => boolean,
): OutlineReport {
  const names = new Set<string>();
  const framed = new Set<string>();
  const taken = (name: string): boolean => names.has(name) || isTaken(name);
  const dictionary = new Dictionary(code);
  let sequence: CodeSequence | null = null;
  let { outlinedFunctions, outlinedPlaces, outlinedBytes } = nothingOutlined;
  for (let round = 0; round < options.rounds; round++) {
    const next: Round = new Round(
      code,
      options,
      round + 1,
      aligned,
      taken,
      names,
      framed,
      dictionary,
      sequence,
    );
    sequence = next.sequence;
    const selected = next.run();
    if (selected.length === 0) break;
    outlinedFunctions += selected.length;
    for (const { starts, benefit } of selected) {
      outlinedPlaces += starts.length;
      outlinedBytes += benefit;
    }
  }
  return { outlinedFunctions, outlinedPlaces, outlinedBytes };
}

class Round {
  private readonly facts: (FunctionFacts | undefined)[] = [];
  readonly sequence: CodeSequence;

  constructor(
    private readonly code: ProgramCode,
    private readonly options: OutlineOptions,
    private readonly number: number,
    private readonly aligned: AlignedCall,
    private readonly isTaken: (name: string) => boolean,
    private readonly names: Set<string>,
    private readonly framed: Set<string>,
    private readonly dictionary: Dictionary,
    before: CodeSequence | null,
  ) {
    this.sequence = codeSequence(code, dictionary, (fn) => this.choose(fn), before);
  }

  /** Which blocks of a function take part. */
  private choose(fn: number): ((block: number) => boolean) | null {
    const { code } = this;
    const { goal, properties } = packedHead(code.packed(fn));
    const name = goals[goal]!;
    if (name !== "minsize" && name !== "size") return null;
    if ((properties & (Property.RedZone | Property.ReturnsTwice)) !== 0) return null;
    if (code.target.outlining.refuses(code.functionOf(fn))) return null;
    const known = temperature(code.functionOf(fn));
    if (known === "cold" || (name === "minsize" && known === null)) return () => true;
    const isRare = rareBlocks(code.view(fn));
    return isRare.includes(true) ? (block) => isRare[block]! : null;
  }

  private readonly siteOf = (fn: number): FunctionFacts => {
    const known = this.facts[fn];
    if (known !== undefined) return known;
    const { properties } = packedHead(this.code.packed(fn));
    const unwind = unwindTables[(properties >> Property.Unwind) & 3]!;
    const facts = {
      unwind,
      unwinds: unwind !== "none",
      hasRows: unwind === "async" && (properties & Property.FramePointer) === 0,
      catches: this.code.functionOf(fn).personality !== null,
    };
    this.facts[fn] = facts;
    return facts;
  };

  run(): Selected<OutlineCandidate>[] {
    const { code, sequence, dictionary, options } = this;
    const { target } = code;
    const finder = new CandidateFinder(
      sequence,
      dictionary,
      target,
      this.siteOf,
      this.aligned,
      new Set(options.forms),
      options.sharedUnwind,
      this.framed,
    );
    const before = finder.prefixBytes();
    const transfer = target.instructions.length(target.outlining.call(""));
    const wanted = (length: number, count: number, first: number): boolean => {
      const bytes = before[first + length]! - before[first]!;
      return count * (bytes - transfer) - bytes > 0;
    };
    const candidates: OutlineCandidate[] = [];
    for (const repeat of findRepeats(sequence.symbols, { minimumLength: 2, maximumLength, wanted }))
      finder.add(repeat, candidates);
    const { remarks = null } = options;
    const refused =
      remarks === null
        ? undefined
        : (candidate: OutlineCandidate, starts: Int32Array): void =>
            remarks.add(this.refusal(finder, candidate, starts));
    const selected = selectCandidates(candidates, sequence.symbols.length, finder.benefit, { refused });
    const made = this.replace(selected, finder);
    if (remarks !== null)
      selected.forEach(({ candidate, starts }, i) => {
        const places = Array.from(starts, (start) => this.nameAt(finder, start));
        const bytes = finder.sizes(candidate, starts);
        remarks.add(outlined(made[i]!.name, this.number, candidate, bytes, places));
      });
    return selected;
  }

  private nameAt = (finder: CandidateFinder, start: number): string =>
    this.code.functionOf(finder.functionAt(start)).name;

  private refusal(finder: CandidateFinder, candidate: OutlineCandidate, left: Int32Array): Remark {
    const all = finder.sizes(candidate, withoutOverlaps(candidate));
    const leftover = left.length === 0 ? null : finder.sizes(candidate, left);
    const fn = this.nameAt(finder, candidate.starts[0]!);
    return notOutlined(fn, this.number, candidate, all, leftover, left.length);
  }

  /** Makes the functions, and puts calls of them in place of their code. */
  private replace(
    selected: readonly Selected<OutlineCandidate>[],
    finder: CandidateFinder,
  ): readonly MFunction[] {
    const { code, dictionary } = this;
    const edits: Edit[] = [];
    const made = selected.map(({ candidate, starts }) => {
      let unwind: UnwindTables = "none";
      for (const start of starts) {
        const own = this.siteOf(finder.functionAt(start)).unwind;
        if (unwindTables.indexOf(own) > unwindTables.indexOf(unwind)) unwind = own;
      }
      const { mf, transfer } = outlinedFunction(candidate, dictionary, code.target, unwind, this.isTaken);
      this.names.add(mf.name);
      if (finder.isFramed(candidate)) this.framed.add(mf.name);
      const words = code.packInstruction(transfer);
      for (const start of starts) edits.push({ start, length: candidate.length, words });
      return mf;
    });
    edits.sort((a, b) => a.start - b.start);
    for (let i = 0; i < edits.length; ) {
      const fn = finder.functionAt(edits[i]!.start);
      let end = i + 1;
      while (end < edits.length && finder.functionAt(edits[end]!.start) === fn) end++;
      code.replace(fn, this.editedWords(fn, edits.slice(i, end)));
      i = end;
    }
    for (const mf of made) code.add(mf);
    return made;
  }

  /** The words of a function with the edits made, which are in the order of the code. */
  private editedWords(fn: number, edits: readonly Edit[]): Int32Array {
    const { sequence, code } = this;
    const { words } = code.packed(fn);
    let length = words.length;
    const ends = edits.map(({ start, length: count, words: other }) => {
      const from = sequence.words[start]!;
      const end = skipInstruction(words, sequence.words[start + count - 1]!);
      length += other.length - (end - from);
      return end;
    });
    const out = new Int32Array(length);
    let read = 0;
    let write = 0;
    const copy = (to: number): void => {
      out.set(words.subarray(read, to), write);
      write += to - read;
      read = to;
    };
    let count = -1;
    let countAt = -1;
    edits.forEach((edit, i) => {
      const block = sequence.blocks[sequence.blockOf[edit.start]!]!;
      if (block.count !== count) {
        copy(block.count + 1);
        count = block.count;
        countAt = write - 1;
      }
      const from = sequence.words[edit.start]!;
      copy(from);
      out.set(edit.words, write);
      write += edit.words.length;
      // Instructions without code between those of the sequence go with them.
      let gone = 0;
      for (let at = from; at < ends[i]!; at = skipInstruction(words, at)) gone++;
      out[countAt]! -= gone - 1;
      read = ends[i]!;
    });
    copy(words.length);
    return out;
  }
}

/** The places of a candidate, left to right, that do not overlap. */
function withoutOverlaps({ starts, length }: OutlineCandidate): Int32Array {
  let end = 0;
  return starts.filter((start) => {
    if (start < end) return false;
    end = start + length;
    return true;
  });
}

/** A place of the sequence, and what stands there afterwards. */
interface Edit {
  readonly start: number;
  readonly length: number;
  readonly words: Int32Array;
}
