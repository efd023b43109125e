/**
 * How likely each way out of a block is, by what the front end said of branches (weights), else by the shape of the code,
 * after Ball & Larus, "Branch prediction for free" (PLDI 1993): loops go on seven times of eight; what ends in a call
 * that never returns, calls a cold function or handles an exception is rare; pointers are rarely null, numbers
 * rarely zero or negative.
 * Linear in edges times loop depth.
 */
import { type Block, type Inst, isCall, Op } from "../ir/instructions.js";
import type { Value } from "../ir/values.js";
import { frequenciesOf, stayInLoop } from "./block-frequency.js";
import type { LoopNest } from "./loop-nest.js";

const coldWeight = 1 / 64;
const neverReturnsWeight = 1 / 1024;
/** What weights say is believed so far: they are counts of some runs, or of none. */
const leastProbability = 1 / 4096;
/** That a comparison holds which programs use to find the odd case. */
const oddCase = 3 / 8;

function isCold(inst: Inst): boolean {
  if (!isCall(inst)) return false;
  if (inst.data.attributes.fn.has("cold")) return true;
  const callee = inst.operands[0]!;
  return callee.valueKind === "global" && callee.kind === "function" && callee.attributes.fn.has("cold");
}

/** How rarely a block runs by what it does itself: 1 if nothing tells. */
function ownWeight({ insts, terminator }: Block): number {
  if (terminator.op === Op.Unreachable) return neverReturnsWeight;
  for (let i = 0; i < insts.length; i++) {
    const inst = insts[i]!;
    if (inst.op === Op.LandingPad) return neverReturnsWeight;
    if (isCold(inst)) return coldWeight;
  }
  return 1;
}

const isNothing = (value: Value): boolean =>
  value.valueKind === "zero" || (value.valueKind === "int" && value.value === 0n);

/** Probability that a condition is true. */
function likelihood(condition: Value): number {
  if (condition.valueKind !== "inst" || condition.op !== Op.ICmp || !isNothing(condition.operands[1]!))
    return 1 / 2;
  switch (condition.data) {
    case "eq":
    case "slt":
    case "sle":
      return oddCase;
    case "ne":
    case "sgt":
    case "sge":
      return 1 - oddCase;
    default:
      return 1 / 2;
  }
}

function isInLoop(nest: LoopNest, block: number, header: number): boolean {
  for (let h = nest.header[block]!; h >= 0; h = nest.outer[h]!) if (h === header) return true;
  return false;
}

const none: readonly number[] = [];
const sure: readonly number[] = [1];

function probabilitiesOf(
  block: Block,
  successors: readonly number[],
  weights: Float64Array,
  nest: LoopNest,
): readonly number[] {
  if (successors.length < 2) return successors.length === 0 ? none : sure;
  const { terminator } = block;
  const said = terminator.hints?.weights;
  if (said != null && said.length === successors.length) {
    const sum = said.reduce((total, weight) => total + weight, 0);
    if (sum > 0) return said.map((weight) => Math.max(weight / sum, leastProbability));
  }
  const list = successors.map((to) => weights[to]!);
  if (terminator.op === Op.CondBr) {
    const first = likelihood(terminator.operands[0]!);
    list[0]! *= first;
    list[1]! *= 1 - first;
  }
  const header = nest.header[block.id]!;
  if (header >= 0) stayInLoop(list, (i) => isInLoop(nest, successors[i]!, header));
  const sum = list.reduce((total, weight) => total + weight, 0);
  return list.map((weight) => weight / sum);
}

/** Estimated executions of each numbered block for one of the function. @param successors by block number */
export function estimatedFrequencies(
  blocks: readonly Block[],
  successors: readonly (readonly number[])[],
  nest: LoopNest,
): Float64Array {
  const weights = new Float64Array(blocks.length).fill(1);
  const order = nest.reversePostOrder;
  for (let i = order.length - 1; i >= 0; i--) {
    const b = order[i]!;
    let best = 0;
    for (const s of successors[b]!) best = Math.max(best, weights[s]!);
    weights[b] = Math.min(ownWeight(blocks[b]!), successors[b]!.length === 0 ? 1 : best);
  }
  const probabilities = blocks.map((block, b) => probabilitiesOf(block, successors[b]!, weights, nest));
  return frequenciesOf({ successors, probabilities }, nest);
}
