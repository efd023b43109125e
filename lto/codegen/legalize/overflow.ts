/** Arithmetic that reports overflow, on integers of any width. */
import { Op } from "../../ir/instructions.js";
import { i1, structType } from "../../ir/types.js";
import { constBool, constI64, type Value } from "../../ir/values.js";
import { intBinary, intCompare, intConstant, intResize, isNegative, selectParts } from "./integers.js";
import type { Lowering, Parts } from "./lowering.js";
import { mulWords, wideAdd, wideNeg, wideSub } from "./wide.js";

export interface Overflowing {
  readonly value: Parts;
  /** An i1. */
  readonly overflow: Value;
}
type Arithmetic = Op.Add | Op.Sub | Op.Mul;

export function overflowing(
  l: Lowering,
  op: Arithmetic,
  signed: boolean,
  width: number,
  a: Parts,
  b: Parts,
): Overflowing {
  if (width === 1) return boolOverflow(l, op, signed, a[0]!, b[0]!);
  if (width === 8 || width === 16 || width === 32 || width === 64) {
    const name = `${signed ? "s" : "u"}${op === Op.Add ? "add" : op === Op.Sub ? "sub" : "mul"}`;
    const type = a[0]!.type;
    const result = l.intrinsic(`llvm.${name}.with.overflow.i${width}`, structType([type, i1]), [
      a[0]!,
      b[0]!,
    ]);
    return { value: [l.extract(result, 0)], overflow: l.extract(result, 1) };
  }
  if (op === Op.Mul) {
    if (width === 128) return signed ? signedMul128(l, a, b) : unsignedMul128(l, a, b);
    return inWider(l, op, signed, width, width * 2, a, b);
  }
  if (width % 64 !== 0) {
    // The promoted form has at least one spare bit.
    const holder = width > 64 ? Math.ceil(width / 64) * 64 : a[0]!.type.bits;
    return inWider(l, op, signed, width, holder, a, b);
  }
  return wideAddSub(l, op, signed, width, a, b);
}

/** Computes exactly in `holder` bits and checks that the result is the extension of its low bits. */
function inWider(
  l: Lowering,
  op: Arithmetic,
  signed: boolean,
  width: number,
  holder: number,
  a: Parts,
  b: Parts,
): Overflowing {
  const exact = intBinary(
    l,
    op,
    holder,
    intResize(l, width, holder, a, signed),
    intResize(l, width, holder, b, signed),
  );
  const value = intResize(l, holder, width, exact, false);
  const again = intResize(l, width, holder, value, signed);
  // A narrow unsigned difference wraps in the holder, and then does not match its low bits either.
  return { value, overflow: intCompare(l, "ne", holder, exact, again) };
}

function boolOverflow(l: Lowering, op: Arithmetic, signed: boolean, a: Value, b: Value): Overflowing {
  const both = l.and(a, b);
  // Signed, the set bit is -1: -1 + -1, 0 - -1 and -1 · -1 do not fit.
  if (op === Op.Mul) return { value: [both], overflow: signed ? both : constBool(false) };
  return { value: [l.xor(a, b)], overflow: op === Op.Add ? both : l.and(l.not(a), b) };
}

function wideAddSub(
  l: Lowering,
  op: Arithmetic,
  signed: boolean,
  width: number,
  a: Parts,
  b: Parts,
): Overflowing {
  const value = op === Op.Add ? wideAdd(l, a, b) : wideSub(l, a, b);
  const top = a.length - 1;
  const x = a[top]!;
  const y = b[top]!;
  const r = value[top]!;
  if (signed) {
    const differs = op === Op.Add ? l.and(l.xor(x, r), l.xor(y, r)) : l.and(l.xor(x, y), l.xor(x, r));
    return { value, overflow: l.icmp("slt", differs, constI64(0)) };
  }
  const overflow = op === Op.Add ? intCompare(l, "ult", width, value, a) : intCompare(l, "ult", width, a, b);
  return { value, overflow };
}

/** Cross products must fit one word, and so must their sum with the high word of the low product. */
function unsignedMul128(l: Lowering, a: Parts, b: Parts): Overflowing {
  const zero = constI64(0);
  const bothHigh = l.and(l.icmp("ne", a[1]!, zero), l.icmp("ne", b[1]!, zero));
  const crossA = overflowing(l, Op.Mul, false, 64, [a[1]!], [b[0]!]);
  const crossB = overflowing(l, Op.Mul, false, 64, [a[0]!], [b[1]!]);
  const [low, carry] = mulWords(l, a[0]!, b[0]!);
  // One of the cross products is zero unless the high words alone overflow.
  const cross = l.add(crossA.value[0]!, crossB.value[0]!);
  const high = overflowing(l, Op.Add, false, 64, [carry], [cross]);
  const tooBig = l.or(bothHigh, l.or(crossA.overflow, crossB.overflow));
  return { value: [low, high.value[0]!], overflow: l.or(tooBig, high.overflow) };
}

/** By magnitudes: the product overflows if theirs does or if its sign comes out wrong. */
function signedMul128(l: Lowering, a: Parts, b: Parts): Overflowing {
  const negativeA = isNegative(l, 128, a);
  const negativeB = isNegative(l, 128, b);
  const magnitude = unsignedMul128(
    l,
    selectParts(l, negativeA, wideNeg(l, a), a),
    selectParts(l, negativeB, wideNeg(l, b), b),
  );
  const negative = l.xor(negativeA, negativeB);
  const value = selectParts(l, negative, wideNeg(l, magnitude.value), magnitude.value);
  const isZero = intCompare(l, "eq", 128, value, intConstant(128, 0n));
  const wrongSign = l.and(l.xor(isNegative(l, 128, value), negative), l.not(isZero));
  return { value, overflow: l.or(magnitude.overflow, wrongSign) };
}
