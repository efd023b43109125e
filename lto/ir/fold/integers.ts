/**
 * Integer arithmetic of the IR on numbers of any width, as bigints that are sign-extended from it (LLVM Language
 * Reference, "Binary Operations", "Bitwise Binary Operations", "icmp").
 *
 * A result is a number, `poison`, or null where the operation is undefined behaviour: that is left for the program to
 * run into, since it may never get there.
 */
import { type BinaryOp, Flag, type IntPredicate, Op } from "../instructions.js";

export const poison = Symbol("poison");
export type Folded = bigint | typeof poison | null;

export const signed = (bits: number, n: bigint): bigint => BigInt.asIntN(bits, n);
export const unsigned = (bits: number, n: bigint): bigint => BigInt.asUintN(bits, n);
export const largest = (bits: number): bigint => (1n << BigInt(bits - 1)) - 1n;
export const smallest = (bits: number): bigint => -(1n << BigInt(bits - 1));

/** The exact result, or poison when flags forbid that it does not fit. */
function wrapped(bits: number, flags: number, exactSigned: bigint, exactUnsigned: bigint): Folded {
  const result = signed(bits, exactSigned);
  if ((flags & Flag.Nsw) !== 0 && result !== exactSigned) return poison;
  if ((flags & Flag.Nuw) !== 0 && unsigned(bits, exactUnsigned) !== exactUnsigned) return poison;
  return result;
}

export function integerBinary(op: BinaryOp, bits: number, a: bigint, b: bigint, flags: number): Folded {
  const [ua, ub] = [unsigned(bits, a), unsigned(bits, b)];
  switch (op) {
    case Op.Add:
      return wrapped(bits, flags, a + b, ua + ub);
    case Op.Sub:
      return wrapped(bits, flags, a - b, ua - ub);
    case Op.Mul:
      return wrapped(bits, flags, a * b, ua * ub);
    case Op.UDiv:
    case Op.SDiv:
    case Op.URem:
    case Op.SRem:
      return divided(op, bits, a, b, flags);
    case Op.Shl:
      return ub >= BigInt(bits) ? poison : wrapped(bits, flags, a << ub, ua << ub);
    case Op.LShr:
    case Op.AShr: {
      if (ub >= BigInt(bits)) return poison;
      if ((flags & Flag.Exact) !== 0 && unsigned(Number(ub), ua) !== 0n) return poison;
      return op === Op.LShr ? signed(bits, ua >> ub) : a >> ub;
    }
    case Op.And:
      return a & b;
    case Op.Or:
      return (flags & Flag.Disjoint) !== 0 && (a & b) !== 0n ? poison : a | b;
    case Op.Xor:
      return a ^ b;
    default:
      return null;
  }
}

function divided(op: Op, bits: number, a: bigint, b: bigint, flags: number): Folded {
  if (b === 0n) return null;
  const exact = (flags & Flag.Exact) !== 0;
  if (op === Op.SDiv || op === Op.SRem) {
    if (b === -1n && a === smallest(bits)) return null;
    if (op === Op.SRem) return a % b;
    return exact && a % b !== 0n ? poison : a / b;
  }
  const [ua, ub] = [unsigned(bits, a), unsigned(bits, b)];
  if (op === Op.URem) return signed(bits, ua % ub);
  return exact && ua % ub !== 0n ? poison : signed(bits, ua / ub);
}

export function integerCompare(predicate: IntPredicate, bits: number, a: bigint, b: bigint): boolean {
  const isSigned = predicate[0] === "s";
  const x = isSigned ? a : unsigned(bits, a);
  const y = isSigned ? b : unsigned(bits, b);
  switch (predicate) {
    case "eq":
      return x === y;
    case "ne":
      return x !== y;
    case "ugt":
    case "sgt":
      return x > y;
    case "uge":
    case "sge":
      return x >= y;
    case "ult":
    case "slt":
      return x < y;
    default:
      return x <= y;
  }
}

/** Whether a comparison holds for equal operands. */
export const trueWhenEqual = (predicate: IntPredicate): boolean => integerCompare(predicate, 2, 0n, 0n);
