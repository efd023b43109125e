/**
 * Exact branch sizes, for blocks in any order: all branches start short and grow where the distance asks for it until nothing
 * changes, which is the smallest solution and what GNU as computes. Relaxation is linear a round, and rounds are few.
 * Breaks if: inline assembly is longer than estimated (sizes are wrong then).
 */
import type { MBlock } from "../mir.js";
import { type BranchForms, type InstructionFacts, OpFact } from "../target.js";

/** The branches of some chains of blocks, and how long they are in each order of the chains. */
export class BranchSizes {
  /** Bytes with all branches at their longest. */
  readonly most: number;
  /** Some of the code is inline assembly, whose length is a guess. */
  readonly hasAssembly: boolean;
  /** First block of each chain, and after the last one the number of blocks; blocks are numbered chain by chain. */
  private readonly firstBlock: Int32Array;
  private readonly chainOf: Int32Array;
  /** Of each block, without its branches. */
  private readonly blockBytes: Int32Array;
  /** First branch of each block, and after the last one the number of branches. */
  private readonly firstBranch: Int32Array;
  /** Number of the block that each branch leads to; -1: it is not among them. */
  private readonly target: number[] = [];
  /** Bytes of other instructions before the branch in its block. */
  private readonly before: number[] = [];
  private readonly forms: BranchForms[] = [];
  /** Where each block starts in the order that was looked at last, and where each branch ends. */
  readonly start: Int32Array;
  private readonly end: number[] = [];
  private readonly size: number[] = [];

  constructor(chains: readonly (readonly MBlock[])[], instructions: InstructionFacts) {
    const { facts, length, branchForms } = instructions;
    const blocks = chains.length === 1 ? chains[0]! : chains.flat();
    this.firstBlock = new Int32Array(chains.length + 1);
    this.chainOf = new Int32Array(blocks.length);
    for (const [c, chain] of chains.entries()) {
      this.firstBlock[c + 1] = this.firstBlock[c]! + chain.length;
      this.chainOf.fill(c, this.firstBlock[c], this.firstBlock[c + 1]);
    }
    this.blockBytes = new Int32Array(blocks.length);
    this.firstBranch = new Int32Array(blocks.length + 1);
    this.start = new Int32Array(blocks.length);
    const number = new Map<MBlock, number>();
    for (let b = 0; b < blocks.length; b++) number.set(blocks[b]!, b);
    let most = 0;
    let hasAssembly = false;
    for (let b = 0; b < blocks.length; b++) {
      let bytes = 0;
      for (const inst of blocks[b]!.insts) {
        const fact = facts[inst.op]!;
        if ((fact & (OpFact.Jump | OpFact.Branch)) !== 0 && inst.symbol === null) {
          const forms = branchForms(inst);
          this.target.push(number.get(inst.targets[0]!) ?? -1);
          this.before.push(bytes);
          this.forms.push(forms);
          most += forms.near;
        } else bytes += length(inst);
        hasAssembly ||= (fact & OpFact.Asm) !== 0;
      }
      this.blockBytes[b] = bytes;
      this.firstBranch[b + 1] = this.target.length;
      most += bytes;
    }
    this.most = most;
    this.hasAssembly = hasAssembly;
  }

  /** Bytes of the code in an order of its chains. */
  relaxed(order: readonly number[]): number {
    const { target, forms, start, end, size } = this;
    for (let k = 0; k < forms.length; k++) size[k] = forms[k]!.short;
    for (;;) {
      const all = this.place(order);
      let grows = false;
      for (let k = 0; k < size.length; k++) {
        const { short, back, ahead, near } = forms[k]!;
        if (size[k] !== short) continue;
        const distance = target[k]! < 0 ? Number.MAX_SAFE_INTEGER : start[target[k]!]! - end[k]!;
        if (distance >= -back && distance <= ahead) continue;
        size[k] = near;
        grows = true;
      }
      if (!grows) return all;
    }
  }

  /** Of each branch in the order of the blocks, in the order of the chains that was looked at last. */
  get branchBytes(): readonly number[] {
    return this.size;
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
    const { target, forms, start, end, size, chainOf } = this;
    const found: { distance: number; chains: readonly [number, number] }[] = [];
    for (let block = 0; block < chainOf.length; block++)
      for (let k = this.firstBranch[block]!; k < this.firstBranch[block + 1]!; k++) {
        if (target[k]! < 0 || size[k] === forms[k]!.short) continue;
        const chains = [chainOf[block]!, chainOf[target[k]!]!] as const;
        if (chains[0] === chains[1]) continue;
        found.push({ distance: Math.abs(start[target[k]!]! - end[k]!), chains });
      }
    return found.sort((a, b) => a.distance - b.distance).map(({ chains }) => chains);
  }
}
