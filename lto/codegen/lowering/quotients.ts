/**
 * Quotients by constants of the divisions of a block: products with reciprocals, shifted.
 *
 *  - Signed: the product's upper part, and one more where the dividend is negative, whose sign bit that is. By -d that is
 *    subtracted from the dividend's sign, -1 or 0, which is its negation. Narrow dividends are extended to where the product has
 *    its sign; of 64 bits the multiplier of the signed product may have its highest bit set, which counts as 2^64 less there, so
 *    that the dividend is added.
 *  - Signed, by powers of two: adding d - 1 to what is negative makes rounding down rounding towards zero.
 *  - Unsigned: the product's upper part. Leading zeros of the dividend that are known, or that a shift by zeros at the divisor's end
 *    makes, make reciprocals shorter. Those of 33 bits are ones of 64 in a product of 128; those of 65 bits take
 *      t = (x · (m - 2^64)) >> 64;  q = (t + ((x - t) >> 1)) >> (shift - 65)
 *    where no sum leaves 64 bits, since t <= x.
 *  - Exact divisions are products with the divisor's inverse modulo 2^bits.
 *  - Whether the rest is zero, without a quotient: with the divisor d · 2^k, d odd, the product y of the dividend and d's inverse modulo
 *    2^w runs through all numbers of w bits, each once, so that only multiples of d have their quotients there.
 *      unsigned: multiples of d · 2^k have those of 2^k up to (2^w - 1) / d; rotated right by k these come to (2^w - 1) / (d · 2^k) and
 *        less. What is no multiple of 2^k has a bit among the highest k then, and what is none of d was not among them.
 *      signed: quotients by d are in -b…b, b = (2^(w-1) - 1) / d, since an odd d > 1 does not divide 2^(w-1); with a, the largest multiple of 2^k
 *        in that, y + a is one of 2^k in 0…2a < 2^w; rotated, 0…2a / 2^k.
 *    Another rest r of an unsigned division: x - r is a multiple, and no larger than 2^w - 1 - r, so that x is not below r.
 *
 * Right by the theorems in reciprocal.ts, which hold for every dividend of the width.
 */
import { knownBits, leadingZeros } from "../../analysis/known-bits.js";
import { type Block, Flag, type Inst, makeInst, Op } from "../../ir/instructions.js";
import type { Func } from "../../ir/module.js";
import { functionType, i1, i32, i64, type Type } from "../../ir/types.js";
import { constInt, type Value } from "../../ir/values.js";
import { callDataOf } from "../legalize/emitter.js";
import { internalIntrinsic, smulWide, umulWide } from "../legalize/internal.js";
import { inverse, longReciprocal, reciprocal, signedReciprocal, wideReciprocal } from "./reciprocal.js";

type BinaryOp = Op.Add | Op.And | Op.Sub | Op.Mul | Op.LShr | Op.AShr;
type CastOp = Op.ZExt | Op.SExt | Op.Trunc;

export const isPowerOfTwo = (n: bigint): boolean => (n & (n - 1n)) === 0n;
export const isSignedDivision = (op: Op): boolean => op === Op.SDiv || op === Op.SRem;
export const isRemainder = (op: Op): boolean => op === Op.URem || op === Op.SRem;
export const magnitudeOf = (n: bigint): bigint => (n < 0n ? -n : n);

const bitLength = (n: bigint): number => n.toString(2).length;
function trailingZeros(n: bigint): number {
  let zeros = 0;
  while (((n >> BigInt(zeros)) & 1n) === 0n) zeros++;
  return zeros;
}

const funnelShiftRight = (type: Type): Func =>
  internalIntrinsic(`llvm.fshr.i${type.bits}`, functionType(type, [type, type, type]));

interface Quotient {
  readonly divisor: bigint;
  readonly isSigned: boolean;
  /** Of the dividend's bits or more. */
  readonly value: Value;
}

/** Of what divisions give. */
interface Widths {
  /** 64 bits are wanted of a narrow one. */
  isExtended(division: Inst): boolean;
  /** No more than the lowest 32 bits are, of an exact quotient. */
  isCut(division: Inst): boolean;
}

export class Quotients {
  /** The block's instructions. */
  readonly out: Inst[] = [];
  /** Quotients that the block has computed, by dividend. */
  private readonly made = new Map<Value, Quotient[]>();
  /** Extensions of dividends that it has. */
  private readonly extensions = new Map<Value, Inst[]>();

  /**
   * @param fn the function, for what is said of its arguments; null: they are others by now
   * @param widths in how many bits results are wanted
   */
  constructor(
    private readonly block: Block,
    private readonly fn: Func | null,
    private readonly widths: Widths,
  ) {}

  private emit(inst: Inst): Inst {
    inst.parent = this.block;
    this.out.push(inst);
    return inst;
  }
  private bin(op: BinaryOp, a: Value, b: Value | bigint): Value {
    const other = typeof b === "bigint" ? constInt(a.type, b) : b;
    return this.emit(makeInst(op, a.type, [a, other], null) as Inst);
  }
  private shift(op: Op.LShr | Op.AShr, a: Value, by: number): Value {
    return by === 0 ? a : this.bin(op, a, BigInt(by));
  }
  cast(op: CastOp, a: Value, type: Type): Value {
    return a.type === type ? a : this.emit(makeInst(op, type, [a], null) as Inst);
  }
  /** The number in as many bits as the type has. */
  resize(a: Value, type: Type, isSigned: boolean): Value {
    return this.cast(a.type.bits > type.bits ? Op.Trunc : isSigned ? Op.SExt : Op.ZExt, a, type);
  }
  private extend(op: Op.ZExt | Op.SExt, a: Value, type: Type): Value {
    if (a.type === type) return a;
    let known = this.extensions.get(a);
    if (known === undefined) this.extensions.set(a, (known = []));
    let found = known.find((inst) => inst.op === op && inst.type === type);
    if (found === undefined) known.push((found = this.cast(op, a, type) as Inst));
    return found;
  }

  private call(callee: Func, ...args: readonly Value[]): Inst {
    const { result } = callee.valueType;
    return this.emit(makeInst(Op.Call, result, [callee, ...args], callDataOf(callee, args.length)));
  }

  /** The upper half of the product of two numbers of 64 bits. */
  private upper(a: Value, multiplier: bigint, isSigned = false): Value {
    const factor = constInt(i64, BigInt.asIntN(64, multiplier));
    const product = this.call(isSigned ? smulWide : umulWide, a, factor);
    return this.emit(makeInst(Op.ExtractValue, i64, [product], [1]));
  }

  /** What the division gives: the number, in its type or one of more bits; cut, its lowest 32. */
  divide(inst: Inst, divisor: bigint): Value {
    const dividend = inst.operands[0]!;
    const isSigned = isSignedDivision(inst.op);
    // Sums and differences of what is narrow are exact in 32 bits; those of 32 bits, in 64, where that is wanted.
    const isWide =
      inst.type.bits === 64 || (isSigned && inst.type.bits === 32 && this.widths.isExtended(inst));
    const type = isWide ? i64 : i32;
    const isRest = isRemainder(inst.op);
    const extended = (): Value => this.extend(isSigned ? Op.SExt : Op.ZExt, dividend, type);
    const magnitude = magnitudeOf(divisor);
    if (isRest && isPowerOfTwo(magnitude)) {
      const multiple = this.bin(Op.And, this.biased(extended(), inst.type.bits, magnitude), -magnitude);
      return this.bin(Op.Sub, extended(), multiple);
    }
    if ((inst.flags & Flag.Exact) !== 0 && inst.type.bits >= 32)
      return this.exact(dividend, divisor, isSigned, this.widths.isCut(inst));
    let known = this.made.get(dividend);
    if (known === undefined) this.made.set(dividend, (known = []));
    let quotient = known.find((q) => q.divisor === divisor && q.isSigned === isSigned)?.value;
    if (quotient === undefined) {
      quotient = isSigned ? this.signed(dividend, divisor, type) : this.unsigned(dividend, divisor);
      known.push({ divisor, isSigned, value: quotient });
    }
    if (!isRest) return quotient;
    // What is less than the divisor is the rest.
    if (quotient.valueKind === "int") return extended();
    return this.bin(Op.Sub, extended(), this.bin(Op.Mul, this.resize(quotient, type, isSigned), divisor));
  }

  /**
   * Whether a division leaves a given rest, without a quotient.
   * @param inst the division, of which nothing but that is wanted
   * @param divisor no power of two
   * @param rest 0 for a signed one, otherwise below the divisor
   * @param isEqual false: whether it leaves another
   */
  leaves(inst: Inst, divisor: bigint, rest: bigint, isEqual: boolean): Value {
    const isSigned = isSignedDivision(inst.op);
    const type = inst.type.bits === 64 ? i64 : i32;
    const bits = BigInt(type.bits);
    const magnitude = magnitudeOf(divisor);
    const zeros = trailingZeros(magnitude);
    const odd = magnitude >> BigInt(zeros);
    let bound = ((1n << bits) - 1n - rest) / magnitude;
    let value = this.extend(isSigned ? Op.SExt : Op.ZExt, inst.operands[0]!, type);
    if (rest !== 0n) value = this.bin(Op.Sub, value, rest);
    value = this.bin(Op.Mul, value, BigInt.asIntN(type.bits, inverse(odd, type.bits)));
    if (isSigned) {
      const largest = (((1n << (bits - 1n)) - 1n) / odd) & -(1n << BigInt(zeros));
      bound = (2n * largest) >> BigInt(zeros);
      value = this.bin(Op.Add, value, largest);
    }
    if (zeros > 0) value = this.call(funnelShiftRight(type), value, value, constInt(type, zeros));
    const limit = constInt(type, BigInt.asIntN(type.bits, bound));
    return this.emit(makeInst(Op.ICmp, i1, [value, limit], isEqual ? "ule" : "ugt"));
  }

  /** @param isCut only the lowest 32 bits are wanted, which those of the factors make */
  private exact(a: Value, divisor: bigint, isSigned: boolean, isCut: boolean): Value {
    const zeros = trailingZeros(magnitudeOf(divisor));
    let shifted = this.shift(isSigned ? Op.AShr : Op.LShr, a, zeros);
    if (isCut) shifted = this.cast(Op.Trunc, shifted, i32);
    const { bits } = shifted.type;
    const odd = BigInt.asUintN(bits, divisor >> BigInt(zeros));
    const factor = BigInt.asIntN(bits, inverse(odd, bits));
    if (factor === 1n) return shifted;
    if (factor === -1n) return this.bin(Op.Sub, constInt(shifted.type, 0), shifted);
    return this.bin(Op.Mul, shifted, factor);
  }

  private unsigned(a: Value, divisor: bigint): Value {
    const { type } = a;
    const bits = type.bits - leadingZeros(knownBits(a, this.fn), type.bits);
    if (divisor >> BigInt(bits) !== 0n) return constInt(type.bits < 32 ? i32 : type, 0);
    const short = this.short(a, divisor, bits);
    if (short !== null) return short;
    const wide = this.extend(Op.ZExt, a, i64);
    let found = wideReciprocal(divisor, bits);
    if (found !== null) return this.shift(Op.LShr, this.upper(wide, found.multiplier), found.shift - 64);
    const zeros = trailingZeros(divisor);
    if (zeros > 0) {
      // Found, since the dividend has fewer bits.
      found = wideReciprocal(divisor >> BigInt(zeros), bits - zeros)!;
      const product = this.upper(this.shift(Op.LShr, a, zeros), found.multiplier);
      return this.shift(Op.LShr, product, found.shift - 64);
    }
    const { multiplier, shift } = longReciprocal(divisor, 64);
    const upper = this.upper(a, multiplier - (1n << 64n));
    const half = this.shift(Op.LShr, this.bin(Op.Sub, a, upper), 1);
    return this.shift(Op.LShr, this.bin(Op.Add, upper, half), shift - 65);
  }

  /** By a product of no more than 64 bits, of a dividend of `bits`; null: that is not enough. */
  private short(a: Value, divisor: bigint, bits: number): Value | null {
    let found = reciprocal(divisor, bits);
    let dividend = a;
    let left = bits;
    if (found === null) {
      const zeros = trailingZeros(divisor);
      if (zeros === 0) return null;
      left = bits - zeros;
      found = reciprocal(divisor >> BigInt(zeros), left);
      if (found === null) return null;
      dividend = this.shift(Op.LShr, a, zeros);
    }
    const fits = a.type.bits <= 32 && left + bitLength(found.multiplier) <= 32;
    const wide = this.extend(Op.ZExt, dividend, fits ? i32 : i64);
    return this.shift(Op.LShr, this.bin(Op.Mul, wide, found.multiplier), found.shift);
  }

  private signed(a: Value, divisor: bigint, type: Type): Value {
    const magnitude = magnitudeOf(divisor);
    const { bits } = a.type;
    if (isPowerOfTwo(magnitude)) {
      const biased = this.biased(this.extend(Op.SExt, a, type), bits, magnitude);
      const quotient = this.shift(Op.AShr, biased, bitLength(magnitude) - 1);
      return divisor < 0n ? this.bin(Op.Sub, constInt(type, 0), quotient) : quotient;
    }
    const dividend = this.extend(Op.SExt, a, bits <= 16 ? i32 : i64);
    const { multiplier, shift } = signedReciprocal(magnitude, bits);
    let below: Value;
    if (bits < 64) below = this.shift(Op.AShr, this.bin(Op.Mul, dividend, multiplier), shift);
    else {
      let upper = this.upper(a, multiplier, true);
      if (multiplier >> 63n !== 0n) upper = this.bin(Op.Add, upper, a);
      below = this.shift(Op.AShr, upper, shift - 64);
    }
    below = this.cast(Op.Trunc, below, type);
    const top = dividend.type.bits - 1;
    if (divisor < 0n)
      return this.bin(Op.Sub, this.cast(Op.Trunc, this.shift(Op.AShr, dividend, top), type), below);
    return this.bin(Op.Add, below, this.cast(Op.Trunc, this.shift(Op.LShr, dividend, top), type));
  }

  /** A number, extended from `bits`, plus d - 1 where it is negative. @param d a power of two */
  private biased(a: Value, bits: number, d: bigint): Value {
    const { type } = a;
    const log = bitLength(d) - 1;
    if (type.bits > bits || log === 1) {
      // Above `bits` are copies of the sign. The first operand is what the sum overwrites: the dividend may be somebody else's.
      return this.bin(Op.Add, this.shift(Op.LShr, a, type.bits - log), a);
    }
    const isNegative = this.emit(makeInst(Op.ICmp, i1, [a, constInt(type, 0)], "slt"));
    return this.emit(makeInst(Op.Select, type, [isNegative, this.bin(Op.Add, a, d - 1n), a], null));
  }
}
