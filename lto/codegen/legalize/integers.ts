/**
 * Integer operations of any width, on parts.
 *
 * Up to 64 bits a value is one machine integer of the next legal width whose upper bits are undefined, and
 * each operation extends the operands whose upper bits it would see. i1 has only bitwise operations. Above
 * 64 bits see wide.ts.
 */
import { type BinaryOp, Flag, type IntPredicate, Op } from "../../ir/instructions.js";
import { i64 } from "../../ir/types.js";
import { constBool, constI64, constInt, type Value } from "../../ir/values.js";
import { promotedInt } from "./emitter.js";
import { extended, extendedParts, signExtended, zeroExtended } from "./extension.js";
import type { Lowering, Parts } from "./lowering.js";
import { wideBinary, wideCompare } from "./wide.js";

/** add … xor on integers of `width` bits. `flags` are those of the instruction. */
export function intBinary(l: Lowering, op: BinaryOp, width: number, a: Parts, b: Parts, flags = 0): Parts {
  if (width > 64) return wideBinary(l, op, width, a, b);
  if (width === 1) return [boolBinary(l, op, a[0]!, b[0]!)];
  return [narrowBinary(l, op, width, a[0]!, b[0]!, flags)];
}

function narrowBinary(l: Lowering, op: BinaryOp, width: number, a: Value, b: Value, flags: number): Value {
  if (a.type.bits === width) return l.bin(op, a, b, flags);
  switch (op) {
    case Op.Shl:
      return l.bin(op, a, zeroExtended(l, b, width));
    case Op.LShr:
    case Op.UDiv:
    case Op.URem:
      return l.bin(op, zeroExtended(l, a, width), zeroExtended(l, b, width));
    case Op.AShr:
      return l.bin(op, signExtended(l, a, width), zeroExtended(l, b, width));
    case Op.SDiv:
    case Op.SRem:
      return l.bin(op, signExtended(l, a, width), signExtended(l, b, width));
    default:
      return l.bin(op, a, b, flags & Flag.Disjoint);
  }
}

/** Arithmetic on i1, by LangRef's rules for wrapping; shifts by 1 and divisions by 0 are undefined. */
function boolBinary(l: Lowering, op: BinaryOp, a: Value, b: Value): Value {
  switch (op) {
    case Op.Add:
    case Op.Sub:
    case Op.Xor:
      return l.xor(a, b);
    case Op.Mul:
    case Op.And:
      return l.and(a, b);
    case Op.Or:
      return l.or(a, b);
    case Op.URem:
    case Op.SRem:
      return constBool(false);
    default:
      return a;
  }
}

/** Comparison of integers of `width` bits; an i1. */
export function intCompare(l: Lowering, predicate: IntPredicate, width: number, a: Parts, b: Parts): Value {
  if (width > 64) return wideCompare(l, predicate, width, a, b);
  const x = a[0]!;
  const y = b[0]!;
  if (width === 1) return boolCompare(l, predicate, x, y);
  const signed = predicate[0] === "s";
  return l.icmp(predicate, extended(l, x, width, signed), extended(l, y, width, signed));
}

function boolCompare(l: Lowering, predicate: IntPredicate, a: Value, b: Value): Value {
  switch (predicate) {
    case "eq":
      return l.not(l.xor(a, b));
    case "ne":
      return l.xor(a, b);
    // As signed numbers the set bit is -1, so the signed order is the unsigned one reversed.
    case "ugt":
    case "slt":
      return l.and(a, l.not(b));
    case "ult":
    case "sgt":
      return l.and(l.not(a), b);
    case "uge":
    case "sle":
      return l.or(a, l.not(b));
    default:
      return l.or(l.not(a), b);
  }
}

/** Conversion between integer widths. */
export function intResize(l: Lowering, from: number, to: number, parts: Parts, signed: boolean): Parts {
  if (to < from) return truncated(l, to, parts);
  const source = extendedParts(l, parts, from, signed);
  const op = signed ? Op.SExt : Op.ZExt;
  if (to <= 64) return [l.cast(op, source[0]!, promotedInt(to))];
  const words: Value[] = from <= 64 ? [l.cast(op, source[0]!, i64)] : [...source];
  const count = Math.ceil(to / 64);
  if (words.length < count) {
    const fill = signed ? l.ashr(words[words.length - 1]!, 63) : constI64(0);
    while (words.length < count) words.push(fill);
  }
  return words;
}

function truncated(l: Lowering, to: number, parts: Parts): Parts {
  if (to > 64) return parts.slice(0, Math.ceil(to / 64));
  return [l.cast(Op.Trunc, parts[0]!, promotedInt(to))];
}

/** A promoted or wide integer as one i64 (low bits; defined up to `width`, extended as asked). */
export function asWord(l: Lowering, width: number, parts: Parts, signed: boolean): Value {
  if (width >= 64) return parts[0]!;
  return l.cast(signed ? Op.SExt : Op.ZExt, extended(l, parts[0]!, width, signed), i64);
}

export function selectParts(l: Lowering, condition: Value, a: Parts, b: Parts): Parts {
  return a.map((x, i) => l.select(condition, x, b[i]!));
}

/** The constant `value` as parts of an integer of `width` bits. */
export function intConstant(width: number, value: bigint): Parts {
  if (width <= 64) return [constInt(promotedInt(width), BigInt.asUintN(width, value))];
  const words: Value[] = [];
  for (let at = 0; at < width; at += 64) words.push(constI64(BigInt.asIntN(64, value >> BigInt(at))));
  return words;
}

/** The sign as an i1. */
export function isNegative(l: Lowering, width: number, parts: Parts): Value {
  const top = parts[parts.length - 1]!;
  const bit = (width - 1) % 64;
  if (width === 1) return top;
  const used = bit + 1;
  if (used === top.type.bits) return l.icmp("slt", top, constInt(top.type, 0));
  return l.icmp("ne", l.and(top, constInt(top.type, 1n << BigInt(bit))), constInt(top.type, 0));
}

export function isZero(l: Lowering, width: number, parts: Parts): Value {
  return intCompare(l, "eq", width, parts, intConstant(width, 0n));
}
