/**
 * Shuffles that give registers of 256 bits, by the instructions of AVX and AVX2.
 *
 * Lanes are taken from whole registers, two at a time, as the baseline does it for 128 bits. Of one pair, a mask that moves
 * neighbours together is redone on lanes of twice the width; then the cheapest that fits: halves by one permutation, blends,
 * permutations within halves, unpacks, and for the rest permutations of one register at a time, and a blend. What wants
 * integers of 256 bits without AVX2, and bytes that no permutation moves, is done on halves.
 */
import type { Lowering, Parts } from "../../codegen/legalize/lowering.js";
import { doubleType, floatType, i8, i32, i64, type Type } from "../../ir/types.js";
import { ConstUndef, type Value } from "../../ir/values.js";
import { constantLanes, halvesOf, isWide, join, vex, wideOf } from "./avx-registers.js";
import { gather as gatherLanes } from "./vectors.js";
import { bitsOf, intLane, registerOf, shapeOf } from "./vectors-shape.js";
import { pairMask, shuffle } from "./vectors-shuffle.js";
import { as, imm, letterOf } from "./vectors-sse.js";
import {
  fits,
  immediateOf,
  keep,
  maskOf,
  none,
  sourcesOf,
  unpack,
  type Wanted,
  wantedLanes,
  withinParts,
} from "./wide-shuffle.js";

/** The parts of a shuffle of exact lanes; null: the baseline's code does it. */
export function nativeShuffle(
  l: Lowering,
  left: Value,
  right: Value,
  type: Type,
  mask: readonly number[],
  avx2: boolean,
): Parts | null {
  const from = shapeOf(left.type);
  const to = shapeOf(type);
  if (from.representation !== "lanes" || to.representation !== "lanes" || !to.isExact) return null;
  const types = l.partTypes(type);
  if (!types.some(isWide)) return null;
  const isFloat = to.laneBits >= 32;
  if (!avx2 && !isFloat) return null;
  const wanted = wantedLanes(l, left, right, types, mask);
  return types.map((own, i) => gather(l, own, wanted[i]!, avx2));
}

/** One register from lanes of any number of registers, of either width. */
function gather(l: Lowering, type: Type, wanted: readonly Wanted[], avx2: boolean): Value {
  const sources = sourcesOf(wanted);
  if (sources.length === 0) return new ConstUndef(type, false);
  if (!isWide(type)) return gatherHalf(l, type, wanted);
  const asWide = sources.map((s) => (isWide(s.type) ? s : join(l, s, new ConstUndef(s.type, false))));
  if (sources.length === 1) return permute(l, asWide[0]!, maskOf(wanted, sources[0]!, null, new Set()), avx2);
  let result = both(l, asWide[0]!, asWide[1]!, maskOf(wanted, sources[0]!, sources[1]!, new Set()), avx2);
  const done = new Set<Value>(sources.slice(0, 2));
  for (let i = 2; i < sources.length; i++) {
    const mask = maskOf(wanted, null, sources[i]!, done);
    result = both(l, result, asWide[i]!, mask, avx2);
    done.add(sources[i]!);
  }
  return result;
}

/** The same for a result of 128 bits, by the baseline's shuffles. */
function gatherHalf(l: Lowering, type: Type, wanted: readonly Wanted[]): Value {
  const n = type.count;
  return gatherLanes(
    l,
    type,
    wanted.map(({ register, lane }) => {
      if (register === null) return { register: new ConstUndef(type, false), lane: -1 };
      if (!isWide(register.type)) return { register, lane };
      return { register: halvesOf(l, register)[lane < n ? 0 : 1], lane: lane % n };
    }),
  );
}

const wider = (type: Type): Type => {
  const bits = bitsOf(type.element) * 2;
  return wideOf(type.element.isFloat && bits === 64 ? doubleType : intLane(bits));
};

/** Lanes of one register. */
function permute(l: Lowering, v: Value, mask: readonly number[], avx2: boolean): Value {
  const { type } = v;
  const n = type.count;
  if (fits(mask, (i) => i)) return v;
  const bits = bitsOf(type.element);
  const paired = bits < 64 ? pairMask(mask) : null;
  if (paired !== null) {
    const wide = wider(type);
    return as(l, permute(l, as(l, v, wide), paired, avx2), type);
  }
  const halves = bits === 64 ? pairMask(mask) : null;
  if (halves !== null) return permuteHalves(l, v, v, halves);
  const first = mask.find((m) => m >= 0)!;
  if (avx2 && mask.every((m) => m < 0 || m === first)) return splatLane(l, v, first);
  const same = withinParts(mask, n, 2);
  if (bits === 64) {
    if (withinOwnHalf(mask, n)) {
      const control = mask.reduce((sum, m, i) => sum | ((keep(m, i) & 1) << i), 0);
      return as(
        l,
        vex(l, "PermilpdImm", wideOf(doubleType), as(l, v, wideOf(doubleType)), imm(control)),
        type,
      );
    }
    if (!avx2) return byHalves(l, v, v, mask);
    const quads = type.element.isFloat ? type : wideOf(i64);
    const name = type.element.isFloat ? "Permpd" : "Permq";
    return as(l, vex(l, name, quads, as(l, v, quads), imm(immediateOf(mask, 2))), type);
  }
  if (bits === 32) {
    if (same !== null) {
      if (type.element.isFloat || !avx2) {
        const floats = wideOf(floatType);
        return as(l, vex(l, "PermilpsImm", floats, as(l, v, floats), imm(immediateOf(same, 2))), type);
      }
      return vex(l, "Pshufd", type, v, imm(immediateOf(same, 2)));
    }
    if (!avx2) return byHalves(l, v, v, mask);
    const index = constantLanes(
      wideOf(i32),
      mask.map((m) => BigInt(Math.max(m, 0))),
    );
    return type.element.isFloat ? vex(l, "Permps", type, index, v) : vex(l, "Permd", type, index, v);
  }
  // Words and bytes: within halves by one shuffle of bytes, across by two, of the register and of it with its halves exchanged.
  const bytes = as(l, v, wideOf(i8));
  const own = byteControl(mask, bits / 8, n, false);
  const across = byteControl(mask, bits / 8, n, true);
  const parts: Value[] = [];
  if (own !== null) parts.push(vex(l, "Pshufb", bytes.type, bytes, own));
  if (across !== null) {
    const quads = as(l, v, wideOf(i64));
    const exchanged = as(l, vex(l, "Permq", quads.type, quads, imm(0b01_00_11_10)), bytes.type);
    parts.push(vex(l, "Pshufb", bytes.type, exchanged, across));
  }
  const result = parts.length === 1 ? parts[0]! : l.or(parts[0]!, parts[1]!);
  return as(l, result, type);
}

const withinOwnHalf = (mask: readonly number[], n: number): boolean =>
  mask.every((m, i) => m < 0 || Math.floor(m / (n / 2)) === Math.floor(i / (n / 2)));

/** Control of vpshufb for the lanes that stay in their half, or that do not; the others become zero. null: there are none. */
function byteControl(mask: readonly number[], size: number, n: number, across: boolean): Value | null {
  const half = n / 2;
  let any = false;
  const control: bigint[] = [];
  mask.forEach((m, i) => {
    const crosses = m >= 0 && Math.floor(m / half) !== Math.floor(i / half);
    const wanted = m >= 0 && crosses === across;
    any ||= wanted;
    for (let b = 0; b < size; b++) control.push(wanted ? BigInt((m % half) * size + b) : 0x80n);
  });
  return any ? constantLanes(wideOf(i8), control) : null;
}

/** One lane in every lane, by a broadcast from the low end. */
function splatLane(l: Lowering, v: Value, lane: number): Value {
  const { type } = v;
  const half = type.count / 2;
  const low = halvesOf(l, v)[lane < half ? 0 : 1];
  const within = lane % half;
  const source = within === 0 ? low : shuffle(l, low, low, [within, ...new Array<number>(half - 1).fill(-1)]);
  if (type.element === floatType) return vex(l, "Broadcastss", type, source);
  if (type.element === doubleType) return vex(l, "Broadcastsd", type, source);
  return vex(l, `Pbroadcast${letterOf(type.element.bits)}`, type, source);
}

/** Halves of two registers. @param mask two numbers of halves, those of `b` from 2 */
function permuteHalves(l: Lowering, a: Value, b: Value, mask: readonly number[]): Value {
  const [low, high] = mask as [number, number];
  if (fits(mask, (i) => i)) return a;
  if (fits(mask, (i) => i + 2)) return b;
  const half = (m: number): Value =>
    m < 0 ? new ConstUndef(registerOf(a.type.element), false) : halvesOf(l, m < 2 ? a : b)[m & 1]!;
  // Putting a low half somewhere takes less than choosing among all.
  if (high < 0 || (low >= 0 && (low & 1) === 0) || (low < 0 && (high & 1) === 0))
    return join(l, half(low), half(high));
  const doubles = wideOf(doubleType);
  const control = keep(low, 0) | (keep(high, 1) << 4);
  const result = vex(l, "Perm2f128", doubles, as(l, a, doubles), as(l, b, doubles), imm(control));
  return as(l, result, a.type);
}

/** Lanes of two registers, those of `b` from the count of lanes. */
function both(l: Lowering, a: Value, b: Value, mask: readonly number[], avx2: boolean): Value {
  const { type } = a;
  const n = type.count;
  if (mask.every((m) => m < n)) return permute(l, a, mask, avx2);
  if (mask.every((m) => m < 0 || m >= n))
    return permute(
      l,
      b,
      mask.map((m) => (m < 0 ? m : m - n)),
      avx2,
    );
  const bits = bitsOf(type.element);
  const paired = bits < 64 ? pairMask(mask) : null;
  if (paired !== null) {
    const wide = wider(type);
    return as(l, both(l, as(l, a, wide), as(l, b, wide), paired, avx2), type);
  }
  const halves = bits === 64 ? pairMask(mask) : null;
  if (halves !== null) return permuteHalves(l, a, b, halves);
  if (mask.every((m, i) => m < 0 || m % n === i)) return blendLanes(l, a, b, mask, avx2);
  const same = withinParts(mask, n, 2);
  if (same !== null) {
    const unpacked = unpack(l, a, b, same, avx2);
    if (unpacked !== null) return unpacked;
  }
  if (bits === 64 && withinOwnHalf2(mask, n)) {
    const shuffled = shuffleDoubles(l, a, b, mask);
    if (shuffled !== null) return shuffled;
  }
  if (bits === 32 && same !== null) {
    const shuffled = shuffleFloats(l, a, b, same);
    if (shuffled !== null) return shuffled;
  }
  if (!avx2) return byHalves(l, a, b, mask);
  const x = permute(
    l,
    a,
    mask.map((m) => (m < n ? m : -1)),
    avx2,
  );
  const y = permute(
    l,
    b,
    mask.map((m) => (m >= n ? m - n : -1)),
    avx2,
  );
  return blendLanes(
    l,
    x,
    y,
    mask.map((m, i) => (m < 0 ? -1 : m < n ? i : n + i)),
    avx2,
  );
}

const withinOwnHalf2 = (mask: readonly number[], n: number): boolean =>
  mask.every((m, i) => m < 0 || Math.floor((m % n) / (n / 2)) === Math.floor(i / (n / 2)));

/** Each lane from its place in `a` or in `b`. */
function blendLanes(l: Lowering, a: Value, b: Value, mask: readonly number[], avx2: boolean): Value {
  const { type } = a;
  const n = type.count;
  const bits = bitsOf(type.element);
  const chosen = mask.map((m) => m >= n);
  if (bits >= 32) {
    const control = chosen.reduce((sum, isB, i) => sum | (isB ? 1 << i : 0), 0);
    if (bits === 64) {
      const doubles = wideOf(doubleType);
      return as(l, vex(l, "Blendpd", doubles, as(l, a, doubles), as(l, b, doubles), imm(control)), type);
    }
    if (!type.element.isFloat && avx2) return vex(l, "Pblendd", type, a, b, imm(control));
    const floats = wideOf(floatType);
    return as(l, vex(l, "Blendps", floats, as(l, a, floats), as(l, b, floats), imm(control)), type);
  }
  const bytes = wideOf(i8);
  const control = constantLanes(
    bytes,
    chosen.flatMap((isB) => new Array<bigint>(bits / 8).fill(isB ? -1n : 0n)),
  );
  return as(l, vex(l, "Pblendvb", bytes, as(l, a, bytes), as(l, b, bytes), control), type);
}

/** Even lanes of one register beside odd ones of another, within halves. */
function shuffleDoubles(l: Lowering, a: Value, b: Value, mask: readonly number[]): Value | null {
  const doubles = wideOf(doubleType);
  for (const [x, y, low, high] of [
    [a, b, 0, 4],
    [b, a, 4, 0],
  ] as const) {
    const isFrom = (m: number, first: number): boolean => m < 0 || (m >= first && m < first + 4);
    if (!mask.every((m, i) => isFrom(m, i % 2 === 0 ? low : high))) continue;
    const control = mask.reduce((sum, m, i) => sum | ((keep(m, i) & 1) << i), 0);
    return as(l, vex(l, "Shufpd", doubles, as(l, x, doubles), as(l, y, doubles), imm(control)), a.type);
  }
  return null;
}

/** Two lanes of one register beside two of the other, in each half. */
function shuffleFloats(l: Lowering, a: Value, b: Value, same: readonly number[]): Value | null {
  const sideOf = (x: number, y: number): number | null => {
    const sides = [x, y].filter((m) => m >= 0).map((m) => (m < 4 ? 0 : 1));
    if (sides.length === 2 && sides[0] !== sides[1]) return null;
    return sides[0] ?? 0;
  };
  const low = sideOf(same[0]!, same[1]!);
  const high = sideOf(same[2]!, same[3]!);
  if (low === null || high === null) return null;
  const floats = wideOf(floatType);
  const source = (side: number): Value => as(l, side === 0 ? a : b, floats);
  return as(
    l,
    vex(
      l,
      "Shufps",
      floats,
      source(low),
      source(high),
      imm(
        immediateOf(
          same.map((m) => (m < 0 ? m : m & 3)),
          2,
        ),
      ),
    ),
    a.type,
  );
}

/** Each half of the result by the baseline's shuffles. */
function byHalves(l: Lowering, a: Value, b: Value, mask: readonly number[]): Value {
  const n = a.type.count;
  const type = registerOf(a.type.element);
  const lanes = [a, b].flatMap((register) => Array.from({ length: n }, (_, lane) => ({ register, lane })));
  const wanted = mask.map((m): Wanted => (m < 0 ? none : lanes[m]!));
  const half = (own: readonly Wanted[]): Value =>
    own.every(({ register }) => register === null) ? new ConstUndef(type, false) : gatherHalf(l, type, own);
  return join(l, half(wanted.slice(0, n / 2)), half(wanted.slice(n / 2)));
}
