/**
 * Rules of `simplify` on integer arithmetic: algebraic identities, sums and masks of constants, what known bits tell.
 *
 * Each rule gives a value that is the old one wherever that is not poison. Flags of what is made new are those that
 * follow from the old ones; most are dropped. No rule reads an operand more often than the instruction did: an undef
 * operand may be another value each time.
 */
import { allOnes, isNonNegative, unsignedRange } from "../../analysis/known-bits.js";
import { Flag, type Inst, inversePredicate, Op } from "../../ir/instructions.js";
import { type ConstInt, ConstUndef, constInt, type Value, zeroOf } from "../../ir/values.js";
import {
  amountOf,
  asInst,
  type Forms,
  intOf,
  invertedOf,
  isAllOnes,
  isCommutative,
  isOne,
  isZero,
  logOf,
  negatedOf,
  same,
  unsignedOf,
} from "./forms.js";

export function simplifyBinary(inst: Inst, forms: Forms): Value | null {
  const [a, b] = inst.operands as readonly [Value, Value];
  // Constants are on the right.
  if (isCommutative(inst.op) && a.valueKind === "int" && b.valueKind !== "int")
    return forms.binary(inst.op as Op.Add, b, a, inst.flags);
  const result = byOperation(inst, a, b, forms);
  return result === inst ? null : result;
}

function byOperation(inst: Inst, a: Value, b: Value, forms: Forms): Value | null {
  switch (inst.op) {
    case Op.Add:
      return add(inst, a, b, forms);
    case Op.Sub:
      return sub(inst, a, b, forms);
    case Op.Mul:
      return mul(inst, a, b, forms);
    case Op.UDiv:
    case Op.URem:
      return unsignedDivision(inst, a, b, forms);
    case Op.SDiv:
    case Op.SRem:
      return signedDivision(inst, a, b, forms);
    case Op.Shl:
    case Op.LShr:
    case Op.AShr:
      return shift(inst, a, b, forms);
    case Op.And:
      return and(inst, a, b, forms);
    case Op.Or:
      return or(inst, a, b, forms);
    case Op.Xor:
      return xor(inst, a, b, forms);
    default:
      return null;
  }
}

/** Flags of `x + (c + d)` made of `(x + c) + d`. */
function sumFlags(outer: Inst, inner: Inst, c: ConstInt, d: ConstInt): number {
  const both = outer.flags & inner.flags;
  const { bits } = c.type;
  let flags = 0;
  if ((both & Flag.Nuw) !== 0 && unsignedOf(c) + unsignedOf(d) <= allOnes(bits)) flags |= Flag.Nuw;
  const total = c.value + d.value;
  const sameSign = c.value < 0n === d.value < 0n;
  if ((both & Flag.Nsw) !== 0 && sameSign && BigInt.asIntN(bits, total) === total) flags |= Flag.Nsw;
  return flags;
}

function add(inst: Inst, a: Value, b: Value, forms: Forms): Value | null {
  if (isZero(b)) return a;
  if (isZero(a)) return b;
  const c = intOf(b);
  if (c !== null) {
    const inner = forms.onlyUse(a);
    if (inner !== null && inner.op === Op.Add) {
      const d = intOf(inner.operands[1]!);
      if (d !== null)
        return forms.binary(
          Op.Add,
          inner.operands[0]!,
          constInt(c.type, c.value + d.value),
          sumFlags(inst, inner, c, d),
        );
    }
    if (inner !== null && inner.op === Op.Sub) {
      const d = intOf(inner.operands[0]!);
      if (d !== null) return forms.binary(Op.Sub, constInt(c.type, c.value + d.value), inner.operands[1]!);
    }
    return null;
  }
  // x + (0 - y), (x - y) + y
  const negated = negatedOf(b);
  if (negated !== null) return forms.binary(Op.Sub, a, negated);
  const negatedLeft = negatedOf(a);
  if (negatedLeft !== null) return forms.binary(Op.Sub, b, negatedLeft);
  const left = asInst(a, Op.Sub);
  if (left !== null && same(left.operands[1]!, b)) return left.operands[0]!;
  const right = asInst(b, Op.Sub);
  if (right !== null && same(right.operands[1]!, a)) return right.operands[0]!;
  return null;
}

function sub(inst: Inst, a: Value, b: Value, forms: Forms): Value | null {
  const { type } = inst;
  if (isZero(b)) return a;
  if (same(a, b)) return zeroOf(type);
  const c = intOf(b);
  if (c !== null) {
    const lowest = BigInt.asIntN(type.bits, -c.value) === c.value;
    return forms.binary(Op.Add, a, constInt(type, -c.value), lowest ? 0 : inst.flags & Flag.Nsw);
  }
  if (isAllOnes(a)) return forms.not(b);
  const negated = negatedOf(b);
  if (negated !== null) return isZero(a) ? negated : forms.binary(Op.Add, a, negated);
  const sum = asInst(a, Op.Add);
  if (sum !== null) {
    if (same(sum.operands[0]!, b)) return sum.operands[1]!;
    if (same(sum.operands[1]!, b)) return sum.operands[0]!;
  }
  const right = asInst(b, Op.Sub);
  if (right !== null && same(right.operands[0]!, a)) return right.operands[1]!;
  const inner = forms.onlyUse(b);
  if (inner === null || (inner.op !== Op.Sub && inner.op !== Op.Add)) return null;
  const [x, y] = inner.operands as readonly [Value, Value];
  if (inner.op === Op.Sub && isZero(a)) return forms.binary(Op.Sub, y, x);
  const left = intOf(a);
  const d = intOf(inner.op === Op.Sub ? x : y);
  if (left === null || d === null) return null;
  const rest = constInt(type, left.value - d.value);
  return inner.op === Op.Sub ? forms.binary(Op.Add, y, rest) : forms.binary(Op.Sub, rest, x);
}

function mul(inst: Inst, a: Value, b: Value, forms: Forms): Value | null {
  const { type } = inst;
  if (isZero(b)) return zeroOf(type);
  if (isOne(b)) return a;
  const c = intOf(b);
  if (c === null) return null;
  if (type.bits === 1) return null;
  if (c.value === -1n) return forms.negate(a);
  const log = logOf(c);
  if (log > 0) {
    const kept = log === type.bits - 1 ? inst.flags & Flag.Nuw : inst.flags & (Flag.Nuw | Flag.Nsw);
    return forms.binary(Op.Shl, a, constInt(type, log), kept);
  }
  const inner = forms.onlyUse(a);
  if (inner === null || inner.op !== Op.Mul) return null;
  const d = intOf(inner.operands[1]!);
  return d === null ? null : forms.binary(Op.Mul, inner.operands[0]!, constInt(type, c.value * d.value));
}

function unsignedDivision(inst: Inst, a: Value, b: Value, forms: Forms): Value | null {
  const { type } = inst;
  const divides = inst.op === Op.UDiv;
  if (type.kind !== "int") return null;
  // A divisor of zero is undefined behaviour, so i1 divides by one.
  if (isOne(b) || type.bits === 1) return divides ? a : zeroOf(type);
  if (isZero(a)) return a;
  if (same(a, b)) return constInt(type, divides ? 1 : 0);
  const c = intOf(b);
  if (c === null) return null;
  if (c.value === 0n) return null;
  const log = logOf(c);
  if (log > 0)
    return divides
      ? forms.binary(Op.LShr, a, constInt(type, log), inst.flags & Flag.Exact)
      : forms.binary(Op.And, a, constInt(type, allOnes(log)));
  const [, largest] = unsignedRange(forms.known(a), type.bits);
  if (largest >= unsignedOf(c) || type.bits > 128) return null;
  return divides ? zeroOf(type) : a;
}

function signedDivision(inst: Inst, a: Value, b: Value, forms: Forms): Value | null {
  const { type } = inst;
  const divides = inst.op === Op.SDiv;
  if (type.kind !== "int") return null;
  if (isOne(b) || type.bits === 1) return divides ? a : zeroOf(type);
  if (isZero(a)) return a;
  if (same(a, b)) return constInt(type, divides ? 1 : 0);
  const c = intOf(b);
  if (c !== null && c.value === -1n) return divides ? forms.negate(a, Flag.Nsw) : zeroOf(type);
  const { bits } = type;
  if (bits > 128) return null;
  const positive = c === null ? isNonNegative(forms.known(b), bits) : c.value > 0n;
  if (positive && isNonNegative(forms.known(a), bits))
    return forms.binary(divides ? Op.UDiv : Op.URem, a, b, inst.flags & Flag.Exact);
  const log = c === null || c.value <= 0n ? -1 : logOf(c);
  if (divides && log > 0 && (inst.flags & Flag.Exact) !== 0)
    return forms.binary(Op.AShr, a, constInt(type, log), Flag.Exact);
  return null;
}

function shift(inst: Inst, a: Value, b: Value, forms: Forms): Value | null {
  const { type, op } = inst;
  if (isZero(b)) return a;
  if (isZero(a)) return a;
  if (op === Op.AShr && isAllOnes(a)) return a;
  const c = intOf(b);
  if (c === null) return null;
  const by = amountOf(c);
  if (by < 0) return new ConstUndef(type, true);
  const inner = asInst(a, Op.Shl) ?? asInst(a, Op.LShr) ?? asInst(a, Op.AShr);
  if (inner !== null) {
    const result = shiftTwice(inst, inner, by, forms);
    if (result !== null) return result;
  }
  if (op === Op.LShr && type.bits <= 128 && (forms.known(a).zero | allOnes(by)) === allOnes(type.bits))
    return zeroOf(type);
  if (op === Op.AShr && type.bits <= 128 && isNonNegative(forms.known(a), type.bits))
    return forms.binary(Op.LShr, a, b, inst.flags & Flag.Exact);
  return null;
}

function shiftTwice(inst: Inst, inner: Inst, by: number, forms: Forms): Value | null {
  const { type, op } = inst;
  const { bits } = type;
  const d = amountOf(inner.operands[1]!);
  if (d < 0) return null;
  const x = inner.operands[0]!;
  // What was shifted out comes back only where flags say that it was nothing.
  if (d === by) {
    const exact = (inner.flags & Flag.Exact) !== 0;
    if (op === Op.Shl && inner.op !== Op.Shl && exact) return x;
    if (op === Op.LShr && inner.op === Op.Shl && (inner.flags & Flag.Nuw) !== 0) return x;
    if (op === Op.AShr && inner.op === Op.Shl && (inner.flags & Flag.Nsw) !== 0) return x;
  }
  if (forms.onlyUse(inner) === null) return null;
  if (inner.op === op) {
    const total = d + by;
    if (total < bits) return forms.binary(op as Op.Shl, x, constInt(type, total));
    return op === Op.AShr ? forms.binary(op, x, constInt(type, bits - 1)) : zeroOf(type);
  }
  if (d !== by) return null;
  if (op === Op.Shl) return forms.binary(Op.And, x, constInt(type, allOnes(bits) ^ allOnes(by)));
  if (op === Op.LShr && inner.op === Op.Shl)
    return forms.binary(Op.And, x, constInt(type, allOnes(bits - by)));
  return null;
}

function and(inst: Inst, a: Value, b: Value, forms: Forms): Value | null {
  const { type } = inst;
  if (isZero(b)) return zeroOf(type);
  if (isAllOnes(b) || same(a, b)) return a;
  if (isComplement(a, b)) return zeroOf(type);
  const absorbed = absorbs(a, b, Op.Or) ?? absorbs(b, a, Op.Or);
  if (absorbed !== null) return absorbed;
  const c = intOf(b);
  if (c === null || type.bits > 128) return null;
  const mask = unsignedOf(c);
  const known = forms.known(a);
  const cleared = allOnes(type.bits) ^ mask;
  if ((known.zero & cleared) === cleared) return a;
  if ((known.zero & mask) === mask) return zeroOf(type);
  if ((known.one & mask) === mask) return c;
  const inner = forms.onlyUse(a);
  if (inner === null) return null;
  const d = intOf(inner.operands[1] ?? a);
  if (d === null) return null;
  if (inner.op === Op.And) return forms.binary(Op.And, inner.operands[0]!, constInt(type, c.value & d.value));
  if ((inner.op === Op.Or || inner.op === Op.Xor) && (c.value & d.value) === 0n)
    return forms.binary(Op.And, inner.operands[0]!, b);
  return null;
}

function or(inst: Inst, a: Value, b: Value, forms: Forms): Value | null {
  const { type } = inst;
  if (isZero(b)) return a;
  if (isAllOnes(b)) return b;
  if (same(a, b)) return a;
  if (isComplement(a, b) && type.kind === "int") return constInt(type, -1);
  const absorbed = absorbs(a, b, Op.And) ?? absorbs(b, a, Op.And);
  if (absorbed !== null) return absorbed;
  const c = intOf(b);
  if (c === null || type.bits > 128) return null;
  const set = unsignedOf(c);
  const known = forms.known(a);
  if ((known.one & set) === set) return a;
  if ((known.zero | set) === allOnes(type.bits)) return c;
  const inner = forms.onlyUse(a);
  if (inner === null || inner.op !== Op.Or) return null;
  const d = intOf(inner.operands[1]!);
  return d === null ? null : forms.binary(Op.Or, inner.operands[0]!, constInt(type, c.value | d.value));
}

function xor(inst: Inst, a: Value, b: Value, forms: Forms): Value | null {
  const { type } = inst;
  if (isZero(b)) return a;
  if (same(a, b)) return zeroOf(type);
  if (isComplement(a, b) && type.kind === "int") return constInt(type, -1);
  const c = intOf(b);
  if (c === null) return null;
  if (c.value === -1n) {
    const inverted = invertedOf(a);
    if (inverted !== null) return inverted;
    const compare = forms.onlyUse(a);
    if (compare !== null && compare.op === Op.ICmp)
      return forms.icmp(
        inversePredicate[compare.data],
        compare.operands[0]!,
        compare.operands[1]!,
        compare.flags,
      );
  }
  const inner = forms.onlyUse(a);
  if (inner === null || inner.op !== Op.Xor) return null;
  const d = intOf(inner.operands[1]!);
  return d === null ? null : forms.binary(Op.Xor, inner.operands[0]!, constInt(type, c.value ^ d.value));
}

const isComplement = (a: Value, b: Value): boolean => {
  const left = invertedOf(a);
  if (left !== null && same(left, b)) return true;
  const right = invertedOf(b);
  return right !== null && same(right, a);
};

/** `a`, where `b` is `a op y`: x & (x | y), x | (x & y). */
function absorbs(a: Value, b: Value, op: Op): Value | null {
  const inner = asInst(b, op);
  if (inner === null) return null;
  return same(inner.operands[0]!, a) || same(inner.operands[1]!, a) ? a : null;
}
