/** How often blocks run, by all that is known: estimates, constants, and what of their loops' time an instruction is. */
import { type Block, type BodyView, type Inst, isCall, Op } from "../ir/instructions.js";
import { intrinsicOf } from "../ir/intrinsics.js";
import { estimatedFrequencies } from "./branch-probability.js";
import { bodySuccessors } from "./cfg.js";
import { countedLoops } from "./counted-loops.js";
import { loopNest } from "./loop-nest.js";
import { callWork, loopShares } from "./loop-shares.js";

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

export function executionsOf(body: BodyView): Executions {
  const { blocks } = body;
  const successors = bodySuccessors(body);
  const nest = loopNest(successors, [0]);
  const frequencies = estimatedFrequencies(blocks, successors, nest);
  const shares = loopShares(nest, frequencies, Float64Array.from(blocks, workOf));
  return { frequencies, times: countedLoops(blocks, nest), shares, headers: nest.header };
}

export const executionsAt = (known: Executions, block: number): BlockExecutions => ({
  frequency: known.frequencies[block]!,
  times: known.times?.[block] ?? 1,
  share: known.shares[block]!,
  isInLoop: known.headers[block]! >= 0,
});

function workOf({ insts }: Block): number {
  let work = 0;
  for (const inst of insts) work += workOfInstruction(inst);
  return work;
}

function workOfInstruction(inst: Inst): number {
  if (inst.op === Op.Phi) return 0;
  return isCall(inst) && intrinsicOf(inst.operands[0]!) === null ? callWork : 1;
}
