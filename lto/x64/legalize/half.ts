/**
 * What F16C, which converts vectors of half, is used for besides that: conversions of single numbers, and arithmetic on vectors, as
 * floats. Rounding the sum, product or quotient of two halves twice is rounding it once (`codegen/legalize/floats.ts`).
 *
 * Of single numbers the lanes above hold whatever they do. Those may raise flags that the number does not, so where flags matter the library does it. Rounding is that of MXCSR, as the
 * library's. Source: Intel SDM volume 2, VCVTPH2PS and VCVTPS2PH.
 */
import type { Lowering, Parts } from "../../codegen/legalize/lowering.js";
import type { BinaryOp } from "../../ir/instructions.js";
import { Strictness } from "../../ir/strict-float.js";
import { floatType, halfType, type Type } from "../../ir/types.js";
import type { Value } from "../../ir/values.js";
import { vectorFeatures } from "../isa/vector-features.js";
import { narrowParts, vex, wideOf, wideParts } from "./avx-registers.js";
import { shapeOf } from "./vectors-shape.js";
import { as, imm, sse, v4f32, v8i16 } from "./vectors-sse.js";

/** A half as a float, or the other way; null: there is no instruction. */
export function convertHalf(l: Lowering, value: Value, to: Type): Value | null {
  if (l.strictness !== Strictness.None || !vectorFeatures(l.fn.attributes.fn).f16c) return null;
  const register = sse(l, "ss.to", v4f32, value);
  if (to === floatType)
    return sse(l, "ss.from", floatType, vex(l, "Cvtph2ps", v4f32, as(l, register, v8i16)));
  return sse(l, "ss.from", halfType, as(l, vex(l, "Cvtps2ph", v8i16, register, imm(4)), v4f32));
}

/** An operation on the parts of two vectors of half; null: there are no conversions for it. */
export function halfArithmetic(
  l: Lowering,
  op: BinaryOp,
  type: Type,
  [left, right]: readonly [Parts, Parts],
  flags: number,
): Parts | null {
  if (shapeOf(type).element.kind !== "half" || !vectorFeatures(l.fn.attributes.fn).f16c) return null;
  const floats = type.count <= 4 ? v4f32 : wideOf(floatType);
  const wide = (register: Value): Value => vex(l, "Cvtph2ps", floats, register);
  const others = narrowParts(l, right);
  const results = narrowParts(l, left).map((register, i) =>
    vex(l, "Cvtps2ph", v8i16, l.bin(op, wide(register), wide(others[i]!), flags), imm(4)),
  );
  return wideParts(l, l.partTypes(type), results);
}
