/** Conversions between integers and floating point, of any width and format. */
import { Op } from "../../ir/instructions.js";
import {
  doubleType,
  floatType,
  fp80Type,
  fp128Type,
  functionType,
  i32,
  i64,
  structType,
  type Type,
} from "../../ir/types.js";
import type { Value } from "../../ir/values.js";
import { zeroOf } from "../../ir/values.js";
import { promotedInt } from "./emitter.js";
import { extended, extendedParts } from "./extension.js";
import { floatCompare, floatConvert, isSmallFloat, modeSuffix, powerOfTwo } from "./floats.js";
import { asWord, intConstant, intResize, selectParts } from "./integers.js";
import { libraryFunction } from "./internal.js";
import type { Lowering, Parts } from "./lowering.js";
import { pairAttributes } from "./wide.js";

/** sitofp, uitofp. */
export function intToFloat(l: Lowering, width: number, parts: Parts, signed: boolean, to: Type): Value {
  if (isSmallFloat(to)) {
    const exact = exactFor(to, width);
    return floatConvert(l, exact, to, intToFloat(l, width, parts, signed, exact));
  }
  if (width > 128) throw l.unsupported(`conversion of i${width} to ${to}`);
  if (width > 64) {
    const words = extendedParts(l, parts, width, signed);
    const name = `__float${signed ? "" : "un"}ti${modeSuffix(to)}`;
    const fn = libraryFunction(name, functionType(to, [i64, i64]));
    return l.call(fn, [words[0]!, words[1]!], pairAttributes(1));
  }
  const isQuad = to.kind === "fp128";
  if (width <= 32) {
    let word = extended(l, parts[0]!, width, signed);
    if (word.type !== i32) word = l.cast(signed ? Op.SExt : Op.ZExt, word, i32);
    const asUnsigned = !signed && width === 32;
    if (isQuad) return l.library(`__float${asUnsigned ? "un" : ""}sitf`, to, [word]);
    return l.cast(asUnsigned ? Op.UIToFP : Op.SIToFP, word, to);
  }
  const word = asWord(l, width, parts, signed);
  const asUnsigned = !signed && width === 64;
  if (isQuad) return l.library(`__float${asUnsigned ? "un" : ""}ditf`, to, [word]);
  return l.cast(asUnsigned ? Op.UIToFP : Op.SIToFP, word, to);
}

/** A format on the way from an integer to a small one: rounding twice is rounding once where it holds all of the integer. */
function exactFor(to: Type, width: number): Type {
  // What float has not room for is infinite as a half.
  if (to.kind === "half" || width <= 24) return floatType;
  return width <= 53 ? doubleType : width <= 64 ? fp80Type : fp128Type;
}

/** fptosi, fptoui. */
export function floatToInt(l: Lowering, from: Type, value: Value, width: number, signed: boolean): Parts {
  if (isSmallFloat(from))
    return floatToInt(l, floatType, floatConvert(l, from, floatType, value), width, signed);
  if (width > 128) throw l.unsupported(`conversion of ${from} to i${width}`);
  if (width > 64) {
    const name = `__fix${signed ? "" : "uns"}${modeSuffix(from)}ti`;
    const result = l.library(name, structType([i64, i64]), [value]);
    return [l.extract(result, 0), l.extract(result, 1)];
  }
  const word = width <= 32 ? i32 : i64;
  // A narrower unsigned result fits the signed conversion.
  const asUnsigned = !signed && width === word.bits;
  let result: Value;
  if (from.kind === "fp128")
    result = l.library(`__fix${asUnsigned ? "uns" : ""}tf${word === i32 ? "si" : "di"}`, word, [value]);
  else result = l.cast(asUnsigned ? Op.FPToUI : Op.FPToSI, value, word);
  return [l.cast(Op.Trunc, result, promotedInt(width))];
}

/** fptosi.sat, fptoui.sat: out-of-range values give the nearest bound, NaN gives zero. */
export function floatToIntSaturating(
  l: Lowering,
  from: Type,
  value: Value,
  width: number,
  signed: boolean,
): Parts {
  if (isSmallFloat(from))
    return floatToIntSaturating(l, floatType, floatConvert(l, from, floatType, value), width, signed);
  const converted = floatToInt(l, from, value, width, signed);
  const w = BigInt(width);
  const max = intConstant(width, signed ? (1n << (w - 1n)) - 1n : (1n << w) - 1n);
  const min = intConstant(width, signed ? -(1n << (w - 1n)) : 0n);
  const v = [value];
  const limit = powerOfTwo(from, signed ? width - 1 : width);
  const above = selectParts(l, floatCompare(l, "oge", from, v, [limit]), max, converted);
  if (!signed) return selectParts(l, floatCompare(l, "ult", from, v, [zeroOf(from)]), min, above);
  const low = powerOfTwo(from, width - 1, true);
  const bounded = selectParts(l, floatCompare(l, "olt", from, v, [low]), min, above);
  return selectParts(l, floatCompare(l, "uno", from, v, v), intConstant(width, 0n), bounded);
}

/** ptrtoint and inttoptr by way of i64. */
export function pointerToInt(l: Lowering, pointer: Value, width: number): Parts {
  return intResize(l, 64, width, [l.cast(Op.PtrToInt, pointer, i64)], false);
}
export function intToPointer(l: Lowering, width: number, parts: Parts, type: Type): Value {
  return l.cast(Op.IntToPtr, width === 64 ? parts[0]! : intResize(l, width, 64, parts, false)[0]!, type);
}
