/** Floating-point operations that keep their places (legalize/strict-operations.ts), as the plain ones that they are. */

import {
  type CallInst,
  type FloatPredicate,
  type Inst,
  type InstWith,
  makeInst,
  Op,
} from "../../ir/instructions.js";
import { type Intrinsic, intrinsicOf } from "../../ir/intrinsics.js";
import type { Value } from "../../ir/values.js";
import { strictPrefixes } from "../legalize/strict-operations.js";
import type { FunctionSelection } from "./function-selection.js";

/** The operation's name, and what it is called but for its place; null of other intrinsics. */
export function strictName({ origin, name }: Intrinsic): string | null {
  if (origin !== "internal") return null;
  const prefix = strictPrefixes.find((p) => name.startsWith(p));
  return prefix === undefined ? null : name.slice(prefix.length);
}

/** The instruction that the call is but for its place. It shares the number, so what selection knows of the result. */
export function plainInst(call: CallInst, op: Op, data: FloatPredicate | null): Inst {
  const inst = makeInst(op as Op.FAdd, call.type, [...call.operands.slice(1)], data as null) as Inst;
  inst.id = call.id;
  inst.parent = call.parent;
  return inst;
}

/** A strict comparison as the comparison that it is, and whether it signals; null for all else. */
export function strictCompare(value: Value): { compare: InstWith<Op.FCmp>; signals: boolean } | null {
  if (value.valueKind !== "inst" || value.op !== Op.Call || value.type.bits !== 1) return null;
  const intrinsic = intrinsicOf(value.operands[0]!);
  const [kind, predicate] = (intrinsic === null ? null : strictName(intrinsic))?.split(".") ?? [];
  if (predicate === undefined) return null;
  const compare = plainInst(value, Op.FCmp, predicate as FloatPredicate) as InstWith<Op.FCmp>;
  return { compare, signals: kind === "fcmps" };
}

/**
 * A strict comparison that may be made at the instruction being lowered, its only user: nothing in between looks at flags
 * or the rounding mode. The comparison itself may have begun an epoch.
 */
export function isStillDue(s: FunctionSelection, call: InstWith<Op.Call>): boolean {
  if (
    !s.optimize ||
    s.values.uses[call.id] !== 1 ||
    s.values.vregs[call.id]! >= 0 ||
    call.parent !== s.at.parent
  )
    return false;
  if (strictCompare(call) === null) return false;
  const own = intrinsicOf(call.operands[0]!)!.removable ? 0 : 1;
  return s.values.epochs[s.at.id] === s.values.epochs[call.id]! + own;
}
