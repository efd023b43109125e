/**
 * Integers wider than 64 bits, as 64-bit words with the lowest first.
 *
 * Two words use the add/sub-with-carry and widening-multiply operations of internal.ts; more words carry by
 * comparison. Division is a call to libgcc (up to 128 bits; "Routines for integer arithmetic" in the GCC
 * internals manual), else a loop over the bits of the dividend. O(words²) for multiplication and variable shifts.
 */
import { AttributeList, AttributeSet, noAttributes } from "../../ir/attributes.js";
import { type BinaryOp, type IntPredicate, Op } from "../../ir/instructions.js";
import { raw } from "../../ir/raw.js";
import { functionType, i64, structType } from "../../ir/types.js";
import { constI64, type Value } from "../../ir/values.js";
import { extendedParts } from "./extension.js";
import { add128, libraryFunction, pairAttribute, sub128, umulWide } from "./internal.js";
import type { Lowering, Parts } from "./lowering.js";

const pairType = structType([i64, i64]);
const pairSet = new AttributeSet(new Map([[pairAttribute, 2]]), new Map());
/** Attributes of a call whose arguments are `n` 128-bit integers. */
export function pairAttributes(n: number): AttributeList {
  const parameters: AttributeSet[] = [];
  for (let i = 0; i < n; i++) parameters.push(pairSet, noAttributes);
  return new AttributeList(noAttributes, noAttributes, parameters);
}

export function wideBinary(l: Lowering, op: BinaryOp, width: number, a: Parts, b: Parts): Parts {
  switch (op) {
    case Op.And:
    case Op.Or:
    case Op.Xor:
      return a.map((x, i) => l.bin(op, x, b[i]!));
    case Op.Add:
      return wideAdd(l, a, b);
    case Op.Sub:
      return wideSub(l, a, b);
    case Op.Mul:
      return wideMul(l, a, b);
    case Op.Shl:
      return wideShift(l, op, a, b[0]!);
    case Op.LShr:
      return wideShift(l, op, extendedParts(l, a, width, false), b[0]!);
    case Op.AShr:
      return wideShift(l, op, extendedParts(l, a, width, true), b[0]!);
    default:
      return wideDivide(l, op, width, a, b);
  }
}

export function wideAdd(l: Lowering, a: Parts, b: Parts): Parts {
  if (a.length === 2) {
    const sum = l.call(add128, [a[0]!, a[1]!, b[0]!, b[1]!]);
    return [l.extract(sum, 0), l.extract(sum, 1)];
  }
  const out: Value[] = [];
  let carry: Value = constI64(0);
  for (let i = 0; i < a.length; i++) {
    const partial = l.add(a[i]!, b[i]!);
    const sum = l.add(partial, carry);
    out.push(sum);
    if (i + 1 < a.length) {
      const carries = l.or(l.icmp("ult", partial, a[i]!), l.icmp("ult", sum, partial));
      carry = l.cast(Op.ZExt, carries, i64);
    }
  }
  return out;
}

export function wideSub(l: Lowering, a: Parts, b: Parts): Parts {
  if (a.length === 2) {
    const difference = l.call(sub128, [a[0]!, a[1]!, b[0]!, b[1]!]);
    return [l.extract(difference, 0), l.extract(difference, 1)];
  }
  const out: Value[] = [];
  let borrow: Value = constI64(0);
  for (let i = 0; i < a.length; i++) {
    const partial = l.sub(a[i]!, b[i]!);
    out.push(l.sub(partial, borrow));
    if (i + 1 < a.length) {
      const borrows = l.or(l.icmp("ult", a[i]!, b[i]!), l.icmp("ult", partial, borrow));
      borrow = l.cast(Op.ZExt, borrows, i64);
    }
  }
  return out;
}

/** Full product of two words. */
export function mulWords(l: Lowering, a: Value, b: Value): [Value, Value] {
  const product = l.call(umulWide, [a, b]);
  return [l.extract(product, 0), l.extract(product, 1)];
}

function wideMul(l: Lowering, a: Parts, b: Parts): Parts {
  const n = a.length;
  if (n === 2) {
    const [low, high] = mulWords(l, a[0]!, b[0]!);
    const cross = l.add(l.bin(Op.Mul, a[0]!, b[1]!), l.bin(Op.Mul, a[1]!, b[0]!));
    return [low, l.add(high, cross)];
  }
  // Row by row: each row is a[·]·b[j], shifted j words; rows are added with carries.
  const zero = constI64(0);
  let total: Parts = new Array<Value>(n).fill(zero);
  for (let j = 0; j < n; j++) {
    const lows: Value[] = new Array<Value>(n).fill(zero);
    const highs: Value[] = new Array<Value>(n).fill(zero);
    for (let i = 0; i + j < n; i++) {
      if (i + j + 1 < n) {
        const [low, high] = mulWords(l, a[i]!, b[j]!);
        lows[i + j] = low;
        highs[i + j + 1] = high;
      } else lows[i + j] = l.bin(Op.Mul, a[i]!, b[j]!);
    }
    total = wideAdd(l, wideAdd(l, total, lows), highs);
  }
  return total;
}

/** Shift by a constant or by a word (the amount is below the width, else the result is poison). */
function wideShift(l: Lowering, op: BinaryOp, a: Parts, amount: Value): Parts {
  if (amount.valueKind === "int")
    return shiftConstant(l, op, a, Number(BigInt.asUintN(64, amount.value) & 0xffffn));
  if (a.length === 2) return shiftPair(l, op, a, amount);
  // Whole words first, one bit of the word count at a time, then the remaining bits.
  let parts = a;
  for (let bit = 0; 1 << bit < a.length; bit++) {
    const moves = l.icmp("ne", l.and(amount, constI64(64 << bit)), constI64(0));
    const moved = shiftConstant(l, op, parts, 64 << bit);
    parts = parts.map((p, i) => l.select(moves, moved[i]!, p));
  }
  const rest = l.and(amount, constI64(63));
  // Funnel shifts take their amount modulo the width.
  const fsh = op === Op.Shl ? "llvm.fshl.i64" : "llvm.fshr.i64";
  return parts.map((p, i) => {
    if (op === Op.Shl)
      return i === 0 ? l.bin(op, p, rest) : l.intrinsic(fsh, i64, [p, parts[i - 1]!, amount]);
    return i === parts.length - 1 ? l.bin(op, p, rest) : l.intrinsic(fsh, i64, [parts[i + 1]!, p, amount]);
  });
}

function shiftPair(l: Lowering, op: BinaryOp, a: Parts, amount: Value): Parts {
  const low = a[0]!;
  const high = a[1]!;
  const rest = l.and(amount, constI64(63));
  const crosses = l.icmp("ne", l.and(amount, constI64(64)), constI64(0));
  if (op === Op.Shl) {
    const bottom = l.bin(Op.Shl, low, rest);
    const top = l.intrinsic("llvm.fshl.i64", i64, [high, low, amount]);
    return [l.select(crosses, constI64(0), bottom), l.select(crosses, bottom, top)];
  }
  const top = l.bin(op, high, rest);
  const bottom = l.intrinsic("llvm.fshr.i64", i64, [high, low, amount]);
  const fill = op === Op.AShr ? l.ashr(high, 63) : constI64(0);
  return [l.select(crosses, top, bottom), l.select(crosses, fill, top)];
}

/** Shift of words by a constant number of bits; bits shifted in come from the sign for ashr. */
function shiftConstant(l: Lowering, op: BinaryOp, a: Parts, amount: number): Parts {
  const n = a.length;
  const words = Math.floor(amount / 64);
  const bits = amount % 64;
  const fill = op === Op.AShr ? l.ashr(a[n - 1]!, 63) : constI64(0);
  const at = (i: number): Value => (i >= 0 && i < n ? a[i]! : i < 0 ? constI64(0) : fill);
  const out: Value[] = [];
  for (let i = 0; i < n; i++) {
    if (op === Op.Shl) out.push(funnel(l, at(i - words), at(i - words - 1), bits));
    else if (i + words === n - 1)
      out.push(bits === 0 ? a[n - 1]! : op === Op.AShr ? l.ashr(a[n - 1]!, bits) : l.lshr(a[n - 1]!, bits));
    else if (i + words >= n) out.push(fill);
    else out.push(bits === 0 ? at(i + words) : funnel(l, at(i + words + 1), at(i + words), 64 - bits));
  }
  return out;
}

/** The upper word of high:low shifted left by 0 … 63 bits. */
function funnel(l: Lowering, high: Value, low: Value, bits: number): Value {
  if (bits === 0) return high;
  if (low.valueKind === "int" && low.value === 0n) return l.shl(high, bits);
  if (high.valueKind === "int" && high.value === 0n) return l.lshr(low, 64 - bits);
  return l.intrinsic("llvm.fshl.i64", i64, [high, low, constI64(bits)]);
}

export function wideCompare(l: Lowering, predicate: IntPredicate, width: number, a: Parts, b: Parts): Value {
  const signed = predicate[0] === "s";
  const x = extendedParts(l, a, width, signed);
  const y = extendedParts(l, b, width, signed);
  if (predicate === "eq" || predicate === "ne") {
    let differences: Value = l.xor(x[0]!, y[0]!);
    for (let i = 1; i < x.length; i++) differences = l.or(differences, l.xor(x[i]!, y[i]!));
    return l.icmp(predicate, differences, constI64(0));
  }
  const top = x.length - 1;
  // A sign test looks at the top word only.
  if (
    signed &&
    y.every((v) => v.valueKind === "int" && v.value === 0n) &&
    (predicate === "slt" || predicate === "sge")
  )
    return l.icmp(predicate, x[top]!, constI64(0));
  const unsignedForm = `u${predicate.slice(1)}` as IntPredicate;
  let result = l.icmp(unsignedForm, x[0]!, y[0]!);
  for (let i = 1; i <= top; i++) {
    const word = l.icmp(i === top ? predicate : unsignedForm, x[i]!, y[i]!);
    result = l.select(l.icmp("eq", x[i]!, y[i]!), result, word);
  }
  return result;
}

function wideDivide(l: Lowering, op: BinaryOp, width: number, a: Parts, b: Parts): Parts {
  const signed = op === Op.SDiv || op === Op.SRem;
  if (width > 128) {
    const wide = (parts: Parts): Parts => extendedParts(l, parts, width, signed).map((p) => l.freeze(p));
    const wantsQuotient = op === Op.UDiv || op === Op.SDiv;
    return longDivision(l, wide(a), wide(b), signed, wantsQuotient);
  }
  const name =
    op === Op.UDiv ? "__udivti3" : op === Op.SDiv ? "__divti3" : op === Op.URem ? "__umodti3" : "__modti3";
  const args = [...extendedParts(l, a, width, signed), ...extendedParts(l, b, width, signed)];
  const fn = libraryFunction(name, functionType(pairType, [i64, i64, i64, i64]));
  const result = l.call(fn, args, pairAttributes(2));
  return [l.extract(result, 0), l.extract(result, 1)];
}

/**
 * Division bit by bit, of whole words. The dividend moves into the remainder from below while the quotient takes its
 * place. Doubling the remainder may carry out of its top word; then it certainly is no less than the divisor, and the
 * difference without that bit is right.
 */
function longDivision(l: Lowering, a: Parts, b: Parts, signed: boolean, wantsQuotient: boolean): Parts {
  const words = a.length;
  const top = words - 1;
  const signOf = (x: Parts): Value => (signed ? l.ashr(x[top]!, 63) : constI64(0));
  /** Negated where the sign is all ones. */
  const withSign = (x: Parts, sign: Value): Parts => {
    const flipped = x.map((word) => l.xor(word, sign));
    return wideSub(
      l,
      flipped,
      flipped.map(() => sign),
    );
  };
  const [signA, signB] = [signOf(a), signOf(b)];
  const dividend = signed ? withSign(a, signA) : a;
  const divisor = signed ? withSign(b, signB) : b;
  const before = l.block;
  const loop = l.newBlock();
  const after = l.newBlock();
  l.jump(loop);
  l.continueIn(loop);
  const count = l.phi(i64, [[constI64(64 * words), before]]);
  const quotient = dividend.map((word) => l.phi(i64, [[word, before]]));
  const remainder = dividend.map(() => l.phi(i64, [[constI64(0), before]]));
  const doubled = remainder.map((word, i) =>
    funnel(l, word, i === 0 ? quotient[top]! : remainder[i - 1]!, 1),
  );
  const fits = l.or(
    l.icmp("slt", remainder[top]!, constI64(0)),
    wideCompare(l, "uge", 64 * words, doubled, divisor),
  );
  const difference = wideSub(l, doubled, divisor);
  const nextRemainder = doubled.map((word, i) => l.select(fits, difference[i]!, word));
  const nextQuotient = [...shiftConstant(l, Op.Shl, quotient, 1)];
  nextQuotient[0] = l.or(nextQuotient[0]!, l.cast(Op.ZExt, fits, i64));
  const nextCount = l.sub(count, constI64(1));
  const end = l.block;
  l.branch(l.icmp("ne", nextCount, constI64(0)), loop, after);
  const next = [nextCount, ...nextQuotient, ...nextRemainder];
  for (const [i, phi] of [count, ...quotient, ...remainder].entries()) {
    raw(phi).operands.push(next[i]!);
    raw(phi).blocks.push(end);
  }
  l.continueIn(after);
  const result = wantsQuotient ? nextQuotient : nextRemainder;
  if (!signed) return result;
  return withSign(result, wantsQuotient ? l.xor(signA, signB) : signA);
}

/** Negation. */
export function wideNeg(l: Lowering, a: Parts): Parts {
  return wideSub(
    l,
    a.map(() => constI64(0)),
    a,
  );
}
