/**
 * Estimated block frequencies of a machine function: executions for each entry of the function.
 *
 * Branch probabilities come from the shape of the code alone (analysis/branch-flow.ts): what ends in a call that never
 * returns or calls a cold function is rare, and what a comparison says by itself is the target's to tell.
 * Linear in edges times loop depth.
 */
import { frequenciesOf } from "../../analysis/block-frequency.js";
import {
  blockWeights,
  branchFlow,
  coldWeight,
  type Likelihoods,
  neverReturnsWeight,
} from "../../analysis/branch-flow.js";
import { type LoopNest, loopNest } from "../../analysis/loop-nest.js";
import type { GlobalValue } from "../../ir/module.js";
import type { MBlock, MFunction, MInst } from "../mir.js";
import { type InstructionFacts, leavesFunction, OpFact } from "../target.js";

/** In a profile: at most one in so many entries of the function. */
const rarity = 64;

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

/** Edges by block position, and loops. */
export function shapeOf({ blocks }: MFunction): { readonly successors: number[][]; readonly nest: LoopNest } {
  const positions = blockPositions(blocks);
  const successors = blocks.map((block) => block.succs.map((s) => positions[s.id]!));
  const starts = [0];
  for (let b = 1; b < blocks.length; b++) if (isEntered(blocks[b]!)) starts.push(b);
  return { successors, nest: loopNest(successors, starts) };
}

/**
 * Which blocks, by position, only lead to calls that never return or call cold functions, or a profile found rare. Edges
 * must be up to date.
 */
export function rareBlocks(mf: MFunction): boolean[] {
  if (mf.profiled) return mf.blocks.map(({ frequency }) => frequency * rarity <= mf.blocks[0]!.frequency);
  const { successors, nest } = shapeOf(mf);
  const weights = blockWeights(successors, nest, likelihoodsOf(mf));
  return Array.from(weights, (weight) => weight < 1);
}

const likelihoodsOf = ({ blocks, target: { instructions } }: MFunction): Likelihoods => ({
  ownWeight: (b) => ownWeight(blocks[b]!, instructions.facts),
  first: (b) => (blocks[b]!.succs.length === 2 ? takenByBranch(blocks[b]!, instructions) : null),
});

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
 * Executions of each block, by its position, for one of the function. Edges must be up to date.
 * Apart from `MBlock.frequency`, which is of the IR's blocks and, for size, knows loops only; but where a
 * profile made that, it is the same.
 */
export function estimateFrequencies(mf: MFunction): Float64Array {
  const { blocks } = mf;
  if (mf.profiled) return Float64Array.from(blocks, (block) => block.frequency / blocks[0]!.frequency);
  const { successors, nest } = shapeOf(mf);
  return frequenciesOf(branchFlow(successors, nest, likelihoodsOf(mf)), nest);
}

/** Entered by other ways than the branches of the function. */
const isEntered = (block: MBlock): boolean => block.landingPad || block.addressTaken;
