/**
 * Rules of `simplify` on floating point: only what holds for every number, signed zeros and infinities included.
 *
 * A negation changes nothing but the sign, and products, quotients and differences have the sign that signs of operands give,
 * whatever is rounded; what a NaN that an operation makes looks like is open. Where the environment is somebody's business
 * (`strictfp`), or subnormal numbers are flushed, nothing is done.
 */
import { type Inst, Op } from "../../ir/instructions.js";
import { intrinsicOf } from "../../ir/intrinsics.js";
import { isConstant, type Value } from "../../ir/values.js";
import { asInst, type Forms } from "./forms.js";
import type { SimplifyRule } from "./rule.js";

/** How deep negations are looked for in products. */
const mostDepth = 4;

/** Whether the negation of the value takes one operation less than the value. */
function hidesNegation(value: Value, forms: Forms, depth = 0): boolean {
  if (value.valueKind !== "inst") return false;
  if (value.op === Op.FNeg) return true;
  if (depth === mostDepth || (value.op !== Op.FMul && value.op !== Op.FDiv)) return false;
  if (forms.onlyUse(value) === null) return false;
  return value.operands.some((operand) => hidesNegation(operand, forms, depth + 1));
}

/** The negation of a value that hides one. */
function negated(value: Inst, forms: Forms): Value {
  if (value.op === Op.FNeg) return value.operands[0]!;
  const [a, b] = value.operands as readonly [Value, Value];
  const first = hidesNegation(a, forms, 1);
  return forms.binary(
    value.op as Op.FMul,
    first ? negated(a as Inst, forms) : a,
    first ? b : negated(b as Inst, forms),
    value.flags,
  );
}

export const floatRules: readonly SimplifyRule[] = [
  {
    // Rounding twice is what it allows; so that each half is seen by others.
    name: "split-multiply-add",
    description: "fmuladd x, y, z → x · y + z, where no instruction does both",
    ops: [Op.Call],
    apply({ operands, flags }, callee, _, forms) {
      if (forms.fusesMultiplyAdd || intrinsicOf(callee)?.name !== "fmuladd") return null;
      const product = forms.binary(Op.FMul, operands[1]!, operands[2]!, flags);
      return forms.binary(Op.FAdd, product, operands[3]!, flags);
    },
  },
  {
    name: "fadd-negated",
    description: "x + (−y) → x − y; x + (−y) · z → x − y · z, and likewise for quotients",
    ops: [Op.FAdd],
    apply(inst, a, b, forms) {
      if (!forms.isIeee) return null;
      if (hidesNegation(b, forms)) return forms.binary(Op.FSub, a, negated(b as Inst, forms), inst.flags);
      if (hidesNegation(a, forms)) return forms.binary(Op.FSub, b, negated(a as Inst, forms), inst.flags);
      return null;
    },
  },
  {
    name: "fsub-negated",
    description: "x − (−y) → x + y; x − (−y) · z → x + y · z, and likewise for quotients",
    ops: [Op.FSub],
    apply: (inst, a, b, forms) =>
      forms.isIeee && hidesNegation(b, forms)
        ? forms.binary(Op.FAdd, a, negated(b as Inst, forms), inst.flags)
        : null,
  },
  {
    name: "fmul-negated",
    description: "(−x) · (−y) → x · y; (−x) · c → x · (−c), and likewise for quotients",
    ops: [Op.FMul, Op.FDiv],
    apply(inst, a, b, forms) {
      const x = asInst(a, Op.FNeg);
      if (x === null || !forms.isIeee) return null;
      const y = asInst(b, Op.FNeg)?.operands[0] ?? (isConstant(b) ? forms.minus(b) : null);
      return y === null ? null : forms.binary(inst.op as Op.FMul, x.operands[0]!, y, inst.flags);
    },
  },
];
