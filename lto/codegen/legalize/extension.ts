import { constInt, type Value } from "../../ir/values.js";
import type { Lowering, Parts } from "./lowering.js";

/** Clears the bits of a promoted integer above `width`. */
export function zeroExtended(l: Lowering, v: Value, width: number): Value {
  const bits = v.type.bits;
  if (bits === width || l.knownBits.get(v)! <= width) return v;
  return l.and(v, constInt(v.type, (1n << BigInt(width)) - 1n));
}
/** Copies bit `width`-1 of a promoted integer into the bits above. */
export function signExtended(l: Lowering, v: Value, width: number): Value {
  const spare = v.type.bits - width;
  if (spare === 0) return v;
  return l.ashr(l.shl(v, spare), spare);
}
export function extended(l: Lowering, v: Value, width: number, signed: boolean): Value {
  return signed ? signExtended(l, v, width) : zeroExtended(l, v, width);
}
/** The parts of a `width`-bit integer with defined upper bits. */
export function extendedParts(l: Lowering, parts: Parts, width: number, signed: boolean): Parts {
  if (width <= 64) return [extended(l, parts[0]!, width, signed)];
  if (width % 64 === 0) return parts;
  const top = parts.length - 1;
  return [...parts.slice(0, top), extended(l, parts[top]!, width % 64, signed)];
}
