/**
 * Minima and maxima that order zeros, with no flag but the invalid one for signaling NaNs (IEEE 754-2019 section 9.6).
 *
 * The expansion for where nobody looks at flags adds the operands, whatever they are: for the sign of zero, and for a
 * quiet NaN. Here zeros are told by their sign bits, and only NaNs are added.
 */
import { Op } from "../../ir/instructions.js";
import { floatType, type Type } from "../../ir/types.js";
import { type Value, zeroOf } from "../../ir/values.js";
import { toBits } from "./bits.js";
import { floatBinary, floatCompare, floatConvert, isSmallFloat } from "./floats.js";
import { isNegative } from "./integers.js";
import type { Lowering } from "./lowering.js";

/** @param kind `minimum`, `maximum`, or with `num` for those that ignore a NaN beside a number */
export function strictMinMax(l: Lowering, kind: string, type: Type, a: Value, b: Value): Value {
  if (isSmallFloat(type)) {
    const wide = (v: Value): Value => floatConvert(l, type, floatType, v);
    return floatConvert(l, floatType, type, strictMinMax(l, kind, floatType, wide(a), wide(b)));
  }
  const isMax = kind.startsWith("max");
  const isUnordered = (v: Value): Value => floatCompare(l, "uno", type, [v], [v]);
  const isFirst = floatCompare(l, isMax ? "ogt" : "olt", type, [a], [b]);
  const isBelow = isNegative(l, l.layout.bitWidth(type), toBits(l, type, [a]));
  // Equal operands differ at most in the sign of zero.
  const tie = isMax ? l.select(isBelow, b, a) : l.select(isBelow, a, b);
  let result = l.select(isFirst, a, b);
  result = l.select(floatCompare(l, "oeq", type, [a], [b]), tie, result);
  result = kind.endsWith("num")
    ? l.select(isUnordered(b), a, result)
    : l.select(isUnordered(a), a, l.select(isUnordered(b), b, result));
  const unordered = isUnordered(result);
  const nan = [l.select(unordered, result, zeroOf(type))];
  return l.select(unordered, floatBinary(l, Op.FAdd, type, nan, nan, 0)[0]!, result);
}
