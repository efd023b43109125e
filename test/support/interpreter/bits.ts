/**
 * Scalars of the test interpreter as their bits: an unsigned bigint of the type's width, or null for poison.
 *
 * Exact for integers of any width, half, bfloat, float and double (double arithmetic rounded once to float is
 * correctly rounded; half and bfloat go through float as the legaliser's do). x86_fp80 and fp128 are not here.
 */
import type { IntegerRange } from "../../../lto/ir/attributes.js";
import type { Type } from "../../../lto/ir/types.js";

export type Scalar = bigint | null;

const view = new DataView(new ArrayBuffer(8));

export const mask = (width: number): bigint => (1n << BigInt(width)) - 1n;
export const signed = (bits: bigint, width: number): bigint => BigInt.asIntN(width, bits);
export const wrap = (value: bigint, width: number): bigint => BigInt.asUintN(width, value);

export function bitWidth(type: Type): number {
  switch (type.kind) {
    case "int":
      return type.bits;
    case "ptr":
    case "double":
      return 64;
    case "float":
      return 32;
    case "half":
    case "bfloat":
      return 16;
    case "vector":
      return type.count * bitWidth(type.element);
    default:
      throw new Error(`interpreter: width of ${type}`);
  }
}

export function toNumber(type: Type, bits: bigint): number {
  switch (type.kind) {
    case "double":
      view.setBigUint64(0, bits);
      return view.getFloat64(0);
    case "float":
      view.setUint32(0, Number(bits));
      return view.getFloat32(0);
    case "bfloat":
      view.setUint32(0, Number(bits) * 65536);
      return view.getFloat32(0);
    case "half": {
      const n = Number(bits);
      const fraction = n & 0x3ff;
      const exponent = (n >> 10) & 31;
      const sign = n & 0x8000 ? -1 : 1;
      if (exponent === 31) return fraction === 0 ? sign * Number.POSITIVE_INFINITY : Number.NaN;
      if (exponent === 0) return sign * fraction * 2 ** -24;
      return sign * (1024 + fraction) * 2 ** (exponent - 25);
    }
    default:
      throw new Error(`interpreter: number of ${type}`);
  }
}

/** Rounds to the type; every NaN becomes the same one. */
export function fromNumber(type: Type, value: number): bigint {
  switch (type.kind) {
    case "double":
      view.setFloat64(0, value);
      return Number.isNaN(value) ? 0x7ff8000000000000n : view.getBigUint64(0);
    case "float":
      view.setFloat32(0, value);
      return Number.isNaN(value) ? 0x7fc00000n : BigInt(view.getUint32(0));
    case "bfloat":
      return Number.isNaN(value) ? 0x7fc0n : roundTo(value, 8, 127);
    case "half":
      return Number.isNaN(value) ? 0x7e00n : roundTo(value, 11, 15);
    default:
      throw new Error(`interpreter: bits of ${type}`);
  }
}

/** A 16-bit format with `precision` significant bits, rounding to nearest even. */
function roundTo(value: number, precision: number, bias: number): bigint {
  const sign = value < 0 || Object.is(value, -0) ? 0x8000n : 0n;
  const magnitude = Math.abs(value);
  const fractionBits = precision - 1;
  const infinity = BigInt((2 * bias + 1) * 2 ** fractionBits);
  if (magnitude === Number.POSITIVE_INFINITY) return sign | infinity;
  if (magnitude === 0) return sign;
  view.setFloat64(0, magnitude);
  const exponent = Math.max((view.getUint32(0) >>> 20) - 1023, 1 - bias);
  // An integer count of units in the last place; the division by a power of two is exact.
  const units = magnitude / 2 ** (exponent - fractionBits);
  let rounded = Math.floor(units);
  const rest = units - rounded;
  if (rest > 0.5 || (rest === 0.5 && rounded % 2 === 1)) rounded++;
  // Overflow into the next binade, or out of the subnormals, carries by itself.
  const encoded = BigInt(rounded) + BigInt(exponent + bias - 1) * (1n << BigInt(fractionBits));
  return sign | (encoded > infinity ? infinity : encoded);
}

/** Bits of a float with all NaNs made one, so that results can be compared. */
export const canonical = (type: Type, bits: bigint): bigint => {
  if (!type.isFloat) return bits;
  return Number.isNaN(toNumber(type, bits)) ? fromNumber(type, Number.NaN) : bits;
};

/** What unknown code gives where it is said to be in a range: some number there. */
export function inRange<Value>(value: Value, range: IntegerRange | undefined): Value | bigint {
  if (range === undefined || typeof value !== "bigint") return value;
  const { bits } = range.type;
  return wrap(range.from + (value % wrap(range.to - range.from, bits)), bits);
}
