/** LangRef's semantics of scalar instructions and lane-wise intrinsics, on bits; null is poison. */
import { type CastOp, Op } from "../../../lto/ir/instructions.js";
import type { Type } from "../../../lto/ir/types.js";
import { bitWidth, fromNumber, mask, type Scalar, signed, toNumber, wrap } from "./bits.js";

/** Thrown when the program does something undefined: the run says nothing. */
export class Undefined extends Error {}

export function binary(op: Op, type: Type, a: Scalar, b: Scalar): Scalar {
  const divides = op === Op.UDiv || op === Op.SDiv || op === Op.URem || op === Op.SRem;
  if (divides && (b === null || b === 0n)) throw new Undefined("division");
  if (a === null || b === null) return null;
  return type.isFloat ? floatBinary(op, type, a, b) : intBinary(op, bitWidth(type), a, b);
}

function intBinary(op: Op, w: number, a: bigint, b: bigint): Scalar {
  const sa = signed(a, w);
  const sb = signed(b, w);
  const shift = (f: () => bigint): Scalar => (b >= BigInt(w) ? null : wrap(f(), w));
  switch (op) {
    case Op.Add:
      return wrap(a + b, w);
    case Op.Sub:
      return wrap(a - b, w);
    case Op.Mul:
      return wrap(a * b, w);
    case Op.UDiv:
      return a / b;
    case Op.URem:
      return a % b;
    case Op.SDiv:
    case Op.SRem:
      if (sb === -1n && sa === -(1n << BigInt(w - 1))) throw new Undefined("division overflow");
      return wrap(op === Op.SDiv ? sa / sb : sa % sb, w);
    case Op.Shl:
      return shift(() => a << b);
    case Op.LShr:
      return shift(() => a >> b);
    case Op.AShr:
      return shift(() => sa >> b);
    case Op.And:
      return a & b;
    case Op.Or:
      return a | b;
    case Op.Xor:
      return a ^ b;
    default:
      throw new Error(`interpreter: opcode ${op}`);
  }
}

function floatBinary(op: Op, type: Type, a: bigint, b: bigint): bigint {
  const x = toNumber(type, a);
  const y = toNumber(type, b);
  // half and bfloat: once to float, once more to the type, as their arithmetic is done.
  const round = (v: number): bigint => fromNumber(type, type.kind === "double" ? v : Math.fround(v));
  switch (op) {
    case Op.FAdd:
      return round(x + y);
    case Op.FSub:
      return round(x - y);
    case Op.FMul:
      return round(x * y);
    case Op.FDiv:
      return round(x / y);
    case Op.FRem:
      return round(x % y);
    default:
      throw new Error(`interpreter: opcode ${op}`);
  }
}

export function compare(predicate: string, type: Type, a: Scalar, b: Scalar): Scalar {
  if (a === null || b === null) return null;
  return (type.isFloat ? floatCompare(predicate, type, a, b) : intCompare(predicate, bitWidth(type), a, b))
    ? 1n
    : 0n;
}

export function intCompare(predicate: string, w: number, a: bigint, b: bigint): boolean {
  const isSigned = predicate[0] === "s";
  const x = isSigned ? signed(a, w) : a;
  const y = isSigned ? signed(b, w) : b;
  switch (predicate.length === 3 ? predicate.slice(1) : predicate) {
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

export function floatCompare(predicate: string, type: Type, a: bigint, b: bigint): boolean {
  const x = toNumber(type, a);
  const y = toNumber(type, b);
  const unordered = Number.isNaN(x) || Number.isNaN(y);
  switch (predicate) {
    case "true":
      return true;
    case "false":
      return false;
    case "ord":
      return !unordered;
    case "uno":
      return unordered;
    default:
      break;
  }
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

export function cast(op: CastOp, from: Type, to: Type, a: Scalar): Scalar {
  if (a === null) return null;
  const w = bitWidth(from);
  const t = bitWidth(to);
  switch (op) {
    case Op.Trunc:
    case Op.ZExt:
    case Op.PtrToInt:
    case Op.IntToPtr:
      return wrap(a, t);
    case Op.SExt:
      return wrap(signed(a, w), t);
    case Op.FPExt:
    case Op.FPTrunc:
      return fromNumber(to, toNumber(from, a));
    case Op.UIToFP:
    case Op.SIToFP: {
      const value = op === Op.SIToFP ? signed(a, w) : a;
      return integerToFloat(to, value);
    }
    case Op.FPToUI:
    case Op.FPToSI: {
      const value = Math.trunc(toNumber(from, a));
      if (!Number.isFinite(value)) return null;
      const exact = BigInt(value);
      const bits = wrap(exact, t);
      return (op === Op.FPToSI ? signed(bits, t) : bits) === exact ? bits : null;
    }
    default:
      return a;
  }
}

/** Rounds once to the type: through a sticky bit, so that the step by double is harmless. */
export function integerToFloat(type: Type, value: bigint): bigint {
  if (type.kind === "double") return fromNumber(type, Number(value));
  const negative = value < 0n;
  let magnitude = negative ? -value : value;
  let scale = 1;
  const length = magnitude.toString(2).length;
  if (length > 50) {
    const shift = BigInt(length - 50);
    const sticky = (magnitude & ((1n << shift) - 1n)) === 0n ? 0n : 1n;
    magnitude = (magnitude >> shift) | sticky;
    scale = 2 ** (length - 50);
  }
  const rounded = Math.fround(Number(magnitude) * scale * (negative ? -1 : 1));
  return fromNumber(type, rounded);
}

const bound = (value: bigint, low: bigint, high: bigint): bigint =>
  value < low ? low : value > high ? high : value;

/** Lane-wise integer intrinsics by base name; undefined if unknown. Poison arguments give poison. */
export function intIntrinsic(base: string, w: number, args: readonly bigint[]): Scalar | undefined {
  const [a, b, c] = args as [bigint, bigint, bigint];
  const sa = signed(a, w);
  const sb = args.length > 1 ? signed(b, w) : 0n;
  const low = -(1n << BigInt(w - 1));
  const high = (1n << BigInt(w - 1)) - 1n;
  switch (base) {
    case "smax":
      return sa > sb ? a : b;
    case "smin":
      return sa < sb ? a : b;
    case "umax":
      return intCompare("ugt", w, a, b) ? a : b;
    case "umin":
      return intCompare("ult", w, a, b) ? a : b;
    case "abs":
      return wrap(sa < 0n ? -sa : sa, w);
    case "ctpop":
      return wrap(BigInt(a.toString(2).replaceAll("0", "").length), w);
    case "ctlz":
      return a === 0n ? (b === 1n ? null : wrap(BigInt(w), w)) : BigInt(w - a.toString(2).length);
    case "cttz": {
      if (a === 0n) return b === 1n ? null : wrap(BigInt(w), w);
      const text = a.toString(2);
      return BigInt(text.length - 1 - text.lastIndexOf("1"));
    }
    case "bswap":
      return BigInt(
        `0x${(
          a
            .toString(16)
            .padStart(w / 4, "0")
            .match(/../g) ?? []
        )
          .reverse()
          .join("")}`,
      );
    case "bitreverse":
      return BigInt(`0b${[...a.toString(2).padStart(w, "0")].reverse().join("")}`);
    case "fshl":
    case "fshr": {
      const amount = c % BigInt(w);
      const both = (a << BigInt(w)) | b;
      return wrap(base === "fshl" ? (both << amount) >> BigInt(w) : both >> amount, w);
    }
    case "sadd.sat":
      return wrap(bound(sa + sb, low, high), w);
    case "ssub.sat":
      return wrap(bound(sa - sb, low, high), w);
    case "uadd.sat":
      return bound(a + b, 0n, mask(w));
    case "usub.sat":
      return bound(a - b, 0n, mask(w));
    case "sshl.sat":
      return b >= BigInt(w) ? null : wrap(bound(sa << b, low, high), w);
    case "ushl.sat":
      return b >= BigInt(w) ? null : bound(a << b, 0n, mask(w));
    default:
      return undefined;
  }
}

/** [value, overflow] of the arithmetic-with-overflow intrinsics. */
export function withOverflow(base: string, w: number, a: bigint, b: bigint): [bigint, bigint] {
  const isSigned = base[0] === "s";
  const x = isSigned ? signed(a, w) : a;
  const y = isSigned ? signed(b, w) : b;
  const name = base.slice(1, 4);
  const exact = name === "add" ? x + y : name === "sub" ? x - y : x * y;
  const value = wrap(exact, w);
  return [value, (isSigned ? signed(value, w) : value) === exact ? 0n : 1n];
}

/** Lane-wise floating-point intrinsics; undefined if unknown. */
export function floatIntrinsic(base: string, type: Type, args: readonly bigint[]): bigint | undefined {
  const sign = 1n << BigInt(bitWidth(type) - 1);
  const [x, y, z] = args.map((a) => toNumber(type, a)) as [number, number, number];
  const round = (v: number): bigint => fromNumber(type, type.kind === "double" ? v : Math.fround(v));
  const least = (isMin: boolean): number => {
    if (x === y) return Object.is(x, -0) === isMin ? x : y;
    return x < y === isMin ? x : y;
  };
  switch (base) {
    case "fabs":
      return args[0]! & ~sign;
    case "fneg":
      return args[0]! ^ sign;
    case "copysign":
      return (args[0]! & ~sign) | (args[1]! & sign);
    case "sqrt":
      return round(Math.sqrt(x));
    case "fmuladd":
      return round(toNumber(type, round(x * y)) + z);
    case "minnum":
    case "maxnum":
      if (Number.isNaN(x)) return args[1]!;
      return Number.isNaN(y) ? args[0]! : fromNumber(type, least(base === "minnum"));
    case "minimum":
    case "maximum":
      if (Number.isNaN(x) || Number.isNaN(y)) return fromNumber(type, Number.NaN);
      return fromNumber(type, least(base === "minimum"));
    case "floor":
      return fromNumber(type, Math.floor(x));
    case "ceil":
      return fromNumber(type, Math.ceil(x));
    case "trunc":
      return fromNumber(type, Math.trunc(x));
    default:
      return undefined;
  }
}
