/**
 * Puts a value that takes bytes to mention into a register that holds nothing there, and mentions it from there.
 *
 *     movl a(%rip), %eax; addl b(%rip), %eax; incl c(%rip)
 *       →  movl $globals, %ecx; movl 4(%rcx), %eax; addl 8(%rcx), %eax; incl 12(%rcx)
 *
 * In one function, as long as bytes are saved: of all places before a mention, and at the ends of the blocks that
 * dominate it, and of all registers, that is taken from where the most bytes are saved by the mentions that the value
 * reaches unchanged on all ways. Bytes are exact.
 * O(registers × (instructions + mentions)) for each address: no place is looked at that an earlier one reaches.
 * Proof obligations: the register is one that the function changes anyhow, so that no caller relies on it, and its
 * value is dead wherever the new one is in it: also for unwinders and callers, whose registers are live until they are
 * saved and from when they are restored. Calls change what they say they change. What the value is computed from is the same
 * wherever it is mentioned: nothing on the way changes it.
 * Breaks if: an instruction reads or writes registers that the target's facts do not show.
 */
import { computeDominators } from "../../analysis/dominators.js";
import { standsIn } from "../debug/function-debug.js";
import type { MBlock, MFunction, MInst } from "../mir.js";
import { hasRegister, minus, type RegisterSet, union } from "../register-set.js";
import { endsBlock, OpFact, type Target } from "../target.js";
import { changedRegisters, type PostLiveness, postLiveness, stepBack } from "./liveness.js";

/** Mentions in a function from which on it may gain. */
export const fewestMentions = 2;
/** Dominators of a mention that are tried, besides the entry. */
const dominatorsTried = 6;
/** Bytes that have to be saved for each register that is set: what is different is not shared by the outliner. */
export const leastGain = 4;
/** Rounds in a function: the first saves nearly all. */
const roundLimit = 2;

/** An address that a register may hold. */
export interface HeldAddress {
  /** The register that it is computed from; -1: none, it is the same everywhere. */
  readonly source: number;
  /** The instruction mentions something near it. */
  isMentionedBy(inst: MInst): boolean;
  /** The instruction with its mention made from the register; null where that is out of reach. */
  rebased(inst: MInst, register: number): MInst | null;
  /** Lets the register hold it; changes no flags. */
  set(register: number): MInst;
}

interface Mention {
  readonly block: number;
  /** Index of the instruction. */
  readonly at: number;
  readonly inst: MInst;
}

/** Where a register may get the base, and what is saved by it. */
interface Choice {
  readonly register: number;
  readonly block: number;
  /** Instruction of the block before which it gets it. */
  readonly at: number;
  readonly reached: readonly Mention[];
  readonly gain: number;
}

const notAsked = -1;

/** Whether a value gets to the start of a block, and to its end. */
const enum Reached {
  NotSeen,
  No,
  Entered,
  Through,
}

export class Rebasing {
  private readonly target: Target;
  private readonly blocks: readonly MBlock[];
  private readonly succs: readonly (readonly number[])[];
  private readonly preds: readonly (readonly number[])[];
  private readonly idom: Int32Array;
  /** By block, while it is found out where a value gets. */
  private readonly state: Uint8Array;
  /** Blocks that were looked at meanwhile, and those that are still to be. */
  private readonly seen: number[] = [];
  private readonly work: number[] = [];
  /** Blocks that control reaches, each after its dominators. */
  private readonly dominating: Int32Array;
  private readonly changed: RegisterSet;
  private readonly registers: readonly number[];
  private liveness: PostLiveness | null = null;
  /** Live before each instruction of a block and, last, after it; of those that were asked for. */
  private readonly live: (RegisterSet[] | undefined)[] = [];
  // Of the address that is looked at:
  private address!: HeldAddress;
  private candidates: readonly number[] = [];
  // By block, of the register that is looked at:
  /** How far a value gets from the start of the block. */
  private readonly inside: Int32Array;
  /** Places up to there are reached from one that was looked at. */
  private readonly covered: Int32Array;
  /** No place in it saves more bytes. */
  private readonly most: Int32Array;
  /** Bytes of the instruction that sets each register. */
  private readonly setBytes: number[] = [];
  private readonly gains = new Map<MInst, number[]>();

  constructor(private readonly mf: MFunction) {
    this.target = mf.target;
    this.blocks = mf.blocks;
    const position = new Map(mf.blocks.map((block, i) => [block, i]));
    const numbered = (blocks: readonly MBlock[]): number[] => blocks.map((block) => position.get(block)!);
    this.succs = mf.blocks.map(({ succs }) => numbered(succs));
    this.preds = mf.blocks.map(({ preds }) => numbered(preds));
    this.idom = computeDominators(this.succs, 0, undefined, this.preds);
    this.state = new Uint8Array(mf.blocks.length);
    this.dominating = behindDominators(this.idom);
    this.most = new Int32Array(mf.blocks.length);
    this.inside = new Int32Array(mf.blocks.length);
    this.covered = new Int32Array(mf.blocks.length);
    this.changed = changedRegisters(mf);
    const held = mf.target.frame.reserved(mf);
    this.registers = mf.target.base
      .registers(mf)
      .filter((r) => hasRegister(this.changed, r) && !hasRegister(held, r));
  }

  /** @returns bytes saved */
  run(address: HeldAddress): number {
    this.address = address;
    this.gains.clear();
    this.candidates = this.registers.filter((r) => r !== address.source);
    for (const r of this.candidates) this.setBytes[r] = this.target.instructions.length(address.set(r));
    let saved = 0;
    if (this.candidates.length === 0) return 0;
    for (let round = 0; round < roundLimit; round++) {
      const bytes = this.takeRound();
      if (bytes === 0) break;
      this.liveness = null;
      saved += bytes;
    }
    return saved;
  }

  /** Takes the best choices, as long as their mentions are not another's: all registers hold the same value. */
  private takeRound(): number {
    const choices = this.choices().sort((a, b) => b.gain - a.gain);
    const taken = new Map<Mention, number>();
    const sets: Choice[] = [];
    let saved = 0;
    for (const choice of choices) {
      const { register, reached } = choice;
      let gain = -this.setBytes[register]!;
      for (const mention of reached) if (!taken.has(mention)) gain += this.gainOf(mention.inst, register);
      if (gain < leastGain) continue;
      for (const mention of reached) if (!taken.has(mention)) taken.set(mention, register);
      sets.push(choice);
      saved += gain;
    }
    for (const [{ block, at, inst }, register] of taken) {
      const rebased = this.address.rebased(inst, register)!;
      this.blocks[block]!.insts[at] = rebased;
      standsIn(this.mf, rebased, inst);
    }
    // From the ends of blocks: what is put in moves what is after it.
    for (const { register, block, at } of sets.sort((a, b) => b.at - a.at))
      this.blocks[block]!.insts.splice(at, 0, this.address.set(register));
    return saved;
  }

  private choices(): Choice[] {
    const mentions = this.mentions();
    const choices: Choice[] = [];
    if (mentions.length < fewestMentions) return choices;
    this.computeLiveness();
    const byBlock = new Map<number, Mention[]>();
    for (const mention of mentions) {
      const own = byBlock.get(mention.block);
      if (own === undefined) byBlock.set(mention.block, [mention]);
      else own.push(mention);
    }
    const placesByBlock = this.placesToSet(byBlock);
    for (const register of this.candidates) {
      if (!this.boundGains(register, mentions)) continue;
      this.inside.fill(notAsked);
      this.covered.fill(-1);
      // Dominators first: what a value reaches, one that is set there later reaches no more of.
      for (const block of this.dominating) {
        if (this.most[block]! < leastGain + this.setBytes[register]!) continue;
        const places = placesByBlock.get(block);
        if (places === undefined) continue;
        for (const at of places) {
          if (at <= this.covered[block]! || !this.isFree(register, block, at)) continue;
          const choice = this.evaluate(register, block, at, byBlock);
          if (choice.gain >= leastGain) choices.push(choice);
        }
      }
    }
    return choices;
  }

  /**
   * Adds up what mentions save before which the register is free, for each block over those that it dominates: no others
   * are reached from there. @returns whether that is enough anywhere
   */
  private boundGains(register: number, mentions: readonly Mention[]): boolean {
    const { most, idom, dominating } = this;
    most.fill(0);
    for (const { block, at, inst } of mentions)
      if (this.isFree(register, block, at)) most[block]! += Math.max(0, this.gainOf(inst, register));
    for (let i = dominating.length - 1; i > 0; i--) most[idom[dominating[i]!]!]! += most[dominating[i]!]!;
    return most[0]! >= leastGain + this.setBytes[register]!;
  }

  private mentions(): Mention[] {
    const out: Mention[] = [];
    this.blocks.forEach(({ insts }, block) => {
      for (let at = 0; at < insts.length; at++) {
        const inst = insts[at]!;
        if (this.address.isMentionedBy(inst)) out.push({ block, at, inst });
      }
    });
    return out;
  }

  private computeLiveness(): void {
    if (this.liveness !== null) return;
    const { mf, target } = this;
    const preserved = union(minus(target.registers.all, this.changed), mf.resultRegisters);
    this.liveness = postLiveness(mf, preserved);
    this.live.length = 0;
  }

  private liveIn(block: number): readonly RegisterSet[] {
    return (this.live[block] ??= this.computeLive(this.blocks[block]!, this.liveness!));
  }

  private computeLive({ insts, id }: MBlock, liveness: PostLiveness): RegisterSet[] {
    const sets = new Array<RegisterSet>(insts.length + 1);
    sets[insts.length] = liveness.liveOut[id]!;
    for (let i = insts.length - 1; i >= 0; i--) sets[i] = stepBack(insts[i]!, sets[i + 1]!, liveness);
    return sets;
  }

  /** The register holds nothing before the instruction. */
  private isFree(register: number, block: number, at: number): boolean {
    if (at === 0) return this.isFreeAtStart(register, block);
    return !hasRegister(this.liveIn(block)[at]!, register);
  }

  private isFreeAtStart(register: number, block: number): boolean {
    return !hasRegister(this.liveness!.liveIn[this.blocks[block]!.id]!, register);
  }

  /** By block, before which instructions a register may be set: mentions, and the ends of near dominators and the entry. */
  private placesToSet(
    byBlock: ReadonlyMap<number, readonly Mention[]>,
  ): ReadonlyMap<number, readonly number[]> {
    const ends = new Set<number>([0]);
    for (const block of byBlock.keys()) {
      let at = block;
      for (let steps = 0; steps < dominatorsTried && at > 0 && this.idom[at]! >= 0; steps++) {
        at = this.idom[at]!;
        ends.add(at);
      }
    }
    const places = new Map<number, number[]>();
    for (const [block, mentions] of byBlock)
      places.set(
        block,
        mentions.map(({ at }) => at),
      );
    for (const block of ends) {
      const own = places.get(block);
      if (own === undefined) places.set(block, [this.endOf(block)]);
      else own.push(this.endOf(block));
    }
    return places;
  }

  /** Index of the first of the instructions that leave the block. */
  private endOf(block: number): number {
    const { facts } = this.target.instructions;
    const { insts } = this.blocks[block]!;
    let at = insts.length;
    while (at > 0 && (facts[insts[at - 1]!.op]! & (endsBlock | OpFact.Branch)) !== 0) at--;
    return at;
  }

  /** Last instruction before which a value that the register has before `at` is still in it. */
  private reachedInside(register: number, block: number, at: number): number {
    const { insts } = this.blocks[block]!;
    const live = this.liveIn(block);
    const { writes } = this.target.instructions;
    let i = at;
    while (
      i < insts.length &&
      !hasRegister(writes(insts[i]!), register) &&
      !hasRegister(live[i + 1]!, register) &&
      !this.isChanged(insts[i]!)
    )
      i++;
    return i;
  }

  /** After the instruction the address would be another one. */
  private isChanged(inst: MInst): boolean {
    const { source } = this.address;
    return source >= 0 && this.target.base.changes(inst, source);
  }

  /** How far a value gets that the register has at the start of the block, where it is free. */
  private reachedFromStart(register: number, block: number): number {
    const known = this.inside[block]!;
    if (known !== notAsked) return known;
    return (this.inside[block] = this.reachedInside(register, block, 0));
  }

  /** Entered in ways that edges do not show, or by the unwinder. */
  private isOpen(block: number): boolean {
    const { addressTaken, landingPad } = this.blocks[block]!;
    return block === 0 || addressTaken || landingPad;
  }

  /** Whether a value that gets to the block's start gets to its end. */
  private passes(register: number, block: number): boolean {
    return (
      this.isFreeAtStart(register, block) &&
      this.reachedFromStart(register, block) === this.blocks[block]!.insts.length
    );
  }

  /** Which blocks the value reaches whole from the end of `from`. @returns a list that the next call overwrites */
  private reachedBlocks(register: number, from: number): readonly number[] {
    const { succs, preds, state, seen, work } = this;
    seen.length = 0;
    work.push(from);
    const mayCome = (pred: number): boolean => pred === from || this.passes(register, pred);
    for (let block = work.pop(); block !== undefined; block = work.pop())
      for (const next of succs[block]!) {
        if (state[next] !== Reached.NotSeen || next === from) continue;
        seen.push(next);
        state[next] = Reached.No;
        if (this.isOpen(next) || !this.isFreeAtStart(register, next) || !preds[next]!.every(mayCome))
          continue;
        state[next] = this.passes(register, next) ? Reached.Through : Reached.Entered;
        if (state[next] === Reached.Through) work.push(next);
      }
    // Out go those that are entered from elsewhere too, until none is left.
    const comes = (pred: number): boolean => pred === from || state[pred] === Reached.Through;
    for (const block of seen) work.push(block);
    for (let block = work.pop(); block !== undefined; block = work.pop()) {
      const before = state[block]!;
      if (before <= Reached.No || preds[block]!.every(comes)) continue;
      state[block] = Reached.No;
      if (before === Reached.Through) for (const next of succs[block]!) work.push(next);
    }
    let left = 0;
    for (const block of seen) {
      if (state[block]! > Reached.No) seen[left++] = block;
      state[block] = Reached.NotSeen;
    }
    seen.length = left;
    return seen;
  }

  private evaluate(
    register: number,
    block: number,
    at: number,
    byBlock: ReadonlyMap<number, readonly Mention[]>,
  ): Choice {
    const reached: Mention[] = [];
    const end = this.reachedInside(register, block, at);
    let gain = this.take(register, block, at, end, byBlock, reached) - this.setBytes[register]!;
    const { length } = this.blocks[block]!.insts;
    if (end === length && this.isFree(register, block, length))
      for (const entered of this.reachedBlocks(register, block))
        gain += this.take(register, entered, 0, this.reachedFromStart(register, entered), byBlock, reached);
    return { register, block, at, reached, gain };
  }

  /** Adds the mentions of a block in a range to those reached. @returns bytes that they save */
  private take(
    register: number,
    block: number,
    from: number,
    to: number,
    byBlock: ReadonlyMap<number, readonly Mention[]>,
    reached: Mention[],
  ): number {
    this.covered[block] = to;
    const mentions = byBlock.get(block);
    if (mentions === undefined) return 0;
    let gain = 0;
    for (let i = firstFrom(mentions, from); i < mentions.length && mentions[i]!.at <= to; i++) {
      const bytes = this.gainOf(mentions[i]!.inst, register);
      if (bytes <= 0) continue;
      gain += bytes;
      reached.push(mentions[i]!);
    }
    return gain;
  }

  private gainOf(inst: MInst, register: number): number {
    let gains = this.gains.get(inst);
    if (gains === undefined) this.gains.set(inst, (gains = []));
    return (gains[register] ??= this.computeGain(inst, register));
  }

  private computeGain(inst: MInst, register: number): number {
    const rebased = this.address.rebased(inst, register);
    const { length } = this.target.instructions;
    return rebased === null ? 0 : length(inst) - length(rebased);
  }
}

/** Index of the first mention at a place or after it. */
function firstFrom(mentions: readonly Mention[], at: number): number {
  let [low, high] = [0, mentions.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (mentions[middle]!.at < at) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** The blocks of a dominator tree from its root, 0. */
function behindDominators(idom: Int32Array): Int32Array {
  const count = idom.length;
  // Children end to end, by the block that they hang on.
  const start = new Int32Array(count + 1);
  for (let b = 1; b < count; b++) if (idom[b]! >= 0) start[idom[b]! + 1]!++;
  for (let b = 0; b < count; b++) start[b + 1]! += start[b]!;
  const children = new Int32Array(start[count]!);
  const next = start.slice();
  for (let b = 1; b < count; b++) if (idom[b]! >= 0) children[next[idom[b]!]!++] = b;
  const order = new Int32Array(children.length + 1);
  let length = 1;
  for (let i = 0; i < length; i++)
    for (let k = start[order[i]!]!; k < start[order[i]! + 1]!; k++) order[length++] = children[k]!;
  return order;
}
