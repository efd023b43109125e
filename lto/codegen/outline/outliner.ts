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
 * registers that nothing needs after the sequence, where the other ones are free, 0.09%; of all registers, with a move of 3
 * bytes for each input and output in another one, 0.07%; with one constant passed in a register for 3 bytes 0.08%, for 5
 * bytes 0.01%. A renaming that costs nothing, as an allocator might have chosen it, would be worth 4.4%. With independent
 * instructions of a block sorted by their text where dependences allow it, programs came out 0.1 to 0.2% larger (lua, bzip2,
 * mawk): selection and allocation leave equal computations in one order already, and neighbours are torn apart.
 * Registers that cost the same are taken in a fixed order. With the order of each value's seeded by a hash of what defines it,
 * the sum came out 0.4 to 1.0% larger; with that of what uses it, too, 0.4 to 1.6% (with those, gzip, mujs and zstd).
 * Breaks if: code that was measured moves into another section, or a later step changes what instructions do.
 */

import { functionHeat, timeBytes } from "../../analysis/heat.js";
import { temperature } from "../../analysis/profile.js";
import type { Func, GlobalValue } from "../../ir/module.js";
import { findRepeats } from "../../outline/repeats.js";
import { type Selected, selectCandidates } from "../../outline/select.js";
import type { Remark, Remarks } from "../../pass/remarks.js";
import { rareBlocks } from "../late/block-frequency.js";
import type { ProgramCode } from "../late/program-code.js";
import type { MFunction } from "../mir.js";
import { editedDebug } from "../pack/debug.js";
import { goals, type PackedFunction, Property, unwindTables } from "../pack/format.js";
import { editedOrigins, originsByWord, type WordsReplaced } from "../pack/origins.js";
import { packedHead, skipInstruction, withLandingPad } from "../pack/walk.js";
import { outlinedFunction } from "./body.js";
import { type AlignedCall, CandidateFinder, type OutlineCandidate, Site } from "./candidates.js";
import { type Executions, executionsOf } from "./executions.js";
import type { OutlineForm } from "./forms.js";
import { notOutlined, outlined, outlineRemarks } from "./remarks.js";
import { type CodeSequence, codeSequence, Dictionary } from "./sequence.js";

/** What is estimated of time. */
export interface ProgramTime {
  /** What it is worth: analysis/heat.ts */
  readonly sizeTime: number;
  /** Executions of each function, by number. */
  readonly executions: Float64Array;
  /** Instructions that a call executes. @param callee null: through a pointer, or not known */
  readonly workOf: (callee: GlobalValue | null, calleeSet: number) => number;
}

export interface OutlineOptions {
  readonly forms: readonly OutlineForm[];
  readonly rounds: number;
  readonly sharedUnwind: boolean;
  /** Absent: nobody gives bytes for time. */
  readonly time?: ProgramTime;
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
  const outliner = new Outliner(code, options, aligned, isTaken);
  let { outlinedFunctions, outlinedPlaces, outlinedBytes } = nothingOutlined;
  for (let round = 1; round <= options.rounds; round++) {
    const selected = outliner.round(round);
    if (selected.length === 0) break;
    outlinedFunctions += selected.length;
    for (const { starts, benefit } of selected) {
      outlinedPlaces += starts.length;
      outlinedBytes += benefit;
    }
  }
  return { outlinedFunctions, outlinedPlaces, outlinedBytes };
}

class Outliner {
  private readonly names = new Set<string>();
  private readonly framed = new Set<string>();
  private readonly dictionary: Dictionary;
  private readonly forms: ReadonlySet<OutlineForm>;
  /** Bits of `Site`, by function number. */
  private sites = new Uint8Array(0);
  private sequence: CodeSequence | null = null;
  /** By function number: those of functions that somebody asked for. */
  private readonly executions: (Executions | undefined)[] = [];
  /** By the word where each instruction starts. */
  private readonly knownOrigins = new Map<PackedFunction, ReadonlyMap<number, number>>();

  constructor(
    private readonly code: ProgramCode,
    private readonly options: OutlineOptions,
    private readonly aligned: AlignedCall,
    private readonly isNameTaken: (name: string) => boolean,
  ) {
    this.dictionary = new Dictionary(code);
    this.forms = new Set(options.forms);
  }

  /** Which blocks of a function take part; its site is noted. */
  private choose(fn: number, packed: PackedFunction): ((block: number) => boolean) | null {
    const { code } = this;
    const { goal, properties } = packedHead(packed);
    const name = goals[goal]!;
    if (name !== "minsize" && name !== "size") return null;
    if ((properties & (Property.RedZone | Property.ReturnsTwice)) !== 0) return null;
    const own = code.functionOf(fn);
    if (code.target.outlining.refuses(own)) return null;
    this.sites[fn] = siteOf(properties, own);
    const known = temperature(own);
    if (known === "cold" || (name === "minsize" && known === null)) return () => true;
    const isRare = rareBlocks(code.view(fn));
    return isRare.includes(true) ? (block) => isRare[block]! : null;
  }

  /** Bytes that an instruction is worth which is executed less, in a block. What was made here is called from where it is cold. */
  private timeOf(fn: number, block: number): number {
    const { time } = this.options;
    if (time === undefined || time.sizeTime === 0 || fn >= this.code.programCount) return 0;
    let known = this.executions[fn];
    if (known === undefined) {
      const { code } = this;
      known = executionsOf(code.packed(fn), (words, at) => {
        const { callee, calleeSet } = code.calledAt(words, at);
        return time.workOf(callee, calleeSet);
      });
      this.executions[fn] = known;
    }
    const { frequencies, shares } = known;
    const heat = functionHeat(time.executions[fn]!) * frequencies[block]!;
    return timeBytes(time.sizeTime, { heat, times: 1, share: shares[block]! }, 1);
  }

  /** @returns what was outlined, whose places are those of before */
  round(number: number): Selected<OutlineCandidate>[] {
    const { code, dictionary, options, aligned, forms, framed } = this;
    const sites = new Uint8Array(code.count);
    sites.set(this.sites);
    this.sites = sites;
    const before = this.sequence;
    const known = dictionary.size;
    this.knownOrigins.clear();
    const sequence = codeSequence(code, dictionary, (fn, packed) => this.choose(fn, packed), before);
    this.sequence = sequence;
    // What has neither a new call in it or next to it nor is in a new function was decided about before.
    const since =
      before === null ? null : { symbol: known, place: sequence.parts[before.parts.length]!.start };
    const { target } = code;
    const { sharedUnwind, remarks = null } = options;
    const timeOf = (fn: number, block: number): number => this.timeOf(fn, block);
    const program = { timeOf, dictionary, target, aligned, forms, sharedUnwind, sites, framed };
    const finder = new CandidateFinder(sequence, program, (fn) => code.packed(fn).words);
    const candidates: OutlineCandidate[] = [];
    const { isBarrier, mayPay: wanted } = finder;
    for (const repeat of findRepeats(sequence.symbols, {
      minimumLength: 2,
      maximumLength,
      isBarrier,
      since,
      wanted,
    }))
      finder.add(repeat, candidates);
    const refused =
      remarks === null
        ? undefined
        : (candidate: OutlineCandidate, starts: Int32Array): void =>
            remarks.add(this.refusal(number, finder, candidate, starts));
    const selected = selectCandidates(candidates, sequence.symbols.length, finder.benefit, { refused });
    const made = this.replace(selected, finder, sequence);
    if (remarks !== null)
      selected.forEach(({ candidate, starts }, i) => {
        const places = Array.from(starts, (start) => this.nameAt(finder, start));
        const bytes = finder.sizes(candidate, starts);
        remarks.add(outlined(made[i]!.name, number, candidate, bytes, places));
      });
    return selected;
  }

  private nameAt(finder: CandidateFinder, start: number): string {
    return this.code.functionOf(finder.functionAt(start)).name;
  }

  private refusal(
    round: number,
    finder: CandidateFinder,
    candidate: OutlineCandidate,
    left: Int32Array,
  ): Remark {
    const all = finder.sizes(candidate, withoutOverlaps(candidate));
    const leftover = left.length === 0 ? null : finder.sizes(candidate, left);
    const found = new Set(Array.from(candidate.starts, (start) => this.nameAt(finder, start)));
    return notOutlined([...found], round, candidate, all, leftover, left.length);
  }

  /** A made function has the code of its first place, and its origins. */
  private setOrigins(mf: MFunction, finder: CandidateFinder, sequence: CodeSequence, start: number): void {
    const { code } = this;
    const { origins } = code.facts;
    if (origins == null) return;
    const number = finder.functionAt(start);
    const fn = code.functionOf(number);
    const packed = code.packed(number);
    let known = this.knownOrigins.get(packed);
    if (known === undefined) this.knownOrigins.set(packed, (known = originsByWord(packed) ?? new Map()));
    let k = 0;
    // What was put in front and behind of the code says nothing.
    for (const inst of mf.blocks[0]!.insts)
      if (inst.origin === 0)
        inst.origin = origins.moved(fn, Math.max(0, known.get(sequence.words[start + k++]!) ?? 0), 0);
  }

  /** Makes the functions, and puts calls of them in place of their code. */
  private replace(
    selected: readonly Selected<OutlineCandidate>[],
    finder: CandidateFinder,
    sequence: CodeSequence,
  ): readonly MFunction[] {
    const { code, dictionary, names } = this;
    const isTaken = (name: string): boolean => names.has(name) || this.isNameTaken(name);
    const transfers: Int32Array[] = [];
    const made = selected.map(({ candidate, starts }) => {
      let unwind = 0;
      for (const start of starts) unwind = Math.max(unwind, finder.siteAt(start) & Site.Unwind);
      const { mf, transfer } = outlinedFunction(
        candidate,
        dictionary,
        code.target,
        unwindTables[unwind]!,
        isTaken,
      );
      names.add(mf.name);
      this.setOrigins(mf, finder, sequence, starts[0]!);
      if (finder.isFramed(candidate)) this.framed.add(mf.name);
      transfers.push(code.packInstruction(transfer));
      return mf;
    });
    const edits = editsOf(selected, transfers, finder);
    for (let i = 0; i < edits.length; ) {
      const fn = finder.functionAt(edits[i]!.start);
      let end = i + 1;
      while (end < edits.length && finder.functionAt(edits[end]!.start) === fn) end++;
      const packed = code.packed(fn);
      const own = edits.slice(i, end);
      const places = placesOf(packed.words, sequence, own);
      const origins = editedOrigins(packed, places, code.facts.origins ?? null);
      code.replace(fn, editedWords(packed.words, sequence, own), origins, editedDebug(packed, places));
      i = end;
    }
    made.forEach((mf, i) => {
      code.add(mf, outlineRemarks, () =>
        Array.from(selected[i]!.starts, (start) => code.functionOf(finder.functionAt(start))),
      );
    });
    return made;
  }
}

/** Where the words of edits are. */
const placesOf = (words: Int32Array, sequence: CodeSequence, edits: readonly Edit[]): WordsReplaced[] =>
  edits.map(({ start, length }) => ({
    from: sequence.words[start]!,
    end: skipInstruction(words, sequence.words[start + length - 1]!),
  }));

function siteOf(properties: number, { personality }: Func): number {
  const unwind = (properties >> Property.Unwind) & Site.Unwind;
  const hasRows = unwindTables[unwind] === "async" && (properties & Property.FramePointer) === 0;
  return unwind | (hasRows ? Site.HasRows : 0) | (personality !== null ? Site.HasPads : 0);
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

/** In the order of the code. @param transfers what stands for the code of each, where it leads to no landing pad */
function editsOf(
  selected: readonly Selected<OutlineCandidate>[],
  transfers: readonly Int32Array[],
  finder: CandidateFinder,
): readonly Edit[] {
  let count = 0;
  for (const { starts } of selected) count += starts.length;
  // Places and what is there as one number, so that they can be sorted without asking back.
  const keys = new Float64Array(count);
  count = 0;
  selected.forEach(({ starts }, i) => {
    for (const start of starts) keys[count++] = start * selected.length + i;
  });
  return Array.from(keys.sort(), (key) => {
    const i = key % selected.length;
    const start = (key - i) / selected.length;
    const { length } = selected[i]!.candidate;
    const pad = finder.padAt(start, length)!;
    return { start, length, words: pad < 0 ? transfers[i]! : withLandingPad(transfers[i]!, pad) };
  });
}

/** The words of a function with the edits made, which are in the order of the code. */
function editedWords(words: Int32Array, sequence: CodeSequence, edits: readonly Edit[]): Int32Array {
  let length = words.length;
  const ends = edits.map(({ start, length: count, words: other }) => {
    const end = skipInstruction(words, sequence.words[start + count - 1]!);
    length += other.length - (end - sequence.words[start]!);
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
    const own = sequence.counts[sequence.blockOf[edit.start]!]!;
    if (own !== count) {
      copy(own + 1);
      count = own;
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
