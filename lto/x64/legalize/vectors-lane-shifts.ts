/**
 * Shifts of lanes by constants that differ: by multiplication where a lane's product has the result in one half, else each
 * amount by itself, and lanes taken from each.
 */
import type { Lowering } from "../../codegen/legalize/lowering.js";
import { elementOf as elementOrNull } from "../../ir/fold/aggregates.js";
import { Op } from "../../ir/instructions.js";
import { i16, i32 } from "../../ir/types.js";
import { isConstant, type Value } from "../../ir/values.js";
import { lanesOfEach, multiply, type ShiftKind } from "./vectors-arith.js";
import {
  as,
  bitAnd,
  bitOr,
  blend,
  laneConstants,
  shiftConstant,
  splatConstant,
  sse,
  v8i16,
  v16i8,
} from "./vectors-sse.js";

/** The lanes of a constant register; null: they are not known. Lanes without a value are 0. */
export function knownLanes(value: Value): bigint[] | null {
  if (!isConstant(value)) return null;
  const lanes: bigint[] = [];
  for (let i = 0; i < value.type.count; i++) {
    const lane = elementOrNull(value, i);
    if (lane?.valueKind !== "int" && lane?.valueKind !== "undef") return null;
    lanes.push(lane.valueKind === "int" ? BigInt.asUintN(lane.type.bits, lane.value) : 0n);
  }
  return lanes;
}

/** @param amounts of each lane; what is not below the lane's width may shift by anything */
export function shiftLanes(l: Lowering, kind: ShiftKind, v: Value, amounts: readonly bigint[]): Value {
  const { bits } = v.type.element;
  const counts = amounts.map((amount) => Number(amount % BigInt(bits)));
  return byProduct(l, kind, v, counts) ?? byAmount(l, kind, v, counts);
}

const powers = (bits: number, exponents: readonly number[]): bigint[] =>
  exponents.map((exponent) => BigInt.asUintN(bits, 1n << BigInt(exponent)));

function byProduct(l: Lowering, kind: ShiftKind, v: Value, counts: readonly number[]): Value | null {
  switch (v.type.element.bits) {
    case 32:
      return kind === "sll" ? multiply(l, v, laneConstants(i32, powers(32, counts))) : null;
    case 16:
      if (kind === "sll") return l.bin(Op.Mul, v, laneConstants(i16, powers(16, counts)));
      return highProduct(l, kind, v, counts);
    case 8:
      return kind === "sra" ? null : ofBytes(l, kind, as(l, v, v8i16), counts);
    default:
      return null;
  }
}

/** The upper half of products with 2^(16 - count), where that is a number of 16 bits. */
function highProduct(l: Lowering, kind: "srl" | "sra", v: Value, counts: readonly number[]): Value | null {
  // 2^15 is negative where numbers have signs.
  if (kind === "sra" && counts.includes(1)) return null;
  const factors = powers(
    16,
    counts.map((count) => 16 - count),
  );
  const product = sse(l, kind === "srl" ? "pmulhuw" : "pmulhw", v8i16, v, laneConstants(i16, factors));
  if (!counts.includes(0)) return product;
  const stays = counts.map((count) => (count === 0 ? 0xffffn : 0n));
  return bitOr(l, product, bitAnd(l, v, laneConstants(i16, stays)));
}

/** Even and odd bytes as words. */
function ofBytes(l: Lowering, kind: "sll" | "srl", v: Value, counts: readonly number[]): Value {
  const low = splatConstant(i16, 0xffn);
  const high = splatConstant(i16, 0xff00n);
  const exponents = counts.map((count) => (kind === "sll" ? count : 8 - count));
  const factors = (parity: number): Value =>
    laneConstants(
      i16,
      powers(
        16,
        exponents.filter((_, lane) => lane % 2 === parity),
      ),
    );
  const times = (word: Value, parity: number): Value => l.bin(Op.Mul, word, factors(parity));
  const [even, odd] =
    kind === "sll"
      ? [bitAnd(l, times(v, 0), low), times(bitAnd(l, v, high), 1)]
      : [
          shiftConstant(l, "srl", times(bitAnd(l, v, low), 0), 8),
          bitAnd(l, times(shiftConstant(l, "srl", v, 8), 1), high),
        ];
  return as(l, bitOr(l, even, odd), v16i8);
}

/** Shifts by each amount there is, and takes of each the lanes that it is for. */
function byAmount(l: Lowering, kind: ShiftKind, v: Value, counts: readonly number[]): Value {
  const lane = v.type.element;
  const different = new Set(counts);
  if (different.size > 1 && (lane.bits === 64 || (lane.bits === 32 && different.size > 2)))
    return lanesOfEach(
      l,
      counts.map((count) => shiftConstant(l, kind, v, count)),
    );
  let result: Value | null = null;
  for (const amount of [...different].sort((a, b) => a - b)) {
    const shifted = shiftConstant(l, kind, v, amount);
    const isOwn = counts.map((count) => (count === amount ? -1n : 0n));
    result = result === null ? shifted : blend(l, laneConstants(lane, isOwn), shifted, result);
  }
  return result!;
}
