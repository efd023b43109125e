/**
 * What the IR around an operand tells about its lanes: just enough to spare sign flips and wide products.
 *
 * Looks through a few instructions, so constant time.
 */
import { elementOf } from "../../codegen/legalize/constants.js";
import { Flag, type Inst, Op } from "../../ir/instructions.js";
import { type ConstData, isConstant, sameConstant, type Value } from "../../ir/values.js";

const maxDepth = 4;
/** Values of a phi that are looked at. */
const maxIncoming = 4;

/** Bits that the unsigned value of each lane of an integer vector surely fits in. */
export function usedBits(value: Value, depth = 0): number {
  const type = value.type.scalar;
  if (type.kind !== "int") return 64;
  const all = type.bits;
  if (isConstant(value)) {
    let most = 0;
    if (value.type.kind !== "vector" || value.valueKind === "expr") return all;
    for (let i = 0; i < value.type.count; i++) {
      const element = elementOf(value, i);
      if (element.valueKind !== "int" || element.value < 0n) return all;
      most = Math.max(most, element.value.toString(2).length);
    }
    return most;
  }
  if (value.valueKind !== "inst" || depth === maxDepth) return all;
  const of = (i: number): number => usedBits(value.operands[i]!, depth + 1);
  switch (value.op) {
    case Op.ZExt:
      return Math.min(value.operands[0]!.type.scalar.bits, of(0));
    case Op.And:
      return Math.min(of(0), of(1));
    case Op.Or:
    case Op.Xor:
      return Math.max(of(0), of(1));
    case Op.Add:
      return Math.min(all, Math.max(of(0), of(1)) + 1);
    case Op.Mul:
      return Math.min(all, of(0) + of(1));
    case Op.LShr: {
      const amount = value.operands[1]!;
      const by = amount.valueKind === "data" ? splatValue(amount) : null;
      return by === null ? of(0) : Math.max(0, of(0) - by);
    }
    case Op.Select:
      return Math.max(of(1), of(2));
    case Op.Phi:
      // What holds for all values of those that come in holds for it, in loops, too.
      return value.operands.length <= maxIncoming
        ? value.operands.reduce((most, _, i) => (most === all ? all : Math.max(most, of(i))), 0)
        : all;
    case Op.ShuffleVector:
    case Op.InsertElement:
      return sourcesOf(value).reduce((most, source) => Math.max(most, usedBits(source, depth + 1)), 0);
    case Op.Call:
      return usedOfExtremum(value, all, depth);
    case Op.BitCast: {
      const source = value.operands[0]!;
      if (source.type.kind !== "vector" || !source.type.element.isInt(all / 2)) return all;
      for (let i = 1; i < source.type.count; i += 2) if (!isZeroLane(source, i, depth + 1)) return all;
      return all / 2;
    }
    default:
      return all;
  }
}

/** What has been put into one lane and from there into all; null: that is not known. */
export function splatScalar(value: Value): Value | null {
  if (value.valueKind !== "inst" || value.op !== Op.ShuffleVector || !value.data.every((i) => i <= 0))
    return null;
  const [from] = value.operands;
  if (from!.valueKind !== "inst" || from!.op !== Op.InsertElement) return null;
  const at = from!.operands[2]!;
  return at.valueKind === "int" && at.value === 0n ? from!.operands[1]! : null;
}

/** Where the lanes of a shuffle or an insertion come from: vectors, and scalars; those that are poison are whatever suits. */
function sourcesOf(inst: Inst): readonly Value[] {
  const [first, second] = inst.operands as readonly [Value, Value];
  if (inst.op !== Op.ShuffleVector) {
    const isPoison = first.valueKind === "undef" && first.poison;
    return isPoison ? [second] : [first, second];
  }
  // A splat has the scalar alone, whatever the other lanes of the vector are that it was put into.
  const scalar = splatScalar(inst);
  if (scalar !== null) return [scalar];
  const { count } = first.type;
  const lanes = inst.data as readonly number[];
  return [
    ...(lanes.some((i) => i >= 0 && i < count) ? [first] : []),
    ...(lanes.some((i) => i >= count) ? [second] : []),
  ];
}

/** The larger or the smaller of two numbers. */
export interface Extremum {
  readonly kind: "smax" | "smin" | "umax" | "umin";
  readonly left: Value;
  readonly right: Value;
}

export function extremumOf(value: Value): Extremum | null {
  if (value.valueKind !== "inst" || value.op !== Op.Call) return null;
  const [callee, left, right] = value.operands;
  const kind =
    callee!.valueKind === "global" ? /^llvm\.([su](?:max|min))\./.exec(callee!.name)?.[1] : undefined;
  return kind === undefined ? null : { kind: kind as Extremum["kind"], left: left!, right: right! };
}

/** @param all bits of the lanes */
function usedOfExtremum(value: Value, all: number, depth: number): number {
  const extremum = extremumOf(value);
  if (extremum === null) return all;
  const [a, b] = [usedBits(extremum.left, depth + 1), usedBits(extremum.right, depth + 1)];
  switch (extremum.kind) {
    case "umin":
      return Math.min(a, b);
    case "umax":
      return Math.max(a, b);
    case "smin":
      return a < all && b < all ? Math.min(a, b) : all;
    case "smax":
      // One that is not negative is smaller than none that is.
      return a < all && b < all ? Math.max(a, b) : a < all || b < all ? all - 1 : all;
  }
}

/** A shuffle of lanes of 4 bytes within each 16, which is lowered already; null: it is none. */
export function loweredShuffle(inst: Inst): { readonly source: Value; readonly control: number } | null {
  if (inst.op !== Op.Call) return null;
  const [callee, source, control] = inst.operands;
  if (callee!.valueKind !== "global" || !/^tsc\.x64\.(?:v\.P|p)shufd$/.test(callee!.name)) return null;
  return control?.valueKind === "int" ? { source: source!, control: control.num } : null;
}

/** Whether a lane of a vector of integers is zero, or poison. */
function isZeroLane(value: Value, lane: number, depth: number): boolean {
  if (isConstant(value)) {
    if (value.valueKind === "expr") return false;
    const element = elementOf(value, lane);
    return element.valueKind === "int" && element.value === 0n;
  }
  if (value.valueKind !== "inst" || depth > maxDepth) return false;
  const [first, second] = value.operands;
  switch (value.op) {
    case Op.ShuffleVector: {
      const from = value.data[lane]!;
      const { count } = first!.type;
      if (from < 0) return true;
      return from < count
        ? isZeroLane(first!, from, depth + 1)
        : isZeroLane(second!, from - count, depth + 1);
    }
    case Op.And:
      return isZeroLane(first!, lane, depth + 1) || isZeroLane(second!, lane, depth + 1);
    case Op.BitCast: {
      // Wider lanes whose bits a constant clears.
      const { type } = first!;
      if (first!.valueKind !== "inst" || first!.op !== Op.And || type.kind !== "vector") return false;
      const mask = first!.operands[1]!;
      const bits = value.type.element.bits;
      if (mask.valueKind !== "data" || !type.element.isInt(2 * bits)) return false;
      const element = elementOf(mask, lane >> 1);
      if (element.valueKind !== "int") return false;
      const part = lane % 2 === 0 ? element.value : element.value >> BigInt(bits);
      return BigInt.asUintN(bits, part) === 0n;
    }
    case Op.Call: {
      const shuffle = loweredShuffle(value);
      if (shuffle === null || shuffle.source.type !== value.type) return false;
      const from = (lane & ~3) | ((shuffle.control >> (2 * (lane & 3))) & 3);
      return isZeroLane(shuffle.source, from, depth + 1);
    }
    default:
      return false;
  }
}

/** The value of all lanes of a constant, or null. */
function splatValue(constant: ConstData): number | null {
  const first = elementOf(constant, 0);
  for (let i = 1; i < constant.type.count; i++) if (!sameConstant(first, elementOf(constant, i))) return null;
  return first.valueKind === "int" ? first.num : null;
}

/** Bits that the signed value of each lane surely fits in, its sign included. */
export function signedBits(value: Value, depth = 0): number {
  const type = value.type.scalar;
  if (type.kind !== "int") return 64;
  const unsigned = usedBits(value);
  if (unsigned < type.bits) return unsigned + 1;
  if (isConstant(value)) {
    let most = 1;
    if (value.type.kind !== "vector" || value.valueKind === "expr") return type.bits;
    for (let i = 0; i < value.type.count; i++) {
      const element = elementOf(value, i);
      if (element.valueKind !== "int") return type.bits;
      const magnitude = element.value < 0n ? ~element.value : element.value;
      most = Math.max(most, magnitude === 0n ? 1 : magnitude.toString(2).length + 1);
    }
    return most;
  }
  if (value.valueKind !== "inst" || depth === maxDepth) return type.bits;
  switch (value.op) {
    case Op.SExt:
      return Math.min(value.operands[0]!.type.scalar.bits, signedBits(value.operands[0]!, depth + 1));
    case Op.Add:
    case Op.Sub:
      return Math.min(
        type.bits,
        Math.max(signedBits(value.operands[0]!, depth + 1), signedBits(value.operands[1]!, depth + 1)) + 1,
      );
    case Op.ShuffleVector:
    case Op.InsertElement:
      return sourcesOf(value).reduce((most, source) => Math.max(most, signedBits(source, depth + 1)), 1);
    case Op.AShr: {
      const by = shiftedBy(value.operands[1]!) ?? 0;
      return Math.max(1, signedBits(value.operands[0]!, depth + 1) - by);
    }
    default:
      return type.bits;
  }
}

/** The amount of all lanes, below their width; null: not known. */
function shiftedBy(amount: Value): number | null {
  const by = amount.valueKind === "data" ? splatValue(amount) : null;
  return by !== null && by >= 0 && by < amount.type.scalar.bits ? by : null;
}

/** A vector of 64-bit lanes whose lower halves are those of another: what clears or extends them looked through. */
export function withLowerHalves(value: Value): Value {
  if (value.valueKind !== "inst" || value.type.kind !== "vector" || !value.type.element.isInt(64))
    return value;
  const [first, second] = value.operands;
  if (value.op === Op.And && second!.valueKind === "data") {
    for (let i = 0; i < second!.type.count; i++) {
      const element = elementOf(second!, i);
      if (element.valueKind !== "int" || BigInt.asUintN(32, element.value) !== 0xffffffffn) return value;
    }
    return first!;
  }
  if (
    value.op === Op.AShr &&
    shiftedBy(second!) === 32 &&
    first!.valueKind === "inst" &&
    first!.op === Op.Shl
  )
    return shiftedBy(first!.operands[1]!) === 32 ? first!.operands[0]! : value;
  return value;
}

/** Whether no lane has its sign bit set. */
export function isNonNegative(value: Value): boolean {
  if (value.valueKind === "inst" && value.op === Op.ZExt && (value.flags & Flag.NonNeg) !== 0) return true;
  return usedBits(value) < value.type.scalar.bits;
}

/** The constant shift amount of all lanes, or null. */
export function uniformConstant(amounts: Value): number | null {
  if (!isConstant(amounts) || amounts.type.kind !== "vector" || amounts.valueKind === "expr") return null;
  let value: bigint | null = null;
  for (let i = 0; i < amounts.type.count; i++) {
    const element = elementOf(amounts, i);
    if (element.valueKind === "undef") continue;
    if (element.valueKind !== "int") return null;
    if (value !== null && value !== element.value) return null;
    value = element.value;
  }
  return value === null ? 0 : Number(BigInt.asUintN(64, value) & 0xffn);
}

/** Whether all lanes are lane 0 by construction. */
export function isSplat(value: Value): boolean {
  return value.valueKind === "inst" && value.op === Op.ShuffleVector && value.data.every((i) => i === 0);
}
