/**
 * Calls of floating-point intrinsics on constant scalars: those whose result is exact or correctly rounded. What
 * libraries compute approximately (`sin`, `exp`, …) is theirs.
 */

import { Op } from "../instructions.js";
import type { Type } from "../types.js";
import { type Constant, ConstFloat, constBool, constInt } from "../values.js";
import {
  copySign,
  type FloatFormat,
  floatAbsolute,
  floatBinary,
  floatFma,
  floatFormat,
  floatRound,
  floatSqrt,
  fromNumber,
  isNaNBits,
  isSignalingBits,
  isSubnormalBits,
  propagatedNaN,
  toInteger,
  toNumber,
} from "./floats.js";
import { largest, smallest } from "./integers.js";
import { type FloatMode, floatResult, isPoison, poisonOf } from "./scalars.js";

/** Of one operand. */
function unary(name: string, f: FloatFormat, a: bigint): bigint | null {
  switch (name) {
    case "floor":
    case "ceil":
    case "trunc":
    case "round":
    case "roundeven":
      return floatRound(f, a, name);
    case "rint":
    case "nearbyint":
      // In the default environment, which is all that calls of these two promise.
      return floatRound(f, a, "roundeven");
    case "sqrt":
      return toNumber(f, a) < 0 ? null : floatSqrt(f, a);
    default:
      return null;
  }
}

/** Of two operands. Zeros are ordered by their signs, which every one of these permits. */
function extremum(name: string, f: FloatFormat, a: bigint, b: bigint): bigint | null {
  const least = name.startsWith("min");
  const propagates = name === "minimum" || name === "maximum";
  const [nanA, nanB] = [isNaNBits(f, a), isNaNBits(f, b)];
  if (nanA || nanB) {
    if (propagates || (nanA && nanB)) return propagatedNaN(f, a, b);
    const isNumber = name === "minimumnum" || name === "maximumnum";
    if (!isNumber && (isSignalingBits(f, a) || isSignalingBits(f, b))) return null;
    return nanA ? b : a;
  }
  const [x, y] = [toNumber(f, a), toNumber(f, b)];
  if (x === 0 && y === 0) return Object.is(x, -0) === least ? a : b;
  return x < y === least ? a : b;
}
const extrema = new Set(["minnum", "maxnum", "minimum", "maximum", "minimumnum", "maximumnum"]);

const known =
  /^(floor|ceil|trunc|round|roundeven|rint|nearbyint|sqrt|fabs|copysign|fma|fmuladd|(min|max)(num|imum|imumnum)|fpto[su]i\.sat|is\.fpclass|canonicalize)$/;

export function foldFloatIntrinsic(
  name: string,
  type: Type,
  args: readonly Constant[],
  mode: FloatMode,
): Constant | null {
  if (!known.test(name)) return null;
  if (args.some(isPoison)) return poisonOf(type);
  const [a, b, c] = args;
  if (a?.valueKind !== "float") return null;
  const f = floatFormat(a.type.kind);
  if (f === undefined) return null;
  const bits = args.map((arg) => (arg.valueKind === "float" ? arg.bits : 0n));
  // What only moves bits is the same whatever subnormal numbers mean.
  if (name === "fabs") return new ConstFloat(type, floatAbsolute(f.bits, a.bits));
  if (name === "copysign")
    return b?.valueKind === "float" ? new ConstFloat(type, copySign(f.bits, a.bits, b.bits)) : null;
  if (name === "is.fpclass")
    return b?.valueKind === "int" ? constBool((classOf(f, a.bits) & b.num) !== 0) : null;
  if (!mode.subnormals && bits.some((x) => isSubnormalBits(f, x))) return null;
  if (name === "fptosi.sat" || name === "fptoui.sat")
    return saturated(name === "fptosi.sat", f, a.bits, type);
  if (extrema.has(name)) {
    if (b?.valueKind !== "float") return null;
    return floatResult(type, extremum(name, f, a.bits, b.bits), mode);
  }
  if (name === "fma" || name === "fmuladd") {
    if (b?.valueKind !== "float" || c?.valueKind !== "float") return null;
    // Whether `fmuladd` rounds twice is the target's choice: folded where both ways agree.
    const once = floatFma(f, a.bits, b.bits, c.bits);
    const twice = floatBinary(Op.FAdd, f, floatBinary(Op.FMul, f, a.bits, b.bits)!, c.bits);
    return name === "fma" || once === twice ? floatResult(type, once, mode) : null;
  }
  if (name === "canonicalize") return isNaNBits(f, a.bits) ? null : a;
  return floatResult(type, unary(name, f, a.bits), mode);
}

function saturated(isSigned: boolean, f: FloatFormat, a: bigint, type: Type): Constant {
  if (isNaNBits(f, a)) return constInt(type, 0);
  const least = isSigned ? smallest(type.bits) : 0n;
  const most = isSigned ? largest(type.bits) : (1n << BigInt(type.bits)) - 1n;
  const n = toInteger(f, a) ?? (toNumber(f, a) < 0 ? least : most);
  return constInt(type, n < least ? least : n > most ? most : n);
}

/** Bit of `llvm.is.fpclass` for a number. */
function classOf(f: FloatFormat, bits: bigint): number {
  const value = toNumber(f, bits);
  if (Number.isNaN(value)) return isSignalingBits(f, bits) ? 1 : 2;
  const negative = fromNumber(f, value) >> BigInt(f.bits - 1) === 1n;
  if (!Number.isFinite(value)) return negative ? 4 : 512;
  if (value === 0) return negative ? 32 : 64;
  if (isSubnormalBits(f, bits)) return negative ? 16 : 128;
  return negative ? 8 : 256;
}
