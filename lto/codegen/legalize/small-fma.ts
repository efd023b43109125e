/**
 * Fused multiplication and addition of halves and bfloats, in double.
 *
 * double holds each product. Of a half it holds the sum as well, unless that is past the largest half by far, so its rounding is
 * the only one. Of a bfloat, whose exponents are float's, the addend can be far from the product: the sum is rounded to odd by the
 * error of its addition, so that the rounding to bfloat sees that something was lost (Knuth, TAOCP volume 2, 4.2.2, theorem B; Boldo
 * & Melquiond, "Emulation of a FMA and correctly rounded sums", 2008). float would hold no sum of either.
 */
import { Op } from "../../ir/instructions.js";
import { doubleType, i64, type Type } from "../../ir/types.js";
import { constI64, type Value, zeroOf } from "../../ir/values.js";
import { floatConvert } from "./floats.js";
import type { Lowering } from "./lowering.js";

export function smallFma(l: Lowering, type: Type, args: readonly [Value, Value, Value]): Value {
  const [a, b, c] = args.map((arg) => floatConvert(l, type, doubleType, arg)) as [Value, Value, Value];
  const product = l.bin(Op.FMul, a, b);
  const sum = l.bin(Op.FAdd, product, c);
  return floatConvert(l, doubleType, type, type.kind === "half" ? sum : roundedToOdd(l, product, c, sum));
}

/** The sum of `a` and `b`, of which `sum` is the nearest: where that is another and even, its neighbour towards the sum. */
function roundedToOdd(l: Lowering, a: Value, b: Value, sum: Value): Value {
  const minus = (x: Value, y: Value): Value => l.bin(Op.FSub, x, y);
  const addedToA = minus(sum, a);
  const error = l.bin(Op.FAdd, minus(a, minus(sum, addedToA)), minus(b, addedToA));
  // Not zero where the error is not: both are multiples of the smallest product of two bfloats, which double has room to square.
  const outward = l.bin(Op.FMul, error, sum);
  const zero = zeroOf(doubleType);
  const bits = l.cast(Op.BitCast, sum, i64);
  const isEven = l.icmp("eq", l.and(bits, constI64(1)), constI64(0));
  const step = l.select(l.fcmp("ogt", outward, zero), constI64(1), constI64(-1));
  const odd = l.select(l.and(l.fcmp("one", outward, zero), isEven), l.add(bits, step), bits);
  return l.cast(Op.BitCast, odd, doubleType);
}
