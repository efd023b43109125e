/**
 * `llvm.*.with.overflow`: which arithmetic they are, and whether it may be done where the overflow bit is used.
 */

import { type CallInst, type InstWith, Op } from "../../ir/instructions.js";
import { type Intrinsic, intrinsicOf, intrinsics } from "../../ir/intrinsics.js";
import type { FunctionSelection } from "./function-selection.js";

interface Arithmetic {
  readonly signed: boolean;
  readonly operation: "add" | "sub" | "mul";
}
export const checkedArithmetic = new Map<Intrinsic, Arithmetic>([
  [intrinsics["sadd.with.overflow"], { signed: true, operation: "add" }],
  [intrinsics["uadd.with.overflow"], { signed: false, operation: "add" }],
  [intrinsics["ssub.with.overflow"], { signed: true, operation: "sub" }],
  [intrinsics["usub.with.overflow"], { signed: false, operation: "sub" }],
  [intrinsics["smul.with.overflow"], { signed: true, operation: "mul" }],
  [intrinsics["umul.with.overflow"], { signed: false, operation: "mul" }],
]);

export const isOverflowIntrinsic = (intrinsic: Intrinsic): boolean => checkedArithmetic.has(intrinsic);

/** The call whose overflow bit `extract` is, if it may be emitted at the current instruction. */
export function overflowOf(s: FunctionSelection, extract: InstWith<Op.ExtractValue>): CallInst | null {
  const call = extract.operands[0]!;
  if (extract.data[0] !== 1 || call.valueKind !== "inst" || call.op !== Op.Call) return null;
  const intrinsic = intrinsicOf(call.operands[0]!);
  if (intrinsic === null || !isOverflowIntrinsic(intrinsic)) return null;
  if (!s.optimize || s.values.uses[extract.id] !== 1 || call.parent !== s.at.parent) return null;
  if (s.values.sunk.has(call.id) || s.values.partOf(call, 1) >= 0) return null;
  const insts = call.parent!.insts;
  for (let i = insts.indexOf(call) + 1; insts[i] !== s.at; i++) {
    const between = insts[i]!;
    if (between === extract) continue;
    for (const operand of between.operands)
      if (operand.valueKind === "inst" && operand.op === Op.ExtractValue && operand.operands[0] === call)
        return null;
  }
  // The consumer itself may read the sum only if it does so as a separate value later; selects may not.
  for (const operand of s.at.operands)
    if (
      operand !== extract &&
      operand.valueKind === "inst" &&
      operand.op === Op.ExtractValue &&
      operand.operands[0] === call
    )
      if (s.at.op !== Op.Select) return null;
  return call;
}
