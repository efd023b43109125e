/**
 * Estimated block frequencies of a machine function: executions for each entry of the function.
 *
 * Branch probabilities come from the shape of the code alone (after Ball & Larus, "Branch prediction for free",
 * PLDI 1993): loops go on seven times of eight, what ends in a call that never returns or calls a cold function
 * is rare, and what a comparison says by itself is the target's to tell. Frequencies follow from them loop by
 * loop, innermost first: inside of a loop relative to its header, and the header of an inner loop counts for
 * 1 / (1 − probability of coming back) (Wu & Larus, "Static branch frequency and program profile analysis",
 * MICRO 1994). Irreducible entries of a loop count as forward edges.
 * Linear in edges times loop depth.
 */
import { type LoopNest, loopNest } from "../../analysis/loop-nest.js";
import type { GlobalValue } from "../../ir/module.js";
import type { MBlock, MFunction, MInst } from "../mir.js";
import { type InstructionFacts, leavesFunction, OpFact } from "../target.js";

/** Probability of staying in a loop where a branch can leave it. */
const stay = 7 / 8;
const coldWeight = 1 / 64;
const neverReturnsWeight = 1 / 1024;
/** No block counts less: frequencies are compared and divided by. */
const least = 2 ** -30;
/** A loop is left at some time, whatever its branches say. */
const mostReturns = 63 / 64;

/** The index of each block in `mf.blocks`, by block id. */
export function blockPositions(blocks: readonly MBlock[]): Int32Array {
  let maxId = 0;
  for (const block of blocks) maxId = Math.max(maxId, block.id);
  const positions = new Int32Array(maxId + 1).fill(-1);
  blocks.forEach((block, i) => {
    positions[block.id] = i;
  });
  return positions;
}

/** Looking at attributes is slow, and calls are many. */
const coldFunctions = new WeakMap<GlobalValue, boolean>();

function isColdCall(inst: MInst): boolean {
  const { extra } = inst;
  if (extra === null || extra.kind !== "call" || extra.callee === null) return false;
  const { callee } = extra;
  let cold = coldFunctions.get(callee);
  if (cold === undefined) {
    cold = callee.kind === "function" && callee.attributes.fn.has("cold");
    coldFunctions.set(callee, cold);
  }
  return cold;
}

/** How rarely a block runs by what it does itself: 1 if nothing tells. */
function ownWeight(block: MBlock, facts: Uint32Array): number {
  const last = block.insts[block.insts.length - 1];
  if (block.succs.length === 0) {
    if (last === undefined || (facts[last.op]! & leavesFunction) === 0) return neverReturnsWeight;
  }
  for (const inst of block.insts) if (inst.extra !== null && isColdCall(inst)) return coldWeight;
  return 1;
}

/** Edges by block position, with the probability of taking each. */
interface Flow {
  readonly successors: readonly (readonly number[])[];
  readonly probabilities: readonly (readonly number[])[];
}

/** Weight of each block by what it does and leads to. */
function blockWeights(
  blocks: readonly MBlock[],
  nest: LoopNest,
  successors: Flow["successors"],
  instructions: InstructionFacts,
): Float64Array {
  const weights = new Float64Array(blocks.length).fill(1);
  const order = nest.reversePostOrder;
  for (let i = order.length - 1; i >= 0; i--) {
    const b = order[i]!;
    let best = 0;
    for (const s of successors[b]!) best = Math.max(best, weights[s]!);
    weights[b] = Math.min(ownWeight(blocks[b]!, instructions.facts), successors[b]!.length === 0 ? 1 : best);
  }
  return weights;
}

/** Edges by block position, and loops. */
function shapeOf({ blocks }: MFunction): { readonly successors: number[][]; readonly nest: LoopNest } {
  const positions = blockPositions(blocks);
  const successors = blocks.map((block) => block.succs.map((s) => positions[s.id]!));
  const starts = [0];
  for (let b = 1; b < blocks.length; b++) if (isEntered(blocks[b]!)) starts.push(b);
  return { successors, nest: loopNest(successors, starts) };
}

/** Which blocks, by position, only lead to calls that never return or call cold functions. Edges must be up to date. */
export function rareBlocks(mf: MFunction): boolean[] {
  const { successors, nest } = shapeOf(mf);
  const weights = blockWeights(mf.blocks, nest, successors, mf.target.instructions);
  return Array.from(weights, (weight) => weight < 1);
}

function branchProbabilities(
  blocks: readonly MBlock[],
  nest: LoopNest,
  successors: Flow["successors"],
  instructions: InstructionFacts,
): (readonly number[])[] {
  const weights = blockWeights(blocks, nest, successors, instructions);
  const inLoop = (b: number, h: number): boolean => {
    for (let k = nest.header[b]!; k >= 0; k = nest.outer[k]!) if (k === h) return true;
    return false;
  };
  const probabilities: (readonly number[])[] = [];
  for (let b = 0; b < blocks.length; b++) {
    const next = successors[b]!;
    if (next.length < 2) {
      probabilities.push(next.length === 0 ? none : sure);
      continue;
    }
    const list = next.map((s) => weights[s]!);
    if (next.length === 2) {
      const first = takenByBranch(blocks[b]!, instructions);
      list[0]! *= first;
      list[1]! *= 1 - first;
    }
    const h = nest.header[b]!;
    if (h >= 0) stayInLoop(list, (i) => inLoop(next[i]!, h));
    let sum = 0;
    for (const w of list) sum += w;
    for (let i = 0; i < list.length; i++) list[i]! /= sum;
    probabilities.push(list);
  }
  return probabilities;
}

const none: readonly number[] = [];
const sure: readonly number[] = [1];

/** Shares the weights of a block's successors between those inside and outside of its loop. */
function stayInLoop(list: number[], isInside: (i: number) => boolean): void {
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

/** Probability of going to the first successor of a block with two. */
function takenByBranch(block: MBlock, { facts, takenProbability }: InstructionFacts): number {
  const { insts, succs } = block;
  let at = insts.length - 1;
  while (at >= 0 && (facts[insts[at]!.op]! & OpFact.Jump) !== 0) at--;
  const branch = insts[at];
  if (branch === undefined || (facts[branch.op]! & OpFact.Branch) === 0) return 1 / 2;
  const taken = takenProbability(insts, at);
  return branch.targets[0] === succs[0] ? taken : 1 - taken;
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

/**
 * Executions of each block, by its position, for one of the function. Edges must be up to date.
 * Apart from `MBlock.frequency`, which allocation and layout weigh against bytes and which knows loops only.
 */
export function estimateFrequencies(mf: MFunction): Float64Array {
  const { blocks } = mf;
  const { successors, nest } = shapeOf(mf);
  const order = new Int32Array(blocks.length).fill(-1);
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
  const flow = {
    successors,
    probabilities: branchProbabilities(blocks, nest, successors, mf.target.instructions),
  };
  const returning = new Float64Array(blocks.length);
  const frequencies = new Float64Array(blocks.length);
  const headers = [...members.keys()].sort((a, b) => nest.depth[b]! - nest.depth[a]! || a - b);
  for (const h of headers) {
    const region = members.get(h)!;
    // An irreducible loop may list another block first; it then counts as entered there.
    const again = propagate(region, h, flow, order, returning, frequencies);
    returning[h] = Math.min(again, mostReturns);
  }
  propagate(nest.reversePostOrder, -1, flow, order, returning, frequencies);
  for (let b = 0; b < frequencies.length; b++) frequencies[b] = Math.max(frequencies[b]!, least);
  return frequencies;
}

/** Entered by other ways than the branches of the function. */
const isEntered = (block: MBlock): boolean => block.landingPad || block.addressTaken;
