/**
 * dce: removes instructions whose results nothing that matters reads, and that do nothing else.
 *
 * Why: legalisation expands by whole patterns and leaves the halves that nobody wants; other passes leave what they
 * replaced.
 *
 * Method: marks from what has an effect (terminators, stores, calls, …) backwards through operands; everything
 * unmarked goes, also phis and what feeds them that only use each other around a loop:
 *
 *     loop:  %i = phi i32 [ 0, %entry ], [ %n, %loop ]      nothing else uses %i or %n: both go
 *            %n = add i32 %i, 1
 *
 * The stack is where it was at the entry while nothing grows it: `llvm.stackrestore` matters only beside a variable in the
 * stack that matters and is none of the frame's.
 * Linear in instructions and operands. Blocks, and so edges, stay.
 * Breaks if: an operation with an effect besides its result counts as removable. A trap is no effect: where division
 * or a load would trap, behaviour is undefined.
 */

import { type BodyView, type Inst, isPlainAccess, isStaticAlloca, Op } from "../ir/instructions.js";
import { intrinsicOf, intrinsics } from "../ir/intrinsics.js";
import { raw } from "../ir/raw.js";
import { isRemovableCallOf } from "../ir/strict-float.js";
import { cfg, dominators, loops } from "../pass/analyses.js";
import type { FunctionPass } from "../pass/pass.js";

/** Whether an instruction does nothing but compute its result. */
export function isRemovable(inst: Inst): boolean {
  const { op } = inst;
  // Arithmetic; addresses, casts, comparisons, phis and selects.
  if (op >= Op.FNeg && op <= Op.Xor) return true;
  if (op >= Op.GetElementPtr && op <= Op.Select) return true;
  switch (op) {
    case Op.Freeze:
    case Op.ExtractElement:
    case Op.InsertElement:
    case Op.ShuffleVector:
    case Op.ExtractValue:
    case Op.InsertValue:
    case Op.Alloca:
      return true;
    case Op.Load:
      return isPlainAccess(inst);
    case Op.Call: {
      const intrinsic = intrinsicOf(inst.operands[0]!);
      return intrinsic !== null && isRemovableCallOf(intrinsic, inst);
    }
    default:
      return false;
  }
}

const isStackRestore = (inst: Inst): boolean =>
  inst.op === Op.Call && intrinsicOf(inst.operands[0]!) === intrinsics.stackrestore;

/** Whether a variable that matters grows the stack where it is reached. */
function growsStack({ blocks }: BodyView, isLive: Uint8Array): boolean {
  return blocks.some(({ insts }, b) =>
    insts.some((inst) => inst.op === Op.Alloca && isLive[inst.id] === 1 && !isStaticAlloca(inst, b === 0)),
  );
}

/** Marks by number the instructions that matter. */
function markLive(body: BodyView): { isLive: Uint8Array; dead: number } {
  const count = body.renumber();
  const isLive = new Uint8Array(count);
  const work: Inst[] = [];
  const restores: Inst[] = [];
  let live = 0;
  const { blocks } = body;
  for (let b = 0; b < blocks.length; b++) {
    const { insts } = blocks[b]!;
    for (let i = 0; i < insts.length; i++) {
      const inst = insts[i]!;
      if (isRemovable(inst)) continue;
      if (isStackRestore(inst)) {
        restores.push(inst);
        continue;
      }
      isLive[inst.id] = 1;
      live++;
      work.push(inst);
    }
  }
  live += spread(isLive, work);
  if (restores.length > 0 && growsStack(body, isLive)) {
    for (const inst of restores) isLive[inst.id] = 1;
    live += restores.length + spread(isLive, restores);
  }
  return { isLive, dead: count - live };
}

/** Marks what instructions that matter read. @returns how many are new */
function spread(isLive: Uint8Array, work: Inst[]): number {
  let live = 0;
  for (let inst = work.pop(); inst !== undefined; inst = work.pop()) {
    const { operands } = inst;
    for (let i = 0; i < operands.length; i++) {
      const operand = operands[i]!;
      if (operand.valueKind !== "inst" || isLive[operand.id] === 1) continue;
      isLive[operand.id] = 1;
      live++;
      work.push(operand);
    }
  }
  return live;
}

export const dce: FunctionPass = {
  name: "dce",
  level: "function",
  description: "removes instructions without effect whose results nothing needs, also around loops",
  counters: { removed: "instructions removed" },
  requires: [],
  preserves: [cfg, dominators, loops],
  run(_, context) {
    const { isLive, dead } = markLive(context.view());
    if (dead === 0) return false;
    for (const block of context.rewrite().blocks) {
      const kept = block.insts.filter((inst) => isLive[inst.id] === 1);
      if (kept.length < block.insts.length) raw(block).insts = kept;
    }
    context.count("removed", dead);
    return true;
  },
};
