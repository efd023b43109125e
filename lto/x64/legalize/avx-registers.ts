/** Registers of 128 to 512 bits: their types, halves and constants, and VEX instructions as internal calls. */
import type { Emitter } from "../../codegen/legalize/emitter.js";
import { internalIntrinsic } from "../../codegen/legalize/internal.js";
import type { Parts } from "../../codegen/legalize/target.js";
import type { Block } from "../../ir/instructions.js";
import { functionType, i64, type Type, vectorType } from "../../ir/types.js";
import { ConstData, ConstUndef, ConstZero, type Value } from "../../ir/values.js";
import { bitsOf, registerOf } from "./vectors-shape.js";
import { as } from "./vectors-sse.js";

/** The 256-bit vector of a lane type. */
export const wideOf = (lane: Type): Type => vectorType(256 / bitsOf(lane), lane);

export const bytesOf = (type: Type): number => (type.count * bitsOf(type.element)) / 8;
export const isWide = (type: Type): boolean => type.kind === "vector" && bytesOf(type) === 32;

/** The same of 512 bits. */
export const widestOf = (lane: Type): Type => vectorType(512 / bitsOf(lane), lane);
export const isWidest = (type: Type): boolean => type.kind === "vector" && bytesOf(type) === 64;

/** The register of a lane type that is as wide as another. */
export const alike = (register: Type, lane: Type): Type =>
  isWide(register) ? wideOf(lane) : isWidest(register) ? widestOf(lane) : registerOf(lane);

const v2i64 = registerOf(i64);
const v4i64 = wideOf(i64);
const v8i64 = widestOf(i64);

/**
 * A call of the instruction that `V` names, which selection makes of it: operands in the order of its format, with the
 * immediate last.
 */
export function vex(l: Emitter, name: string, result: Type, ...args: Value[]): Value {
  const type = functionType(
    result,
    args.map((a) => a.type),
  );
  return l.call(internalIntrinsic(`tsc.x64.v.${name}`, type), args);
}

/** All lanes of a register one constant, wrapped to the lane. */
export function splatOf(type: Type, value: bigint): Value {
  const bits = bitsOf(type.element);
  return constantLanes(type, new Array<bigint>(type.count).fill(BigInt.asUintN(bits, value)));
}

/** A register from numbers, wrapped to the lane. */
export function constantLanes(type: Type, values: readonly bigint[]): Value {
  const bits = bitsOf(type.element);
  const bytes = new Uint8Array(bytesOf(type));
  values.forEach((value, i) => {
    for (let b = 0; b < bits / 8; b++)
      bytes[(i * bits) / 8 + b] = Number((BigInt.asUintN(bits, value) >> BigInt(b * 8)) & 0xffn);
  });
  return bytes.every((b) => b === 0) ? new ConstZero(type) : new ConstData(type, bytes);
}

interface Halves {
  /** Where they were taken apart; null: they were there before the whole. */
  readonly block: Block | null;
  readonly low: Value;
  readonly high: Value;
}
/** Values are unique objects, so entries die with their function. */
const known = new WeakMap<Value, Halves>();

/** The halves of a register of 256 or 512 bits. */
export function halvesOf(l: Emitter, v: Value): readonly [Value, Value] {
  const isLargest = isWidest(v.type);
  const half = isLargest ? wideOf(v.type.element) : registerOf(v.type.element);
  const bytes = bytesOf(half);
  switch (v.valueKind) {
    case "undef":
      return [new ConstUndef(half, v.poison), new ConstUndef(half, v.poison)];
    case "zero":
      return [new ConstZero(half), new ConstZero(half)];
    case "data":
      return [new ConstData(half, v.bytes.slice(0, bytes)), new ConstData(half, v.bytes.slice(bytes))];
    default:
      break;
  }
  const found = known.get(v);
  if (found !== undefined && (found.block === null || found.block === l.block))
    return [found.low, found.high];
  const whole = as(l, v, isLargest ? v8i64 : v4i64);
  const words = isLargest ? v4i64 : v2i64;
  // The low half is a copy, which vanishes where the whole is read no more.
  const high = as(l, vex(l, "high", words, whole), half);
  const low = as(l, vex(l, "low", words, whole), half);
  known.set(v, { block: l.block, low, high });
  return [low, high];
}

const bytesOfConstant = (v: Value): Uint8Array | null =>
  v.valueKind === "data"
    ? v.bytes
    : v.valueKind === "zero" || v.valueKind === "undef"
      ? new Uint8Array(bytesOf(v.type))
      : null;

/** A register of 256 or 512 bits from halves of one type. */
export function join(l: Emitter, low: Value, high: Value): Value {
  const isLargest = isWide(low.type);
  const type = isLargest ? widestOf(low.type.element) : wideOf(low.type.element);
  if (low.valueKind === "undef" && high.valueKind === "undef") return new ConstUndef(type, false);
  const [a, b] = [bytesOfConstant(low), bytesOfConstant(high)];
  if (a !== null && b !== null) {
    const bytes = new Uint8Array(2 * a.length);
    bytes.set(a);
    bytes.set(b, a.length);
    return bytes.every((byte) => byte === 0) ? new ConstZero(type) : new ConstData(type, bytes);
  }
  const words = isLargest ? v8i64 : v4i64;
  const halves = isLargest ? v4i64 : v2i64;
  const whole =
    high.valueKind === "undef"
      ? vex(l, "widen", words, as(l, low, halves))
      : vex(l, "join", words, as(l, low, halves), as(l, high, halves));
  const joined = as(l, whole, type);
  known.set(joined, { block: null, low, high });
  return joined;
}

/** Parts with wider registers as several of 128 bits. */
export function narrowParts(l: Emitter, given: Parts): Parts {
  const parts = halveParts(l, given);
  return parts.some((p) => isWide(p.type))
    ? parts.flatMap((p) => (isWide(p.type) ? halvesOf(l, p) : [p]))
    : parts;
}

/** Parts with 512-bit registers as their halves. */
export function halveParts(l: Emitter, parts: Parts): Parts {
  return parts.some((p) => isWidest(p.type))
    ? parts.flatMap((p) => (isWidest(p.type) ? halvesOf(l, p) : [p]))
    : parts;
}

/** Parts of 128 and 256 bits as parts of the given types. */
export function widestParts(l: Emitter, types: readonly Type[], parts: Parts): Parts {
  let at = 0;
  const take = (bytes: number): Value => {
    const next = parts[at]!;
    if (next.type.kind === "vector" && bytesOf(next.type) < bytes)
      return join(l, take(bytes / 2), take(bytes / 2));
    at++;
    return next;
  };
  return types.map((type) => take(type.kind === "vector" ? bytesOf(type) : 0));
}

/** Parts of the baseline as parts of the given types: pairs of registers joined where they are one. */
export function wideParts(l: Emitter, types: readonly Type[], parts: Parts): Parts {
  let at = 0;
  return types.map((type) => {
    if (!isWide(type)) return parts[at++]!;
    at += 2;
    return join(l, parts[at - 2]!, parts[at - 1]!);
  });
}
