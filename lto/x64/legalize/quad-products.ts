/** Products of 64-bit lanes, made of those of their halves (`pmuludq`), less what is zero. */
import { elementOf } from "../../codegen/legalize/constants.js";
import type { Lowering } from "../../codegen/legalize/lowering.js";
import { Op } from "../../ir/instructions.js";
import { ConstData, isConstant, type Value, zeroOf } from "../../ir/values.js";
import { loweredShuffle, withLowerHalves } from "./vectors-facts.js";

/** Instructions of one width on 64-bit lanes. */
export interface QuadOperations {
  /** Of the lower halves. */
  multiply(a: Value, b: Value): Value;
  /** By 32 bits. */
  shiftRight(v: Value): Value;
  shiftLeft(v: Value): Value;
}

/** Whether the lower half of each lane of a constant is zero. */
const isLowZero = (v: Value): boolean =>
  v.valueKind === "zero" ||
  (v.valueKind === "data" && v.bytes.every((byte, i) => (i & 4) !== 0 || byte === 0));

/** The upper halves of the lanes of a constant, in place of the lower ones; null: it is none. */
function constantHigh(v: Value): Value | null {
  if (v.valueKind === "zero") return v;
  if (v.valueKind !== "data") return null;
  const bytes = v.bytes.map((_, i) => ((i & 4) === 0 ? v.bytes[i + 4]! : 0));
  return bytes.every((byte) => byte === 0) ? zeroOf(v.type) : new ConstData(v.type, bytes);
}

/** low·low + ((high·low + low·high) << 32). @param used bits that each factor's unsigned value fits in */
export function quadProduct(
  l: Lowering,
  a: Value,
  b: Value,
  used: readonly [number, number],
  operations: QuadOperations,
): Value {
  const product = (x: Value, y: Value): Value | null =>
    isLowZero(x) || isLowZero(y) ? null : operations.multiply(x, y);
  const high = (v: Value): Value => constantHigh(v) ?? operations.shiftRight(v);
  const sum = (x: Value | null, y: Value | null): Value | null =>
    x !== null && y !== null ? l.bin(Op.Add, x, y) : (x ?? y);
  const cross = sum(used[0] <= 32 ? null : product(high(a), b), used[1] <= 32 ? null : product(a, high(b)));
  return sum(product(a, b), cross === null ? null : operations.shiftLeft(cross)) ?? zeroOf(a.type);
}

/** Where each 64-bit lane of a register takes its halves from, as numbers of 32-bit lanes of a whole vector. */
interface HalvesShuffle {
  readonly source: Value;
  /** Of `pshufd`, for each 16 bytes alike. */
  readonly control: number;
}

/**
 * A vector of 64-bit lanes whose lower halves are those of a shuffle of 32-bit lanes: masks before it that leave these as they are
 * are looked through, whatever they do to the upper ones. Null where it is none such, or not alike for each 16 bytes.
 */
function shuffledHalves(value: Value): HalvesShuffle | null {
  if (value.valueKind !== "inst" || value.op !== Op.BitCast) return null;
  const shuffle = value.operands[0]!;
  if (shuffle.valueKind !== "inst") return null;
  // It may be lowered already.
  const lowered = loweredShuffle(shuffle);
  if (shuffle.op !== Op.ShuffleVector && lowered === null) return null;
  const from = lowered?.source ?? shuffle.operands[0];
  const { type } = shuffle;
  if (type.kind !== "vector" || !type.element.isInt(32) || from!.type !== type) return null;
  if (from!.valueKind !== "inst" || from!.op !== Op.And) return null;
  const [source, mask] = from!.operands as [Value, Value];
  if (!isConstant(mask) || mask.valueKind === "expr") return null;
  let control = 0;
  for (let lane = 0; lane < type.count; lane += 2) {
    const at =
      lowered !== null
        ? (lane & ~3) | ((lowered.control >> (2 * (lane & 3))) & 3)
        : shuffle.op === Op.ShuffleVector
          ? shuffle.data[lane]!
          : -1;
    if (at < 0 || at >> 2 !== lane >> 2) return null;
    const kept = elementOf(mask, at);
    if (kept.valueKind !== "int" || BigInt.asUintN(32, kept.value) !== 0xffffffffn) return null;
    // The upper half: whatever, for which the same is as good.
    const bits = (at & 3) * 5;
    const shift = 2 * (lane & 3);
    if (lane < 4) control |= bits << shift;
    else if (((control >> shift) & 15) !== bits) return null;
  }
  return { source, control };
}

/**
 * Registers with the lower halves of a factor's lanes; what is above them is whatever.
 * @param shuffle a register of 32-bit lanes, each 16 bytes of it by a control of `pshufd`
 */
export function lowerHalves(
  parts: (value: Value) => readonly Value[],
  shuffle: (v: Value, control: number) => Value,
  value: Value,
): readonly Value[] {
  const found = shuffledHalves(value);
  if (found !== null) return parts(found.source).map((v) => shuffle(v, found.control));
  return parts(withLowerHalves(value));
}
