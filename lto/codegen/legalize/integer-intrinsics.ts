/** Integer intrinsics on any width (LangRef, "Standard C/C++ Library Intrinsics" to "Saturation Arithmetic"). */
import { Op } from "../../ir/instructions.js";
import { i32, i64 } from "../../ir/types.js";
import { constBool, constI64, constInt, type Value } from "../../ir/values.js";
import type { LaneCall, LaneHandler } from "./elementwise.js";
import { promotedInt } from "./emitter.js";
import { extendedParts } from "./extension.js";
import { fixedPoint } from "./fixed-point.js";
import { intBinary, intCompare, intConstant, intResize, isNegative, selectParts } from "./integers.js";
import type { Lowering, Parts } from "./lowering.js";
import { overflowing } from "./overflow.js";
import { wideNeg } from "./wide.js";

const isMachineWidth = (width: number): boolean =>
  width === 8 || width === 16 || width === 32 || width === 64;

/** The call itself when the width is a machine width. */
function direct(l: Lowering, c: LaneCall): Parts {
  const args = c.args.map((a) => a[0]!);
  return [l.intrinsic(`llvm.${c.base}.i${c.type.bits}`, c.type, args)];
}

const minMax: LaneHandler = (l, c) => {
  const [a, b] = c.args as [Parts, Parts];
  const width = c.type.bits;
  if (isMachineWidth(width)) return direct(l, c);
  const predicate = `${c.base[0]}${c.base.endsWith("max") ? "gt" : "lt"}` as "sgt";
  return selectParts(l, intCompare(l, predicate, width, a, b), a, b);
};

const abs: LaneHandler = (l, c) => {
  const width = c.type.bits;
  const a = c.args[0]!;
  if (isMachineWidth(width)) return direct(l, c);
  if (width === 1) return a;
  const negated = width > 64 ? wideNeg(l, a) : [l.neg(a[0]!)];
  return selectParts(l, isNegative(l, width, a), negated, a);
};

const bswap: LaneHandler = (l, c) => {
  const width = c.type.bits;
  const a = c.args[0]!;
  if (width === 8) return a;
  if (width <= 64) {
    const swapped = l.intrinsic(`llvm.bswap.i${a[0]!.type.bits}`, a[0]!.type, [a[0]!]);
    return [l.lshr(swapped, a[0]!.type.bits - width)];
  }
  const words = a.map((w) => l.intrinsic("llvm.bswap.i64", i64, [w])).reverse();
  return dropLow(l, words, words.length * 64 - width);
};

/** Words shifted right by a constant. */
function dropLow(l: Lowering, words: Parts, bits: number): Parts {
  if (bits === 0) return words;
  return intBinary(l, Op.LShr, words.length * 64, words, intConstant(words.length * 64, BigInt(bits)));
}

const bitreverse: LaneHandler = (l, c) => {
  const width = c.type.bits;
  const a = c.args[0]!;
  if (width === 1) return a;
  if (width <= 64) return [l.lshr(reverseBits(l, a[0]!), a[0]!.type.bits - width)];
  const words = a.map((w) => reverseBits(l, w)).reverse();
  return dropLow(l, words, words.length * 64 - width);
};

/** Swaps bytes, then nibbles, pairs and bits within them. */
function reverseBits(l: Lowering, a: Value): Value {
  const type = a.type;
  const bits = type.bits;
  let v: Value = bits === 8 ? a : l.intrinsic(`llvm.bswap.i${bits}`, type, [a]);
  for (const [shift, pattern] of [
    [4, 0x0f],
    [2, 0x33],
    [1, 0x55],
  ] as const) {
    const mask = constInt(
      type,
      BigInt(
        `0x${pattern
          .toString(16)
          .padStart(2, "0")
          .repeat(bits / 8)}`,
      ),
    );
    v = l.or(l.and(l.lshr(v, shift), mask), l.shl(l.and(v, mask), shift));
  }
  return v;
}

/** Population count in a 32- or 64-bit word by summing neighbours (Warren, "Hacker's Delight", 5-1). */
function popCount(l: Lowering, a: Value): Value {
  const type = a.type;
  if (hasFeature(l, "popcnt")) return l.intrinsic(`llvm.ctpop.i${type.bits}`, type, [a]);
  const repeat = (byte: string): Value => constInt(type, BigInt(`0x${byte.repeat(type.bits / 8)}`));
  let v = l.sub(a, l.and(l.lshr(a, 1), repeat("55")));
  v = l.add(l.and(v, repeat("33")), l.and(l.lshr(v, 2), repeat("33")));
  v = l.and(l.add(v, l.lshr(v, 4)), repeat("0f"));
  return l.lshr(l.bin(Op.Mul, v, repeat("01")), type.bits - 8);
}

/** Whether the function's `target-features` turn a feature on. */
function hasFeature(l: Lowering, feature: string): boolean {
  const features = l.fn.attributes.fn.string("target-features");
  return features?.split(",").includes(`+${feature}`) ?? false;
}

const ctpop: LaneHandler = (l, c) => {
  const width = c.type.bits;
  const a = extendedParts(l, c.args[0]!, width, false);
  if (width === 1) return a;
  if (width <= 64) {
    const word = l.cast(Op.ZExt, a[0]!, width <= 32 ? i32 : i64);
    return [l.cast(Op.Trunc, popCount(l, word), promotedInt(width))];
  }
  let total = popCount(l, a[0]!);
  for (let i = 1; i < a.length; i++) total = l.add(total, popCount(l, a[i]!));
  return intResize(l, 64, width, [total], false);
};

function countZeros(l: Lowering, name: string, a: Value, zeroIsPoison: Value): Value {
  return l.intrinsic(`llvm.${name}.i${a.type.bits}`, a.type, [a, zeroIsPoison]);
}

const ctlz: LaneHandler = (l, c) => {
  const width = c.type.bits;
  const zeroIsPoison = c.args[1]![0]!;
  const a = extendedParts(l, c.args[0]!, width, false);
  if (width === 1) return [l.not(a[0]!)];
  if (width <= 64) {
    const word = l.cast(Op.ZExt, a[0]!, width <= 32 ? i32 : i64);
    const count = l.sub(
      countZeros(l, "ctlz", word, zeroIsPoison),
      constInt(word.type, word.type.bits - width),
    );
    return [l.cast(Op.Trunc, count, promotedInt(width))];
  }
  let count = countZeros(l, "ctlz", a[0]!, zeroIsPoison);
  for (let i = 1; i < a.length; i++) {
    const isEmpty = l.icmp("eq", a[i]!, constI64(0));
    count = l.select(isEmpty, l.add(count, constI64(64)), countZeros(l, "ctlz", a[i]!, constBool(true)));
  }
  return intResize(l, 64, width, [l.sub(count, constI64(a.length * 64 - width))], false);
};

export const cttz: LaneHandler = (l, c) => {
  const width = c.type.bits;
  const zeroIsPoison = c.args[1]![0]!;
  const a = c.args[0]!;
  if (width === 1) return [l.not(a[0]!)];
  if (width <= 64) {
    // A bit just above the width bounds the count of an empty value.
    let word = l.cast(Op.ZExt, a[0]!, width <= 32 ? i32 : i64);
    if (width === word.type.bits) return [countZeros(l, "cttz", word, zeroIsPoison)];
    word = l.or(word, constInt(word.type, 1n << BigInt(width)));
    return [l.cast(Op.Trunc, countZeros(l, "cttz", word, constBool(true)), promotedInt(width))];
  }
  const top = a.length - 1;
  const spare = width % 64;
  let count =
    spare === 0
      ? countZeros(l, "cttz", a[top]!, zeroIsPoison)
      : countZeros(l, "cttz", l.or(a[top]!, constI64(1n << BigInt(spare))), constBool(true));
  for (let i = top - 1; i >= 0; i--) {
    const isEmpty = l.icmp("eq", a[i]!, constI64(0));
    count = l.select(isEmpty, l.add(count, constI64(64)), countZeros(l, "cttz", a[i]!, constBool(true)));
  }
  return intResize(l, 64, width, [count], false);
};

const funnelShift: LaneHandler = (l, c) => {
  const width = c.type.bits;
  const [a, b, amount] = c.args as [Parts, Parts, Parts];
  const isLeft = c.base === "fshl";
  if (isMachineWidth(width)) return direct(l, c);
  if (width === 1) return isLeft ? a : b;
  const modulus = intConstant(width, BigInt(width));
  const shift =
    (width & (width - 1)) === 0
      ? intBinary(l, Op.And, width, amount, intConstant(width, BigInt(width - 1)))
      : intBinary(l, Op.URem, width, amount, modulus);
  // The other half moves by width - shift in two steps, since that may be the whole width.
  const rest = intBinary(l, Op.Sub, width, intConstant(width, BigInt(width - 1)), shift);
  const one = intConstant(width, 1n);
  const high = isLeft
    ? intBinary(l, Op.Shl, width, a, shift)
    : intBinary(l, Op.Shl, width, intBinary(l, Op.Shl, width, a, one), rest);
  const low = isLeft
    ? intBinary(l, Op.LShr, width, intBinary(l, Op.LShr, width, b, one), rest)
    : intBinary(l, Op.LShr, width, b, shift);
  return intBinary(l, Op.Or, width, high, low);
};

function signedBounds(width: number): [Parts, Parts] {
  const w = BigInt(width);
  return [intConstant(width, -(1n << (w - 1n))), intConstant(width, (1n << (w - 1n)) - 1n)];
}
/** The bound that a signed operation on `a` overflows to: by the sign of `a`. */
function boundBySign(l: Lowering, width: number, a: Parts): Parts {
  const [min, max] = signedBounds(width);
  return selectParts(l, isNegative(l, width, a), min, max);
}

const saturating: LaneHandler = (l, c) => {
  const width = c.type.bits;
  const [a, b] = c.args as [Parts, Parts];
  const signed = c.base[0] === "s";
  const isAdd = c.base.slice(1, 4) === "add";
  const { value, overflow } = overflowing(l, isAdd ? Op.Add : Op.Sub, signed, width, a, b);
  const bound = signed
    ? boundBySign(l, width, a)
    : intConstant(width, isAdd ? (1n << BigInt(width)) - 1n : 0n);
  return selectParts(l, overflow, bound, value);
};

const saturatingShift: LaneHandler = (l, c) => {
  const width = c.type.bits;
  const [a, b] = c.args as [Parts, Parts];
  const signed = c.base[0] === "s";
  const value = intBinary(l, Op.Shl, width, a, b);
  const back = intBinary(l, signed ? Op.AShr : Op.LShr, width, value, b);
  const bound = signed ? boundBySign(l, width, a) : intConstant(width, (1n << BigInt(width)) - 1n);
  return selectParts(l, intCompare(l, "ne", width, back, a), bound, value);
};

const withOverflow: LaneHandler = (l, c) => {
  const [a, b] = c.args as [Parts, Parts];
  const name = c.base.slice(1, 4);
  const op = name === "add" ? Op.Add : name === "sub" ? Op.Sub : Op.Mul;
  const { value, overflow } = overflowing(l, op, c.base[0] === "s", c.type.bits, a, b);
  return [...value, overflow];
};

/** -1, 0 or 1 in the result's width. */
const threeWay: LaneHandler = (l, c) => {
  const [a, b] = c.args as [Parts, Parts];
  const width = c.type.bits;
  const signed = c.base[0] === "s";
  const to = c.result.bits;
  const above = intCompare(l, signed ? "sgt" : "ugt", width, a, b);
  const below = intCompare(l, signed ? "slt" : "ult", width, a, b);
  const positive = intResize(l, 1, to, [above], false);
  return selectParts(l, below, intConstant(to, -1n), positive);
};

export const integerIntrinsics: readonly (readonly [string, LaneHandler])[] = [
  ["smax", minMax],
  ["smin", minMax],
  ["umax", minMax],
  ["umin", minMax],
  ["abs", abs],
  ["bswap", bswap],
  ["bitreverse", bitreverse],
  ["ctpop", ctpop],
  ["ctlz", ctlz],
  ["cttz", cttz],
  ["fshl", funnelShift],
  ["fshr", funnelShift],
  ["sadd.sat", saturating],
  ["uadd.sat", saturating],
  ["ssub.sat", saturating],
  ["usub.sat", saturating],
  ["sshl.sat", saturatingShift],
  ["ushl.sat", saturatingShift],
  ["sadd.with.overflow", withOverflow],
  ["uadd.with.overflow", withOverflow],
  ["ssub.with.overflow", withOverflow],
  ["usub.with.overflow", withOverflow],
  ["smul.with.overflow", withOverflow],
  ["umul.with.overflow", withOverflow],
  ["ucmp", threeWay],
  ["scmp", threeWay],
  ["smul.fix", fixedPoint],
  ["umul.fix", fixedPoint],
  ["smul.fix.sat", fixedPoint],
  ["umul.fix.sat", fixedPoint],
  ["sdiv.fix", fixedPoint],
  ["udiv.fix", fixedPoint],
  ["sdiv.fix.sat", fixedPoint],
  ["udiv.fix.sat", fixedPoint],
];
