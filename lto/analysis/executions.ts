/** How often blocks run, by all that is known: estimates, constants, and what of their loops' time an instruction is. */
import { type Block, type BodyView, type CallInst, isCall, Op } from "../ir/instructions.js";
import { intrinsicOf } from "../ir/intrinsics.js";
import type { Value } from "../ir/values.js";
import { estimatedFrequencies } from "./branch-probability.js";
import { bodySuccessors } from "./cfg.js";
import { countedLoops } from "./counted-loops.js";
import { loopNest } from "./loop-nest.js";
import { loopShares } from "./loop-shares.js";

/** By numbered block. */
export interface Executions {
  /** Estimated, for one of their function. */
  readonly frequencies: Float64Array;
  /** `countedLoops` */
  readonly times: Float64Array | null;
  /** `loopShares` */
  readonly shares: Float64Array;
  /** Of the innermost loop around it; negative: it is in none. */
  readonly headers: Int32Array;
}

/** Of one block. */
export interface BlockExecutions {
  readonly frequency: number;
  readonly times: number;
  readonly share: number;
  readonly isInLoop: boolean;
}

/** @param workOf instructions that a call of this executes */
export function executionsOf(body: BodyView, workOf: WorkOfCallee): Executions {
  const { blocks } = body;
  const successors = bodySuccessors(body);
  const nest = loopNest(successors, [0]);
  const frequencies = estimatedFrequencies(blocks, successors, nest);
  const shares = loopShares(
    nest,
    frequencies,
    Float64Array.from(blocks, (block) => workIn(block, workOf)),
  );
  return { frequencies, times: countedLoops(blocks, nest), shares, headers: nest.header };
}

export const executionsAt = (known: Executions, block: number): BlockExecutions => ({
  frequency: known.frequencies[block]!,
  times: known.times?.[block] ?? 1,
  share: known.shares[block]!,
  isInLoop: known.headers[block]! >= 0,
});

/** Instructions that a call of a function executes, all that it calls with them. */
export type WorkOfCallee = (callee: Value, call: CallInst) => number;

/** Instructions of a block, and what calls there execute. */
export function workIn({ insts }: Block, workOf: WorkOfCallee): number {
  let work = 0;
  for (const inst of insts) {
    if (inst.op === Op.Phi) continue;
    work += isCall(inst) && intrinsicOf(inst.operands[0]!) === null ? workOf(inst.operands[0]!, inst) : 1;
  }
  return work;
}
