/**
 * Operations on constants that are no vectors, addresses apart: what LLVM's constant folder says of them, including
 * undef and poison (`lib/IR/ConstantFold.cpp` as the reference for which value is picked where several may be).
 *
 * Everything returns null where there is nothing to fold or the operation is undefined behaviour.
 */
import {
  type BinaryOp,
  type CastOp,
  Flag,
  type FloatPredicate,
  type IntPredicate,
  Op,
} from "../instructions.js";
import type { Type } from "../types.js";
import {
  type Constant,
  ConstFloat,
  type ConstInt,
  ConstUndef,
  constBool,
  constInt,
  sameConstant,
  zeroOf,
} from "../values.js";
import {
  convertFloat,
  defaultNaN,
  floatBinary,
  floatCompare,
  floatFormat,
  floatNegate,
  fromInteger,
  isSubnormalBits,
  toInteger,
  trueWhenUnordered,
} from "./floats.js";
import {
  type Folded,
  integerBinary,
  integerCompare,
  largest,
  poison,
  signed,
  smallest,
  trueWhenEqual,
  unsigned,
} from "./integers.js";

export const poisonOf = (type: Type): ConstUndef => new ConstUndef(type, true);
export const undefOf = (type: Type): ConstUndef => new ConstUndef(type, false);
export const isPoison = (c: Constant): boolean => c.valueKind === "undef" && c.poison;
export const isUndef = (c: Constant): boolean => c.valueKind === "undef";

function integerResult(type: Type, result: Folded): Constant | null {
  if (result === null) return null;
  return result === poison ? poisonOf(type) : constInt(type, result);
}

/** Whether subnormal numbers are what IEEE 754 says, and not zeros (`denormal-fp-math`). */
export interface FloatMode {
  readonly subnormals: boolean;
}

/** A float constant that arithmetic knows, or null. */
function operand(c: Constant, mode: FloatMode): ConstFloat | null {
  if (c.valueKind !== "float") return null;
  const format = floatFormat(c.type.kind);
  if (format === undefined || (!mode.subnormals && isSubnormalBits(format, c.bits))) return null;
  return c;
}
export function floatResult(type: Type, bits: bigint | null, mode: FloatMode): Constant | null {
  if (bits === null) return null;
  if (!mode.subnormals && isSubnormalBits(floatFormat(type.kind)!, bits)) return null;
  return new ConstFloat(type, bits);
}

export function foldBinary(
  op: BinaryOp,
  a: Constant,
  b: Constant,
  flags: number,
  mode: FloatMode,
): Constant | null {
  const { type } = a;
  if (type.kind === "int") {
    if (a.valueKind === "int" && b.valueKind === "int")
      return integerResult(type, integerBinary(op, type.bits, a.value, b.value, flags));
    return isUndef(a) || isUndef(b) ? undefinedInteger(op, a, b) : null;
  }
  if (!type.isFloat) return null;
  if (isPoison(a) || isPoison(b)) return poisonOf(type);
  const format = floatFormat(type.kind);
  if (format === undefined) return null;
  if (isUndef(a) && isUndef(b)) return undefOf(type);
  // Undef may be any number: NaN.
  if (isUndef(a) || isUndef(b)) return new ConstFloat(type, defaultNaN(format));
  const [x, y] = [operand(a, mode), operand(b, mode)];
  return x === null || y === null ? null : floatResult(type, floatBinary(op, format, x.bits, y.bits), mode);
}

function undefinedInteger(op: BinaryOp, a: Constant, b: Constant): Constant | null {
  const { type } = a;
  const divides = op === Op.UDiv || op === Op.SDiv || op === Op.URem || op === Op.SRem;
  // A divisor that may be zero is undefined behaviour.
  if (divides && (isUndef(b) || (b.valueKind === "int" && b.value === 0n))) return null;
  if (isPoison(a) || isPoison(b)) return poisonOf(type);
  const both = isUndef(a) && isUndef(b);
  switch (op) {
    case Op.Add:
    case Op.Sub:
      return undefOf(type);
    case Op.Xor:
      return both ? zeroOf(type) : undefOf(type);
    case Op.And:
      return both ? undefOf(type) : zeroOf(type);
    case Op.Or:
      return both ? undefOf(type) : constInt(type, -1);
    case Op.Mul: {
      const other = isUndef(a) ? b : a;
      return both || (other.valueKind === "int" && (other.value & 1n) === 1n) ? undefOf(type) : zeroOf(type);
    }
    case Op.UDiv:
    case Op.SDiv:
      // An undefined dividend of minus one may overflow.
      if (op === Op.SDiv && b.valueKind === "int" && b.value === -1n) return null;
      return b.valueKind === "int" && b.value === 1n
        ? undefOf(type)
        : b.valueKind === "int"
          ? zeroOf(type)
          : null;
    case Op.URem:
    case Op.SRem:
      if (op === Op.SRem && b.valueKind === "int" && b.value === -1n) return null;
      return b.valueKind === "int" ? zeroOf(type) : null;
    case Op.Shl:
    case Op.LShr:
    case Op.AShr:
      // The amount may be too large.
      if (isUndef(b)) return poisonOf(type);
      if (b.valueKind !== "int") return null;
      if (unsigned(type.bits, b.value) >= BigInt(type.bits)) return poisonOf(type);
      return b.value === 0n ? undefOf(type) : zeroOf(type);
    default:
      return null;
  }
}

export function foldNegate(a: Constant): Constant | null {
  if (isUndef(a)) return a;
  return a.valueKind === "float" ? new ConstFloat(a.type, floatNegate(widthOf(a.type), a.bits)) : null;
}

/** Bits of a floating-point format. */
export function widthOf(type: Type): number {
  switch (type.kind) {
    case "half":
    case "bfloat":
      return 16;
    case "float":
      return 32;
    case "double":
      return 64;
    case "x86_fp80":
      return 80;
    default:
      return 128;
  }
}

export function foldIntegerCompare(
  predicate: IntPredicate,
  resultType: Type,
  a: Constant,
  b: Constant,
  flags: number,
): Constant | null {
  if (isPoison(a) || isPoison(b)) return poisonOf(resultType);
  if (isUndef(a) || isUndef(b)) {
    // Equality can be had either way. For the others undef is the other operand.
    if (predicate === "eq" || predicate === "ne") return undefOf(resultType);
    return constBool(trueWhenEqual(predicate));
  }
  if (a.valueKind !== "int" || b.valueKind !== "int") return null;
  if ((flags & Flag.SameSign) !== 0 && a.value < 0n !== b.value < 0n) return poisonOf(resultType);
  return constBool(integerCompare(predicate, a.type.bits, a.value, b.value));
}

export function foldFloatCompare(
  predicate: FloatPredicate,
  resultType: Type,
  a: Constant,
  b: Constant,
  mode: FloatMode,
): Constant | null {
  if (isPoison(a) || isPoison(b)) return poisonOf(resultType);
  if (predicate === "true" || predicate === "false") return constBool(predicate === "true");
  const format = floatFormat(a.type.kind);
  if (format === undefined) return null;
  // Undef may be NaN.
  if (isUndef(a) || isUndef(b)) return constBool(trueWhenUnordered(predicate));
  const [x, y] = [operand(a, mode), operand(b, mode)];
  return x === null || y === null ? null : constBool(floatCompare(predicate, format, x.bits, y.bits));
}

export function foldSelect(condition: Constant, a: Constant, b: Constant): Constant | null {
  if (isPoison(condition)) return poisonOf(a.type);
  if (condition.valueKind === "int") return condition.value !== 0n ? a : b;
  if (isUndef(condition)) return isUndef(a) ? a : b;
  return sameConstant(a, b) ? a : null;
}

/** Casts of numbers; those between numbers and addresses are in addresses.ts, bit casts in bits.ts. */
export function foldCast(op: CastOp, c: Constant, to: Type, flags: number, mode: FloatMode): Constant | null {
  if (isPoison(c)) return poisonOf(to);
  if (isUndef(c)) return undefinedCast(op, to);
  if (c.valueKind === "int") return castInteger(op, c, to, flags, mode);
  const x = operand(c, mode);
  if (x === null) return null;
  const from = floatFormat(c.type.kind)!;
  switch (op) {
    case Op.FPTrunc:
    case Op.FPExt: {
      const format = floatFormat(to.kind);
      return format === undefined ? null : floatResult(to, convertFloat(from, format, x.bits), mode);
    }
    case Op.FPToSI:
    case Op.FPToUI: {
      const n = toInteger(from, x.bits);
      const fits =
        n !== null &&
        (op === Op.FPToSI
          ? n >= smallest(to.bits) && n <= largest(to.bits)
          : n >= 0n && n === unsigned(to.bits, n));
      return fits ? constInt(to, n) : poisonOf(to);
    }
    default:
      return null;
  }
}

/** Zero where the result cannot be everything that its type holds. */
function undefinedCast(op: CastOp, to: Type): Constant | null {
  switch (op) {
    case Op.ZExt:
    case Op.SExt:
    case Op.UIToFP:
    case Op.SIToFP:
      return zeroOf(to);
    case Op.AddrSpaceCast:
      return null;
    default:
      return undefOf(to);
  }
}

function castInteger(op: CastOp, c: ConstInt, to: Type, flags: number, mode: FloatMode): Constant | null {
  const { bits } = c.type;
  const nonNegative = (flags & Flag.NonNeg) !== 0;
  switch (op) {
    case Op.Trunc: {
      const result = signed(to.bits, c.value);
      if ((flags & Flag.Nsw) !== 0 && result !== c.value) return poisonOf(to);
      if ((flags & Flag.Nuw) !== 0 && unsigned(to.bits, c.value) !== unsigned(bits, c.value))
        return poisonOf(to);
      return constInt(to, result);
    }
    case Op.ZExt:
      return nonNegative && c.value < 0n ? poisonOf(to) : constInt(to, unsigned(bits, c.value));
    case Op.SExt:
      return constInt(to, c.value);
    case Op.UIToFP:
    case Op.SIToFP: {
      const format = floatFormat(to.kind);
      if (format === undefined) return null;
      if (op === Op.UIToFP && nonNegative && c.value < 0n) return poisonOf(to);
      return floatResult(to, fromInteger(format, op === Op.UIToFP ? unsigned(bits, c.value) : c.value), mode);
    }
    default:
      return null;
  }
}
