/**
 * Liveness of physical registers and of the flags, after allocation.
 *
 * The arithmetic flags are in the sets as one more register (`TargetRegisters.flags`). Definitions
 * count as writing the whole register: before allocation they were whole values, so nothing can depend on the
 * rest. Backward data flow to a fixpoint over the blocks.
 * O(instructions + edges × rounds).
 * Breaks if: edges are stale.
 */

import { type MBlock, type MFunction, type MInst, unwindTarget } from "../mir.js";
import { equalSets, minus, noRegisters, type RegisterSet, single, union } from "../register-set.js";
import { leavesFunction, OpFact, type Target } from "../target.js";

/** Every register that the body's instructions or calls change; parameters arrive and change nothing. */
export function changedRegisters(mf: MFunction): RegisterSet {
  const { facts, writes } = mf.target.instructions;
  let set = noRegisters;
  for (const block of mf.blocks)
    for (const inst of block.insts)
      if ((facts[inst.op]! & OpFact.Entry) === 0) set = union(set, writes(inst));
  return set;
}

/**
 * Live set before `inst`, given the one after it. What a target or landing pad needs is live at the branches
 * and calls to it, and what the caller must find unchanged at every exit.
 */
export function stepBack(inst: MInst, live: RegisterSet, liveness: PostLiveness): RegisterSet {
  const { liveIn, flags } = liveness;
  const { facts, reads, writes, killsFlags } = liveness.target.instructions;
  const fact = facts[inst.op]!;
  let before = minus(live, writes(inst));
  const { targets } = inst;
  for (let i = 0; i < targets.length; i++) before = union(before, liveIn[targets[i]!.id]!);
  const pad = unwindTarget(inst);
  if (pad !== null) before = union(before, minus(liveIn[pad.id]!, flags));
  if (killsFlags(inst)) before = minus(before, flags);
  if ((fact & OpFact.ReadsFlags) !== 0) before = union(before, flags);
  // A conditional jump out of the function is a tail call.
  if ((fact & leavesFunction) !== 0 || ((fact & OpFact.Branch) !== 0 && inst.symbol !== null))
    before = union(before, liveness.preserved);
  return union(union(before, liveness.frame), reads(inst));
}

export interface PostLiveness {
  readonly target: Target;
  /** The set that holds the flags alone. */
  readonly flags: RegisterSet;
  /** Live at the start and end of each block, by block id. */
  readonly liveIn: readonly RegisterSet[];
  readonly liveOut: readonly RegisterSet[];
  /** Registers whose value at the exits belongs to the caller. */
  readonly preserved: RegisterSet;
  /** The frame pointer, if one was asked for: debuggers and profilers follow it, whatever the code does with it. */
  readonly frame: RegisterSet;
}

/**
 * Computes liveness at all block boundaries. Edges must be up to date.
 * @param preserved registers that callers rely on besides callee-saved ones, of which they do unless `mf.unpreserved` has them
 */
export function postLiveness(mf: MFunction, preserved: RegisterSet): PostLiveness {
  const { blocks } = mf;
  const flags = single(mf.target.registers.flags);
  let maxId = 0;
  for (const block of blocks) maxId = Math.max(maxId, block.id);
  const liveIn = new Array<RegisterSet>(maxId + 1).fill(noRegisters);
  const liveOut = new Array<RegisterSet>(maxId + 1).fill(noRegisters);
  const liveness: PostLiveness = {
    target: mf.target,
    flags,
    liveIn,
    liveOut,
    preserved: minus(union(preserved, minus(mf.target.registers.calleeSaved, mf.unpreserved)), flags),
    frame: mf.framePointer && mf.needsFramePointer ? single(mf.target.registers.framePointer) : noRegisters,
  };
  const queued = new Uint8Array(maxId + 1).fill(1);
  const work: MBlock[] = [...blocks];
  for (let block = work.pop(); block !== undefined; block = work.pop()) {
    queued[block.id] = 0;
    // Without successors: what an unwinder may want to find.
    let live = block.succs.length === 0 ? liveness.preserved : noRegisters;
    for (const succ of block.succs) live = union(live, liveIn[succ.id]!);
    liveOut[block.id] = live;
    const { insts } = block;
    for (let i = insts.length - 1; i >= 0; i--) live = stepBack(insts[i]!, live, liveness);
    if (equalSets(live, liveIn[block.id]!)) continue;
    liveIn[block.id] = live;
    for (const pred of block.preds) {
      if (queued[pred.id] === 1) continue;
      queued[pred.id] = 1;
      work.push(pred);
    }
  }
  return liveness;
}
