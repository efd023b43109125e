/**
 * Constants as the bits they have in registers and the bytes they have in memory (little-endian, as every layout that
 * is accepted), and back: bit casts, and loads that take another type than what was stored.
 */
import type { DataLayout } from "../data-layout.js";
import type { Type } from "../types.js";
import { type Constant, ConstFloat, ConstUndef, ConstZero, constInt } from "../values.js";
import { aggregateOf, elementOf, elementsOf, memberCount, memberTypeAt } from "./aggregates.js";
import { widthOf } from "./scalars.js";

const bitsOf = (type: Type): number => (type.kind === "int" ? type.bits : widthOf(type));

/** A scalar as an unsigned number; null where it has no known bits. */
function scalarBits(c: Constant): bigint | null {
  if (c.valueKind === "int") return BigInt.asUintN(c.type.bits, c.value);
  return c.valueKind === "float" ? c.bits : null;
}
function scalarOf(type: Type, bits: bigint): Constant {
  return type.kind === "int" ? constInt(type, bits) : new ConstFloat(type, bits);
}
const isNumber = (type: Type): boolean => type.kind === "int" || type.isFloat;

/** Bit casts of numbers and vectors of numbers. Elements that are undefined only stay so one by one. */
export function foldBitCast(c: Constant, to: Type): Constant | null {
  if (c.type === to) return c;
  if (c.valueKind === "undef") return new ConstUndef(to, c.poison);
  if (c.valueKind === "zero" && to.kind === "vector" && c.type.kind === "vector") return new ConstZero(to);
  const [from, lane] = [c.type.scalar, to.scalar];
  if (!isNumber(from) || !isNumber(lane)) return null;
  const elements = c.type.kind === "vector" ? elementsOf(c) : [c];
  if (elements === null) return null;
  if (bitsOf(from) === bitsOf(lane)) {
    const cast = elements.map((e) => {
      if (e.valueKind === "undef") return new ConstUndef(lane, e.poison);
      const bits = scalarBits(e);
      return bits === null ? null : scalarOf(lane, bits);
    });
    if (cast.some((e) => e === null)) return null;
    return to.kind === "vector" ? aggregateOf(to, cast as Constant[]) : cast[0]!;
  }
  let whole = 0n;
  const width = BigInt(bitsOf(from));
  for (let i = elements.length - 1; i >= 0; i--) {
    const bits = scalarBits(elements[i]!);
    if (bits === null) return null;
    whole = (whole << width) | bits;
  }
  if (to.kind !== "vector") return scalarOf(to, whole);
  const step = bitsOf(lane);
  return aggregateOf(
    to,
    Array.from({ length: to.count }, (_, i) =>
      scalarOf(lane, BigInt.asUintN(step, whole >> BigInt(i * step))),
    ),
  );
}

/**
 * Copies bytes [from, from + bytes.length) of what `c` is in memory. Padding is zero, as it is written.
 * @returns false where a byte is not known: of addresses, of undefined values
 */
export function readBytes(layout: DataLayout, c: Constant, from: number, bytes: Uint8Array): boolean {
  const { type } = c;
  switch (c.valueKind) {
    case "zero":
      bytes.fill(0);
      return true;
    case "data":
      bytes.fill(0);
      bytes.set(c.bytes.subarray(Math.max(from, 0), from + bytes.length), Math.max(-from, 0));
      return true;
    case "int":
    case "float": {
      if (type.kind === "vector") return readMembers(layout, c, from, bytes);
      let bits = scalarBits(c)!;
      const size = layout.storeSize(type);
      bytes.fill(0);
      for (let at = 0; at < size; at++, bits >>= 8n)
        if (at >= from && at < from + bytes.length) bytes[at - from] = Number(bits & 0xffn);
      return true;
    }
    case "aggregate":
      return readMembers(layout, c, from, bytes);
    default:
      return false;
  }
}

/** Where a member of an aggregate, or an element of a vector of bytes, lies; null for packed bits. */
export function memberOffset(layout: DataLayout, type: Type, index: number): number | null {
  if (type.kind === "struct") return layout.elementOffset(type, index);
  if (type.kind === "array") return index * layout.allocSize(type.element);
  const bits = layout.bitWidth(type.element);
  return bits % 8 === 0 ? (index * bits) / 8 : null;
}

function readMembers(layout: DataLayout, c: Constant, from: number, bytes: Uint8Array): boolean {
  bytes.fill(0);
  const count = memberCount(c.type);
  for (let i = firstMember(layout, c.type, from); i < count; i++) {
    const offset = memberOffset(layout, c.type, i);
    if (offset === null) return false;
    if (offset >= from + bytes.length) break;
    const size = layout.storeSize(memberTypeAt(c.type, i));
    const start = Math.max(offset, from);
    const end = Math.min(offset + size, from + bytes.length);
    if (start >= end) continue;
    const member = elementOf(c, i);
    if (member === null) return false;
    if (!readBytes(layout, member, start - offset, bytes.subarray(start - from, end - from))) return false;
  }
  return true;
}

/** The first member that may reach up to byte `from`: tables are long. */
function firstMember(layout: DataLayout, type: Type, from: number): number {
  if (type.kind !== "array" || from <= 0) return 0;
  const size = layout.allocSize(type.element);
  return size === 0 ? 0 : Math.min(type.count, Math.floor(from / size));
}

/** The number or vector of numbers that these bytes are; null for other types. */
export function fromBytes(layout: DataLayout, type: Type, bytes: Uint8Array): Constant | null {
  if (!isNumber(type.scalar)) return null;
  if (type.kind === "vector") {
    const elements: Constant[] = [];
    for (let i = 0; i < type.count; i++) {
      const at = memberOffset(layout, type, i);
      if (at === null) return null;
      elements.push(fromBytes(layout, type.element, bytes.subarray(at))!);
    }
    return aggregateOf(type, elements);
  }
  let bits = 0n;
  for (let at = layout.storeSize(type) - 1; at >= 0; at--) bits = (bits << 8n) | BigInt(bytes[at]!);
  return scalarOf(type, BigInt.asUintN(bitsOf(type), bits));
}
