/**
 * How likely each way out of a block is, by what the front end said of branches (weights), else by the shape of the code
 * (branch-flow.ts): what ends in a call that never returns, calls a cold function or handles an exception is rare;
 * pointers are rarely null, numbers rarely zero or negative.
 * Linear in edges times loop depth.
 */
import { type Block, type Inst, isCall, Op } from "../ir/instructions.js";
import type { Value } from "../ir/values.js";
import { frequenciesOf } from "./block-frequency.js";
import { branchFlow, coldWeight, neverReturnsWeight } from "./branch-flow.js";
import type { LoopNest } from "./loop-nest.js";

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

/** What a profile, or the front end, says of the block's branch. */
function measured(block: Block, ways: number): readonly number[] | null {
  const said = block.terminator.hints?.weights;
  if (said == null || said.length !== ways) return null;
  const sum = said.reduce((total, weight) => total + weight, 0);
  return sum > 0 ? said.map((weight) => Math.max(weight / sum, leastProbability)) : null;
}

/** Estimated executions of each numbered block for one of the function. @param successors by block number */
export function estimatedFrequencies(
  blocks: readonly Block[],
  successors: readonly (readonly number[])[],
  nest: LoopNest,
): Float64Array {
  const flow = branchFlow(successors, nest, {
    ownWeight: (b) => ownWeight(blocks[b]!),
    measured: (b) => measured(blocks[b]!, successors[b]!.length),
    first: (b) => {
      const { op, operands } = blocks[b]!.terminator;
      return op === Op.CondBr ? likelihood(operands[0]!) : null;
    },
  });
  return frequenciesOf(flow, nest);
}
