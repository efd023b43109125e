/**
 * Shuffles that give registers of 512 bits, and of masks known by their bits.
 *
 * Lanes are taken from whole registers, two at a time. Of one register: neighbours that move together as wider lanes, halves and
 * quarters by an immediate, what each quarter does alike by an immediate, and the rest by a table of indices. Of two: halves put
 * together, unpacked quarters, one in place of the other under a mask, and the rest by a table. Bytes without VBMI are done on
 * halves unless they stay in their quarter.
 */
import type { Lowering, Parts } from "../../codegen/legalize/lowering.js";
import { Op } from "../../ir/instructions.js";
import { doubleType, floatType, i8, i32, i64, type Type } from "../../ir/types.js";
import { ConstUndef, constInt, type Value } from "../../ir/values.js";
import type { VectorFeatures } from "../isa/vector-features.js";
import { constantLanes, halvesOf, isWide, isWidest, join, vex, widestOf } from "./avx-registers.js";
import { wordType } from "./evex-assembly.js";
import { knownWord, maskOfWord, wordOf } from "./evex-masks.js";
import { blendByWord, type Evex, isWhole } from "./evex-parts.js";
import { bitsOf, intLane, shapeOf } from "./vectors-shape.js";
import { pairMask } from "./vectors-shuffle.js";
import { as, imm, letterOf } from "./vectors-sse.js";
import {
  fits,
  immediateOf,
  keep,
  maskOf,
  sourcesOf,
  unpack,
  type Wanted,
  wantedLanes,
  withinParts,
} from "./wide-shuffle.js";

/** The parts of a shuffle; null: it is done on halves. */
export function nativeEvexShuffle(
  l: Lowering,
  left: Value,
  right: Value,
  type: Type,
  mask: readonly number[],
  evex: Evex,
): Parts | null {
  if (shapeOf(type).representation === "mask") return ofMasks(l, left, right, type, mask, evex);
  if (!isWhole(type, evex.features)) return null;
  const from = shapeOf(left.type);
  if (from.representation !== "lanes") return null;
  const types = l.partTypes(type);
  const wanted = wantedLanes(l, left, right, types, mask);
  const out: Value[] = [];
  for (const [i, own] of types.entries()) {
    const gathered = gather(l, own, wanted[i]!, evex.features);
    if (gathered === null) return null;
    out.push(gathered);
  }
  return out;
}

/** Of masks: the first lanes, and those after which there are zeros. */
function ofMasks(
  l: Lowering,
  left: Value,
  right: Value,
  type: Type,
  mask: readonly number[],
  evex: Evex,
): Parts | null {
  const { count } = left.type;
  const parts = l.parts(left);
  if (count < 2 || type.count < 2 || count > 64 || type.count > 64 || knownWord(parts) === undefined)
    return null;
  const word = wordOf(l, evex.avx, left.type, parts);
  let kept = 0n;
  for (const [i, m] of mask.entries()) {
    if (m < 0) continue;
    if (m < count) {
      if (m !== i) return null;
      kept |= 1n << BigInt(i);
    } else if (right.valueKind !== "zero") return null;
  }
  const result = wordType(type.count);
  const sized =
    word.type === result ? word : l.cast(word.type.bits < result.bits ? Op.ZExt : Op.Trunc, word, result);
  return maskOfWord(l, evex.avx, type, l.and(sized, constInt(result, kept)));
}

/** A register of 512 bits that begins with another. */
function widened(l: Lowering, v: Value): Value {
  if (isWidest(v.type)) return v;
  const wide = isWide(v.type) ? v : join(l, v, new ConstUndef(v.type, false));
  return join(l, wide, new ConstUndef(wide.type, false));
}

function gather(l: Lowering, type: Type, wanted: readonly Wanted[], features: VectorFeatures): Value | null {
  const sources = sourcesOf(wanted);
  if (sources.length === 0) return new ConstUndef(type, false);
  const concatenated = joined(l, type, wanted);
  if (concatenated !== null) return concatenated;
  const [first, second] = sources;
  if (second === undefined)
    return permute(l, widened(l, first!), maskOf(wanted, first!, null, new Set()), features);
  let result = both(
    l,
    widened(l, first!),
    widened(l, second),
    maskOf(wanted, first!, second, new Set()),
    features,
  );
  const done = new Set<Value>([first!, second]);
  for (const source of sources.slice(2)) {
    if (result === null) return null;
    const mask = maskOf(wanted, null, source, done);
    result = both(l, result, widened(l, source), mask, features);
    done.add(source);
  }
  return result;
}

/** Two halves that each are one register, or half of one, in its order; null: they are not. */
function joined(l: Lowering, type: Type, wanted: readonly Wanted[]): Value | null {
  const half = type.count / 2;
  const halves = [wanted.slice(0, half), wanted.slice(half)].map((own): Value | null | undefined => {
    const some = own.find(({ register }) => register !== null);
    if (some === undefined) return null;
    const { register } = some;
    const start = some.lane - own.indexOf(some);
    if (
      start % half !== 0 ||
      !own.every((w, i) => w.register === null || (w.register === register && w.lane === start + i))
    )
      return undefined;
    if (isWide(register!.type)) return start === 0 ? register : undefined;
    return isWidest(register!.type) ? halvesOf(l, register!)[start === 0 ? 0 : 1] : undefined;
  });
  const [low, high] = halves as [Value | null | undefined, Value | null | undefined];
  if (low === undefined || high === undefined || low === null) return null;
  return join(l, low, high ?? new ConstUndef(low.type, false));
}

const wider = (type: Type): Type => {
  const bits = bitsOf(type.element) * 2;
  return widestOf(type.element.isFloat && bits === 64 ? doubleType : intLane(bits));
};

/** Numbers of lanes in a register, of twice as many where they are of two. */
const table = (type: Type, mask: readonly number[]): Value =>
  constantLanes(
    widestOf(intLane(bitsOf(type.element))),
    mask.map((m) => BigInt(Math.max(m, 0))),
  );

/** Lanes of one register; null: there is no short way. */
function permute(l: Lowering, v: Value, mask: readonly number[], features: VectorFeatures): Value | null {
  const { type } = v;
  const n = type.count;
  if (fits(mask, (i) => i)) return v;
  const bits = bitsOf(type.element);
  const first = mask.find((m) => m >= 0)!;
  if (first === 0 && mask.every((m) => m <= 0)) return splatLow(l, v);
  const paired = bits < 64 ? pairMask(mask) : null;
  if (paired !== null) {
    const moved = permute(l, as(l, v, wider(type)), paired, features);
    return moved === null ? null : as(l, moved, type);
  }
  const quarters = bits === 64 ? pairMask(mask) : null;
  if (quarters !== null) {
    const doubles = widestOf(doubleType);
    const source = as(l, v, doubles);
    return as(l, vex(l, "Shuff64x2", doubles, source, source, imm(immediateOf(quarters, 2))), type);
  }
  const same = withinParts(mask, n, 4);
  if (bits === 64) {
    if (mask.every((m, i) => m < 0 || m >> 1 === i >> 1)) {
      const control = mask.reduce((sum, m, i) => sum | ((keep(m, i) & 1) << i), 0);
      const doubles = widestOf(doubleType);
      return as(l, vex(l, "PermilpdImm", doubles, as(l, v, doubles), imm(control)), type);
    }
    const isFloat = type.element.isFloat;
    return vex(l, isFloat ? "PermpdVar" : "PermqVar", type, table(type, mask), v);
  }
  if (bits === 32) {
    if (same !== null) {
      if (!type.element.isFloat) return vex(l, "Pshufd", type, v, imm(immediateOf(same, 2)));
      return vex(l, "PermilpsImm", type, v, imm(immediateOf(same, 2)));
    }
    return vex(l, type.element.isFloat ? "Permps" : "Permd", type, table(type, mask), v);
  }
  if (mask.every((m, i) => m < 0 || Math.floor((m * 4) / n) === Math.floor((i * 4) / n))) {
    const bytes = widestOf(i8);
    const size = bits / 8;
    const control = mask.flatMap((m) =>
      Array.from({ length: size }, (_, b) => (m < 0 ? 0x80n : BigInt((m % (n / 4)) * size + b))),
    );
    return as(l, vex(l, "Pshufb", bytes, as(l, v, bytes), constantLanes(bytes, control)), type);
  }
  if (bits === 16) return vex(l, "Permw", type, table(type, mask), v);
  return features.vbmi ? vex(l, "Permb", type, table(type, mask), v) : null;
}

/** The lowest lane in every lane. */
function splatLow(l: Lowering, v: Value): Value {
  const { type } = v;
  const low = halvesOf(l, halvesOf(l, v)[0])[0];
  if (type.element === floatType) return vex(l, "Broadcastss", type, low);
  if (type.element === doubleType) return vex(l, "Broadcastsd", type, low);
  return vex(l, `Pbroadcast${letterOf(type.element.bits)}`, type, low);
}

/** Lanes of two registers, those of `b` from the count of lanes; null: there is no short way. */
function both(
  l: Lowering,
  a: Value,
  b: Value,
  mask: readonly number[],
  features: VectorFeatures,
): Value | null {
  const { type } = a;
  const n = type.count;
  if (mask.every((m) => m < n)) return permute(l, a, mask, features);
  if (mask.every((m) => m < 0 || m >= n))
    return permute(
      l,
      b,
      mask.map((m) => (m < 0 ? m : m - n)),
      features,
    );
  const bits = bitsOf(type.element);
  const paired = bits < 64 ? pairMask(mask) : null;
  if (paired !== null) {
    const wide = wider(type);
    const moved = both(l, as(l, a, wide), as(l, b, wide), paired, features);
    return moved === null ? null : as(l, moved, type);
  }
  if (mask.every((m, i) => m < 0 || m % n === i)) {
    const word = mask.reduce((sum, m, i) => (m >= n ? sum | (1n << BigInt(i)) : sum), 0n);
    return blendByWord(l, constInt(wordType(n), word), b, a);
  }
  const same = withinParts(mask, n, 4);
  const unpacked = same === null ? null : unpack(l, a, b, same, true);
  if (unpacked !== null) return unpacked;
  const quarters = bits === 64 ? pairMask(mask) : null;
  if (quarters !== null) {
    const moved = shuffleQuarters(l, a, b, quarters);
    if (moved !== null) return moved;
  }
  if (bits >= 32) {
    const aligned = align(l, a, b, mask);
    if (aligned !== null) return aligned;
  }
  if (bits === 8 && !features.vbmi) return null;
  const suffix = type.element === floatType ? "ps" : type.element === doubleType ? "pd" : letterOf(bits);
  return vex(l, `Permt2${suffix}`, type, a, table(type, mask), b);
}

/** Two quarters of one register below two of another. */
function shuffleQuarters(l: Lowering, a: Value, b: Value, quarters: readonly number[]): Value | null {
  const doubles = widestOf(doubleType);
  for (const [x, y, low, high] of [
    [a, b, 0, 4],
    [b, a, 4, 0],
  ] as const) {
    const isFrom = (m: number, first: number): boolean => m < 0 || (m >= first && m < first + 4);
    if (!quarters.every((m, i) => isFrom(m, i < 2 ? low : high))) continue;
    const control = immediateOf(
      quarters.map((m) => (m < 0 ? 0 : m & 3)),
      2,
    );
    return as(l, vex(l, "Shuff64x2", doubles, as(l, x, doubles), as(l, y, doubles), imm(control)), a.type);
  }
  return null;
}

/** Consecutive lanes that begin in one register and end in another. */
function align(l: Lowering, a: Value, b: Value, mask: readonly number[]): Value | null {
  const { type } = a;
  const n = type.count;
  const at = mask.findIndex((m) => m >= 0);
  const start = (mask[at]! - at + 2 * n) % (2 * n);
  if (start % n === 0 || !fits(mask, (i) => (start + i) % (2 * n))) return null;
  const words = widestOf(bitsOf(type.element) === 32 ? i32 : i64);
  const name = words.element === i32 ? "Alignd" : "Alignq";
  const [low, high] = start < n ? [a, b] : [b, a];
  return as(l, vex(l, name, words, as(l, high, words), as(l, low, words), imm(start % n)), type);
}
