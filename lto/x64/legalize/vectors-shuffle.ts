/**
 * Shuffles of one or two registers with a constant mask.
 *
 * A mask that moves pairs of lanes together is redone on lanes of twice the width. Then, per width, the
 * cheapest of the instructions that fit is taken: dword shuffles and unpacks, word shuffles within halves,
 * byte shifts, blends by a constant; what fits nothing goes lane by lane through general registers (words)
 * or memory (bytes), or, with SSSE3, by a shuffle of bytes. Mask values below the lane count name lanes of `a`, the others lanes of `b`; -1 is
 * undefined.
 */
import type { Lowering } from "../../codegen/legalize/lowering.js";
import { doubleType, i8, i16, i32 } from "../../ir/types.js";
import { ConstUndef, type Value } from "../../ir/values.js";
import { extensionsOf } from "./vectors-extensions.js";
import { bitsOf, intLane, registerOf } from "./vectors-shape.js";
import {
  as,
  bitAnd,
  bitOr,
  blend,
  imm,
  laneConstants,
  shiftConstant,
  splatConstant,
  sse,
  sse2,
  v2f64,
  v2i64,
  v4f32,
  v4i32,
  v8i16,
  v16i8,
} from "./vectors-sse.js";

const fits = (mask: readonly number[], pattern: readonly number[]): boolean =>
  mask.every((m, i) => m < 0 || m === pattern[i]);

export function shuffle(l: Lowering, a: Value, b: Value, mask: readonly number[]): Value {
  const type = a.type;
  const n = mask.length;
  let m = mask.map((i) =>
    i < 0 || (i < n ? a : b).valueKind === "undef" ? -1 : a === b && i >= n ? i - n : i,
  );
  if (m.every((i) => i < 0)) return new ConstUndef(type, false);
  if (m.every((i) => i < 0 || i >= n)) {
    m = m.map((i) => (i < 0 ? -1 : i - n));
    a = b;
  }
  if (m.every((i, at) => i < 0 || i === at)) return a;
  const isUnary = m.every((i) => i < n);
  const bits = bitsOf(type.element);
  if (bits < 64) {
    const wider = pairMask(m);
    if (wider !== null) {
      const lane = type.element.isFloat ? doubleType : intLane(bits * 2);
      const wide = registerOf(lane);
      return as(l, shuffle(l, as(l, a, wide), as(l, b, wide), wider), type);
    }
  }
  switch (bits) {
    case 64:
      return as(l, isUnary ? unary64(l, a, m) : binary64(l, a, b, m), type);
    case 32:
      return as(l, isUnary ? unary32(l, a, m) : binary32(l, a, b, m), type);
    case 16:
      return as(l, isUnary ? unary16(l, a, m) : binaryNarrow(l, a, b, m, 16), type);
    default:
      return as(l, isUnary ? unary8(l, a, m) : binaryNarrow(l, a, b, m, 8), type);
  }
}

/** The same shuffle on lanes of twice the width, if it moves aligned pairs. */
export function pairMask(mask: readonly number[]): number[] | null {
  const out: number[] = [];
  for (let i = 0; i < mask.length; i += 2) {
    const low = mask[i]!;
    const high = mask[i + 1]!;
    if (low < 0 && high < 0) out.push(-1);
    else if (low < 0 ? high % 2 === 1 : low % 2 === 0 && (high < 0 || high === low + 1))
      out.push((low < 0 ? high : low) >> 1);
    else return null;
  }
  return out;
}

const pick = (i: number, otherwise: number): number => (i < 0 ? otherwise : i);
/** Immediate of pshufd and its kin: two bits per lane; undefined lanes stay in place. */
const immediate4 = (m: readonly number[]): number =>
  m.reduce((sum, i, at) => sum | ((pick(i, at) & 3) << (2 * at)), 0);

function unary64(l: Lowering, a: Value, m: readonly number[]): Value {
  const low = pick(m[0]!, 0);
  const high = pick(m[1]!, 1);
  const isFloat = a.type.element.isFloat;
  if (low === 0 && high === 0)
    return sse2(l, isFloat ? "unpcklpd" : "punpcklqdq", isFloat ? v2f64 : v2i64, a, a);
  if (isFloat && low === 1 && high === 1) return sse2(l, "unpckhpd", v2f64, a, a);
  const dwords = [low * 2, low * 2 + 1, high * 2, high * 2 + 1];
  return sse(l, "pshufd", v4i32, as(l, a, v4i32), imm(immediate4(dwords)));
}

function binary64(l: Lowering, a: Value, b: Value, m: readonly number[]): Value {
  let low = m[0]!;
  let high = m[1]!;
  if (low >= 2) {
    [a, b] = [b, a];
    low -= 2;
    high = high < 0 ? high : high + 2;
  }
  low = pick(low, 0);
  high = pick(high, 3) & 1;
  const isFloat = a.type.element.isFloat;
  if (low === 0 && high === 0)
    return sse2(l, isFloat ? "unpcklpd" : "punpcklqdq", isFloat ? v2f64 : v2i64, a, b);
  if (low === 1 && high === 1)
    return sse2(l, isFloat ? "unpckhpd" : "punpckhqdq", isFloat ? v2f64 : v2i64, a, b);
  if (low === 0) return sse2(l, "movsd", v2f64, b, a);
  return sse(l, "shufpd", v2f64, as(l, a, v2f64), as(l, b, v2f64), imm(low | (high << 1)));
}

function unary32(l: Lowering, a: Value, m: readonly number[]): Value {
  return sse(l, "pshufd", v4i32, as(l, a, v4i32), imm(immediate4(m)));
}

function binary32(l: Lowering, a: Value, b: Value, m: readonly number[]): Value {
  const isFloat = a.type.element.isFloat;
  const type = isFloat ? v4f32 : v4i32;
  const { ssse3, sse41 } = extensionsOf(l);
  const low = isFloat ? "unpcklps" : "punpckldq";
  const high = isFloat ? "unpckhps" : "punpckhdq";
  if (fits(m, [0, 4, 1, 5])) return sse2(l, low, type, a, b);
  if (fits(m, [4, 0, 5, 1])) return sse2(l, low, type, b, a);
  if (fits(m, [2, 6, 3, 7])) return sse2(l, high, type, a, b);
  if (fits(m, [6, 2, 7, 3])) return sse2(l, high, type, b, a);
  if (fits(m, [4, 1, 2, 3])) return sse2(l, "movss", v4f32, a, b);
  if (fits(m, [0, 5, 6, 7])) return sse2(l, "movss", v4f32, b, a);
  const x = as(l, a, v4f32);
  const y = as(l, b, v4f32);
  if (sse41) {
    if (m.every((i, at) => i < 0 || (i & 3) === at))
      return sse(l, "blendps", v4f32, x, y, imm(controlOf(m.map((i) => i >= 4))));
    const inserted =
      insertedLane(l, x, y, m) ??
      insertedLane(
        l,
        y,
        x,
        m.map((i) => (i < 0 ? i : i ^ 4)),
      );
    if (inserted !== null) return inserted;
  }
  const aligned = ssse3 ? concatenation(l, a, b, m, 4) : null;
  if (aligned !== null) return aligned;
  // Each half of the result comes from one register, after bringing two lanes together if need be.
  const half = (i: number, j: number): [Value, number, number] => {
    if (i < 0 && j < 0) return [x, 0, 0];
    if (i < 0 || j < 0 || i < 4 === j < 4) return [(i < 0 ? j : i) < 4 ? x : y, i & 3, j & 3];
    const [fromA, fromB] = i < 4 ? [i, j - 4] : [j, i - 4];
    const both = sse(l, "shufps", v4f32, x, y, imm(fromA | (fromA << 2) | (fromB << 4) | (fromB << 6)));
    return i < 4 ? [both, 0, 2] : [both, 2, 0];
  };
  const [lowSource, l0, l1] = half(m[0]!, m[1]!);
  const [highSource, h0, h1] = half(m[2]!, m[3]!);
  return sse(l, "shufps", v4f32, lowSource, highSource, imm(l0 | (l1 << 2) | (h0 << 4) | (h1 << 6)));
}

/** Bits of an immediate, from the lowest. */
const controlOf = (bits: readonly boolean[]): number =>
  bits.reduce((sum, isSet, i) => sum | (isSet ? 1 << i : 0), 0);

/** All lanes but one stay those of `a`, and the one is of `b`; else null. */
function insertedLane(l: Lowering, a: Value, b: Value, m: readonly number[]): Value | null {
  const others = m.flatMap((i, at) => (i < 0 || i === at ? [] : [at]));
  const [at] = others;
  if (others.length !== 1 || m[at!]! < 4) return null;
  return sse(l, "insertps", v4f32, a, b, imm(((m[at!]! & 3) << 6) | (at! << 4)));
}

/** Lanes of one register by a shuffle of bytes; those that are not asked for become zero. */
function byBytes(l: Lowering, a: Value, m: readonly number[]): Value {
  const size = 16 / m.length;
  const control = m.flatMap((i) =>
    Array.from({ length: size }, (_, byte) => (i < 0 ? 0x80n : BigInt(i * size + byte))),
  );
  return sse(l, "pshufb", v16i8, as(l, a, v16i8), laneConstants(i8, control));
}

/** Dwords that four word lanes come from, at most two of them, else null. */
function dwordsOf(lanes: readonly number[]): number[] | null {
  const dwords: number[] = [];
  for (const i of lanes) if (i >= 0 && !dwords.includes(i >> 1)) dwords.push(i >> 1);
  return dwords.length <= 2 ? dwords : null;
}

/** A dword shuffle followed by word shuffles within the halves; null when the mask needs more. */
function wordPlan(m: readonly number[]): { dwords: number[]; low: number[]; high: number[] } | null {
  const low = dwordsOf(m.slice(0, 4));
  const high = dwordsOf(m.slice(4));
  if (low === null || high === null) return null;
  const place = (own: number[], first: number): void => {
    // Keep dwords where they are if possible, so that the dword shuffle may vanish.
    if (own.length === 1) own.push(own[0] === first ? first + 1 : first);
    if (own.length === 0) own.push(first, first + 1);
    if (own[0] === first + 1 || own[1] === first) own.reverse();
  };
  place(low, 0);
  place(high, 2);
  const within = (own: readonly number[], lanes: readonly number[]): number[] =>
    lanes.map((i) => (i < 0 ? -1 : own.indexOf(i >> 1) * 2 + (i & 1)));
  return { dwords: [...low, ...high], low: within(low, m.slice(0, 4)), high: within(high, m.slice(4)) };
}

const staysPut = (lanes: readonly number[]): boolean => lanes.every((i, at) => i < 0 || i === at);

function unary16(l: Lowering, a: Value, m: readonly number[]): Value {
  const shifted = byteShift(l, a, m, 2);
  if (shifted !== null) return shifted;
  const first = m.find((i) => i >= 0)!;
  if (m.every((i) => i < 0 || i === first)) return splatWord(l, as(l, a, v8i16), first);
  if (fits(m, [0, 0, 1, 1, 2, 2, 3, 3])) return sse2(l, "punpcklwd", v8i16, a, a);
  if (fits(m, [4, 4, 5, 5, 6, 6, 7, 7])) return sse2(l, "punpckhwd", v8i16, a, a);
  const plan = wordPlan(m);
  const steps = plan === null ? 3 : [plan.dwords, plan.low, plan.high].filter((p) => !staysPut(p)).length;
  if (steps > 2 && extensionsOf(l).ssse3) return byBytes(l, a, m);
  if (plan !== null) {
    let v = as(l, a, v8i16);
    if (!staysPut(plan.dwords))
      v = as(l, sse(l, "pshufd", v4i32, as(l, v, v4i32), imm(immediate4(plan.dwords))), v8i16);
    if (!staysPut(plan.low)) v = sse(l, "pshuflw", v8i16, v, imm(immediate4(plan.low)));
    if (!staysPut(plan.high)) v = sse(l, "pshufhw", v8i16, v, imm(immediate4(plan.high)));
    return v;
  }
  const evens = truncatingPlan(m);
  if (evens !== null) {
    let v = sse(l, "pshuflw", v8i16, as(l, a, v8i16), imm(immediate4(evens.low)));
    v = sse(l, "pshufhw", v8i16, v, imm(immediate4(evens.high)));
    v = as(l, sse(l, "pshufd", v4i32, as(l, v, v4i32), imm(0b11_10_10_00)), v8i16);
    return staysPut(evens.order) ? v : sse(l, "pshuflw", v8i16, v, imm(immediate4(evens.order)));
  }
  const source = as(l, a, v8i16);
  let result: Value = source;
  m.forEach((i, at) => {
    if (i < 0 || i === at) return;
    const word = sse(l, "pextrw", i32, source, imm(i));
    result = sse(l, "pinsrw", v8i16, result, word, imm(at));
  });
  return result;
}

/** Only the low half of the result counts and takes at most two words from each half of the source. */
function truncatingPlan(m: readonly number[]): { low: number[]; high: number[]; order: number[] } | null {
  if (m.slice(4).some((i) => i >= 0)) return null;
  const low = [...new Set(m.filter((i) => i >= 0 && i < 4))];
  const high = [...new Set(m.filter((i) => i >= 4))];
  if (low.length > 2 || high.length > 2) return null;
  const order = m.slice(0, 4).map((i) => (i < 0 ? -1 : i < 4 ? low.indexOf(i) : 2 + high.indexOf(i)));
  const fill = (own: number[]): number[] => [own[0] ?? 0, own[1] ?? 1, 2, 3];
  return { low: fill(low), high: fill(high.map((i) => i - 4)), order };
}

/** One word in every lane. */
export function splatWord(l: Lowering, a: Value, lane: number): Value {
  const within = (lane & 3) * 0x55;
  const v = sse(l, lane < 4 ? "pshuflw" : "pshufhw", v8i16, a, imm(within));
  return as(l, sse(l, "pshufd", v4i32, as(l, v, v4i32), imm(lane < 4 ? 0x00 : 0xaa)), v8i16);
}

/** The lanes moved together by a number of places, vacated lanes undefined. `size` is in bytes per lane. */
function byteShift(l: Lowering, a: Value, m: readonly number[], size: number): Value | null {
  const at = m.findIndex((i) => i >= 0);
  const distance = m[at]! - at;
  if (distance === 0 || !m.every((i, p) => i < 0 || i - p === distance)) return null;
  const name = distance > 0 ? "psrldq" : "pslldq";
  return sse(l, name, v2i64, as(l, a, v2i64), imm(Math.abs(distance) * size));
}

function binaryNarrow(l: Lowering, a: Value, b: Value, m: readonly number[], bits: 8 | 16): Value {
  const n = m.length;
  const type = bits === 16 ? v8i16 : v16i8;
  const half = n / 2;
  const interleave = (start: number, x: number, y: number): number[] =>
    m.map((_, i) => start + (i >> 1) + (i % 2 === 0 ? x : y));
  const suffix = bits === 16 ? "wd" : "bw";
  if (fits(m, interleave(0, 0, n))) return sse2(l, `punpckl${suffix}`, type, a, b);
  if (fits(m, interleave(0, n, 0))) return sse2(l, `punpckl${suffix}`, type, b, a);
  if (fits(m, interleave(half, 0, n))) return sse2(l, `punpckh${suffix}`, type, a, b);
  if (fits(m, interleave(half, n, 0))) return sse2(l, `punpckh${suffix}`, type, b, a);
  const joined = concatenation(l, a, b, m, bits / 8);
  if (joined !== null) return joined;
  const { ssse3, sse41 } = extensionsOf(l);
  if (sse41 && bits === 16 && m.every((i, at) => i < 0 || i % n === at))
    return sse(l, "pblendw", type, as(l, a, type), as(l, b, type), imm(controlOf(m.map((i) => i >= n))));
  if (ssse3) return bytesOfBoth(l, a, b, m);
  // Bring each source's lanes into place, then blend by a constant.
  const fromA = shuffle(
    l,
    a,
    a,
    m.map((i) => (i < n ? i : -1)),
  );
  const fromB = shuffle(
    l,
    b,
    b,
    m.map((i) => (i >= n ? i - n : -1)),
  );
  const choose = laneConstants(
    type.element,
    m.map((i) => (i >= n ? 0n : -1n)),
  );
  return blend(l, choose, as(l, fromA, type), as(l, fromB, type));
}

/** Lanes of two registers by shuffles of bytes, one each; those of a register that is zero come from none. */
function bytesOfBoth(l: Lowering, a: Value, b: Value, m: readonly number[]): Value {
  const n = m.length;
  const parts: Value[] = [];
  if (a.valueKind !== "zero")
    parts.push(
      byBytes(
        l,
        a,
        m.map((i) => (i < n ? i : -1)),
      ),
    );
  if (b.valueKind !== "zero")
    parts.push(
      byBytes(
        l,
        b,
        m.map((i) => (i < n ? -1 : i - n)),
      ),
    );
  if (parts.length === 0) return a;
  return parts.length === 1 ? parts[0]! : bitOr(l, parts[0]!, parts[1]!);
}

/** Consecutive lanes of one register followed by the other. */
function concatenation(l: Lowering, a: Value, b: Value, m: readonly number[], size: number): Value | null {
  const n = m.length;
  const at = m.findIndex((i) => i >= 0);
  const start = (m[at]! - at + 2 * n) % (2 * n);
  if (!m.every((i, p) => i < 0 || i === (start + p) % (2 * n))) return null;
  const [first, second] = start < n ? [a, b] : [b, a];
  const skip = start % n;
  if (skip === 0) return null;
  if (extensionsOf(l).ssse3 && first.valueKind !== "zero" && second.valueKind !== "zero")
    return sse(l, "palignr", v16i8, as(l, second, v16i8), as(l, first, v16i8), imm(skip * size));
  const low = sse(l, "psrldq", v2i64, as(l, first, v2i64), imm(skip * size));
  const high = sse(l, "pslldq", v2i64, as(l, second, v2i64), imm((n - skip) * size));
  return bitOr(l, low, high);
}

function unary8(l: Lowering, a: Value, m: readonly number[]): Value {
  const shifted = byteShift(l, a, m, 1);
  if (shifted !== null) return shifted;
  const first = m.find((i) => i >= 0)!;
  const v = as(l, a, v16i8);
  const { ssse3 } = extensionsOf(l);
  if (ssse3 && m.every((i) => i < 0 || i === first))
    return byBytes(
      l,
      v,
      m.map(() => first),
    );
  if (m.every((i) => i < 0 || i === first)) {
    const doubled = sse(l, first < 8 ? "punpcklbw" : "punpckhbw", v16i8, v, v);
    return splatWord(l, as(l, doubled, v8i16), first & 7);
  }
  const doubledLow = m.map((_, i) => i >> 1);
  if (fits(m, doubledLow)) return sse(l, "punpcklbw", v16i8, v, v);
  if (
    fits(
      m,
      doubledLow.map((i) => i + 8),
    )
  )
    return sse(l, "punpckhbw", v16i8, v, v);
  if (ssse3) return byBytes(l, v, m);
  return bytesByWords(l, v, m) ?? bytesByMemory(l, v, m);
}

/** Even and odd source bytes as words, shuffled as words for the even and odd result bytes. */
function bytesByWords(l: Lowering, v: Value, m: readonly number[]): Value | null {
  const halves = [0, 1].map((parity) => m.filter((_, i) => i % 2 === parity));
  // Only worth it if each half draws on one parity and word shuffles can do it.
  const plans = halves.map((lanes) => {
    const used = lanes.filter((i) => i >= 0);
    const odd = used.filter((i) => i % 2 === 1).length;
    if (odd !== 0 && odd !== used.length) return null;
    const words = lanes.map((i) => (i < 0 ? -1 : i >> 1));
    return wordPlan(words) === null ? null : { odd: odd > 0, words, isEmpty: used.length === 0 };
  });
  if (plans[0] === null || plans[1] === null) return null;
  const wide = as(l, v, v8i16);
  const low = splatConstant(i16, 0xffn);
  const bytes = plans.map((plan, parity) => {
    if (plan === null || plan === undefined || plan.isEmpty) return null;
    const source = plan.odd ? shiftConstant(l, "srl", wide, 8) : bitAnd(l, wide, low);
    const moved = shuffle(l, source, source, plan.words);
    return parity === 1 ? shiftConstant(l, "sll", moved, 8) : moved;
  });
  if (bytes[0] === null || bytes[1] === null) return (bytes[0] ?? bytes[1])!;
  return bitOr(l, bytes[0]!, bytes[1]!);
}

function bytesByMemory(l: Lowering, v: Value, m: readonly number[]): Value {
  const from = l.scratchSlot(v16i8, 16);
  const to = l.stackSlot(v16i8, 16);
  l.store(v, from, 16);
  m.forEach((i, at) => {
    if (i >= 0) l.store(l.load(i8, l.offset(from, i), 1), l.offset(to, at), 1);
  });
  return l.load(v16i8, to, 16);
}

/** One lane in every lane. */
export function splatLane(l: Lowering, v: Value, lane: number): Value {
  return shuffle(l, v, v, new Array<number>(v.type.count).fill(lane));
}
