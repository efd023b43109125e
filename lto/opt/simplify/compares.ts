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
import type { SimplifyRule } from "./rule.js";

/** The constant that numbers are compared with; null: it is something else that is compared. */
function boundOf({ type }: Inst, a: Value, b: Value): ConstInt | null {
  return type.kind === "vector" || a.type.kind === "ptr" ? null : intOf(b);
}
/** The same, but for i1: such a comparison is never more than its operand. */
const numberOf = (inst: Inst, a: Value, b: Value): ConstInt | null =>
  a.type.bits === 1 ? null : boundOf(inst, a, b);
const predicateOf = (inst: Inst): IntPredicate => inst.data as IntPredicate;

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

/** An equality of what `op` makes of something and a constant, which nobody else uses. */
function equalTo(inst: Inst, a: Value, b: Value, op: Op, forms: Forms): ConstInt | null {
  const c = asInst(a, op) === null || !isEquality(predicateOf(inst)) ? null : numberOf(inst, a, b);
  return c === null || forms.onlyUse(a) === null ? null : c;
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

const ops = [Op.ICmp];

/** In the order in which they are asked. */
export const compareRules: readonly SimplifyRule[] = [
  {
    name: "compare-same",
    description: "x == x → true, and likewise for all predicates",
    ops,
    apply: (inst, a, b) =>
      inst.type.kind !== "vector" && same(a, b) ? constBool(trueWhenEqual(predicateOf(inst))) : null,
  },
  {
    name: "compare-constant-right",
    description: "c < x → x > c",
    ops,
    apply: (inst, a, b, forms) =>
      inst.type.kind !== "vector" && isConstantSide(a) && !isConstantSide(b)
        ? forms.icmp(swappedPredicate[predicateOf(inst)], b, a, inst.flags)
        : null,
  },
  {
    name: "compare-known-address",
    description: "p == null → false, where p is an object's; and likewise for != and orders",
    ops,
    apply(inst, a, b, forms) {
      if (inst.type.kind === "vector" || a.type.kind !== "ptr" || !isZero(b)) return null;
      if (!isNonNull(a, forms.fn)) return null;
      const predicate = predicateOf(inst);
      if (predicate === "eq" || predicate === "ule") return constBool(false);
      return predicate === "ne" || predicate === "ugt" ? constBool(true) : null;
    },
  },
  {
    // In bounds of no object is only null itself.
    name: "compare-base-with-null",
    description: "p + n == null → p == null, in bounds",
    ops,
    apply(inst, a, b, forms) {
      if (inst.type.kind === "vector" || a.type.kind !== "ptr" || !isZero(b)) return null;
      const gep = asInst(a, Op.GetElementPtr);
      if (gep === null || (gep.flags & Flag.InBounds) === 0 || !isEquality(predicateOf(inst))) return null;
      if (gep.operands[0]!.type !== a.type || isNullValid(forms.fn, a.type.addressSpace)) return null;
      return forms.icmp(predicateOf(inst), gep.operands[0]!, b);
    },
  },
  {
    name: "compare-offsets",
    description: "p + m < p + n → m < n, in bounds",
    ops,
    apply: (inst, a, b, forms) =>
      inst.type.kind === "vector" || a.type.kind !== "ptr" || isZero(b)
        ? null
        : compareOffsets(predicateOf(inst), a, b, forms),
  },
  {
    name: "compare-extended-values",
    description: "zext x < zext y → x < y, and sext",
    ops,
    apply: (inst, a, b, forms) =>
      inst.type.kind === "vector" || a.type.kind === "ptr" || b.valueKind === "int"
        ? null
        : compareValues(predicateOf(inst), a, b, forms),
  },
  {
    name: "compare-boolean",
    description: "x == c → x, ~x, true or false, of one bit",
    ops,
    apply(inst, a, b, forms) {
      const c = a.type.bits === 1 ? boundOf(inst, a, b) : null;
      return c === null ? null : compareBoolean(predicateOf(inst), a, c, forms);
    },
  },
  {
    name: "compare-known",
    description: "x < c → true or false, by what is known of x",
    ops,
    apply(inst, a, b, forms) {
      const c = numberOf(inst, a, b);
      return c === null ? null : decide(predicateOf(inst), a, c, forms);
    },
  },
  {
    name: "compare-strictly",
    description: "x <= c → x < c + 1; x < 1 → x == 0, unsigned; and likewise next to the ends of a range",
    ops,
    apply(inst, a, b, forms) {
      const c = numberOf(inst, a, b);
      return c === null ? null : strict(predicateOf(inst), a, c, forms);
    },
  },
  {
    name: "compare-zero-extended",
    description: "zext x < c → x < c",
    ops,
    apply(inst, a, b, forms) {
      const inner = asInst(a, Op.ZExt);
      const c = inner === null ? null : numberOf(inst, a, b);
      return c === null ? null : compareZeroExtended(predicateOf(inst), inner!.operands[0]!, c, forms);
    },
  },
  {
    name: "compare-sign-extended",
    description: "sext x < c → x < c",
    ops,
    apply(inst, a, b, forms) {
      const inner = asInst(a, Op.SExt);
      const c = inner === null ? null : numberOf(inst, a, b);
      if (c === null) return null;
      const x = inner!.operands[0]!;
      const narrow = constInt(x.type, c.value);
      const predicate = predicateOf(inst);
      // Constants that do not fit were decided by the range, for orders; here for equality of known signs.
      if (narrow.value === c.value) return forms.icmp(predicate, x, narrow);
      return isEquality(predicate) ? constBool(predicate === "ne") : null;
    },
  },
  {
    name: "compare-selected",
    description: "(x ? c : d) == e → x, ~x, true or false",
    ops,
    apply(inst, a, b, forms) {
      const inner = asInst(a, Op.Select);
      const c = inner === null ? null : numberOf(inst, a, b);
      if (c === null) return null;
      const [x, yes, no] = inner!.operands as readonly [Value, Value, Value];
      const p = intOf(yes);
      const q = intOf(no);
      if (p === null || q === null || x.type.kind === "vector") return null;
      const predicate = predicateOf(inst);
      const ifTrue = integerCompare(predicate, c.type.bits, p.value, c.value);
      const ifFalse = integerCompare(predicate, c.type.bits, q.value, c.value);
      if (ifTrue === ifFalse) return constBool(ifTrue);
      return ifTrue ? x : forms.not(x);
    },
  },
  {
    name: "compare-difference",
    description: "x ^ y == 0 → x == y, x − y == 0 → x == y",
    ops,
    apply(inst, a, b, forms) {
      if (!isZero(b)) return null;
      const c = equalTo(inst, a, b, Op.Xor, forms) ?? equalTo(inst, a, b, Op.Sub, forms);
      if (c === null) return null;
      const [x, y] = (a as Inst).operands as readonly [Value, Value];
      return forms.icmp(predicateOf(inst), x, y);
    },
  },
  {
    name: "compare-undone",
    description: "x + d == c → x == c − d, and likewise for d − x and x ^ d",
    ops,
    apply(inst, a, b, forms) {
      const c =
        equalTo(inst, a, b, Op.Add, forms) ??
        equalTo(inst, a, b, Op.Sub, forms) ??
        equalTo(inst, a, b, Op.Xor, forms);
      if (c === null) return null;
      const { op, operands } = a as Inst;
      const [x, y] = operands as readonly [Value, Value];
      const d = intOf(op === Op.Sub ? x : y);
      if (d === null) return null;
      const undone =
        op === Op.Add ? c.value - d.value : op === Op.Sub ? d.value - c.value : c.value ^ d.value;
      return forms.icmp(predicateOf(inst), op === Op.Sub ? y : x, constInt(c.type, undone));
    },
  },
  {
    name: "compare-bit",
    description: "x & 2ⁿ == 2ⁿ → x & 2ⁿ != 0",
    ops,
    apply(inst, a, b, forms) {
      const inner = asInst(a, Op.And);
      const c = inner === null ? null : numberOf(inst, a, b);
      if (c === null || isZero(c) || !isEquality(predicateOf(inst))) return null;
      const d = intOf(inner!.operands[1]!);
      if (d === null || d.value !== c.value) return null;
      const n = unsignedOf(d);
      if ((n & (n - 1n)) !== 0n) return null;
      return forms.icmp(predicateOf(inst) === "eq" ? "ne" : "eq", a, zeroOf(c.type), inst.flags);
    },
  },
  {
    name: "compare-address-with-zero",
    description: "ptrtoint p == 0 → p == null",
    ops,
    apply(inst, a, b, forms) {
      const inner = asInst(a, Op.PtrToInt);
      const c = inner === null ? null : numberOf(inst, a, b);
      if (c === null || !isZero(c) || !isEquality(predicateOf(inst))) return null;
      const x = inner!.operands[0]!;
      if (x.type.kind !== "ptr" || forms.layout.bitWidth(x.type) > c.type.bits) return null;
      return forms.icmp(predicateOf(inst), x, zeroOf(x.type));
    },
  },
];
