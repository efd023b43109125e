/**
 * Moves chains of blocks so that more branches are short, for size.
 *
 * A branch takes two bytes as far as a signed byte reaches, and six or five beyond. Layout keeps chains in the order of
 * their first blocks; in functions of some hundred bytes another order brings many branches and their targets together.
 * For each branch that is too long, those that lack least first, the chain of its target is put beside the chain it is in,
 * or the other way round, if all the function's code is smaller then. That is found by the same relaxation of branch sizes
 * that the assembler does (branch-sizes.ts). Of what trying every place for every chain finds, until nothing is gained
 * any more, these moves find nine tenths (Lua, zstd, MuJS, grep), with a hundredth of the relaxations.
 * At most `mostTrials` orders are looked at, each in time linear in the function. With all that are wanted .text would be
 * 0.999 of what it is so, and the link of SQLite take 1.3 times as long.
 * Proof obligations: a chain ends in an instruction that control never passes, so that its place does not matter; the entry
 * stays first.
 * Breaks if: inline assembly is longer than estimated (functions that have any stay as they are).
 */
import type { MBlock, MFunction } from "../mir.js";
import { endsBlock, leavesFunction } from "../target.js";
import { BranchSizes } from "./branch-sizes.js";

const mostTrials = 200;
const mostRounds = 2;

/** @param isLastFixed the last chain has to stay where it is */
export function shortenBranches(mf: MFunction, isLastFixed: boolean): void {
  const chains = chainsOf(mf);
  if (chains.length < 3) return;
  const code = new BranchSizes(chains, mf.target.instructions);
  // All branches are short anyway, or sizes are not known.
  if (code.most <= mf.target.costs.branches.reach + 1 || code.hasAssembly) return;
  const { facts } = mf.target.instructions;
  const leaves = chains.map((chain) => {
    const last = chain.at(-1)!.insts.at(-1);
    return last !== undefined && (facts[last.op]! & leavesFunction) !== 0;
  });
  const reset = mf.unwind === "async" ? mf.target.costs.frames.row : 0;
  const bytes = (order: readonly number[]): number =>
    code.relaxed(order) + (leaves[order.at(-1)!] === true ? 0 : reset);
  const order = improved(code, bytes, chains.length, isLastFixed);
  mf.blocks = Array.from(order).flatMap((chain) => chains[chain]!);
}

/** Control goes on from the end of the block to what stands after it. */
export function fallsOn({ insts }: MBlock, facts: Uint32Array): boolean {
  const last = insts.at(-1);
  return last === undefined || (facts[last.op]! & endsBlock) === 0;
}

/** Blocks that have to stand after each other, in their order. */
function chainsOf({ blocks, target }: MFunction): MBlock[][] {
  const { facts } = target.instructions;
  const chains: MBlock[][] = [];
  let isOpen = false;
  for (const block of blocks) {
    if (isOpen) chains.at(-1)!.push(block);
    else chains.push([block]);
    isOpen = fallsOn(block, facts);
  }
  return chains;
}

/** The best order that was found, of chains by number. @param bytesOf an order, unwind tables included */
function improved(
  code: BranchSizes,
  bytesOf: (order: readonly number[]) => number,
  count: number,
  isLastFixed: boolean,
): readonly number[] {
  let order = Array.from({ length: count }, (_, chain) => chain);
  let least = bytesOf(order);
  let trials = 0;
  const isFixed = (chain: number): boolean => chain === 0 || (isLastFixed && chain === count - 1);
  /** The order with a chain before or after another; null: one of them has to stay where it is. */
  const moved = (chain: number, beside: number, isBehind: boolean): number[] | null => {
    if (isFixed(chain) || (isFixed(beside) && isBehind !== (beside === 0))) return null;
    const next = order.slice();
    next.splice(next.indexOf(chain), 1);
    next.splice(next.indexOf(beside) + Number(isBehind), 0, chain);
    return next;
  };
  const take = (chain: number, beside: number, isBehind: boolean): boolean => {
    // Making an order takes as long as looking at it.
    const next = trials < mostTrials ? moved(chain, beside, isBehind) : null;
    if (next === null) return false;
    trials++;
    const bytes = bytesOf(next);
    if (bytes >= least) return false;
    least = bytes;
    order = next;
    return true;
  };
  for (let round = 0; round < mostRounds && trials < mostTrials; round++) {
    code.relaxed(order);
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
