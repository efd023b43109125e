/**
 * Rules of `simplify` on integer and pointer comparisons: constants on the right, strict predicates, arithmetic on the
 * compared value moved into the constant, and what known bits and ranges decide.
 *
 * Proof obligations: arithmetic is undone modulo the width for equality, and for an order only where flags or
 * extensions say that nothing wrapped; pointers are compared by offset only from one base, and for an order only
 * in bounds.
 */
import { signedRange, unsignedRange } from "../../analysis/known-bits.js";
import { isNonNull, isNullValid } from "../../analysis/value-facts.js";
import { constantGepOffset } from "../../ir/fold/index.js";
import { integerCompare, trueWhenEqual } from "../../ir/fold/integers.js";
import {
  Flag,
  type Inst,
  type InstWith,
  type IntPredicate,
  Op,
  swappedPredicate,
} from "../../ir/instructions.js";
import { type ConstInt, constBool, constInt, type Value, zeroOf } from "../../ir/values.js";
import { asInst, type Forms, intOf, isZero, same, unsignedOf } from "./forms.js";

export function simplifyCompare(inst: InstWith<Op.ICmp>, forms: Forms): Value | null {
  if (inst.type.kind === "vector") return null;
  const [a, b] = inst.operands as readonly [Value, Value];
  const predicate = inst.data;
  if (same(a, b)) return constBool(trueWhenEqual(predicate));
  if (isConstantSide(a) && !isConstantSide(b))
    return forms.icmp(swappedPredicate[predicate], b, a, inst.flags);
  if (a.type.kind === "ptr") return comparePointers(inst, a, b, forms);
  const c = intOf(b);
  if (c === null) return compareValues(predicate, a, b, forms);
  if (a.type.bits === 1) {
    const boolean = compareBoolean(predicate, a, c, forms);
    if (boolean !== null) return boolean;
  }
  return (
    decide(predicate, a, c, forms) ??
    strict(predicate, a, c, forms) ??
    compareOperation(inst, predicate, a, c, forms)
  );
}

const isConstantSide = (value: Value): boolean => value.valueKind === "int" || value.valueKind === "zero";
const isEquality = (predicate: IntPredicate): boolean => predicate === "eq" || predicate === "ne";
const isSigned = (predicate: IntPredicate): boolean => predicate[0] === "s";

/** An i1 against a constant is itself, its complement, or known. */
function compareBoolean(predicate: IntPredicate, a: Value, c: ConstInt, forms: Forms): Value {
  const ifTrue = integerCompare(predicate, 1, -1n, c.value);
  const ifFalse = integerCompare(predicate, 1, 0n, c.value);
  if (ifTrue === ifFalse) return constBool(ifTrue);
  return ifTrue ? a : forms.not(a);
}

/** By the range of what is compared with a constant. */
function decide(predicate: IntPredicate, a: Value, c: ConstInt, forms: Forms): Value | null {
  const { bits } = c.type;
  if (bits > 128) return null;
  const known = forms.known(a);
  if (isEquality(predicate)) {
    const n = unsignedOf(c);
    if ((known.zero & n) === 0n && (known.one & ~n) === 0n) return null;
    return constBool(predicate === "ne");
  }
  const [least, largest] = isSigned(predicate) ? signedRange(known, bits) : unsignedRange(known, bits);
  const n = isSigned(predicate) ? c.value : unsignedOf(c);
  switch (predicate[1]) {
    case "l": {
      const withEqual = predicate[2] === "e";
      if (withEqual ? largest <= n : largest < n) return constBool(true);
      if (withEqual ? least > n : least >= n) return constBool(false);
      return null;
    }
    default: {
      const withEqual = predicate[2] === "e";
      if (withEqual ? least >= n : least > n) return constBool(true);
      if (withEqual ? largest < n : largest <= n) return constBool(false);
      return null;
    }
  }
}

/** `x <= c` is `x < c + 1`; next to an end of the range it is an equality. */
function strict(predicate: IntPredicate, a: Value, c: ConstInt, forms: Forms): Value | null {
  const { bits } = c.type;
  const signs = isSigned(predicate);
  const least = signs ? -(1n << BigInt(bits - 1)) : 0n;
  const largest = signs ? (1n << BigInt(bits - 1)) - 1n : (1n << BigInt(bits)) - 1n;
  const n = signs ? c.value : unsignedOf(c);
  const kind = predicate.slice(1);
  const prefix = signs ? "s" : "u";
  // Always or never true was found out before.
  if (kind === "le" && n < largest) return forms.icmp(`${prefix}lt`, a, constInt(c.type, n + 1n), 0);
  if (kind === "ge" && n > least) return forms.icmp(`${prefix}gt`, a, constInt(c.type, n - 1n), 0);
  if (kind === "lt" && n === least + 1n) return forms.icmp("eq", a, constInt(c.type, least));
  if (kind === "gt" && n === largest - 1n) return forms.icmp("eq", a, constInt(c.type, largest));
  if (kind === "lt" && n === largest) return forms.icmp("ne", a, constInt(c.type, largest));
  if (kind === "gt" && n === least) return forms.icmp("ne", a, constInt(c.type, least));
  return null;
}

function compareOperation(
  inst: Inst,
  predicate: IntPredicate,
  a: Value,
  c: ConstInt,
  forms: Forms,
): Value | null {
  if (a.valueKind !== "inst") return null;
  const x = a.operands[0]!;
  const y = a.operands[1];
  const equality = isEquality(predicate);
  switch (a.op) {
    case Op.ZExt:
      return compareZeroExtended(predicate, x, c, forms);
    case Op.SExt: {
      const narrow = constInt(x.type, c.value);
      // Constants that do not fit were decided by the range, for orders; here for equality of known signs.
      if (narrow.value === c.value) return forms.icmp(predicate, x, narrow);
      return equality ? constBool(predicate === "ne") : null;
    }
    case Op.Select: {
      const p = intOf(a.operands[1]!);
      const q = intOf(a.operands[2]!);
      if (p === null || q === null || x.type.kind === "vector") return null;
      const ifTrue = integerCompare(predicate, c.type.bits, p.value, c.value);
      const ifFalse = integerCompare(predicate, c.type.bits, q.value, c.value);
      if (ifTrue === ifFalse) return constBool(ifTrue);
      return ifTrue ? x : forms.not(x);
    }
    case Op.Xor:
      if (!equality || forms.onlyUse(a) === null) return null;
      if (isZero(c)) return forms.icmp(predicate, x, y!);
      return xorOrSumWith(predicate, x, y!, (d) => c.value ^ d, c, forms);
    case Op.Add:
      if (!equality || forms.onlyUse(a) === null) return null;
      return xorOrSumWith(predicate, x, y!, (d) => c.value - d, c, forms);
    case Op.Sub: {
      if (!equality || forms.onlyUse(a) === null) return null;
      if (isZero(c)) return forms.icmp(predicate, x, y!);
      const d = intOf(x);
      return d === null ? null : forms.icmp(predicate, y!, constInt(c.type, d.value - c.value));
    }
    case Op.And: {
      // A single bit is tested against zero.
      const d = intOf(y!);
      if (!equality || d === null || isZero(c) || d.value !== c.value) return null;
      const n = unsignedOf(d);
      if ((n & (n - 1n)) !== 0n) return null;
      return forms.icmp(predicate === "eq" ? "ne" : "eq", a, zeroOf(c.type), inst.flags);
    }
    case Op.PtrToInt:
      if (!equality || !isZero(c) || x.type.kind !== "ptr" || forms.layout.bitWidth(x.type) > c.type.bits)
        return null;
      return forms.icmp(predicate, x, zeroOf(x.type));
    default:
      return null;
  }
}

function xorOrSumWith(
  predicate: IntPredicate,
  x: Value,
  y: Value,
  undo: (d: bigint) => bigint,
  c: ConstInt,
  forms: Forms,
): Value | null {
  const d = intOf(y);
  return d === null ? null : forms.icmp(predicate, x, constInt(c.type, undo(d.value)));
}

function compareZeroExtended(predicate: IntPredicate, x: Value, c: ConstInt, forms: Forms): Value | null {
  const { bits } = x.type;
  const n = unsignedOf(c);
  if (n >= 1n << BigInt(bits)) return isEquality(predicate) ? constBool(predicate === "ne") : null;
  // Both are without sign: the orders agree.
  const unsigned = (isSigned(predicate) ? `u${predicate.slice(1)}` : predicate) as IntPredicate;
  return forms.icmp(unsigned, x, constInt(x.type, n));
}

/** Two values that are no constants. */
function compareValues(predicate: IntPredicate, a: Value, b: Value, forms: Forms): Value | null {
  const left = a.valueKind === "inst" ? a : null;
  const right = b.valueKind === "inst" ? b : null;
  if (left === null || right === null || left.op !== right.op) return null;
  const x = left.operands[0]!;
  const y = right.operands[0]!;
  if (x?.type !== y?.type) return null;
  switch (left.op) {
    case Op.ZExt:
      if (forms.onlyUse(left) === null && forms.onlyUse(right) === null) return null;
      return forms.icmp((isSigned(predicate) ? `u${predicate.slice(1)}` : predicate) as IntPredicate, x, y);
    case Op.SExt:
      if (forms.onlyUse(left) === null && forms.onlyUse(right) === null) return null;
      return forms.icmp(predicate, x, y);
    default:
      return null;
  }
}

function comparePointers(inst: Inst, a: Value, b: Value, forms: Forms): Value | null {
  const predicate = inst.data as IntPredicate;
  const { fn } = forms;
  if (isZero(b)) {
    if (isNonNull(a, fn)) {
      if (predicate === "eq" || predicate === "ule") return constBool(false);
      if (predicate === "ne" || predicate === "ugt") return constBool(true);
    }
    // In bounds of no object is only null itself.
    const gep = asInst(a, Op.GetElementPtr);
    if (
      gep !== null &&
      (gep.flags & Flag.InBounds) !== 0 &&
      isEquality(predicate) &&
      gep.operands[0]!.type === a.type &&
      !isNullValid(fn, a.type.addressSpace)
    )
      return forms.icmp(predicate, gep.operands[0]!, b);
    return null;
  }
  return compareOffsets(predicate, a, b, forms);
}

/** Two addresses at constant distances from one. */
function compareOffsets(predicate: IntPredicate, a: Value, b: Value, forms: Forms): Value | null {
  const left = placeOf(a, forms);
  const right = placeOf(b, forms);
  if (left.base !== right.base || (left.base === a && right.base === b)) return null;
  if (isEquality(predicate)) {
    const bits = forms.layout.bitWidth(a.type);
    const equal = BigInt.asIntN(bits, left.offset - right.offset) === 0n;
    return constBool(equal === (predicate === "eq"));
  }
  if (isSigned(predicate) || !left.inBounds || !right.inBounds) return null;
  // Objects do not wrap around, and offsets into one are less than half of the address space.
  return constBool(integerCompare(`s${predicate.slice(1)}` as IntPredicate, 64, left.offset, right.offset));
}

function placeOf(value: Value, { layout }: Forms): { base: Value; offset: bigint; inBounds: boolean } {
  let base = value;
  let offset = 0n;
  let inBounds = true;
  for (let i = 0; i < 4; i++) {
    const gep = asInst(base, Op.GetElementPtr) as InstWith<Op.GetElementPtr> | null;
    if (gep === null || gep.type.kind !== "ptr") break;
    const by = constantGepOffset(layout, gep.data.elementType, gep.operands);
    if (by === null || !Number.isSafeInteger(by)) break;
    offset += BigInt(by);
    inBounds &&= (gep.flags & Flag.InBounds) !== 0;
    base = gep.operands[0]!;
  }
  return { base, offset, inBounds };
}
