/**
 * What the IR around an operand tells about its lanes: just enough to spare sign flips and wide products.
 *
 * Looks through a few instructions, so constant time.
 */
import { elementOf } from "../../codegen/legalize/constants.js";
import { Flag, Op } from "../../ir/instructions.js";
import { type ConstData, isConstant, sameConstant, type Value } from "../../ir/values.js";

const maxDepth = 4;

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
    case Op.ShuffleVector:
      return Math.max(of(0), of(1));
    default:
      return all;
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
    default:
      return type.bits;
  }
}

/** Whether no lane has its sign bit set. */
export function isNonNegative(value: Value): boolean {
  if (value.valueKind === "inst" && value.op === Op.ZExt && (value.flags & Flag.NonNeg) !== 0) return true;
  return usedBits(value) < value.type.scalar.bits;
}
