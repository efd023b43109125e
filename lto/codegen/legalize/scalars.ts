/** Scalar operations of any type, on parts; vectors use these lane by lane when they have nothing better. */
import {
  type BinaryOp,
  type CastOp,
  type FloatPredicate,
  type IntPredicate,
  makeInst,
  Op,
} from "../../ir/instructions.js";
import type { Type } from "../../ir/types.js";
import type { Value } from "../../ir/values.js";
import { bitCast } from "./bits.js";
import { floatToInt, intToFloat, intToPointer, pointerToInt } from "./conversions.js";
import { floatBinary, floatCompare, floatConvert } from "./floats.js";
import { intBinary, intCompare, intResize } from "./integers.js";
import type { Lowering, Parts } from "./lowering.js";

export function scalarBinary(
  l: Lowering,
  op: BinaryOp,
  type: Type,
  a: Parts,
  b: Parts,
  flags: number,
): Parts {
  return type.kind === "int"
    ? intBinary(l, op, type.bits, a, b, flags)
    : floatBinary(l, op, type, a, b, flags);
}

export function scalarCompare(
  l: Lowering,
  predicate: IntPredicate | FloatPredicate,
  type: Type,
  a: Parts,
  b: Parts,
): Value {
  if (type.kind === "int") return intCompare(l, predicate as IntPredicate, type.bits, a, b);
  if (type.kind === "ptr") return l.icmp(predicate as IntPredicate, a[0]!, b[0]!);
  return floatCompare(l, predicate as FloatPredicate, type, a, b);
}

export function scalarCast(l: Lowering, op: CastOp, from: Type, to: Type, parts: Parts): Parts {
  switch (op) {
    case Op.Trunc:
    case Op.ZExt:
      return intResize(l, from.bits, to.bits, parts, false);
    case Op.SExt:
      return intResize(l, from.bits, to.bits, parts, true);
    case Op.FPTrunc:
    case Op.FPExt:
      return [floatConvert(l, from, to, parts[0]!)];
    case Op.FPToUI:
    case Op.FPToSI:
      return floatToInt(l, from, parts[0]!, to.bits, op === Op.FPToSI);
    case Op.UIToFP:
    case Op.SIToFP:
      return [intToFloat(l, from.bits, parts, op === Op.SIToFP, to)];
    case Op.PtrToInt:
      return pointerToInt(l, parts[0]!, to.bits);
    case Op.IntToPtr:
      return [intToPointer(l, from.bits, parts, to)];
    case Op.AddrSpaceCast:
      return from === to ? parts : [l.push(makeInst(op, to, [parts[0]!], null))];
    default:
      return bitCast(l, from, to, parts);
  }
}
