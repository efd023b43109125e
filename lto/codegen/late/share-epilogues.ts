/**
 * Shared epilogues, for size: pops and a return that many functions end with stand once, and are jumped to.
 *
 *     popq %rbx; popq %rbp; popq %r12; ret    →    jmp outlined.epilogue.rbx.rbp.r12
 *
 * What pays is less the code than its unwind tables: each pop is a row of 3 bytes where tables are asynchronous, and what
 * follows an epilogue amid a function has to be told that its frame is there again. After a jump that is so anyway.
 *
 * Any code that ends in the pops may use them, whatever it popped before: of the endings that occur, each with all its
 * own, those that save most are made one by one, until none saves anything; then each function takes the one that saves
 * most of what it has. Bytes are counted as layout and directives will have them, but for the place of a function's
 * last epilogue, after which its neighbour's start has to be told of: the first in each function counts as that.
 * Linear in the code, which is looked at packed; the choice is among different endings, a few dozen in a program.
 * Proof obligations: the jump changes nothing but the place, so that registers, stack and returned values are what they
 * were; the code jumped to changes what was changed before, so that clobber masks hold. In there the unwinder finds the
 * frame of whoever jumped, which follows from the pops alone (`TargetFrame.stateBefore`).
 * Breaks if: something after this step takes the jump for one to a function, which would find its own frame on entry.
 */

import { type Remark, type Remarks, words as text } from "../../pass/remarks.js";
import type { MFunction, MInst, UnwindTables } from "../mir.js";
import { codeFunction } from "../outline/body.js";
import { editedDebug } from "../pack/debug.js";
import { goals, opcodeMask, Property, unwindTables } from "../pack/format.js";
import { editedOrigins } from "../pack/origins.js";
import { packedHead, skipInstruction } from "../pack/walk.js";
import { OpFact, type Target } from "../target.js";
import type { ProgramStep } from "./pipeline.js";
import type { ProgramCode } from "./program-code.js";

/** Rows of a description: a step, `def_cfa_offset`, the state remembered, and restored. */
const entryRows = 4;
const resetRows = 3;

/** One of the instructions of an epilogue. */
interface Pop {
  /** Equal for equal instructions. */
  readonly key: string;
  readonly inst: MInst;
  readonly bytes: number;
  /** The register that it restores, or -1: what it takes off the stack is nothing. */
  readonly saved: number;
}

/** Pops and a return somewhere. */
interface EpilogueSite {
  readonly fn: number;
  /** The word with the number of the block's instructions. */
  readonly count: number;
  /** Where each pop starts, and after them the return; last its end. */
  readonly words: readonly number[];
  readonly ending: Ending;
}

/** What a site is, as far as counting goes. */
interface Ending {
  readonly pops: readonly Pop[];
  /** Tables are asynchronous, and each pop is a row. */
  readonly unwind: UnwindTables;
  readonly hasRows: boolean;
  /** It counts as the last in its function. */
  readonly isLast: boolean;
  sites: number;
  /** Bytes saved at each site by what is chosen so far. */
  gain: number;
  /** Pops of what is chosen. */
  length: number;
  chosen: Shared | null;
}

/** Pops that are made one. */
interface Shared {
  readonly pops: readonly Pop[];
  readonly keys: readonly string[];
  /** Bytes of their code. */
  readonly cost: number;
  unwind: UnwindTables;
  name: string;
}

/** The name of the step, in remarks too. */
export const epilogueRemarks = "share-epilogues";

/**
 * @param sharedUnwind neighbours have one unwind description
 * @param isTaken whether a symbol has the name already
 * @param remarks where decisions are told; null: nobody wants them
 */
export function shareEpilogues(
  sharedUnwind: boolean,
  isTaken: (name: string) => boolean,
  remarks: Remarks | null,
): ProgramStep["run"] {
  return (code) => void new EpilogueSharing(code, sharedUnwind, isTaken, remarks).run();
}

class EpilogueSharing {
  private readonly target: Target;
  private readonly sites: EpilogueSite[] = [];
  private readonly endings = new Map<string, Ending>();
  private readonly jumpBytes: number;
  private readonly returnBytes: number;

  constructor(
    private readonly code: ProgramCode,
    private readonly sharedUnwind: boolean,
    private readonly isTaken: (name: string) => boolean,
    private readonly remarks: Remarks | null,
  ) {
    this.target = code.target;
    const { instructions, outlining } = code.target;
    this.jumpBytes = instructions.length(outlining.jump(""));
    this.returnBytes = instructions.length(outlining.return());
  }

  run(): void {
    for (let fn = 0; fn < this.code.count; fn++) if (this.takesPart(fn)) this.collect(fn);
    const candidates = this.candidates();
    const shared = this.choose(candidates);
    for (const one of shared) one.name = this.nameOf(one);
    if (this.remarks !== null)
      for (const one of candidates) this.tell(one, shared.includes(one), this.remarks);
    if (shared.length === 0) return;
    for (const { chosen, unwind } of this.endings.values())
      if (chosen !== null && unwindTables.indexOf(unwind) > unwindTables.indexOf(chosen.unwind))
        chosen.unwind = unwind;
    this.replace();
    for (const one of shared)
      this.code.add(this.functionOf(one), epilogueRemarks, () =>
        this.sites.filter(({ ending }) => ending.chosen === one).map(({ fn }) => this.code.functionOf(fn)),
      );
  }

  private takesPart(fn: number): boolean {
    const { code } = this;
    const { goal, properties } = packedHead(code.packed(fn));
    if (goals[goal] !== "minsize" || (properties & Property.ReturnsTwice) !== 0) return false;
    return !code.target.outlining.refuses(code.functionOf(fn));
  }

  private collect(fn: number): void {
    const packed = this.code.packed(fn);
    const { blocks, properties } = packedHead(packed);
    const { words } = packed;
    const { facts } = this.target.instructions;
    const unwind = unwindTables[(properties >> Property.Unwind) & 3]!;
    const hasFramePointer = (properties & Property.FramePointer) !== 0;
    const hasRows = unwind === "async" && !hasFramePointer;
    const pops = OpFact.Restores | OpFact.MovesStack;
    let isFirst = true;
    let at = packed.blocks;
    for (let block = 0; block < blocks; block++) {
      const count = at;
      let starts: number[] = [];
      let last = -1;
      for (let n = words[at++]!; n > 0; n--) {
        const fact = facts[words[at]! & opcodeMask]!;
        if ((fact & OpFact.Return) !== 0) last = at;
        else if ((fact & pops) !== 0) starts.push(at);
        else starts = [];
        at = skipInstruction(words, at);
      }
      if (last < 0 || starts.length === 0 || !this.isPlainReturn(fn, last)) continue;
      const found = this.popsAt(fn, starts);
      if (found.length === 0) continue;
      const ending = this.endingOf(found, unwind, hasRows, isFirst);
      isFirst = false;
      ending.sites++;
      this.sites.push({ fn, count, words: [...starts.slice(-found.length), last, at], ending });
    }
  }

  private isPlainReturn(fn: number, at: number): boolean {
    return this.target.outlining.isPlainReturn(this.code.instruction(this.code.packed(fn).words, at));
  }

  /** The instructions, from behind as far as they are pops. */
  private popsAt(fn: number, starts: readonly number[]): Pop[] {
    const { outlining, instructions, registers } = this.target;
    const out: Pop[] = [];
    for (let i = starts.length - 1; i >= 0; i--) {
      const inst = this.code.instruction(this.code.packed(fn).words, starts[i]!);
      const register = outlining.popped(inst);
      if (register < 0) break;
      const isSaved = (instructions.facts[inst.op]! & OpFact.Restores) !== 0;
      const name = registers.names[register]!;
      out.unshift({
        key: isSaved ? name : `(${name})`,
        inst,
        bytes: instructions.length(inst),
        saved: isSaved ? register : -1,
      });
    }
    return out;
  }

  private endingOf(pops: readonly Pop[], unwind: UnwindTables, hasRows: boolean, isLast: boolean): Ending {
    const key = `${unwind} ${hasRows} ${isLast} ${pops.map((pop) => pop.key).join(" ")}`;
    let ending = this.endings.get(key);
    if (ending === undefined) {
      ending = { pops, unwind, hasRows, isLast, sites: 0, gain: 0, length: 0, chosen: null };
      this.endings.set(key, ending);
    }
    return ending;
  }

  /** Bytes saved at one site whose last pops are elsewhere. */
  private gainOf({ pops, unwind, hasRows, isLast }: Ending, length: number): number {
    let bytes = this.returnBytes - this.jumpBytes;
    for (let i = pops.length - length; i < pops.length; i++) bytes += pops[i]!.bytes;
    if (unwind !== "async") return bytes;
    if (hasRows) bytes += this.target.costs.frames.row * length;
    if (isLast) return bytes - resetRows;
    // Without a row of the epilogue's there is nothing to come back from.
    return length === pops.length && hasRows ? bytes + resetRows - 1 : bytes;
  }

  /** Bytes of the code that is shared. */
  private costOf(pops: readonly Pop[]): number {
    const { frames } = this.target.costs;
    let bytes = this.returnBytes;
    for (const pop of pops) bytes += pop.bytes;
    const ends = [...this.endings.values()];
    if (ends.some(({ unwind }) => unwind === "async")) {
      bytes += entryRows + frames.row * pops.length;
      for (const { saved } of pops) if (saved >= 0) bytes += frames.savedRegister;
    }
    if (!this.sharedUnwind && ends.some(({ unwind }) => unwind !== "none")) bytes += frames.description;
    return bytes;
  }

  private candidates(): readonly Shared[] {
    const candidates = new Map<string, Shared>();
    for (const { pops } of this.endings.values())
      for (let from = 0; from < pops.length; from++) {
        const own = pops.slice(from);
        const keys = own.map((pop) => pop.key);
        const name = keys.join(".");
        if (!candidates.has(name))
          candidates.set(name, { pops: own, keys, unwind: "none", name, cost: this.costOf(own) });
      }
    return [...candidates.values()];
  }

  private choose(candidates: readonly Shared[]): readonly Shared[] {
    const out: Shared[] = [];
    for (;;) {
      let best: Shared | null = null;
      let most = 0;
      for (const candidate of candidates) {
        let gain = -candidate.cost;
        for (const ending of this.endings.values())
          if (endsWith(ending, candidate))
            gain += ending.sites * Math.max(0, this.gainOf(ending, candidate.pops.length) - ending.gain);
        if (gain <= most) continue;
        most = gain;
        best = candidate;
      }
      if (best === null) return out.filter((one) => this.isUsed(one));
      out.push(best);
      this.take(best);
    }
  }

  /** What was decided, when all was: bytes of the code against what jumps to it save beyond what others do. */
  private tell(shared: Shared, isShared: boolean, remarks: Remarks): void {
    let sites = 0;
    let saved = 0;
    let first = "";
    let isElsewhere = false;
    for (const ending of this.endings.values()) {
      if (isShared ? ending.chosen !== shared : !endsWith(ending, shared)) continue;
      const gain = isShared
        ? ending.gain
        : Math.max(0, this.gainOf(ending, shared.pops.length) - ending.gain);
      isElsewhere ||= ending.chosen !== null;
      sites += ending.sites;
      saved += ending.sites * gain;
      const site = this.sites.find((one) => one.ending === ending);
      if (first === "" && site !== undefined) first = this.code.functionOf(site.fn).name;
    }
    const facts: Remark["facts"] = [
      text(isShared ? "shared the end of " : "did not share the end of "),
      ["NumOccurrences", sites],
      text(" epilogues, which restore "),
      ["Registers", shared.keys.join(" ")],
      text(": bytes of it: "),
      ["Cost", shared.cost],
      text(", bytes that jumps to it save: "),
      ["Threshold", saved],
    ];
    const name = isShared
      ? "SharedEpilogue"
      : saved === 0 && isElsewhere
        ? "PlacesTaken"
        : "NotOutliningCheaper";
    const kind = isShared ? "Passed" : "Missed";
    remarks.add({ kind, pass: epilogueRemarks, name, function: isShared ? shared.name : first, facts });
  }

  private take(shared: Shared): void {
    const { length } = shared.pops;
    for (const ending of this.endings.values()) {
      if (!endsWith(ending, shared)) continue;
      const gain = this.gainOf(ending, length);
      if (gain <= ending.gain) continue;
      ending.gain = gain;
      ending.length = length;
      ending.chosen = shared;
    }
  }

  private isUsed(shared: Shared): boolean {
    for (const { chosen } of this.endings.values()) if (chosen === shared) return true;
    return false;
  }

  private nameOf({ pops }: Shared): string {
    const { outlining, registers } = this.target;
    const base = `outlined.epilogue.${pops.map(({ inst }) => registers.names[outlining.popped(inst)]!).join(".")}`;
    let name = base;
    for (let n = 2; this.isTaken(name) || this.names.has(name); n++) name = `${base}.${n}`;
    this.names.add(name);
    return name;
  }
  private readonly names = new Set<string>();

  /** Puts jumps in place of the pops and returns, function by function. */
  private replace(): void {
    const jumps = new Map<string, Int32Array>();
    for (let i = 0; i < this.sites.length; ) {
      const { fn } = this.sites[i]!;
      let end = i + 1;
      while (end < this.sites.length && this.sites[end]!.fn === fn) end++;
      const taken = this.sites.slice(i, end).filter(({ ending }) => ending.chosen !== null);
      if (taken.length > 0) {
        const places = taken.map(({ words, ending }) => ({
          from: words[words.length - 2 - ending.length]!,
          end: words.at(-1)!,
        }));
        const packed = this.code.packed(fn);
        const origins = editedOrigins(packed, places, this.code.facts.origins ?? null);
        this.code.replace(fn, this.editedWords(fn, taken, jumps), origins, editedDebug(packed, places));
      }
      i = end;
    }
  }

  private editedWords(
    fn: number,
    sites: readonly EpilogueSite[],
    jumps: Map<string, Int32Array>,
  ): Int32Array {
    const { words } = this.code.packed(fn);
    const pieces: Int32Array[] = [];
    let length = 0;
    let read = 0;
    const put = (piece: Int32Array): void => {
      pieces.push(piece);
      length += piece.length;
    };
    for (const { count, words: starts, ending } of sites) {
      const gone = ending.length;
      const from = starts[starts.length - 2 - gone]!;
      const piece = words.slice(read, from);
      piece[count - read]! -= gone;
      put(piece);
      put(this.jumpWords(fn, starts.at(-2)!, ending.chosen!.name, jumps));
      read = starts.at(-1)!;
    }
    put(words.subarray(read));
    const out = new Int32Array(length);
    let at = 0;
    for (const piece of pieces) {
      out.set(piece, at);
      at += piece.length;
    }
    return out;
  }

  /** The jump, which hands over what the return does. */
  private jumpWords(fn: number, at: number, name: string, jumps: Map<string, Int32Array>): Int32Array {
    const { uses } = this.code.instruction(this.code.packed(fn).words, at);
    const key = `${name} ${uses.map((use) => use.loc).join(" ")}`;
    let words = jumps.get(key);
    if (words === undefined) {
      const jump = this.target.outlining.jump(name);
      jump.uses = uses;
      jump.extra = null;
      words = this.code.packInstruction(jump);
      jumps.set(key, words);
    }
    return words;
  }

  private functionOf({ pops, unwind, name }: Shared): MFunction {
    const insts = [...pops.map((pop) => pop.inst), this.target.outlining.return()];
    const mf = codeFunction(name, insts, unwind, this.target);
    mf.startsFramed = true;
    return mf;
  }
}

function endsWith({ pops }: Ending, { keys }: Shared): boolean {
  if (keys.length > pops.length) return false;
  for (let i = 1; i <= keys.length; i++) if (keys.at(-i) !== pops.at(-i)!.key) return false;
  return true;
}
