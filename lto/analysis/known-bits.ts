/**
 * Known bits: which bits of an integer value are sure to be zero or one, where it is not poison.
 *
 * Method: a walk along operands, at most `deepest` steps, without memory: callers ask where an answer pays. What each
 * operation does to bits is exact for logic, shifts by constants and casts; sums follow the carry (LLVM Language
 * Reference on each operation). Vectors and integers past 128 bits are unknown.
 *
 * Breaks if: an operation's result is taken for poison-free because bits of it are known. It is not: a claim holds for
 * values that are no poison. Undef counts as unknown, freeze as whatever may come out of it.
 */
import { Flag, type Inst, Op } from "../ir/instructions.js";
import { intrinsicOf } from "../ir/intrinsics.js";
import type { Func } from "../ir/module.js";
import type { Type } from "../ir/types.js";
import type { Value } from "../ir/values.js";

/** Masks of a value's width; no bit is in both. */
export interface KnownBits {
  readonly zero: bigint;
  readonly one: bigint;
}

const deepest = 4;
const widest = 128;
const nothing: KnownBits = { zero: 0n, one: 0n };

const masks: bigint[] = [];
/** All bits of a width. */
export function allOnes(bits: number): bigint {
  masks[bits] ??= (1n << BigInt(bits)) - 1n;
  return masks[bits];
}
const signBit = (bits: number): bigint => 1n << BigInt(bits - 1);

/**
 * What is known of a value of integer type.
 * @param fn the function it is in, for what is said of arguments; null: its arguments are not those that it was declared with
 */
export function knownBits(value: Value, fn: Func | null): KnownBits {
  return bitsOf(value, fn, 0);
}

/** The least and largest value as an unsigned number. */
export const unsignedRange = (known: KnownBits, bits: number): readonly [bigint, bigint] => [
  known.one,
  allOnes(bits) ^ known.zero,
];
/** The least and largest value as a signed number. */
export function signedRange(known: KnownBits, bits: number): readonly [bigint, bigint] {
  const sign = signBit(bits);
  let least = known.one;
  let largest = allOnes(bits) ^ known.zero;
  if ((known.zero & sign) === 0n) least |= sign;
  if ((known.one & sign) === 0n) largest &= ~sign;
  return [BigInt.asIntN(bits, least), BigInt.asIntN(bits, largest)];
}
/** Whether it is sure not to be negative. */
export const isNonNegative = (known: KnownBits, bits: number): boolean => (known.zero & signBit(bits)) !== 0n;

const constant = (value: bigint, bits: number): KnownBits => {
  const one = BigInt.asUintN(bits, value);
  return { zero: allOnes(bits) ^ one, one };
};

function bitsOf(value: Value, fn: Func | null, depth: number): KnownBits {
  const { type } = value;
  if (type.kind !== "int" || type.bits > widest) return nothing;
  if (value.valueKind === "int") return constant(value.value, type.bits);
  if (value.valueKind === "argument") {
    const range = fn?.attributes.parameter(value.index).range;
    return range === undefined ? nothing : inRange(range.from, range.to, type.bits);
  }
  if (value.valueKind !== "inst" || depth >= deepest) return nothing;
  return bitsOfInst(value, fn, depth + 1);
}

/** Of what lies between two numbers, wrapping; the leading bits that are common. */
function inRange(from: bigint, to: bigint, bits: number): KnownBits {
  const least = BigInt.asUintN(bits, from);
  const largest = BigInt.asUintN(bits, to - 1n);
  return least <= largest ? between(least, largest, bits) : nothing;
}
function between(least: bigint, largest: bigint, bits: number): KnownBits {
  let differ = least ^ largest;
  let low = 0;
  while (differ !== 0n) {
    differ >>= 1n;
    low++;
  }
  const common = allOnes(bits) ^ allOnes(low);
  return { zero: common & ~largest, one: common & least };
}

function bitsOfInst(inst: Inst, fn: Func | null, depth: number): KnownBits {
  const { bits } = inst.type;
  const all = allOnes(bits);
  const of = (at: number): KnownBits => bitsOf(inst.operands[at]!, fn, depth);
  switch (inst.op) {
    case Op.And: {
      const b = of(1);
      const a = of(0);
      return { zero: a.zero | b.zero, one: a.one & b.one };
    }
    case Op.Or: {
      const b = of(1);
      const a = of(0);
      return { zero: a.zero & b.zero, one: a.one | b.one };
    }
    case Op.Xor: {
      const a = of(0);
      const b = of(1);
      return { zero: (a.zero & b.zero) | (a.one & b.one), one: (a.zero & b.one) | (a.one & b.zero) };
    }
    case Op.Add: {
      const [a, b] = [of(0), of(1)];
      return signed(inst, sum(a, b, 0n, bits), isNonNegative(a, bits) && isNonNegative(b, bits));
    }
    case Op.Sub: {
      const [a, b] = [of(0), of(1)];
      const flipped = { zero: b.one, one: b.zero };
      return signed(
        inst,
        sum(a, flipped, 1n, bits),
        isNonNegative(a, bits) && (b.one & signBit(bits)) !== 0n,
      );
    }
    case Op.Mul: {
      const [a, b] = [of(0), of(1)];
      const low = trailingZeros(a, bits) + trailingZeros(b, bits);
      const high = leadingZeros(a, bits) + leadingZeros(b, bits) - bits;
      return zeros(bits, Math.min(low, bits), Math.max(high, 0));
    }
    case Op.UDiv:
      return zeros(bits, 0, leadingZeros(of(0), bits));
    case Op.URem: {
      const high = Math.max(leadingZeros(of(0), bits), leadingZeros(of(1), bits));
      return zeros(bits, 0, high);
    }
    case Op.Shl:
    case Op.LShr:
    case Op.AShr: {
      const by = inst.operands[1]!;
      if (by.valueKind !== "int")
        return inst.op === Op.LShr ? zeros(bits, 0, leadingZeros(of(0), bits)) : nothing;
      const amount = BigInt.asUintN(bits, by.value);
      if (amount >= BigInt(bits)) return nothing;
      return shifted(inst.op, of(0), amount, bits);
    }
    case Op.ZExt: {
      const a = of(0);
      const source = allOnes(inst.operands[0]!.type.bits);
      return { zero: a.zero | (all ^ source), one: a.one };
    }
    case Op.SExt: {
      const a = of(0);
      const from = inst.operands[0]!.type.bits;
      const upper = all ^ allOnes(from);
      const sign = signBit(from);
      if ((a.zero & sign) !== 0n) return { zero: a.zero | upper, one: a.one };
      return (a.one & sign) !== 0n ? { zero: a.zero, one: a.one | upper } : a;
    }
    case Op.Trunc: {
      // A wider source may be beyond what is looked at.
      const a = of(0);
      return { zero: a.zero & all, one: a.one & all };
    }
    case Op.Select:
      return both(of(1), of(2));
    case Op.Phi:
      return ofPhi(inst, fn, depth);
    case Op.Load:
      return ranges(inst.hints?.range ?? null, inst.type);
    case Op.Call:
      return ofCall(inst, fn, depth);
    default:
      return nothing;
  }
}

const both = (a: KnownBits, b: KnownBits): KnownBits => ({ zero: a.zero & b.zero, one: a.one & b.one });

/** Of a sum that does not change sign, where flags say so and operands have the sign already. */
function signed(inst: Inst, known: KnownBits, isNonNegativeSum: boolean): KnownBits {
  if (!isNonNegativeSum || (inst.flags & Flag.Nsw) === 0) return known;
  const sign = signBit(inst.type.bits);
  return (known.one & sign) !== 0n ? known : { zero: known.zero | sign, one: known.one };
}

/** Bits of a sum whose carries are known. */
function sum(a: KnownBits, b: KnownBits, carry: bigint, bits: number): KnownBits {
  const all = allOnes(bits);
  const most = ((all ^ a.zero) + (all ^ b.zero) + carry) & all;
  const least = (a.one + b.one + carry) & all;
  const carryZero = all ^ (most ^ a.zero ^ b.zero);
  const carryOne = least ^ a.one ^ b.one;
  const known = (a.zero | a.one) & (b.zero | b.one) & (carryZero | carryOne);
  return { zero: (all ^ most) & known, one: least & known };
}

function trailingZeros({ zero }: KnownBits, bits: number): number {
  let count = 0;
  while (count < bits && ((zero >> BigInt(count)) & 1n) === 1n) count++;
  return count;
}
/** How many of the highest bits are sure to be zero. */
export function leadingZeros({ zero }: KnownBits, bits: number): number {
  let count = 0;
  while (count < bits && ((zero >> BigInt(bits - 1 - count)) & 1n) === 1n) count++;
  return count;
}
const zeros = (bits: number, low: number, high: number): KnownBits => ({
  zero: allOnes(low) | (allOnes(bits) ^ allOnes(bits - high)),
  one: 0n,
});

function shifted(op: Op, a: KnownBits, amount: bigint, bits: number): KnownBits {
  const all = allOnes(bits);
  if (op === Op.Shl)
    return { zero: ((a.zero << amount) & all) | allOnes(Number(amount)), one: (a.one << amount) & all };
  const upper = all ^ (all >> amount);
  const zero = a.zero >> amount;
  const one = a.one >> amount;
  if (op === Op.LShr) return { zero: zero | upper, one };
  const sign = signBit(bits);
  if ((a.zero & sign) !== 0n) return { zero: zero | upper, one };
  return (a.one & sign) !== 0n ? { zero, one: one | upper } : { zero, one };
}

/** Of few values, none of which is looked at deeply: they may be the phi's own. */
function ofPhi(phi: Inst, fn: Func | null, depth: number): KnownBits {
  const { operands } = phi;
  if (operands.length === 0 || operands.length > 4) return nothing;
  let known: KnownBits | null = null;
  for (let i = 0; i < operands.length; i++) {
    if (operands[i] === phi) continue;
    const a = bitsOf(operands[i]!, fn, Math.max(depth, deepest - 1));
    known = known === null ? a : both(known, a);
    if (known.zero === 0n && known.one === 0n) return nothing;
  }
  return known ?? nothing;
}

function ranges(list: readonly bigint[] | null, { bits }: Type): KnownBits {
  if (list === null || list.length === 0) return nothing;
  let known = inRange(list[0]!, list[1]!, bits);
  for (let i = 2; i < list.length; i += 2) known = both(known, inRange(list[i]!, list[i + 1]!, bits));
  return known;
}

function ofCall(call: Inst & { readonly op: Op.Call }, fn: Func | null, depth: number): KnownBits {
  const { bits } = call.type;
  const known = ranges(call.hints?.range ?? null, call.type);
  if (known !== nothing) return known;
  const range = call.data.attributes.result.range;
  if (range !== undefined) return inRange(range.from, range.to, bits);
  const callee = call.operands[0]!;
  const intrinsic = intrinsicOf(callee);
  if (intrinsic === null) {
    const declared =
      callee.valueKind === "global" && callee.kind === "function"
        ? callee.attributes.result.range
        : undefined;
    return declared === undefined ? nothing : inRange(declared.from, declared.to, bits);
  }
  const of = (at: number): KnownBits => bitsOf(call.operands[at + 1]!, fn, depth);
  switch (intrinsic.name) {
    case "ctpop":
    case "ctlz":
    case "cttz":
      return between(0n, BigInt(bits) & allOnes(bits), bits);
    case "umin":
      return zeros(bits, 0, Math.max(leadingZeros(of(0), bits), leadingZeros(of(1), bits)));
    case "umax":
    case "smax":
    case "smin":
      return both(of(0), of(1));
    default:
      return nothing;
  }
}
