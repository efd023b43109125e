/**
 * A base register for small variables: where many mentions of a cluster (global-cluster.ts) follow each other, a
 * register that holds nothing there points into it.
 *
 *     movl a(%rip), %eax; addl b(%rip), %eax; incl c(%rip)
 *       →  movl $globals, %ecx; movl 4(%rcx), %eax; addl 8(%rcx), %eax; incl 12(%rcx)
 *
 * In each function, as long as bytes are saved: of all places before a mention, and at the ends of the blocks that
 * dominate it, and of all registers, that is taken from where the most bytes are saved by the mentions that the value
 * reaches unchanged on all ways. Bytes are exact.
 * O(mentions × registers × blocks that the value reaches) for each of the few places taken.
 * Proof obligations: the register is one that the function changes anyhow, so that no caller relies on it, and its
 * value is dead wherever the base is in it: also for unwinders and callers, whose registers are live until they are
 * saved and from when they are restored. Calls change what they say they change.
 * Breaks if: an instruction reads or writes registers that the target's facts do not show.
 */
import { computeDominators } from "../../analysis/dominators.js";
import type { GlobalValue, GlobalVariable } from "../../ir/module.js";
import type { MBlock, MFunction, MInst } from "../mir.js";
import { hasRegister, minus, type RegisterSet, union } from "../register-set.js";
import { endsBlock, OpFact, type Target } from "../target.js";
import { chooseCluster, type GlobalCluster, mayCluster } from "./global-cluster.js";
import { changedRegisters, type PostLiveness, postLiveness, stepBack } from "./liveness.js";
import type { ProgramStep } from "./pipeline.js";
import type { ProgramCode } from "./program-code.js";

/** Mentions in a function from which on it may gain. */
const fewestMentions = 2;
/** Dominators of a mention that are tried, besides the entry. */
const dominatorsTried = 6;
/** Bytes that have to be saved for each register that is set: what is different is not shared by the outliner. */
const leastGain = 4;
/** Rounds in a function: the first saves nearly all. */
const roundLimit = 2;

export const baseRegisters: ProgramStep = {
  name: "base-registers",
  run(code) {
    const counted = countMentions(code);
    const cluster = chooseCluster(counted.mentions, code.facts.layout);
    if (cluster === null) return;
    let saved = 0;
    for (const number of counted.functions)
      code.edit(number, (mf) => {
        saved += new Rebasing(mf, cluster, code.facts.isPositionIndependent).run();
      });
    if (saved > 0) code.cluster = cluster;
  },
};

/** Functions that may gain, and how often they mention each variable. */
function countMentions(code: ProgramCode): {
  functions: readonly number[];
  mentions: ReadonlyMap<GlobalVariable, number>;
} {
  const candidates = new Set(
    code.facts.globals.filter((g) => mayCluster(g, code.facts.layout, code.facts.retained)),
  );
  const mentions = new Map<GlobalVariable, number>();
  const functions: number[] = [];
  if (candidates.size < 2) return { functions, mentions };
  for (let number = 0; number < code.count; number++) {
    const mf = code.view(number);
    if (!mayGain(mf)) continue;
    const own: GlobalVariable[] = [];
    for (const { insts } of mf.blocks)
      for (const inst of insts) {
        const variable = mf.target.base.mentioned(inst);
        if (variable?.kind === "variable" && candidates.has(variable)) own.push(variable);
      }
    if (own.length < fewestMentions) continue;
    functions.push(number);
    for (const variable of own) mentions.set(variable, (mentions.get(variable) ?? 0) + 1);
  }
  return { functions, mentions };
}

const mayGain = (mf: MFunction): boolean => mf.goal === "minsize" && !mf.returnsTwice;

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

class Rebasing {
  private readonly target: Target;
  private readonly blocks: readonly MBlock[];
  private readonly position = new Map<MBlock, number>();
  private readonly idom: Int32Array;
  private readonly changed: RegisterSet;
  private readonly candidates: readonly number[];
  private liveness!: PostLiveness;
  /** Live before each instruction of a block and, last, behind it. */
  private live: RegisterSet[][] = [];
  /** By block, of the register that is looked at: 0 not asked yet, 1 no, 2 yes. */
  private readonly whole: Uint8Array;
  /** Bytes of the instruction that sets each register. */
  private readonly setBytes: number[] = [];
  private readonly gains = new Map<MInst, number[]>();

  constructor(
    private readonly mf: MFunction,
    private readonly cluster: GlobalCluster,
    private readonly isPositionIndependent: boolean,
  ) {
    this.target = mf.target;
    this.blocks = mf.blocks;
    mf.blocks.forEach((block, i) => void this.position.set(block, i));
    this.idom = computeDominators(mf.blocks.map((b) => b.succs.map((s) => this.position.get(s)!)));
    this.whole = new Uint8Array(mf.blocks.length);
    this.changed = changedRegisters(mf);
    const held = mf.target.frame.reserved(mf);
    this.candidates = mf.target.base
      .registers(mf)
      .filter((r) => hasRegister(this.changed, r) && !hasRegister(held, r));
    for (const r of this.candidates)
      this.setBytes[r] = mf.target.instructions.length(mf.target.base.set(r, isPositionIndependent));
  }

  /** @returns bytes saved */
  run(): number {
    let saved = 0;
    if (this.candidates.length === 0) return 0;
    for (let round = 0; round < roundLimit; round++) {
      const bytes = this.takeRound();
      if (bytes === 0) break;
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
    for (const [{ block, at, inst }, register] of taken)
      this.blocks[block]!.insts[at] = this.rebased(inst, register)!;
    // From the ends of blocks: what is put in moves what is behind it.
    for (const { register, block, at } of sets.sort((a, b) => b.at - a.at))
      this.blocks[block]!.insts.splice(at, 0, this.target.base.set(register, this.isPositionIndependent));
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
    const ends = this.dominatingBlocks(byBlock.keys());
    for (const register of this.candidates) {
      this.whole.fill(0);
      const consider = (block: number, at: number): void => {
        const choice = this.evaluate(register, block, at, byBlock);
        if (choice.gain >= leastGain) choices.push(choice);
      };
      for (const [block, own] of byBlock) {
        let covered = -1;
        for (const { at } of own) {
          if (at <= covered || !this.isFree(register, block, at)) continue;
          consider(block, at);
          covered = this.reachedInside(register, block, at);
        }
      }
      for (const block of ends) {
        const at = this.endOf(block);
        if (this.isFree(register, block, at)) consider(block, at);
      }
    }
    return choices;
  }

  private mentions(): Mention[] {
    const out: Mention[] = [];
    this.blocks.forEach(({ insts }, block) => {
      for (let at = 0; at < insts.length; at++) {
        const inst = insts[at]!;
        const variable = this.target.base.mentioned(inst);
        if (variable !== null && this.cluster.offsets.has(variable)) out.push({ block, at, inst });
      }
    });
    return out;
  }

  private computeLiveness(): void {
    const { mf, target } = this;
    const preserved = union(minus(target.registers.all, this.changed), mf.resultRegisters);
    this.liveness = postLiveness(mf, preserved);
    this.live = this.blocks.map(({ insts, id }) => {
      const sets = new Array<RegisterSet>(insts.length + 1);
      sets[insts.length] = this.liveness.liveOut[id]!;
      for (let i = insts.length - 1; i >= 0; i--) sets[i] = stepBack(insts[i]!, sets[i + 1]!, this.liveness);
      return sets;
    });
  }

  /** The register holds nothing before the instruction. */
  private isFree(register: number, block: number, at: number): boolean {
    return !hasRegister(this.live[block]![at]!, register);
  }

  /** Blocks that dominate those with mentions, near ones and the entry. */
  private dominatingBlocks(from: Iterable<number>): ReadonlySet<number> {
    const out = new Set<number>([0]);
    for (const block of from) {
      let at = block;
      for (let steps = 0; steps < dominatorsTried && at > 0 && this.idom[at]! >= 0; steps++) {
        at = this.idom[at]!;
        out.add(at);
      }
    }
    return out;
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
    const live = this.live[block]!;
    const { writes } = this.target.instructions;
    let i = at;
    while (
      i < insts.length &&
      !hasRegister(writes(insts[i]!), register) &&
      !hasRegister(live[i + 1]!, register)
    )
      i++;
    return i;
  }

  /** A value that the register has at the start of the block it still has at its end. */
  private passesWhole(register: number, block: number): boolean {
    let answer = this.whole[block]!;
    if (answer === 0) {
      const { length } = this.blocks[block]!.insts;
      const passes = this.isFree(register, block, 0) && this.reachedInside(register, block, 0) === length;
      answer = this.whole[block] = passes ? 2 : 1;
    }
    return answer === 2;
  }

  /** Entered in ways that edges do not show, or by the unwinder. */
  private isOpen(block: number): boolean {
    const { addressTaken, landingPad } = this.blocks[block]!;
    return block === 0 || addressTaken || landingPad;
  }

  /** Which blocks the value reaches whole from the end of `from`. */
  private reachedBlocks(register: number, from: number): { entered: Set<number>; through: Set<number> } {
    const entered = new Set<number>();
    const through = new Set<number>();
    const work = [from];
    const passes = (block: number): boolean => this.passesWhole(register, block);
    for (let block = work.pop(); block !== undefined; block = work.pop())
      for (const succ of this.blocks[block]!.succs) {
        const next = this.position.get(succ)!;
        if (entered.has(next) || next === from || this.isOpen(next) || !this.isFree(register, next, 0))
          continue;
        entered.add(next);
        if (!passes(next)) continue;
        through.add(next);
        work.push(next);
      }
    // Out go those that are entered from elsewhere too, until none is left.
    const doubted = [...entered];
    for (let block = doubted.pop(); block !== undefined; block = doubted.pop()) {
      if (!entered.has(block)) continue;
      const comes = (pred: MBlock): boolean => {
        const p = this.position.get(pred)!;
        return p === from || (through.has(p) && entered.has(p));
      };
      if (this.blocks[block]!.preds.every(comes)) continue;
      entered.delete(block);
      if (!through.delete(block)) continue;
      for (const succ of this.blocks[block]!.succs) doubted.push(this.position.get(succ)!);
    }
    return { entered, through };
  }

  private evaluate(
    register: number,
    block: number,
    at: number,
    byBlock: ReadonlyMap<number, readonly Mention[]>,
  ): Choice {
    const reached: Mention[] = [];
    let gain = -this.setBytes[register]!;
    const take = (within: number, from: number, to: number): void => {
      for (const mention of byBlock.get(within) ?? []) {
        if (mention.at < from || mention.at > to) continue;
        const bytes = this.gainOf(mention.inst, register);
        if (bytes <= 0) continue;
        gain += bytes;
        reached.push(mention);
      }
    };
    const end = this.reachedInside(register, block, at);
    take(block, at, end);
    const { length } = this.blocks[block]!.insts;
    if (end === length && this.isFree(register, block, length))
      for (const entered of this.reachedBlocks(register, block).entered)
        if (byBlock.has(entered)) take(entered, 0, this.reachedInside(register, entered, 0));
    return { register, block, at, reached, gain };
  }

  private gainOf(inst: MInst, register: number): number {
    let gains = this.gains.get(inst);
    if (gains === undefined) this.gains.set(inst, (gains = []));
    return (gains[register] ??= this.computeGain(inst, register));
  }

  private computeGain(inst: MInst, register: number): number {
    const rebased = this.rebased(inst, register);
    const { length } = this.target.instructions;
    return rebased === null ? 0 : length(inst) - length(rebased);
  }

  private rebased(inst: MInst, register: number): MInst | null {
    const offset = (variable: GlobalValue): number => this.cluster.offsets.get(variable)!;
    return this.target.base.rebase(inst, register, offset);
  }
}
