/**
 * How often blocks run, from probabilities of branches: executions for each entry of the function.
 *
 * Loop by loop, innermost first: inside of a loop relative to its header, and the header of an inner loop counts for
 * 1 / (1 − probability of coming back) (Wu & Larus, "Static branch frequency and program profile analysis",
 * MICRO 1994). Irreducible entries of a loop count as forward edges.
 * Linear in edges times loop depth.
 */
import type { LoopNest } from "./loop-nest.js";

/** Probability of staying in a loop where a branch can leave it. */
const stay = 7 / 8;
/** No block counts less: frequencies are compared and divided by. */
const least = 2 ** -30;
/** A loop is left at some time, whatever its branches say. */
const mostReturns = 63 / 64;

/** Edges by block, with the probability of taking each. */
export interface Flow {
  readonly successors: readonly (readonly number[])[];
  readonly probabilities: readonly (readonly number[])[];
}

/** Shares the weights of a block's successors between those inside and outside of its loop. */
export function stayInLoop(list: number[], isInside: (i: number) => boolean): void {
  let inside = 0;
  let outside = 0;
  for (let i = 0; i < list.length; i++)
    if (isInside(i)) inside += list[i]!;
    else outside += list[i]!;
  if (inside === 0 || outside === 0) return;
  // What leaves by a rare way leaves even more rarely.
  const leave = ((1 - stay) / outside) * Math.min(1, outside * list.length);
  for (let i = 0; i < list.length; i++) list[i]! *= isInside(i) ? stay / inside : leave;
}

/**
 * Frequencies of the blocks of a region, listed in reverse postorder, relative to its first block.
 * @param header of the loop that the region is, or -1
 * @returns the probability of coming back to the header
 */
function propagate(
  region: readonly number[],
  header: number,
  flow: Flow,
  order: Int32Array,
  returning: Float64Array,
  frequencies: Float64Array,
): number {
  let again = 0;
  for (const b of region) frequencies[b] = 0;
  frequencies[region[0]!] = 1;
  for (const b of region) {
    if (b !== header) frequencies[b]! /= 1 - returning[b]!;
    const here = frequencies[b]!;
    const next = flow.successors[b]!;
    const probability = flow.probabilities[b]!;
    for (let i = 0; i < next.length; i++) {
      const s = next[i]!;
      if (s === header) again += here * probability[i]!;
      // Edges back to other headers are in `returning`; blocks outside of the region are set later.
      else if (order[s]! > order[b]!) frequencies[s]! += here * probability[i]!;
    }
  }
  return again;
}

/** Executions of each block for one of the function. */
export function frequenciesOf(flow: Flow, nest: LoopNest): Float64Array {
  const count = flow.successors.length;
  const order = new Int32Array(count).fill(-1);
  nest.reversePostOrder.forEach((b, i) => {
    order[b] = i;
  });
  const members = new Map<number, number[]>();
  for (const b of nest.reversePostOrder)
    for (let h = nest.header[b]!; h >= 0; h = nest.outer[h]!) {
      const list = members.get(h);
      if (list === undefined) members.set(h, [b]);
      else list.push(b);
    }
  const returning = new Float64Array(count);
  const frequencies = new Float64Array(count);
  const headers = [...members.keys()].sort((a, b) => nest.depth[b]! - nest.depth[a]! || a - b);
  for (const h of headers) {
    const region = members.get(h)!;
    // An irreducible loop may list another block first; it then counts as entered there.
    const again = propagate(region, h, flow, order, returning, frequencies);
    returning[h] = Math.min(again, mostReturns);
  }
  propagate(nest.reversePostOrder, -1, flow, order, returning, frequencies);
  for (let b = 0; b < count; b++) frequencies[b] = Math.max(frequencies[b]!, least);
  return frequencies;
}
