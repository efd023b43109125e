/** Loads and stores of vectors that are not one full register: exactly the bytes of the type. */

import type { Lowering, Parts } from "../../codegen/legalize/lowering.js";
import { alignAt, loadParts, storeParts } from "../../codegen/legalize/memory-parts.js";
import { Op } from "../../ir/instructions.js";
import { doubleType, floatType, i64, intType, type Type } from "../../ir/types.js";
import type { Value } from "../../ir/values.js";
import { vectorFromBits, vectorToBits } from "./vectors-cast.js";
import { extractLane, insertLane, toRegister } from "./vectors-lanes.js";
import { shapeOf } from "./vectors-shape.js";
import { as, v2f64, v2i64, v4f32 } from "./vectors-sse.js";

/** Elements of whole bytes lie one after the other, without padding. */
function strideOf(l: Lowering, type: Type): number {
  const bits = l.layout.bitWidth(type.element);
  if (bits % 8 !== 0) throw l.unsupported(`vector of ${type.element} in memory`);
  return bits / 8;
}

export function loadVector(l: Lowering, type: Type, pointer: Value, align: number, flags: number): Parts {
  const shape = shapeOf(type);
  if (shape.isExact) {
    const bytes = l.layout.bitWidth(type) / 8;
    const out: Value[] = [];
    for (let at = 0; at < bytes; at += 16) {
      const address = l.offset(pointer, at);
      const own = alignAt(align, at);
      if (bytes - at >= 16) out.push(l.load(shape.register, address, own, flags));
      else out.push(as(l, loadPartial(l, bytes - at, address, own, flags), shape.register));
    }
    return out;
  }
  if (shape.representation === "each" && shape.element.kind !== "int") {
    const stride = strideOf(l, type);
    const parts: Value[] = [];
    for (let i = 0; i < type.count; i++) {
      const at = i * stride;
      parts.push(...loadParts(l, type.element, l.offset(pointer, at), alignAt(align, at), flags));
    }
    return parts;
  }
  const width = l.layout.bitWidth(type);
  return vectorFromBits(l, type, loadParts(l, intType(width), pointer, align, flags));
}

/** 1 … 15 bytes at the bottom of a register. */
function loadPartial(l: Lowering, bytes: number, pointer: Value, align: number, flags: number): Value {
  if (bytes === 8) return toRegister(l, l.load(doubleType, pointer, align, flags), v2f64);
  if (bytes === 4) return toRegister(l, l.load(floatType, pointer, align, flags), v4f32);
  if (bytes > 8) {
    const low = toRegister(l, l.load(i64, pointer, align, flags), v2i64);
    const rest = loadParts(l, intType((bytes - 8) * 8), l.offset(pointer, 8), alignAt(align, 8), flags);
    return insertLane(l, low, l.cast(Op.ZExt, rest[0]!, i64), 1);
  }
  const bits = loadParts(l, intType(bytes * 8), pointer, align, flags);
  return toRegister(l, l.cast(Op.ZExt, bits[0]!, i64), v2i64);
}

export function storeVector(
  l: Lowering,
  type: Type,
  parts: Parts,
  pointer: Value,
  align: number,
  flags: number,
): void {
  const shape = shapeOf(type);
  if (shape.isExact) {
    const bytes = l.layout.bitWidth(type) / 8;
    parts.forEach((register, i) => {
      const address = l.offset(pointer, i * 16);
      const own = alignAt(align, i * 16);
      if (bytes - i * 16 >= 16) l.store(register, address, own, flags);
      else storePartial(l, bytes - i * 16, register, address, own, flags);
    });
    return;
  }
  if (shape.representation === "each" && shape.element.kind !== "int") {
    const stride = strideOf(l, type);
    const size = parts.length / type.count;
    for (let i = 0; i < type.count; i++) {
      const own = parts.slice(i * size, (i + 1) * size);
      storeParts(l, type.element, own, l.offset(pointer, i * stride), alignAt(align, i * stride), flags);
    }
    return;
  }
  const width = l.layout.bitWidth(type);
  storeParts(l, intType(width), vectorToBits(l, type, parts), pointer, align, flags);
}

function storePartial(
  l: Lowering,
  bytes: number,
  register: Value,
  pointer: Value,
  align: number,
  flags: number,
): void {
  if (bytes === 8) {
    l.store(extractLane(l, as(l, register, v2f64), 0), pointer, align, flags);
    return;
  }
  if (bytes === 4) {
    l.store(extractLane(l, as(l, register, v4f32), 0), pointer, align, flags);
    return;
  }
  const words = as(l, register, v2i64);
  if (bytes > 8) {
    storePartial(l, 8, register, pointer, align, flags);
    const rest = extractLane(l, words, 1);
    storeLow(l, rest, bytes - 8, l.offset(pointer, 8), alignAt(align, 8), flags);
    return;
  }
  storeLow(l, extractLane(l, words, 0), bytes, pointer, align, flags);
}

/** The low bytes of a word. */
function storeLow(
  l: Lowering,
  word: Value,
  bytes: number,
  pointer: Value,
  align: number,
  flags: number,
): void {
  const type = intType(bytes * 8);
  storeParts(l, type, [l.cast(Op.Trunc, word, l.partTypes(type)[0]!)], pointer, align, flags);
}
