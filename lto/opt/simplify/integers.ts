/**
 * Rules of `simplify` on integer arithmetic: algebraic identities, sums and masks of constants, what known bits tell.
 *
 * Flags of what is made new are those that follow from the old ones; most are dropped.
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
import type { SimplifyRule } from "./rule.js";

const commutative = [Op.Add, Op.Mul, Op.And, Op.Or, Op.Xor];

/** What all of them have in common: constants are on the right. */
const forAll: readonly SimplifyRule[] = [
  {
    name: "constant-right",
    description: "c + x → x + c, and likewise for mul, and, or, xor",
    ops: commutative,
    apply: (inst, a, b, forms) =>
      isCommutative(inst.op) && a.valueKind === "int" && b.valueKind !== "int"
        ? forms.binary(inst.op as Op.Add, b, a, inst.flags)
        : null,
  },
];

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

const sums: readonly SimplifyRule[] = [
  {
    name: "add-zero",
    description: "x + 0 → x",
    ops: [Op.Add],
    apply: (_, a, b) => (isZero(b) ? a : isZero(a) ? b : null),
  },
  {
    name: "add-constants",
    description: "(x + d) + c → x + (c + d); (d − x) + c → (c + d) − x",
    ops: [Op.Add],
    apply(inst, a, b, forms) {
      const c = intOf(b);
      const inner = c === null ? null : forms.onlyUse(a);
      if (c === null || inner === null) return null;
      if (inner.op === Op.Add) {
        const d = intOf(inner.operands[1]!);
        if (d === null) return null;
        const sum = constInt(c.type, c.value + d.value);
        return forms.binary(Op.Add, inner.operands[0]!, sum, sumFlags(inst, inner, c, d));
      }
      const d = inner.op === Op.Sub ? intOf(inner.operands[0]!) : null;
      return d === null
        ? null
        : forms.binary(Op.Sub, constInt(c.type, c.value + d.value), inner.operands[1]!);
    },
  },
  {
    name: "add-negated",
    description: "x + (0 − y) → x − y",
    ops: [Op.Add],
    apply(_, a, b, forms) {
      if (intOf(b) !== null) return null;
      const right = negatedOf(b);
      if (right !== null) return forms.binary(Op.Sub, a, right);
      const left = negatedOf(a);
      return left === null ? null : forms.binary(Op.Sub, b, left);
    },
  },
  {
    name: "add-difference",
    description: "(x − y) + y → x",
    ops: [Op.Add],
    apply(_, a, b) {
      if (intOf(b) !== null) return null;
      const left = asInst(a, Op.Sub);
      if (left !== null && same(left.operands[1]!, b)) return left.operands[0]!;
      const right = asInst(b, Op.Sub);
      return right !== null && same(right.operands[1]!, a) ? right.operands[0]! : null;
    },
  },
  {
    name: "sub-zero",
    description: "x − 0 → x",
    ops: [Op.Sub],
    apply: (_, a, b) => (isZero(b) ? a : null),
  },
  {
    name: "sub-same",
    description: "x − x → 0",
    ops: [Op.Sub],
    apply: (inst, a, b) => (same(a, b) ? zeroOf(inst.type) : null),
  },
  {
    name: "sub-constant",
    description: "x − c → x + −c",
    ops: [Op.Sub],
    apply({ type, flags }, a, b, forms) {
      const c = intOf(b);
      if (c === null) return null;
      const lowest = BigInt.asIntN(type.bits, -c.value) === c.value;
      return forms.binary(Op.Add, a, constInt(type, -c.value), lowest ? 0 : flags & Flag.Nsw);
    },
  },
  {
    name: "sub-from-ones",
    description: "−1 − x → ~x",
    ops: [Op.Sub],
    apply: (_, a, b, forms) => (isAllOnes(a) ? forms.not(b) : null),
  },
  {
    name: "sub-negated",
    description: "x − (0 − y) → x + y",
    ops: [Op.Sub],
    apply(_, a, b, forms) {
      const negated = negatedOf(b);
      if (negated === null) return null;
      return isZero(a) ? negated : forms.binary(Op.Add, a, negated);
    },
  },
  {
    name: "sub-from-sum",
    description: "(x + y) − x → y",
    ops: [Op.Sub],
    apply(_, a, b) {
      const sum = asInst(a, Op.Add);
      if (sum === null) return null;
      if (same(sum.operands[0]!, b)) return sum.operands[1]!;
      return same(sum.operands[1]!, b) ? sum.operands[0]! : null;
    },
  },
  {
    name: "sub-difference",
    description: "x − (x − y) → y",
    ops: [Op.Sub],
    apply(_, a, b) {
      const right = asInst(b, Op.Sub);
      return right !== null && same(right.operands[0]!, a) ? right.operands[1]! : null;
    },
  },
  {
    name: "negate-difference",
    description: "0 − (x − y) → y − x",
    ops: [Op.Sub],
    apply(_, a, b, forms) {
      const inner = isZero(a) ? forms.onlyUse(b) : null;
      return inner === null || inner.op !== Op.Sub
        ? null
        : forms.binary(Op.Sub, inner.operands[1]!, inner.operands[0]!);
    },
  },
  {
    name: "sub-constants",
    description: "c − (d − y) → y + (c − d); c − (x + d) → (c − d) − x",
    ops: [Op.Sub],
    apply({ type }, a, b, forms) {
      const c = intOf(a);
      const inner = c === null ? null : forms.onlyUse(b);
      if (c === null || inner === null || (inner.op !== Op.Sub && inner.op !== Op.Add)) return null;
      const [x, y] = inner.operands as readonly [Value, Value];
      const d = intOf(inner.op === Op.Sub ? x : y);
      if (d === null) return null;
      const rest = constInt(type, c.value - d.value);
      return inner.op === Op.Sub ? forms.binary(Op.Add, y, rest) : forms.binary(Op.Sub, rest, x);
    },
  },
];

/** The constant that a product of more than one bit has on its right. */
const factorOf = ({ type }: Inst, b: Value): ConstInt | null => (type.bits === 1 ? null : intOf(b));

const products: readonly SimplifyRule[] = [
  {
    name: "mul-zero",
    description: "x · 0 → 0",
    ops: [Op.Mul],
    apply: (inst, _, b) => (isZero(b) ? zeroOf(inst.type) : null),
  },
  {
    name: "mul-one",
    description: "x · 1 → x",
    ops: [Op.Mul],
    apply: (_, a, b) => (isOne(b) ? a : null),
  },
  {
    name: "mul-minus-one",
    description: "x · −1 → 0 − x",
    ops: [Op.Mul],
    apply: (inst, a, b, forms) => (factorOf(inst, b)?.value === -1n ? forms.negate(a) : null),
  },
  {
    name: "mul-power",
    description: "x · 2ⁿ → x << n",
    ops: [Op.Mul],
    apply(inst, a, b, forms) {
      const c = factorOf(inst, b);
      const log = c === null ? -1 : logOf(c);
      if (log <= 0) return null;
      const { type, flags } = inst;
      const kept = log === type.bits - 1 ? flags & Flag.Nuw : flags & (Flag.Nuw | Flag.Nsw);
      return forms.binary(Op.Shl, a, constInt(type, log), kept);
    },
  },
  {
    name: "mul-constants",
    description: "(x · d) · c → x · (c · d)",
    ops: [Op.Mul],
    apply(inst, a, b, forms) {
      const c = factorOf(inst, b);
      const inner = c === null ? null : forms.onlyUse(a);
      if (c === null || inner === null || inner.op !== Op.Mul) return null;
      const d = intOf(inner.operands[1]!);
      return d === null
        ? null
        : forms.binary(Op.Mul, inner.operands[0]!, constInt(inst.type, c.value * d.value));
    },
  },
];

const divides = ({ op }: Inst): boolean => op === Op.UDiv || op === Op.SDiv;
const divisions = [Op.UDiv, Op.URem, Op.SDiv, Op.SRem];

const quotients: readonly SimplifyRule[] = [
  {
    // A divisor of zero is undefined behaviour, so i1 divides by one.
    name: "divide-by-one",
    description: "x / 1 → x; x % 1 → 0",
    ops: divisions,
    apply: (inst, a, b) =>
      inst.type.kind === "int" && (isOne(b) || inst.type.bits === 1)
        ? divides(inst)
          ? a
          : zeroOf(inst.type)
        : null,
  },
  {
    name: "divide-zero",
    description: "0 / x → 0; 0 % x → 0",
    ops: divisions,
    apply: (inst, a) => (inst.type.kind === "int" && isZero(a) ? a : null),
  },
  {
    name: "divide-same",
    description: "x / x → 1; x % x → 0",
    ops: divisions,
    apply: (inst, a, b) =>
      inst.type.kind === "int" && same(a, b) ? constInt(inst.type, divides(inst) ? 1 : 0) : null,
  },
  {
    name: "divide-by-power",
    description: "x / 2ⁿ → x >> n; x % 2ⁿ → x & (2ⁿ − 1), unsigned",
    ops: [Op.UDiv, Op.URem],
    apply(inst, a, b, forms) {
      const { type } = inst;
      const c = intOf(b);
      const log = c === null || c.value === 0n ? -1 : logOf(c);
      if (log <= 0) return null;
      return divides(inst)
        ? forms.binary(Op.LShr, a, constInt(type, log), inst.flags & Flag.Exact)
        : forms.binary(Op.And, a, constInt(type, allOnes(log)));
    },
  },
  {
    name: "divide-less",
    description: "x / c → 0; x % c → x, unsigned, where x is less than c",
    ops: [Op.UDiv, Op.URem],
    apply(inst, a, b, forms) {
      const { type } = inst;
      const c = intOf(b);
      if (c === null || c.value === 0n || type.bits > 128) return null;
      const [, largest] = unsignedRange(forms.known(a), type.bits);
      if (largest >= unsignedOf(c)) return null;
      return divides(inst) ? zeroOf(type) : a;
    },
  },
  {
    name: "divide-by-minus-one",
    description: "x / −1 → 0 − x; x % −1 → 0",
    ops: [Op.SDiv, Op.SRem],
    apply: (inst, a, b, forms) =>
      inst.type.kind === "int" && intOf(b)?.value === -1n
        ? divides(inst)
          ? forms.negate(a, Flag.Nsw)
          : zeroOf(inst.type)
        : null,
  },
  {
    name: "divide-positive",
    description: "signed x / y, x % y → unsigned, where neither is negative",
    ops: [Op.SDiv, Op.SRem],
    apply(inst, a, b, forms) {
      const { bits, kind } = inst.type;
      if (kind !== "int" || bits > 128) return null;
      const c = intOf(b);
      const positive = c === null ? isNonNegative(forms.known(b), bits) : c.value > 0n;
      if (!positive || !isNonNegative(forms.known(a), bits)) return null;
      return forms.binary(divides(inst) ? Op.UDiv : Op.URem, a, b, inst.flags & Flag.Exact);
    },
  },
  {
    name: "divide-exactly",
    description: "signed x / 2ⁿ → x >> n, where nothing is left",
    ops: [Op.SDiv],
    apply({ type, flags }, a, b, forms) {
      const c = intOf(b);
      if (c === null || c.value <= 0n || type.bits > 128 || (flags & Flag.Exact) === 0) return null;
      const log = logOf(c);
      return log > 0 ? forms.binary(Op.AShr, a, constInt(type, log), Flag.Exact) : null;
    },
  },
];

const shifts = [Op.Shl, Op.LShr, Op.AShr];

/** By how much is shifted; −1: that is unknown, or too much. */
const shiftOf = (b: Value): number => (intOf(b) === null ? -1 : amountOf(b));
const innerShift = (a: Value): Inst | null => asInst(a, Op.Shl) ?? asInst(a, Op.LShr) ?? asInst(a, Op.AShr);

const shiftRules: readonly SimplifyRule[] = [
  {
    name: "shift-by-zero",
    description: "x << 0 → x, and >>",
    ops: shifts,
    apply: (_, a, b) => (isZero(b) ? a : null),
  },
  {
    name: "shift-constant",
    description: "0 << x → 0, and >>; −1 >> x → −1, signed",
    ops: shifts,
    apply: ({ op }, a) => (isZero(a) || (op === Op.AShr && isAllOnes(a)) ? a : null),
  },
  {
    name: "shift-too-far",
    description: "x << c → poison, and >>, where c is no less than the width",
    ops: shifts,
    apply: ({ type }, _, b) => (intOf(b) !== null && amountOf(b) < 0 ? new ConstUndef(type, true) : null),
  },
  {
    // What was shifted out comes back only where flags say that it was nothing.
    name: "shift-back",
    description: "(x >> c) << c → x, exact; (x << c) >> c → x, without overflow",
    ops: shifts,
    apply({ op }, a, b) {
      const by = shiftOf(b);
      const inner = by < 0 ? null : innerShift(a);
      if (inner === null || amountOf(inner.operands[1]!) !== by) return null;
      const x = inner.operands[0]!;
      if (op === Op.Shl) return inner.op !== Op.Shl && (inner.flags & Flag.Exact) !== 0 ? x : null;
      const kept = op === Op.LShr ? Flag.Nuw : Flag.Nsw;
      return inner.op === Op.Shl && (inner.flags & kept) !== 0 ? x : null;
    },
  },
  {
    name: "shift-twice",
    description: "(x << d) << c → x << (c + d), and >>",
    ops: shifts,
    apply({ op, type }, a, b, forms) {
      const by = shiftOf(b);
      const inner = by < 0 ? null : innerShift(a);
      if (inner === null || inner.op !== op) return null;
      const d = amountOf(inner.operands[1]!);
      if (d < 0 || forms.onlyUse(inner) === null) return null;
      const x = inner.operands[0]!;
      const { bits } = type;
      if (d + by < bits) return forms.binary(op as Op.Shl, x, constInt(type, d + by));
      return op === Op.AShr ? forms.binary(op, x, constInt(type, bits - 1)) : zeroOf(type);
    },
  },
  {
    name: "shift-as-mask",
    description: "(x >> c) << c → x & mask; (x << c) >> c → x & mask, unsigned",
    ops: [Op.Shl, Op.LShr],
    apply({ op, type }, a, b, forms) {
      const by = shiftOf(b);
      const inner = by < 0 ? null : innerShift(a);
      if (inner === null || inner.op === op || amountOf(inner.operands[1]!) !== by) return null;
      if (forms.onlyUse(inner) === null) return null;
      const x = inner.operands[0]!;
      const { bits } = type;
      if (op === Op.Shl) return forms.binary(Op.And, x, constInt(type, allOnes(bits) ^ allOnes(by)));
      return inner.op === Op.Shl ? forms.binary(Op.And, x, constInt(type, allOnes(bits - by))) : null;
    },
  },
  {
    name: "shift-nothing",
    description: "x >> c → 0, unsigned, where all bits that stay are zero",
    ops: [Op.LShr],
    apply({ type }, a, b, forms) {
      const by = shiftOf(b);
      if (by < 0 || type.bits > 128) return null;
      return (forms.known(a).zero | allOnes(by)) === allOnes(type.bits) ? zeroOf(type) : null;
    },
  },
  {
    // What is put together from pieces and taken apart again. Signed: the sign is the other part's.
    name: "shift-part",
    description: "(x | y) >> c → x >> c, and ^ and <<, where no bit of y stays",
    ops: shifts,
    apply({ op, type }, a, b, forms) {
      const by = shiftOf(b);
      if (by < 0) return null;
      const all = allOnes(type.bits);
      const staying = op === Op.Shl ? all >> BigInt(by) : all - allOnes(by);
      const x = partOf(a, staying, forms);
      return x === null ? null : forms.binary(op as Op.Shl, x, b);
    },
  },
  {
    name: "shift-positive",
    description: "signed x >> c → unsigned, where x is not negative",
    ops: [Op.AShr],
    apply: ({ type, flags }, a, b, forms) =>
      shiftOf(b) >= 0 && type.bits <= 128 && isNonNegative(forms.known(a), type.bits)
        ? forms.binary(Op.LShr, a, b, flags & Flag.Exact)
        : null,
  },
];

/** Of `x | y` or `x ^ y` the one that alone has bits of the mask; null: both may have, or it is neither. */
export function partOf(value: Value, mask: bigint, forms: Forms): Value | null {
  const both = asInst(value, Op.Or) ?? asInst(value, Op.Xor);
  if (both === null || both.type.kind !== "int" || both.type.bits > 128) return null;
  const [x, y] = both.operands as readonly [Value, Value];
  if ((mask & ~forms.known(y).zero) === 0n) return x;
  return (mask & ~forms.known(x).zero) === 0n ? y : null;
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

/** The constant on the right, where known bits can be asked of what is on the left. */
const maskOf = ({ type }: Inst, b: Value): ConstInt | null => (type.bits > 128 ? null : intOf(b));

/** An operation on the left that nobody else uses, if it has a constant on its right. */
function constantOf(a: Value, op: Op, forms: Forms): { readonly x: Value; readonly d: ConstInt } | null {
  const inner = forms.onlyUse(a);
  if (inner === null || inner.op !== op) return null;
  const d = intOf(inner.operands[1]!);
  return d === null ? null : { x: inner.operands[0]!, d };
}

/**
 * One test of two numbers instead of two; null: they are not two such tests.
 * @param predicate eq: whether both are zero; ne: whether one is not
 * @param frozen the second number may be poison where the first test decides
 */
export function bothZero(
  predicate: "eq" | "ne",
  a: Value,
  b: Value,
  forms: Forms,
  frozen: boolean,
): Value | null {
  const x = testedForZero(predicate, a, forms);
  const y = testedForZero(predicate, b, forms);
  if (x === null || y === null || x.type !== y.type) return null;
  const second = frozen && !forms.isWellDefined(y) ? forms.freeze(y) : y;
  return forms.icmp(predicate, forms.binary(Op.Or, x, second), zeroOf(x.type));
}

/** Masks are tested by instructions of their own. */
function testedForZero(predicate: "eq" | "ne", value: Value, forms: Forms): Value | null {
  const test = forms.onlyUse(value);
  if (test === null || test.op !== Op.ICmp || test.data !== predicate || !isZero(test.operands[1]!))
    return null;
  const x = test.operands[0]!;
  return x.type.kind === "int" && x.type.bits <= 64 && forms.onlyUse(x)?.op !== Op.And ? x : null;
}

const bitwise: readonly SimplifyRule[] = [
  {
    name: "and-zero",
    description: "x & 0 → 0",
    ops: [Op.And],
    apply: (inst, _, b) => (isZero(b) ? zeroOf(inst.type) : null),
  },
  {
    name: "or-ones",
    description: "x | −1 → −1",
    ops: [Op.Or],
    apply: (_, __, b) => (isAllOnes(b) ? b : null),
  },
  {
    name: "bits-neutral",
    description: "x & −1 → x; x | 0 → x; x ^ 0 → x",
    ops: [Op.And, Op.Or, Op.Xor],
    apply: ({ op }, a, b) => ((op === Op.And ? isAllOnes(b) : isZero(b)) ? a : null),
  },
  {
    name: "bits-same",
    description: "x & x → x; x | x → x; x ^ x → 0",
    ops: [Op.And, Op.Or, Op.Xor],
    apply: ({ op, type }, a, b) => (same(a, b) ? (op === Op.Xor ? zeroOf(type) : a) : null),
  },
  {
    name: "bits-complement",
    description: "x & ~x → 0; x | ~x → −1; x ^ ~x → −1",
    ops: [Op.And, Op.Or, Op.Xor],
    apply({ op, type }, a, b) {
      if (!isComplement(a, b)) return null;
      if (op === Op.And) return zeroOf(type);
      return type.kind === "int" ? constInt(type, -1) : null;
    },
  },
  {
    name: "bits-absorb",
    description: "x & (x | y) → x; x | (x & y) → x",
    ops: [Op.And, Op.Or],
    apply({ op }, a, b) {
      const other = op === Op.And ? Op.Or : Op.And;
      return absorbs(a, b, other) ?? absorbs(b, a, other);
    },
  },
  {
    name: "and-known",
    description: "x & c → x, 0 or c, by what is known of x",
    ops: [Op.And],
    apply(inst, a, b, forms) {
      const c = maskOf(inst, b);
      if (c === null) return null;
      const { type } = inst;
      const mask = unsignedOf(c);
      const known = forms.known(a);
      const cleared = allOnes(type.bits) ^ mask;
      if ((known.zero & cleared) === cleared) return a;
      if ((known.zero & mask) === mask) return zeroOf(type);
      return (known.one & mask) === mask ? c : null;
    },
  },
  {
    name: "or-known",
    description: "x | c → x or c, by what is known of x",
    ops: [Op.Or],
    apply(inst, a, b, forms) {
      const c = maskOf(inst, b);
      if (c === null) return null;
      const set = unsignedOf(c);
      const known = forms.known(a);
      if ((known.one & set) === set) return a;
      return (known.zero | set) === allOnes(inst.type.bits) ? c : null;
    },
  },
  {
    name: "and-constants",
    description: "(x & d) & c → x & (c & d)",
    ops: [Op.And],
    apply(inst, a, b, forms) {
      const c = maskOf(inst, b);
      const inner = c === null ? null : constantOf(a, Op.And, forms);
      return c === null || inner === null
        ? null
        : forms.binary(Op.And, inner.x, constInt(inst.type, c.value & inner.d.value));
    },
  },
  {
    name: "and-disjoint",
    description: "(x | y) & c → x & c, and ^, where c and y have no bit in common",
    ops: [Op.And],
    apply(inst, a, b, forms) {
      const c = maskOf(inst, b);
      const x = c === null ? null : partOf(a, unsignedOf(c), forms);
      return x === null ? null : forms.binary(Op.And, x, b);
    },
  },
  {
    name: "and-of-zeros",
    description: "x == 0 & y == 0 → (x | y) == 0; x != 0 | y != 0 → (x | y) != 0",
    ops: [Op.And, Op.Or],
    apply: ({ op }, a, b, forms) => bothZero(op === Op.And ? "eq" : "ne", a, b, forms, false),
  },
  {
    name: "or-constants",
    description: "(x | d) | c → x | (c | d)",
    ops: [Op.Or],
    apply(inst, a, b, forms) {
      const c = maskOf(inst, b);
      const inner = c === null ? null : constantOf(a, Op.Or, forms);
      return c === null || inner === null
        ? null
        : forms.binary(Op.Or, inner.x, constInt(inst.type, c.value | inner.d.value));
    },
  },
  {
    name: "not-not",
    description: "~~x → x",
    ops: [Op.Xor],
    apply: (_, a, b) => (isAllOnes(b) ? invertedOf(a) : null),
  },
  {
    name: "not-compare",
    description: "~(x < y) → x >= y",
    ops: [Op.Xor],
    apply(_, a, b, forms) {
      const compare = isAllOnes(b) ? forms.onlyUse(a) : null;
      if (compare === null || compare.op !== Op.ICmp) return null;
      const [x, y] = compare.operands as readonly [Value, Value];
      return forms.icmp(inversePredicate[compare.data], x, y, compare.flags);
    },
  },
  {
    name: "xor-constants",
    description: "(x ^ d) ^ c → x ^ (c ^ d)",
    ops: [Op.Xor],
    apply({ type }, a, b, forms) {
      const c = intOf(b);
      const inner = c === null ? null : constantOf(a, Op.Xor, forms);
      return c === null || inner === null
        ? null
        : forms.binary(Op.Xor, inner.x, constInt(type, c.value ^ inner.d.value));
    },
  },
];

/** In the order in which they are asked. */
export const integerRules: readonly SimplifyRule[] = [
  ...forAll,
  ...sums,
  ...products,
  ...quotients,
  ...shiftRules,
  ...bitwise,
];
