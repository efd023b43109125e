/**
 * Arithmetic on fixed-point numbers (LLVM Language Reference, "Fixed Point Arithmetic Intrinsics"): integers that count
 * units of 2^-scale. Computed in twice the width, where nothing overflows, and rounded down, as LLVM does; the forms
 * that saturate are clamped there. A constant number of operations.
 */
import { Op } from "../../ir/instructions.js";
import type { LaneHandler } from "./elementwise.js";
import { intBinary, intCompare, intConstant, intResize, isNegative, selectParts } from "./integers.js";
import type { Lowering, Parts } from "./lowering.js";

function product(l: Lowering, width: number, a: Parts, b: Parts, scale: Parts, signed: boolean): Parts {
  const exact = intBinary(l, Op.Mul, width, a, b);
  return intBinary(l, signed ? Op.AShr : Op.LShr, width, exact, scale);
}

function quotient(l: Lowering, width: number, a: Parts, b: Parts, scale: Parts, signed: boolean): Parts {
  const dividend = intBinary(l, Op.Shl, width, a, scale);
  const towardsZero = intBinary(l, signed ? Op.SDiv : Op.UDiv, width, dividend, b);
  if (!signed) return towardsZero;
  const back = intBinary(l, Op.Mul, width, towardsZero, b);
  const signs = intBinary(l, Op.Xor, width, a, b);
  const inexact = intCompare(l, "ne", width, back, dividend);
  const down = l.and(inexact, isNegative(l, width, signs));
  return intBinary(l, Op.Sub, width, towardsZero, intResize(l, 1, width, [down], false));
}

export const fixedPoint: LaneHandler = (l, c) => {
  const narrow = c.type.bits;
  const width = 2 * narrow;
  const scale = c.args[2]![0]!;
  if (scale.valueKind !== "int" || width > 128) throw l.unsupported(`llvm.${c.base} on ${c.type}`);
  const signed = c.base[0] === "s";
  const [a, b] = c.args.slice(0, 2).map((parts) => intResize(l, narrow, width, parts, signed)) as [
    Parts,
    Parts,
  ];
  const compute = c.base.includes("mul") ? product : quotient;
  let value = compute(l, width, a, b, intConstant(width, scale.value), signed);
  if (c.base.endsWith(".sat")) {
    const one = 1n;
    const top = intConstant(width, (one << BigInt(signed ? narrow - 1 : narrow)) - one);
    value = selectParts(l, intCompare(l, signed ? "sgt" : "ugt", width, value, top), top, value);
    if (signed) {
      const bottom = intConstant(width, -(one << BigInt(narrow - 1)));
      value = selectParts(l, intCompare(l, "slt", width, value, bottom), bottom, value);
    }
  }
  return intResize(l, width, narrow, value, false);
};
