/**
 * Floating-point operations that the machine has not: half and bfloat through float, fp128 by libgcc's
 * soft-float routines, remainder and the orderings of minimum and maximum.
 *
 * half and bfloat round after every operation, as LangRef asks; float holds their sums, products, quotients
 * and square roots with enough spare bits that rounding twice is harmless.
 */
import { type BinaryOp, Flag, type FloatPredicate, Op } from "../../ir/instructions.js";
import { Strictness } from "../../ir/strict-float.js";
import { floatType, fp80Type, i16, i32, type Type } from "../../ir/types.js";
import { ConstFloat, constBool, constI32, constInt, type Value, zeroOf } from "../../ir/values.js";
import { fromBits, toBits } from "./bits.js";
import type { Lowering, Parts } from "./lowering.js";

export const isSmallFloat = (type: Type): boolean => type.kind === "half" || type.kind === "bfloat";
const isMachineFloat = (type: Type): boolean =>
  type.kind === "float" || type.kind === "double" || type.kind === "x86_fp80";

/** Suffix of intrinsic names: f32, f64, f80, … */
export function floatSuffix(type: Type): string {
  switch (type.kind) {
    case "half":
      return "f16";
    case "bfloat":
      return "bf16";
    case "float":
      return "f32";
    case "double":
      return "f64";
    case "x86_fp80":
      return "f80";
    default:
      return "f128";
  }
}
/** libgcc's mode suffix: sf, df, xf, tf, hf. */
export function modeSuffix(type: Type): string {
  switch (type.kind) {
    case "half":
      return "hf";
    case "float":
      return "sf";
    case "double":
      return "df";
    case "x86_fp80":
      return "xf";
    default:
      return "tf";
  }
}

/** A call of a libm function in the variant for `type`; half and bfloat go through float. */
export function mathCall(l: Lowering, name: string, type: Type, args: readonly Value[]): Value {
  if (isSmallFloat(type)) {
    const wide = args.map((a) => (a.type === type ? floatConvert(l, type, floatType, a) : a));
    return floatConvert(l, floatType, type, mathCall(l, name, floatType, wide));
  }
  const suffix =
    type.kind === "float" ? "f" : type.kind === "double" ? "" : type.kind === "x86_fp80" ? "l" : "f128";
  return l.library(name + suffix, type, args);
}

export function floatBinary(l: Lowering, op: BinaryOp, type: Type, a: Parts, b: Parts, flags: number): Parts {
  const x = a[0]!;
  const y = b[0]!;
  if (isSmallFloat(type)) {
    const wide = floatBinary(
      l,
      op,
      floatType,
      [floatConvert(l, type, floatType, x)],
      [floatConvert(l, type, floatType, y)],
      flags,
    );
    return [floatConvert(l, floatType, type, wide[0]!)];
  }
  if (op === Op.FRem) return [mathCall(l, "fmod", type, [x, y])];
  if (isMachineFloat(type)) return [l.bin(op, x, y, flags)];
  if (type.kind !== "fp128") throw l.unsupported(`arithmetic on ${type}`);
  const name =
    op === Op.FAdd ? "__addtf3" : op === Op.FSub ? "__subtf3" : op === Op.FMul ? "__multf3" : "__divtf3";
  return [l.library(name, type, [x, y])];
}

export function floatNeg(l: Lowering, type: Type, a: Parts, flags = 0): Parts {
  if (isMachineFloat(type)) {
    const neg = l.fneg(a[0]!, flags);
    return [neg];
  }
  return onTopBits(l, type, a, (top, sign) => l.xor(top, sign));
}
export function floatAbs(l: Lowering, type: Type, a: Parts): Parts {
  if (isMachineFloat(type)) return [l.intrinsic(`llvm.fabs.${floatSuffix(type)}`, type, [a[0]!])];
  return onTopBits(l, type, a, (top, sign) => l.and(top, l.not(sign)));
}
export function copySign(l: Lowering, type: Type, a: Parts, b: Parts): Parts {
  if (isMachineFloat(type)) return [l.intrinsic(`llvm.copysign.${floatSuffix(type)}`, type, [a[0]!, b[0]!])];
  const from = toBits(l, type, b);
  return onTopBits(l, type, a, (top, sign) =>
    l.or(l.and(top, l.not(sign)), l.and(from[from.length - 1]!, sign)),
  );
}

/** Applies a function of (word with the sign bit, mask of the sign bit) to a float's bits. */
function onTopBits(l: Lowering, type: Type, a: Parts, f: (top: Value, sign: Value) => Value): Parts {
  const bits = toBits(l, type, a);
  const top = bits[bits.length - 1]!;
  const position = (l.layout.bitWidth(type) - 1) % 64;
  const changed = f(top, constInt(top.type, 1n << BigInt(position)));
  return fromBits(l, type, [...bits.slice(0, -1), changed]);
}

/** Comparison; an i1. @param signals where flags matter: quiet NaNs raise one, too */
export function floatCompare(
  l: Lowering,
  predicate: FloatPredicate,
  type: Type,
  a: Parts,
  b: Parts,
  signals = false,
): Value {
  if (isMachineFloat(type)) return l.fcmp(predicate, a[0]!, b[0]!, signals);
  if (isSmallFloat(type))
    return l.fcmp(
      predicate,
      floatConvert(l, type, floatType, a[0]!),
      floatConvert(l, type, floatType, b[0]!),
      signals,
    );
  return l.strictness === Strictness.None
    ? quadCompare(l, predicate, a[0]!, b[0]!)
    : strictQuadCompare(l, predicate, a[0]!, b[0]!, signals);
}

/** Those of the routines that raise a flag for quiet NaNs: of equality and order alone raise it for signaling ones only. */
const isSignaling = (predicate: FloatPredicate): boolean => /^[ou][gl][te]$/.test(predicate);

/** fp128 comparisons that raise the invalid flag for quiet NaNs exactly if they are to. */
function strictQuadCompare(
  l: Lowering,
  predicate: FloatPredicate,
  a: Value,
  b: Value,
  signals: boolean,
): Value {
  if (isSignaling(predicate) === signals) return quadCompare(l, predicate, a, b);
  if (signals) {
    quadCompare(l, "ole", a, b);
    return quadCompare(l, predicate, a, b);
  }
  // NaNs do not get to the routine that orders.
  const unordered = quadCompare(l, "uno", a, b);
  const zero = zeroOf(a.type);
  const ordered = quadCompare(l, predicate, l.select(unordered, zero, a), l.select(unordered, zero, b));
  return predicate.startsWith("u") ? l.or(unordered, ordered) : l.and(l.not(unordered), ordered);
}

/** fp128 comparisons by libgcc: each routine's result against zero is true only if ordered, and vice versa. */
function quadCompare(l: Lowering, predicate: FloatPredicate, a: Value, b: Value): Value {
  const zero = constI32(0);
  const ask = (name: string): Value => l.library(name, i32, [a, b]);
  switch (predicate) {
    case "oeq":
      return l.icmp("eq", ask("__eqtf2"), zero);
    case "une":
      return l.icmp("ne", ask("__netf2"), zero);
    case "olt":
      return l.icmp("slt", ask("__lttf2"), zero);
    case "ole":
      return l.icmp("sle", ask("__letf2"), zero);
    case "ogt":
      return l.icmp("sgt", ask("__gttf2"), zero);
    case "oge":
      return l.icmp("sge", ask("__getf2"), zero);
    case "ult":
      return l.icmp("slt", ask("__getf2"), zero);
    case "ule":
      return l.icmp("sle", ask("__gttf2"), zero);
    case "ugt":
      return l.icmp("sgt", ask("__letf2"), zero);
    case "uge":
      return l.icmp("sge", ask("__lttf2"), zero);
    case "ord":
      return l.icmp("eq", ask("__unordtf2"), zero);
    case "uno":
      return l.icmp("ne", ask("__unordtf2"), zero);
    case "ueq":
      return l.or(l.icmp("ne", ask("__unordtf2"), zero), l.icmp("eq", ask("__eqtf2"), zero));
    case "one":
      return l.and(l.icmp("eq", ask("__unordtf2"), zero), l.icmp("ne", ask("__eqtf2"), zero));
    default:
      return constBool(predicate === "true");
  }
}

/** fpext and fptrunc between any two floating-point types. */
export function floatConvert(l: Lowering, from: Type, to: Type, v: Value): Value {
  if (from === to) return v;
  const widens = l.layout.bitWidth(to) > l.layout.bitWidth(from);
  if (isMachineFloat(from) && isMachineFloat(to)) return l.cast(widens ? Op.FPExt : Op.FPTrunc, v, to);
  if (from.kind === "bfloat") {
    const bits = l.shl(l.cast(Op.ZExt, l.cast(Op.BitCast, v, i16), i32), 16);
    return floatConvert(l, floatType, to, l.cast(Op.BitCast, bits, floatType));
  }
  if (from.kind === "half") {
    const single = l.target.convertHalf(l, v, floatType) ?? l.library("__extendhfsf2", floatType, [v]);
    return floatConvert(l, floatType, to, single);
  }
  if (to.kind === "bfloat") return toBfloat(l, from, to, v);
  const half = to.kind === "half" && from === floatType ? l.target.convertHalf(l, v, to) : null;
  if (half !== null) return half;
  const name = `__${widens ? "extend" : "trunc"}${modeSuffix(from)}${modeSuffix(to)}2`;
  return l.library(name, to, [v]);
}

/**
 * Rounds to nearest even by adding just under half a unit of the last kept place, plus one if that place is
 * odd. A wider source is first rounded to odd in float, so that the second rounding sees every lost bit
 * (Boldo & Melquiond, "Emulation of a FMA and correctly rounded sums", 2008).
 */
function toBfloat(l: Lowering, from: Type, to: Type, v: Value): Value {
  const single = floatConvert(l, from, floatType, v);
  let bits = l.cast(Op.BitCast, single, i32);
  if (from.kind !== "float") {
    const back = [floatConvert(l, floatType, from, single)];
    const inexact = floatCompare(l, "one", from, [v], back);
    const isEven = l.icmp("eq", l.and(bits, constI32(1)), constI32(0));
    const below = floatCompare(l, "ogt", from, floatAbs(l, from, [v]), floatAbs(l, from, back));
    const step = l.select(below, constI32(1), constI32(-1));
    bits = l.select(l.and(inexact, isEven), l.add(bits, step), bits);
  }
  const odd = l.and(l.lshr(bits, 16), constI32(1));
  const rounded = l.add(l.add(bits, constI32(0x7fff)), odd);
  const quiet = l.or(bits, constI32(0x400000));
  const chosen = l.select(l.fcmp("uno", single, single), quiet, rounded);
  return l.cast(Op.BitCast, l.cast(Op.Trunc, l.lshr(chosen, 16), i16), to);
}

/** ±2^exponent, or infinity past the type's range. */
export function powerOfTwo(type: Type, exponent: number, negative = false): ConstFloat {
  const [exponentBits, mantissaBits] =
    type.kind === "float" ? [8, 23] : type.kind === "double" ? [11, 52] : [15, type === fp80Type ? 64 : 112];
  const bias = (1 << (exponentBits - 1)) - 1;
  const biased = Math.min(exponent + bias, 2 * bias + 1);
  let bits = BigInt(biased) << BigInt(mantissaBits);
  if (type === fp80Type) bits |= 1n << 63n;
  if (negative) bits |= 1n << BigInt(exponentBits + mantissaBits);
  return new ConstFloat(type, bits);
}

/**
 * The six minima and maxima of LangRef: `minnum`, `maxnum` ignore a NaN, `minimum`, `maximum` return it
 * and order the zeros, `minimumnum`, `maximumnum` ignore it and order the zeros.
 */
export function floatMinMax(l: Lowering, kind: string, type: Type, a: Parts, b: Parts, flags: number): Parts {
  if (isSmallFloat(type)) {
    const wide = (p: Parts): Parts => [floatConvert(l, type, floatType, p[0]!)];
    const result = floatMinMax(l, kind, floatType, wide(a), wide(b), flags);
    return [floatConvert(l, floatType, type, result[0]!)];
  }
  const x = a[0]!;
  const y = b[0]!;
  const isMax = kind.startsWith("max");
  let result = l.select(floatCompare(l, isMax ? "ogt" : "olt", type, a, b), x, y);
  if (!kind.endsWith("mum") && kind.length === 6) {
    // minnum, maxnum: the comparison fails for any NaN and picks y, right unless y is the NaN.
    if ((flags & Flag.NoNaNs) === 0) result = l.select(floatCompare(l, "uno", type, b, b), x, result);
    return [result];
  }
  if ((flags & Flag.NoSignedZeros) === 0) {
    // Equal operands differ at most in the sign of zero; +0 + -0 is +0.
    const zero = zeroOf(type);
    const sum = isMax
      ? floatBinary(l, Op.FAdd, type, a, b, 0)
      : floatNeg(l, type, floatBinary(l, Op.FAdd, type, floatNeg(l, type, a), floatNeg(l, type, b), 0));
    const bothZero = l.and(floatCompare(l, "oeq", type, a, b), floatCompare(l, "oeq", type, a, [zero]));
    result = l.select(bothZero, sum[0]!, result);
  }
  if ((flags & Flag.NoNaNs) !== 0) return [result];
  if (kind.endsWith("num")) return [l.select(floatCompare(l, "uno", type, b, b), x, result)];
  const nan = floatBinary(l, Op.FAdd, type, a, b, 0);
  return [l.select(floatCompare(l, "uno", type, a, b), nan[0]!, result)];
}
