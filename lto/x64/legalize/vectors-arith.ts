/** Integer arithmetic, shifts, comparisons and selection on single registers. */
import type { Lowering } from "../../codegen/legalize/lowering.js";
import { type FloatPredicate, type IntPredicate, Op } from "../../ir/instructions.js";
import { floatType, i8, i16, i32, i64, type Type } from "../../ir/types.js";
import type { Value } from "../../ir/values.js";
import { quadProduct } from "./quad-products.js";
import { extensionsOf } from "./vectors-extensions.js";
import { intLane, registerOf } from "./vectors-shape.js";
import {
  as,
  bitAnd,
  bitNot,
  bitOr,
  bitXor,
  blend,
  imm,
  letterOf,
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

const add = (l: Lowering, a: Value, b: Value): Value => l.bin(Op.Add, a, b);
const sub = (l: Lowering, a: Value, b: Value): Value => l.bin(Op.Sub, a, b);
/** Lanes of 4 bytes by a control of `pshufd`. */
export const dwordShuffle = (l: Lowering, v: Value, control: number): Value =>
  as(l, sse(l, "pshufd", v4i32, as(l, v, v4i32), imm(control)), v.type);

/** What is known of the factors of a product. */
export interface FactorFacts {
  /** Bits that each factor's unsigned value fits in. */
  readonly used: readonly [number, number];
  /** Bits that each factor's signed value fits in. */
  readonly signed: readonly [number, number];
}

/** Product of every lane, wrapped. */
export function multiply(l: Lowering, a: Value, b: Value, facts: FactorFacts | null = null): Value {
  switch (a.type.element.bits) {
    case 16:
      return l.bin(Op.Mul, a, b);
    case 8:
      return multiplyBytes(l, a, b);
    case 32:
      return (
        (facts === null ? null : multiplyShort(l, a, b, facts)) ??
        (extensionsOf(l).sse41 ? l.bin(Op.Mul, a, b) : multiplyDwords(l, a, b))
      );
    default:
      return quadProduct(l, a, b, facts?.used ?? [64, 64], {
        multiply: (x, y) => sse(l, "pmuludq", v2i64, as(l, x, v4i32), as(l, y, v4i32)),
        shiftRight: (v) => shiftConstant(l, "srl", v, 32),
        shiftLeft: (v) => shiftConstant(l, "sll", v, 32),
      });
  }
}

function multiplyDwords(l: Lowering, a: Value, b: Value): Value {
  const even = sse(l, "pmuludq", v2i64, as(l, a, v4i32), as(l, b, v4i32));
  const oddA = dwordShuffle(l, a, 0xf5);
  const oddB = a === b ? oddA : dwordShuffle(l, b, 0xf5);
  const odd = sse(l, "pmuludq", v2i64, as(l, oddA, v4i32), as(l, oddB, v4i32));
  const x = dwordShuffle(l, as(l, even, v4i32), 0xe8);
  const y = dwordShuffle(l, as(l, odd, v4i32), 0xe8);
  return sse(l, "punpckldq", v4i32, x, y);
}

/**
 * Dwords whose values are words: pmaddwd multiplies the low words, and the high words add nothing if those of
 * one factor are zero. Unsigned words come from the two halves of their product.
 */
function multiplyShort(l: Lowering, a: Value, b: Value, { used, signed }: FactorFacts): Value | null {
  const x = as(l, a, v8i16);
  const y = as(l, b, v8i16);
  if (used[0] + used[1] <= 16) return as(l, l.bin(Op.Mul, x, y), v4i32);
  if (signed[0] <= 16 && signed[1] <= 16) {
    const isClear = used[0] < 16 || used[1] < 16;
    const first = isClear ? x : bitAnd(l, x, as(l, splatConstant(i32, 0xffffn), v8i16));
    return sse(l, "pmaddwd", v4i32, first, y);
  }
  if (used[0] <= 16 && used[1] <= 16) {
    const high = as(l, sse(l, "pmulhuw", v8i16, x, y), v4i32);
    return bitOr(l, as(l, l.bin(Op.Mul, x, y), v4i32), shiftConstant(l, "sll", high, 16));
  }
  return null;
}

/** By word products of the even and the odd bytes. */
function multiplyBytes(l: Lowering, a: Value, b: Value): Value {
  const x = as(l, a, v8i16);
  const y = as(l, b, v8i16);
  const even = bitAnd(l, l.bin(Op.Mul, x, y), splatConstant(i16, 0xffn));
  const odd = l.bin(Op.Mul, shiftConstant(l, "srl", x, 8), shiftConstant(l, "srl", y, 8));
  return as(l, bitOr(l, even, shiftConstant(l, "sll", odd, 8)), v16i8);
}

export type ShiftKind = "sll" | "srl" | "sra";

/** All lanes shifted by the low 64 bits of `count`. */
export function shiftUniform(l: Lowering, kind: ShiftKind, v: Value, count: Value): Value {
  const type = v.type;
  const bits = type.element.bits;
  if (bits === 8) {
    // Words, with the bits that crossed into the other byte masked off.
    const ones = as(l, zeroOnes(v8i16), v8i16);
    const moved = as(
      l,
      shiftUniform(l, kind === "sll" ? "sll" : "srl", as(l, v, v8i16), as(l, count, v8i16)),
      v16i8,
    );
    const shiftedOnes = shiftUniform(l, kind === "sll" ? "sll" : "srl", ones, as(l, count, v8i16));
    const byte =
      kind === "sll"
        ? bitAnd(l, shiftedOnes, splatConstant(i16, 0xffn))
        : shiftConstant(l, "srl", shiftedOnes, 8);
    const mask = as(l, bitOr(l, byte, shiftConstant(l, "sll", byte, 8)), v16i8);
    const logical = bitAnd(l, moved, mask);
    if (kind !== "sra") return logical;
    const sign = as(
      l,
      shiftUniform(l, "srl", as(l, splatConstant(i8, 0x80n), v8i16), as(l, count, v8i16)),
      v16i8,
    );
    const bit = bitAnd(l, sign, mask);
    return sub(l, bitXor(l, logical, bit), bit);
  }
  if (bits === 64 && kind === "sra") {
    const logical = shiftUniform(l, "srl", v, count);
    const sign = shiftUniform(l, "srl", splatConstant(i64, 1n << 63n), count);
    return sub(l, bitXor(l, logical, sign), sign);
  }
  return sse(l, `p${kind}${letterOf(bits)}`, type, v, as(l, count, type));
}
const zeroOnes = (type: Type): Value => splatConstant(type.element, -1n);

/** Every lane shifted by the same lane of `amounts`, each below the lane width. */
export function shiftVariable(l: Lowering, kind: ShiftKind, v: Value, amounts: Value): Value {
  switch (v.type.element.bits) {
    case 64: {
      const low = shiftUniform(l, kind, v, amounts);
      const high = shiftUniform(l, kind, v, dwordShuffle(l, amounts, 0xee));
      return lanesOfEach(l, [low, high]);
    }
    case 32: {
      // Each amount alone in the low quadword.
      const zero = zeroRegister(v4i32);
      const counts = [
        sse(l, "punpckldq", v4i32, amounts, zero),
        as(l, shiftConstant(l, "srl", as(l, amounts, v2i64), 32), v4i32),
        sse(l, "punpckhdq", v4i32, amounts, zero),
        as(l, sse(l, "psrldq", v2i64, as(l, amounts, v2i64), imm(12)), v4i32),
      ];
      return lanesOfEach(
        l,
        counts.map((c) => shiftUniform(l, kind, v, c)),
      );
    }
    default:
      return shiftByBits(l, kind, v, amounts);
  }
}

/** The first lane of the first register, the second of the second, and so on: of two registers, or four. */
export function lanesOfEach(l: Lowering, registers: readonly Value[]): Value {
  const [r0, r1, r2, r3] = registers as readonly [Value, Value, Value, Value];
  if (registers.length === 2) return as(l, sse(l, "movsd", v2f64, as(l, r1, v2f64), as(l, r0, v2f64)), v2i64);
  const low = sse(l, "movss", v4f32, as(l, r1, v4f32), as(l, r0, v4f32));
  const high = as(l, sse(l, "punpckhdq", v4i32, r2, r3), v4f32);
  return as(l, sse(l, "shufps", v4f32, low, high, imm(0b11_00_01_00)), v4i32);
}

/** One bit of the amounts at a time: shift everything by that power of two and keep it where the bit is set. */
function shiftByBits(l: Lowering, kind: ShiftKind, v: Value, amounts: Value): Value {
  const type = v.type;
  const bits = type.element.bits;
  let result = v;
  for (let step = bits / 2; step >= 1; step /= 2) {
    const bit = splatConstant(type.element, BigInt(step));
    const isSet = sse(l, `pcmpeq${letterOf(bits)}`, type, bitAnd(l, amounts, bit), bit);
    result = blend(l, isSet, shiftConstant(l, kind, result, step), result);
  }
  return result;
}

/** Lanes equal, as a mask. */
export function compareEqual(l: Lowering, a: Value, b: Value): Value {
  const bits = a.type.element.bits;
  if (bits !== 64 || extensionsOf(l).sse41) return sse(l, `pcmpeq${letterOf(bits)}`, a.type, a, b);
  const halves = sse(l, "pcmpeqd", v4i32, as(l, a, v4i32), as(l, b, v4i32));
  return as(l, bitAnd(l, halves, dwordShuffle(l, halves, 0xb1)), v2i64);
}

const signBit = (bits: number): bigint => 1n << BigInt(bits - 1);

function greaterSigned(l: Lowering, a: Value, b: Value): Value {
  const bits = a.type.element.bits;
  if (bits !== 64 || extensionsOf(l).sse42) return sse(l, `pcmpgt${letterOf(bits)}`, a.type, a, b);
  // Low halves compare unsigned.
  return greaterWords(
    l,
    bitXor(l, a, splatConstant(i64, 1n << 31n)),
    bitXor(l, b, splatConstant(i64, 1n << 31n)),
  );
}

/** 64-bit lanes whose halves both compare as signed dwords. */
function greaterWords(l: Lowering, a: Value, b: Value): Value {
  const x = as(l, a, v4i32);
  const y = as(l, b, v4i32);
  const greater = sse(l, "pcmpgtd", v4i32, x, y);
  const equal = sse(l, "pcmpeqd", v4i32, x, y);
  const low = bitAnd(l, dwordShuffle(l, greater, 0xa0), dwordShuffle(l, equal, 0xf5));
  return as(l, bitOr(l, low, dwordShuffle(l, greater, 0xf5)), v2i64);
}

function greaterUnsigned(l: Lowering, a: Value, b: Value): Value {
  const bits = a.type.element.bits;
  if (bits === 64 && !extensionsOf(l).sse42) {
    const flip = splatConstant(i64, (1n << 63n) | (1n << 31n));
    return greaterWords(l, bitXor(l, a, flip), bitXor(l, b, flip));
  }
  const flip = splatConstant(a.type.element, signBit(bits));
  return greaterSigned(l, bitXor(l, a, flip), bitXor(l, b, flip));
}

/** a ≤ b unsigned, for bytes and words, and dwords where there is their minimum, without flipping signs. */
function atMostUnsigned(l: Lowering, a: Value, b: Value): Value {
  const { bits } = a.type.element;
  if (bits > 8 && extensionsOf(l).sse41)
    return compareEqual(l, sse(l, `pminu${letterOf(bits)}`, a.type, a, b), a);
  if (a.type === v16i8) return compareEqual(l, sse(l, "pminub", v16i8, a, b), a);
  return compareEqual(l, sse(l, "psubusw", v8i16, a, b), zeroRegister(v8i16));
}

/** icmp on one register pair; a mask of the lane width. */
export function compareInts(l: Lowering, predicate: IntPredicate, a: Value, b: Value): Value {
  const narrow = a.type.element.bits <= (extensionsOf(l).sse41 ? 32 : 16);
  switch (predicate) {
    case "eq":
      return compareEqual(l, a, b);
    case "ne":
      return bitNot(l, compareEqual(l, a, b));
    case "sgt":
      return greaterSigned(l, a, b);
    case "slt":
      return greaterSigned(l, b, a);
    case "sge":
      return bitNot(l, greaterSigned(l, b, a));
    case "sle":
      return bitNot(l, greaterSigned(l, a, b));
    case "ule":
      return narrow ? atMostUnsigned(l, a, b) : bitNot(l, greaterUnsigned(l, a, b));
    case "uge":
      return narrow ? atMostUnsigned(l, b, a) : bitNot(l, greaterUnsigned(l, b, a));
    case "ugt":
      return narrow ? bitNot(l, atMostUnsigned(l, a, b)) : greaterUnsigned(l, a, b);
    default:
      return narrow ? bitNot(l, atMostUnsigned(l, b, a)) : greaterUnsigned(l, b, a);
  }
}

/** Predicate immediates of cmpps (Intel SDM, CMPPS, table of pseudo-ops); whether the operands are swapped. */
const floatPredicates: Readonly<Record<string, readonly [number, boolean]>> = {
  oeq: [0, false],
  olt: [1, false],
  ole: [2, false],
  uno: [3, false],
  une: [4, false],
  uge: [5, false],
  ugt: [6, false],
  ord: [7, false],
  ogt: [1, true],
  oge: [2, true],
  ule: [5, true],
  ult: [6, true],
};

/** fcmp on one register pair; an integer mask of the lane width. */
export function compareFloats(l: Lowering, predicate: FloatPredicate, a: Value, b: Value): Value {
  const type = a.type;
  const name = type.element === floatType ? "cmpps" : "cmppd";
  const mask = registerOf(intLane(type.element === floatType ? 32 : 64));
  if (predicate === "true") return zeroOnes(mask);
  if (predicate === "false") return zeroRegister(mask);
  const simple = (p: string): Value => {
    const [code, swapped] = floatPredicates[p]!;
    return as(l, swapped ? sse(l, name, type, b, a, imm(code)) : sse(l, name, type, a, b, imm(code)), mask);
  };
  if (predicate === "ueq") return bitOr(l, simple("oeq"), simple("uno"));
  if (predicate === "one") return bitAnd(l, simple("une"), simple("ord"));
  return simple(predicate);
}

/** smax, smin, umax, umin. */
export function minMax(l: Lowering, kind: string, a: Value, b: Value): Value {
  const type = a.type;
  const isMax = kind.endsWith("max");
  const bits = type.element.bits;
  if (bits < 64 && extensionsOf(l).sse41)
    return sse(l, `p${isMax ? "max" : "min"}${kind[0]}${letterOf(bits)}`, type, a, b);
  if (bits === 8 && kind[0] === "u") return sse(l, isMax ? "pmaxub" : "pminub", v16i8, a, b);
  if (bits === 16) {
    if (kind[0] === "s") return sse(l, isMax ? "pmaxsw" : "pminsw", v8i16, a, b);
    const excess = sse(l, "psubusw", v8i16, a, b);
    return isMax ? add(l, b, excess) : sub(l, a, excess);
  }
  const greater = kind[0] === "s" ? greaterSigned(l, a, b) : greaterUnsigned(l, a, b);
  return isMax ? blend(l, greater, a, b) : blend(l, greater, b, a);
}

export function absolute(l: Lowering, v: Value): Value {
  const type = v.type;
  const bits = type.element.bits;
  if (bits < 64 && extensionsOf(l).ssse3) return sse(l, `pabs${letterOf(bits)}`, type, v);
  const negative = sub(l, zeroRegister(type), v);
  if (bits === 16) return sse(l, "pmaxsw", v8i16, v, negative);
  if (bits === 8) return sse(l, "pminub", v16i8, v, negative);
  const sign = shiftConstant(l, "sra", v, bits - 1);
  return sub(l, bitXor(l, v, sign), sign);
}
