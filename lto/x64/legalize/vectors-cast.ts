/** Conversions between vector types of equal element count, and vectors as bits. */
import { asWord, intBinary, intConstant, intResize } from "../../codegen/legalize/integers.js";
import type { Lowering, Parts } from "../../codegen/legalize/lowering.js";
import { scalarCast } from "../../codegen/legalize/scalars.js";
import { type CastOp, Op } from "../../ir/instructions.js";
import { i8, i16, i32, i64, intType, type Type } from "../../ir/types.js";
import { constInt, type Value } from "../../ir/values.js";
import { compareEqual } from "./vectors-arith.js";
import { build, elements, extractLane, insertLane, splat, toRegister } from "./vectors-lanes.js";
import { fixedForm, maskOfWidth, signsOf } from "./vectors-masks.js";
import { intLane, registerOf, type Shape, shapeOf } from "./vectors-shape.js";
import { shuffle } from "./vectors-shuffle.js";
import {
  as,
  bitAnd,
  bitOr,
  imm,
  laneConstants,
  shiftConstant,
  splatConstant,
  sse,
  v2f64,
  v2i64,
  v4f32,
  v4i32,
  v8i16,
  v16i8,
  zeroRegister,
} from "./vectors-sse.js";

/** Integer lanes with bits above the element's width defined. */
export function extendInLane(l: Lowering, shape: Shape, registers: Parts, signed: boolean): Parts {
  if (shape.isExact || shape.element.kind !== "int") return registers;
  const spare = shape.laneBits - shape.element.bits;
  if (!signed) {
    const mask = splatConstant(shape.lane, (1n << BigInt(shape.element.bits)) - 1n);
    return registers.map((r) => bitAnd(l, r, mask));
  }
  return registers.map((r) => shiftConstant(l, "sra", shiftConstant(l, "sll", r, spare), spare));
}

/** Lanes doubled in width until `to` bits; `count` of them. */
function widen(l: Lowering, registers: Parts, count: number, to: number, signed: boolean): Parts {
  let current = registers;
  let bits: number = current[0]!.type.element.bits;
  while (bits < to) {
    const needed = Math.ceil((count * bits * 2) / 128);
    const type = registerOf(intLane(bits * 2));
    const next: Value[] = [];
    for (const v of current) {
      const suffix = bits === 8 ? "bw" : bits === 16 ? "wd" : "dq";
      for (const half of ["l", "h"]) {
        if (next.length >= needed) break;
        if (signed && bits < 32) {
          const doubled = as(l, sse(l, `punpck${half}${suffix}`, v.type, v, v), type);
          next.push(shiftConstant(l, "sra", doubled, bits));
        } else {
          const upper = signed ? shiftConstant(l, "sra", v, bits - 1) : zeroRegister(v.type);
          next.push(as(l, sse(l, `punpck${half}${suffix}`, v.type, v, upper), type));
        }
      }
    }
    current = next;
    bits *= 2;
  }
  return current;
}

/** Two registers each made one; the last of an odd number with itself. */
export function packPairs(registers: Parts, pack: (a: Value, b: Value) => Value): Value[] {
  const out: Value[] = [];
  for (let i = 0; i < registers.length; i += 2)
    out.push(pack(registers[i]!, registers[i + 1] ?? registers[i]!));
  return out;
}

/** Lanes halved in width until `to` bits, keeping their low bits. @param isLossless the others are clear */
function narrow(l: Lowering, registers: Parts, to: number, isLossless = false): Parts {
  let current = registers;
  let bits: number = current[0]!.type.element.bits;
  if (bits === 32 && to === 8) {
    // Cleared to bytes first, the signed pack to words loses nothing.
    const bytes = splatConstant(i32, 0xffn);
    const cleared = isLossless ? current : current.map((r) => bitAnd(l, r, bytes));
    const words = packPairs(cleared, (a, b) => sse(l, "packssdw", v8i16, a, b));
    return packPairs(words, (a, b) => sse(l, "packuswb", v16i8, a, b));
  }
  if (bits === 16 && to === 8 && isLossless)
    return packPairs(current, (a, b) => sse(l, "packuswb", v16i8, a, b));
  while (bits > to) {
    const next: Value[] = [];
    for (let i = 0; i < current.length; i += 2) next.push(narrowPair(l, bits, current[i]!, current[i + 1]));
    bits /= 2;
    if (bits === 32 && to === 8) return narrow(l, next, to);
    current = next;
  }
  return current;
}

function narrowPair(l: Lowering, bits: number, a: Value, b: Value | undefined): Value {
  switch (bits) {
    case 64: {
      const x = as(l, a, v4i32);
      if (b === undefined) return shuffle(l, x, x, [0, 2, -1, -1]);
      return shuffle(l, x, as(l, b, v4i32), [0, 2, 4, 6]);
    }
    case 32: {
      if (b === undefined) {
        const x = as(l, a, v8i16);
        return shuffle(l, x, x, [0, 2, 4, 6, -1, -1, -1, -1]);
      }
      // The signed pack keeps words that are sign-extended.
      const low = (v: Value): Value => shiftConstant(l, "sra", shiftConstant(l, "sll", v, 16), 16);
      return sse(l, "packssdw", v8i16, low(a), low(b));
    }
    default: {
      const low = (v: Value): Value => bitAnd(l, v, splatConstant(i16, 0xffn));
      const x = low(a);
      return sse(l, "packuswb", v16i8, x, b === undefined ? x : low(b));
    }
  }
}

/** A cast of vectors other than bitcast. @param isLossless of a truncation: only bits that are clear go */
export function castVector(
  l: Lowering,
  op: CastOp,
  from: Type,
  to: Type,
  parts: Parts,
  isLossless = false,
): Parts {
  const source = shapeOf(from);
  const target = shapeOf(to);
  if (source.representation !== "each" && target.representation !== "each") {
    const fast = castLanes(l, op, source, target, parts, isLossless);
    if (fast !== null) return fast;
  }
  const lanes = elements(l, from, parts);
  return build(
    l,
    to,
    lanes.map((p) => scalarCast(l, op, from.element, to.element, p)),
  );
}

function castLanes(
  l: Lowering,
  op: CastOp,
  source: Shape,
  target: Shape,
  parts: Parts,
  isLossless: boolean,
): Parts | null {
  switch (op) {
    case Op.ZExt:
    case Op.SExt:
      if (source.representation === "mask") return fromMask(l, source, target, parts, op === Op.SExt);
      return widen(
        l,
        extendInLane(l, source, parts, op === Op.SExt),
        target.count,
        target.laneBits,
        op === Op.SExt,
      );
    case Op.Trunc:
      return target.representation === "mask"
        ? toMask(l, source, target, parts)
        : narrow(l, parts, target.laneBits, isLossless);
    case Op.PtrToInt:
      if (target.representation === "mask") return toMask(l, source, target, parts);
      return target.laneBits === 64 ? parts : narrow(l, parts, target.laneBits);
    case Op.IntToPtr:
      if (source.representation === "mask") return fromMask(l, source, target, parts, false);
      return widen(l, extendInLane(l, source, parts, false), target.count, 64, false);
    case Op.AddrSpaceCast:
      return parts;
    case Op.SIToFP:
    case Op.UIToFP:
      return intsToFloats(l, op === Op.SIToFP, source, target, parts);
    case Op.FPToSI:
    case Op.FPToUI:
      return floatsToInts(l, op === Op.FPToSI, source, target, parts);
    case Op.FPExt:
      if (source.lane.kind !== "float" || target.lane.kind !== "double") return null;
      return widenFloats(l, "cvtps2pd", v2f64, target.registers, parts);
    case Op.FPTrunc:
      if (source.lane.kind !== "double" || target.lane.kind !== "float") return null;
      return narrowDoubles(l, "cvtpd2ps", v4f32, parts);
    default:
      return null;
  }
}

function fromMask(l: Lowering, source: Shape, target: Shape, mask: Parts, signed: boolean): Parts {
  const wide = maskOfWidth(l, source, mask, target.laneBits);
  if (signed) return wide;
  return wide.map((r) => shiftOrAnd(l, r, target.laneBits));
}
/** All ones to one. */
function shiftOrAnd(l: Lowering, register: Value, bits: number): Value {
  return bits === 8
    ? bitAnd(l, register, splatConstant(i8, 1n))
    : shiftConstant(l, "srl", register, bits - 1);
}

function toMask(l: Lowering, source: Shape, target: Shape, parts: Parts): Parts {
  const one = splatConstant(source.lane, 1n);
  const bits = parts.map((r) => compareEqual(l, bitAnd(l, r, one), one));
  return fixedForm(l, target, source.laneBits, bits);
}

/** Each source register's low and high halves through an instruction that reads the low half. */
function widenFloats(l: Lowering, name: string, type: Type, count: number, parts: Parts): Parts {
  const out: Value[] = [];
  for (const r of parts) {
    if (out.length < count) out.push(sse(l, name, type, r));
    if (out.length < count) out.push(sse(l, name, type, shuffle(l, r, r, [2, 3, -1, -1])));
  }
  return out;
}
/** Pairs of double registers to one register through an instruction that gives the low half. */
function narrowDoubles(l: Lowering, name: string, type: Type, parts: Parts): Parts {
  const out: Value[] = [];
  for (let i = 0; i < parts.length; i += 2) {
    const low = sse(l, name, type, parts[i]!);
    const second = parts[i + 1];
    out.push(second === undefined ? low : shuffle(l, low, sse(l, name, type, second), [0, 1, 4, 5]));
  }
  return out;
}

/** Through dwords: narrower ones are extended, unsigned ones split so that each half converts exactly. */
function intsToFloats(
  l: Lowering,
  signed: boolean,
  source: Shape,
  target: Shape,
  parts: Parts,
): Parts | null {
  if (target.lane.kind !== "float" && target.lane.kind !== "double") return null;
  let dwords: Parts;
  let isSigned = signed;
  if (source.representation === "mask") {
    const wide = maskOfWidth(l, source, parts, 32);
    dwords = signed ? wide : wide.map((r) => shiftConstant(l, "srl", r, 31));
    isSigned = true;
  } else {
    if (source.laneBits > 32) return null;
    if (source.element.bits < 32) isSigned = true;
    dwords = widen(l, extendInLane(l, source, parts, signed), source.count, 32, signed);
  }
  if (target.lane.kind === "float")
    return dwords.map((r) => (isSigned ? sse(l, "cvtdq2ps", v4f32, r) : unsignedToFloat(l, r)));
  if (isSigned) return widenFloats(l, "cvtdq2pd", v2f64, target.registers, dwords);
  // With the exponent of 2^52 above it, an unsigned dword is 2^52 too large as a double.
  const exponent = splatConstant(i32, 0x43300000n);
  const bias = as(l, splatConstant(i64, 0x4330000000000000n), v2f64);
  const out: Value[] = [];
  for (const r of dwords)
    for (const half of ["l", "h"])
      if (out.length < target.registers)
        out.push(l.bin(Op.FSub, as(l, sse(l, `punpck${half}dq`, v4i32, r, exponent), v2f64), bias));
  return out;
}

/** Low and high words under the exponents of 2^23 and 2^39; their biased sum rounds once. */
function unsignedToFloat(l: Lowering, r: Value): Value {
  const low = bitOr(l, bitAnd(l, r, splatConstant(i32, 0xffffn)), splatConstant(i32, 0x4b000000n));
  const high = bitOr(l, shiftConstant(l, "srl", r, 16), splatConstant(i32, 0x53000000n));
  const bias = as(l, splatConstant(i32, 0x53000080n), v4f32);
  return l.bin(Op.FAdd, l.bin(Op.FSub, as(l, high, v4f32), bias), as(l, low, v4f32));
}

function floatsToInts(
  l: Lowering,
  signed: boolean,
  source: Shape,
  target: Shape,
  parts: Parts,
): Parts | null {
  if (source.lane.kind !== "float" && source.lane.kind !== "double") return null;
  const width = target.element.kind === "int" ? target.element.bits : 64;
  if (width > 32) return null;
  const isDouble = source.lane.kind === "double";
  const convert = (registers: Parts): Parts =>
    isDouble
      ? narrowDoubles(l, "cvttpd2dq", v4i32, registers)
      : registers.map((r) => sse(l, "cvttps2dq", v4i32, r));
  let dwords = convert(parts);
  if (!signed && width === 32) {
    // From 2^31 on the first conversion gives only the sign bit; the second supplies the rest.
    const half = splatFloat(l, isDouble, 31);
    const reduced = convert(parts.map((r) => l.bin(Op.FSub, r, half)));
    dwords = dwords.map((r, i) => bitOr(l, r, bitAnd(l, reduced[i]!, shiftConstant(l, "sra", r, 31))));
  }
  return target.representation === "mask"
    ? toMask(l, { ...source, lane: i32, laneBits: 32 }, target, dwords)
    : narrow(l, dwords, target.laneBits);
}

/** 2^exponent in every lane. */
function splatFloat(l: Lowering, isDouble: boolean, exponent: number): Value {
  if (isDouble) return as(l, splatConstant(i64, BigInt(exponent + 1023) << 52n), v2f64);
  return as(l, splatConstant(i32, BigInt(exponent + 127) << 23n), v4f32);
}

/** The bits of a vector as parts of one integer. */
export function vectorToBits(l: Lowering, type: Type, parts: Parts): Parts {
  const shape = shapeOf(type);
  const width = l.layout.bitWidth(type);
  if (shape.representation === "mask") return maskToBits(l, shape, parts);
  if (shape.isExact) {
    const words: Value[] = [];
    for (let at = 0; at < width; at += 64) {
      const register = as(l, parts[Math.floor(at / 128)]!, v2i64);
      words.push(extractLane(l, register, (at / 64) % 2));
    }
    if (width > 32) return words;
    const low = extractLane(l, as(l, parts[0]!, v4i32), 0);
    return intResize(l, 32, width, [low], false);
  }
  // Element by element, shifted into place.
  const size = l.layout.bitWidth(type.element);
  let bits: Parts | null = null;
  elements(l, type, parts).forEach((element, i) => {
    const own = intResize(
      l,
      size,
      width,
      scalarCast(l, Op.BitCast, type.element, intType(size), element),
      false,
    );
    const moved = intBinary(l, Op.Shl, width, own, intConstant(width, BigInt(i * size)));
    bits = bits === null ? moved : bits.map((b: Value, k: number) => l.or(b, moved[k]!));
  });
  return bits!;
}

function maskToBits(l: Lowering, shape: Shape, parts: Parts): Parts {
  const count = shape.count;
  const gather = (mask: Value, i: number): Value => {
    const r = signsOf(mask, shape.laneBits);
    const bits = Math.min(shape.perRegister, count - i * shape.perRegister);
    let word: Value;
    if (shape.laneBits === 64) word = sse(l, "movmskpd", i32, as(l, r, v2f64));
    else if (shape.laneBits === 32) word = sse(l, "movmskps", i32, as(l, r, v4f32));
    else if (shape.laneBits === 16)
      word = sse(l, "pmovmskb", i32, sse(l, "packsswb", v16i8, r, zeroRegister(v8i16)));
    else word = sse(l, "pmovmskb", i32, r);
    return bits < shape.perRegister ? l.and(word, constInt(i32, (1 << bits) - 1)) : word;
  };
  const words: Value[] = [];
  for (let at = 0; at < parts.length; at += 4) {
    let word: Value | null = null;
    for (let k = 0; k < 4 && at + k < parts.length; k++) {
      const own = l.cast(Op.ZExt, gather(parts[at + k]!, at + k), count > 32 ? i64 : i32);
      const moved = l.shl(own, k * shape.perRegister);
      word = word === null ? moved : l.or(word, moved);
    }
    words.push(word!);
  }
  if (count > 64) return words;
  const bits = intResize(l, count > 32 ? 64 : 32, count, words, false);
  l.knownBits.set(bits[0]!, count);
  return bits;
}

/** A vector from the bits of an integer. */
export function vectorFromBits(l: Lowering, type: Type, bits: Parts): Parts {
  const shape = shapeOf(type);
  const width = l.layout.bitWidth(type);
  if (shape.representation === "mask") return maskFromBits(l, shape, bits);
  if (shape.isExact) {
    if (width <= 32)
      return [as(l, toRegister(l, intResize(l, width, 32, bits, false)[0]!, v4i32), shape.register)];
    const words = width < 64 ? [asWord(l, width, bits, false)] : bits;
    const out: Value[] = [];
    for (let r = 0; r < shape.registers; r++) {
      const low = toRegister(l, words[r * 2]!, v2i64);
      const high = words[r * 2 + 1];
      const both = high === undefined ? low : insertLane(l, low, high, 1);
      out.push(as(l, both, shape.register));
    }
    return out;
  }
  const size = l.layout.bitWidth(type.element);
  const all: Parts[] = [];
  for (let i = 0; i < type.count; i++) {
    const own = intResize(
      l,
      width,
      size,
      intBinary(l, Op.LShr, width, bits, intConstant(width, BigInt(i * size))),
      false,
    );
    all.push(scalarCast(l, Op.BitCast, intType(size), type.element, own));
  }
  return build(l, type, all);
}

function maskFromBits(l: Lowering, shape: Shape, bits: Parts): Parts {
  const count = shape.count;
  const out: Value[] = [];
  for (let r = 0; r < shape.registers; r++) {
    const from = r * shape.perRegister;
    const word = bits[Math.floor(from / 64)]!;
    const wide =
      count > 32 ? asWord(l, Math.min(count, 64), [word], false) : intResize(l, count, 32, [word], false)[0]!;
    const own = l.cast(Op.Trunc, l.lshr(wide, from % 64), i32);
    out.push(spreadBits(l, shape, own));
  }
  return out;
}

/** Bit i of a word as lane i, all ones or zeros. */
function spreadBits(l: Lowering, shape: Shape, word: Value): Value {
  const perByte = (i: number): bigint => 1n << BigInt(i);
  switch (shape.laneBits) {
    case 64: {
      const spread = splat(l, word, v4i32);
      const select = laneConstants(i32, [1n, 1n, 2n, 2n]);
      return as(l, compareEqual(l, bitAnd(l, spread, select), select), v2i64);
    }
    case 32: {
      const select = laneConstants(i32, [1n, 2n, 4n, 8n]);
      return compareEqual(l, bitAnd(l, splat(l, word, v4i32), select), select);
    }
    case 16: {
      const select = laneConstants(
        i16,
        Array.from({ length: 8 }, (_, i) => perByte(i)),
      );
      const spread = splat(l, l.cast(Op.Trunc, word, i16), v8i16);
      return compareEqual(l, bitAnd(l, spread, select), select);
    }
    default: {
      // Bytes 0 and 1 of the word, eight times each.
      const register = as(l, toRegister(l, word, v4i32), v16i8);
      const doubled = as(l, sse(l, "punpcklbw", v16i8, register, register), v8i16);
      const quads = sse(l, "pshuflw", v8i16, doubled, imm(0b01_01_00_00));
      const spread = as(l, sse(l, "pshufd", v4i32, as(l, quads, v4i32), imm(0b01_01_00_00)), v16i8);
      const select = laneConstants(
        i8,
        Array.from({ length: 16 }, (_, i) => perByte(i % 8)),
      );
      return compareEqual(l, bitAnd(l, spread, select), select);
    }
  }
}
