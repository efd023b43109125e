/**
 * Moves chains of blocks so that more branches are short, for size.
 *
 * A branch takes two bytes as far as a signed byte reaches, and six or five beyond. Layout keeps chains in the order of
 * their first blocks; in functions of some hundred bytes another order brings many branches and their targets together.
 * For each branch that is too long, those that lack least first, the chain of its target is put beside the chain it is in,
 * or the other way round, if all the function's code is smaller then. That is found by the same relaxation of branch sizes
 * that the assembler does (layout.ts). Of what trying every place for every chain finds, until nothing is gained
 * any more, these moves find nine tenths (Lua, zstd, MuJS, grep), with a hundredth of the relaxations.
 * At most `mostTrials` orders are looked at, each in time linear in the function. With all that are wanted .text would be
 * 0.999 of what it is so, and the link of SQLite take 1.3 times as long.
 * Proof obligations: a chain ends in an instruction that control never passes, so that its place does not matter; the entry
 * stays first.
 * Breaks if: inline assembly is longer than estimated (functions that have any stay as they are).
 */
import type { MBlock, MFunction } from "../mir.js";
import { endsBlock, type InstructionFacts, leavesFunction, OpFact } from "../target.js";

const mostTrials = 200;
const mostRounds = 2;
/** Bytes that all branches reach over. */
const shortReach = 128;
/** Bytes of an asynchronous unwind table that lead back to the state on entry, if the last chain does not. */
const resetBytes = 3;

/** @param isLastFixed the last chain has to stay where it is */
export function shortenBranches(mf: MFunction, isLastFixed: boolean): void {
  const chains = chainsOf(mf);
  if (chains.length < 3) return;
  const code = BranchSizes.of(mf, chains);
  if (code === null) return;
  const order = improved(code, chains.length, isLastFixed);
  mf.blocks = Array.from(order).flatMap((chain) => chains[chain]!);
}

/** Blocks that have to stand behind each other, in their order. */
function chainsOf({ blocks, target }: MFunction): MBlock[][] {
  const { facts } = target.instructions;
  const chains: MBlock[][] = [];
  let isOpen = false;
  for (const block of blocks) {
    if (isOpen) chains.at(-1)!.push(block);
    else chains.push([block]);
    const last = block.insts.at(-1);
    isOpen = last === undefined || (facts[last.op]! & endsBlock) === 0;
  }
  return chains;
}

/** The best order that was found, of chains by number. */
function improved(code: BranchSizes, count: number, isLastFixed: boolean): readonly number[] {
  let order = Array.from({ length: count }, (_, chain) => chain);
  let least = code.bytes(order);
  let trials = 0;
  const isFixed = (chain: number): boolean => chain === 0 || (isLastFixed && chain === count - 1);
  /** The order with a chain before or behind another; null: one of them has to stay where it is. */
  const moved = (chain: number, beside: number, isBehind: boolean): number[] | null => {
    if (isFixed(chain) || (isFixed(beside) && isBehind !== (beside === 0))) return null;
    const next = order.filter((other) => other !== chain);
    next.splice(next.indexOf(beside) + Number(isBehind), 0, chain);
    return next;
  };
  const take = (chain: number, beside: number, isBehind: boolean): boolean => {
    // Making an order takes as long as looking at it.
    const next = trials < mostTrials ? moved(chain, beside, isBehind) : null;
    if (next === null) return false;
    trials++;
    const bytes = code.bytes(next);
    if (bytes >= least) return false;
    least = bytes;
    order = next;
    return true;
  };
  for (let round = 0; round < mostRounds && trials < mostTrials; round++) {
    code.bytes(order);
    let isBetter = false;
    for (const [from, to] of code.longBranches()) {
      if (trials >= mostTrials) break;
      isBetter =
        take(to, from, true) ||
        take(from, to, false) ||
        take(to, from, false) ||
        take(from, to, true) ||
        isBetter;
    }
    if (!isBetter) break;
  }
  return order;
}

/** A function's branches, and how long they are in each order of its chains. */
class BranchSizes {
  /** First block of each chain, and behind the last one the number of blocks; blocks are numbered chain by chain. */
  private readonly firstBlock: Int32Array;
  private readonly chainOf: Int32Array;
  /** Of each block, without its branches. */
  private readonly blockBytes: Int32Array;
  /** First branch of each block, and behind the last one the number of branches. */
  private readonly firstBranch: Int32Array;
  private readonly target: number[] = [];
  /** Bytes of other instructions before the branch in its block. */
  private readonly before: number[] = [];
  private readonly short: number[] = [];
  private readonly near: number[] = [];
  /** 1: the chain ends where the function is left. */
  private readonly leaves: Uint8Array;
  private readonly reset: number;
  /** Of the order that was looked at last. */
  private readonly start: Int32Array;
  private readonly end: number[] = [];
  private readonly size: number[] = [];

  private constructor(chains: readonly (readonly MBlock[])[], { unwind }: MFunction, facts: Uint32Array) {
    const count = chains.reduce((sum, chain) => sum + chain.length, 0);
    this.firstBlock = new Int32Array(chains.length + 1);
    this.chainOf = new Int32Array(count);
    this.blockBytes = new Int32Array(count);
    this.firstBranch = new Int32Array(count + 1);
    this.start = new Int32Array(count);
    this.leaves = new Uint8Array(chains.length);
    this.reset = unwind === "async" ? resetBytes : 0;
    for (const [c, chain] of chains.entries()) {
      this.firstBlock[c + 1] = this.firstBlock[c]! + chain.length;
      this.chainOf.fill(c, this.firstBlock[c], this.firstBlock[c + 1]);
      const last = chain.at(-1)!.insts.at(-1);
      if (last !== undefined && (facts[last.op]! & leavesFunction) !== 0) this.leaves[c] = 1;
    }
  }

  /** Null: all branches are short anyway, or sizes are not known. */
  static of(mf: MFunction, chains: readonly (readonly MBlock[])[]): BranchSizes | null {
    const { instructions } = mf.target;
    const sizes = new BranchSizes(chains, mf, instructions.facts);
    return sizes.measure(chains.flat(), instructions) ? sizes : null;
  }

  private measure(blocks: readonly MBlock[], { facts, length, branchForms }: InstructionFacts): boolean {
    const number = new Map(blocks.map((block, i) => [block, i]));
    let all = 0;
    for (const [b, { insts }] of blocks.entries()) {
      let bytes = 0;
      for (const inst of insts) {
        const fact = facts[inst.op]!;
        if ((fact & OpFact.Asm) !== 0) return false;
        const to = (fact & (OpFact.Jump | OpFact.Branch)) === 0 ? undefined : number.get(inst.targets[0]!);
        if (to === undefined) bytes += length(inst);
        else {
          const { short, near } = branchForms(inst);
          this.target.push(to);
          this.before.push(bytes);
          this.short.push(short);
          this.near.push(near);
          all += near;
        }
      }
      this.blockBytes[b] = bytes;
      this.firstBranch[b + 1] = this.target.length;
      all += bytes;
    }
    return all > shortReach;
  }

  /** Bytes of the code in an order of its chains, and of what unwind tables need for it. */
  bytes(order: readonly number[]): number {
    const { target, short, near, start, end, size } = this;
    for (let k = 0; k < short.length; k++) size[k] = short[k]!;
    for (;;) {
      const all = this.place(order);
      let grows = false;
      for (let k = 0; k < size.length; k++) {
        if (size[k] === near[k]) continue;
        const distance = start[target[k]!]! - end[k]!;
        if (distance >= -shortReach && distance < shortReach) continue;
        size[k] = near[k]!;
        grows = true;
      }
      if (!grows) return this.leaves[order.at(-1)!] === 1 ? all : all + this.reset;
    }
  }

  /** Where blocks start and branches end. @returns bytes of the code */
  private place(order: readonly number[]): number {
    const { firstBlock, firstBranch, blockBytes, before, start, end, size } = this;
    let at = 0;
    for (const chain of order)
      for (let block = firstBlock[chain]!; block < firstBlock[chain + 1]!; block++) {
        start[block] = at;
        let branches = 0;
        for (let k = firstBranch[block]!; k < firstBranch[block + 1]!; k++) {
          branches += size[k]!;
          end[k] = at + before[k]! + branches;
        }
        at += blockBytes[block]! + branches;
      }
    return at;
  }

  /** Chains that long branches of the order looked at last lead from and to, those that lack least first. */
  longBranches(): (readonly [from: number, to: number])[] {
    const { target, short, start, end, size, chainOf } = this;
    const found: { distance: number; chains: readonly [number, number] }[] = [];
    for (let block = 0; block < chainOf.length; block++)
      for (let k = this.firstBranch[block]!; k < this.firstBranch[block + 1]!; k++) {
        const chains = [chainOf[block]!, chainOf[target[k]!]!] as const;
        if (size[k] === short[k] || chains[0] === chains[1]) continue;
        found.push({ distance: Math.abs(start[target[k]!]! - end[k]!), chains });
      }
    return found.sort((a, b) => a.distance - b.distance).map(({ chains }) => chains);
  }
}
