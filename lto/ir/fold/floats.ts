/**
 * Floating-point arithmetic of the IR on bit patterns: half, bfloat, float and double, with IEEE 754's default
 * rounding, to nearest, ties to even. Other formats are refused (null).
 *
 * A number of any of the formats is a JavaScript number exactly. Addition, subtraction, multiplication, division and
 * square root are done in double and rounded once more: for formats of p ≤ 24 bits that equals rounding once, since
 * double has at least 2p + 2 bits (Figueroa, "When is double rounding innocuous?", 1995), also for subnormal results.
 * Remainders are exact. `fma` and conversions of integers work on bigints and round once.
 *
 * NaN: the first NaN operand, made quiet; a new one is the format's default with positive sign, as in LLVM's folder.
 */
import { type FloatPredicate, Op } from "../instructions.js";
import type { TypeKind } from "../types.js";

export interface FloatFormat {
  readonly bits: number;
  /** Bits of the fraction field. */
  readonly fraction: number;
  readonly exponentBits: number;
}

const formats: { readonly [kind in TypeKind]?: FloatFormat } = {
  half: { bits: 16, fraction: 10, exponentBits: 5 },
  bfloat: { bits: 16, fraction: 7, exponentBits: 8 },
  float: { bits: 32, fraction: 23, exponentBits: 8 },
  double: { bits: 64, fraction: 52, exponentBits: 11 },
};
/** The format of a type of which arithmetic is known here, or undefined. */
export const floatFormat = (kind: TypeKind): FloatFormat | undefined => formats[kind];

const view = new DataView(new ArrayBuffer(8));

const exponentMask = (f: FloatFormat): bigint => ((1n << BigInt(f.exponentBits)) - 1n) << BigInt(f.fraction);
const fractionMask = (f: FloatFormat): bigint => (1n << BigInt(f.fraction)) - 1n;
const signBit = (f: FloatFormat): bigint => 1n << BigInt(f.bits - 1);
const quietBit = (f: FloatFormat): bigint => 1n << BigInt(f.fraction - 1);

export const isNaNBits = (f: FloatFormat, bits: bigint): boolean =>
  (bits & exponentMask(f)) === exponentMask(f) && (bits & fractionMask(f)) !== 0n;
export const isSignalingBits = (f: FloatFormat, bits: bigint): boolean =>
  isNaNBits(f, bits) && (bits & quietBit(f)) === 0n;
export const isSubnormalBits = (f: FloatFormat, bits: bigint): boolean =>
  (bits & exponentMask(f)) === 0n && (bits & fractionMask(f)) !== 0n;
export const defaultNaN = (f: FloatFormat): bigint => exponentMask(f) | quietBit(f);
const quieted = (f: FloatFormat, bits: bigint): bigint => bits | quietBit(f);

/** The value of a bit pattern. NaN loses its payload. */
export function toNumber(f: FloatFormat, bits: bigint): number {
  if (f.bits === 64) {
    view.setBigUint64(0, bits);
    return view.getFloat64(0);
  }
  if (f.bits === 32) {
    view.setUint32(0, Number(bits));
    return view.getFloat32(0);
  }
  const fraction = Number(bits & fractionMask(f));
  const exponent = Number((bits & exponentMask(f)) >> BigInt(f.fraction));
  const sign = (bits & signBit(f)) !== 0n ? -1 : 1;
  const bias = 2 ** (f.exponentBits - 1) - 1;
  if (exponent === 2 ** f.exponentBits - 1)
    return fraction === 0 ? sign * Number.POSITIVE_INFINITY : Number.NaN;
  if (exponent === 0) return sign * fraction * 2 ** (1 - bias - f.fraction);
  return sign * (1 + fraction / 2 ** f.fraction) * 2 ** (exponent - bias);
}

/** The bit pattern of a number rounded to a format. */
export function fromNumber(f: FloatFormat, value: number): bigint {
  if (Number.isNaN(value)) return defaultNaN(f);
  if (f.bits === 64) {
    view.setFloat64(0, value);
    return view.getBigUint64(0);
  }
  if (f.bits === 32) {
    view.setFloat32(0, value);
    return BigInt(view.getUint32(0));
  }
  const sign = value < 0 || Object.is(value, -0);
  if (!Number.isFinite(value)) return exponentMask(f) | (sign ? signBit(f) : 0n);
  const { mantissa, exponent } = split(Math.abs(value));
  return fromScaled(f, sign, mantissa, exponent);
}

/** A finite number as mantissa · 2^exponent. */
function split(value: number): { mantissa: bigint; exponent: number } {
  view.setFloat64(0, value);
  const bits = view.getBigUint64(0);
  const field = Number((bits >> 52n) & 0x7ffn);
  const fraction = bits & 0xfffffffffffffn;
  const mantissa = field === 0 ? fraction : fraction | (1n << 52n);
  return { mantissa: value < 0 ? -mantissa : mantissa, exponent: Math.max(field, 1) - 1075 };
}

/** mantissa · 2^exponent, rounded once; the mantissa is not negative. */
function fromScaled(f: FloatFormat, sign: boolean, mantissa: bigint, exponent: number): bigint {
  const signed = sign ? signBit(f) : 0n;
  if (mantissa === 0n) return signed;
  const bias = 2 ** (f.exponentBits - 1) - 1;
  const length = mantissa.toString(2).length;
  // The lowest exponent of the last place.
  const least = 1 - bias - f.fraction;
  const last = Math.max(exponent + length - 1 - f.fraction, least);
  const shift = last - exponent;
  let rounded: bigint;
  if (shift <= 0) rounded = mantissa << BigInt(-shift);
  else {
    const by = BigInt(shift);
    rounded = mantissa >> by;
    const rest = mantissa - (rounded << by);
    const half = 1n << (by - 1n);
    if (rest > half || (rest === half && (rounded & 1n) === 1n)) rounded++;
  }
  let place = last;
  if (rounded === 1n << BigInt(f.fraction + 1)) {
    rounded >>= 1n;
    place++;
  }
  if (rounded < 1n << BigInt(f.fraction)) return signed | rounded;
  const field = place - least + 1;
  if (field >= 2 ** f.exponentBits - 1) return signed | exponentMask(f);
  return signed | (BigInt(field) << BigInt(f.fraction)) | (rounded & fractionMask(f));
}

/** The first NaN among the operands, made quiet; null if there is none. */
export function propagatedNaN(f: FloatFormat, ...operands: bigint[]): bigint | null {
  for (const bits of operands) if (isNaNBits(f, bits)) return quieted(f, bits);
  return null;
}

export function floatBinary(op: Op, f: FloatFormat, a: bigint, b: bigint): bigint | null {
  const nan = propagatedNaN(f, a, b);
  if (nan !== null) return nan;
  const [x, y] = [toNumber(f, a), toNumber(f, b)];
  switch (op) {
    case Op.FAdd:
      return fromNumber(f, x + y);
    case Op.FSub:
      return fromNumber(f, x - y);
    case Op.FMul:
      return fromNumber(f, x * y);
    case Op.FDiv:
      return fromNumber(f, x / y);
    case Op.FRem:
      return fromNumber(f, x % y);
    default:
      return null;
  }
}

/** a · b + c, rounded once. */
export function floatFma(f: FloatFormat, a: bigint, b: bigint, c: bigint): bigint {
  const nan = propagatedNaN(f, a, b, c);
  if (nan !== null) return nan;
  const [x, y, z] = [toNumber(f, a), toNumber(f, b), toNumber(f, c)];
  if (!Number.isFinite(x) || !Number.isFinite(y) || !Number.isFinite(z)) {
    const product = Number.isFinite(x) && Number.isFinite(y) ? 0 : x * y;
    return fromNumber(f, product + z);
  }
  const [p, q, r] = [split(x), split(y), split(z)];
  const product = p.mantissa * q.mantissa;
  const exponent = p.exponent + q.exponent;
  const least = Math.min(exponent, r.exponent);
  const sum = (product << BigInt(exponent - least)) + (r.mantissa << BigInt(r.exponent - least));
  // Signs of zeros are those of the rounded operations.
  if (sum === 0n) return product === 0n ? fromNumber(f, x * y + z) : 0n;
  return fromScaled(f, sum < 0n, sum < 0n ? -sum : sum, least);
}

export function floatSqrt(f: FloatFormat, a: bigint): bigint {
  return propagatedNaN(f, a) ?? fromNumber(f, Math.sqrt(toNumber(f, a)));
}

export function floatCompare(predicate: FloatPredicate, f: FloatFormat, a: bigint, b: bigint): boolean {
  if (predicate === "true") return true;
  if (predicate === "false") return false;
  const [x, y] = [toNumber(f, a), toNumber(f, b)];
  const unordered = Number.isNaN(x) || Number.isNaN(y);
  if (predicate === "ord") return !unordered;
  if (predicate === "uno") return unordered;
  if (unordered) return predicate[0] === "u";
  switch (predicate.slice(1)) {
    case "eq":
      return x === y;
    case "ne":
      return x !== y;
    case "gt":
      return x > y;
    case "ge":
      return x >= y;
    case "lt":
      return x < y;
    default:
      return x <= y;
  }
}
/** Whether a comparison holds when an operand is NaN. */
export const trueWhenUnordered = (predicate: FloatPredicate): boolean =>
  predicate[0] === "u" || predicate === "true";

export const floatNegate = (bits: number, a: bigint): bigint => a ^ (1n << BigInt(bits - 1));
export const floatAbsolute = (bits: number, a: bigint): bigint => BigInt.asUintN(bits - 1, a);
export const copySign = (bits: number, a: bigint, sign: bigint): bigint =>
  floatAbsolute(bits, a) | (sign & (1n << BigInt(bits - 1)));

/** fpext and fptrunc. */
export function convertFloat(from: FloatFormat, to: FloatFormat, a: bigint): bigint {
  if (!isNaNBits(from, a)) return fromNumber(to, toNumber(from, a));
  const sign = (a & signBit(from)) !== 0n ? signBit(to) : 0n;
  const payload = a & fractionMask(from);
  const shift = BigInt(to.fraction - from.fraction);
  return sign | exponentMask(to) | quietBit(to) | (shift >= 0n ? payload << shift : payload >> -shift);
}

/** sitofp and uitofp. */
export function fromInteger(f: FloatFormat, n: bigint): bigint {
  return fromScaled(f, n < 0n, n < 0n ? -n : n, 0);
}

/** The integer part of a number; null for NaN and infinities. */
export function toInteger(f: FloatFormat, a: bigint): bigint | null {
  const value = toNumber(f, a);
  return Number.isFinite(value) ? BigInt(Math.trunc(value)) : null;
}

/** floor, ceil, trunc, round, roundeven: exact in every format. */
export function floatRound(
  f: FloatFormat,
  a: bigint,
  mode: "floor" | "ceil" | "trunc" | "round" | "roundeven",
): bigint {
  return propagatedNaN(f, a) ?? fromNumber(f, roundNumber(toNumber(f, a), mode));
}

function roundNumber(x: number, mode: "floor" | "ceil" | "trunc" | "round" | "roundeven"): number {
  if (mode === "floor" || mode === "ceil" || mode === "trunc") return Math[mode](x);
  const whole = Math.trunc(x);
  const rest = Math.abs(x - whole);
  if (rest < 0.5 || (rest === 0.5 && mode === "roundeven" && whole % 2 === 0)) return whole;
  return whole + Math.sign(x);
}
