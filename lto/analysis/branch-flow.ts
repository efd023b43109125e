/**
 * How likely each way out of a block is, by the shape of the code, after Ball & Larus, "Branch prediction for free"
 * (PLDI 1993): loops go on seven times of eight, and what leads to rare code only is as rare. What makes a block rare, and what
 * a comparison says, is for the kind of code to tell: IR and machine code share all else.
 * Linear in edges times loop depth.
 */
import { type Flow, stayInLoop } from "./block-frequency.js";
import type { LoopNest } from "./loop-nest.js";

/** Of a block that calls a cold function. */
export const coldWeight = 1 / 64;
/** Of a block that the function never comes back from. */
export const neverReturnsWeight = 1 / 1024;

/** What the code itself says, by block number. */
export interface Likelihoods {
  /** How rarely a block runs by what it does: 1 if nothing tells. */
  ownWeight(block: number): number;
  /** Probabilities that were measured; null: none. */
  measured?(block: number): readonly number[] | null;
  /** Probability of the first of two ways; null: the block does not end in a branch on a condition. */
  first(block: number): number | null;
}

/** Weight of each block by what it does and leads to. @param successors by block number */
export function blockWeights(
  successors: Flow["successors"],
  nest: LoopNest,
  likelihoods: Likelihoods,
): Float64Array {
  const weights = new Float64Array(successors.length).fill(1);
  const order = nest.reversePostOrder;
  for (let i = order.length - 1; i >= 0; i--) {
    const b = order[i]!;
    let best = 0;
    for (const s of successors[b]!) best = Math.max(best, weights[s]!);
    weights[b] = Math.min(likelihoods.ownWeight(b), successors[b]!.length === 0 ? 1 : best);
  }
  return weights;
}

/** Whether a block, by number, is in the loop of the header. */
export function isInLoop(nest: LoopNest, block: number, header: number): boolean {
  for (let h = nest.header[block]!; h >= 0; h = nest.outer[h]!) if (h === header) return true;
  return false;
}

const none: readonly number[] = [];
const sure: readonly number[] = [1];

/** @param successors by block number */
export function branchFlow(successors: Flow["successors"], nest: LoopNest, likelihoods: Likelihoods): Flow {
  const weights = blockWeights(successors, nest, likelihoods);
  const probabilities = successors.map((next, b): readonly number[] => {
    if (next.length < 2) return next.length === 0 ? none : sure;
    const measured = likelihoods.measured?.(b);
    if (measured != null) return measured;
    const list = next.map((s) => weights[s]!);
    const first = likelihoods.first(b);
    if (first !== null) {
      list[0]! *= first;
      list[1]! *= 1 - first;
    }
    const header = nest.header[b]!;
    if (header >= 0) stayInLoop(list, (i) => isInLoop(nest, next[i]!, header));
    const sum = list.reduce((total, weight) => total + weight, 0);
    for (let i = 0; i < list.length; i++) list[i]! /= sum;
    return list;
  });
  return { successors, probabilities };
}
