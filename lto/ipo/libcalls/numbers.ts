/** Rules on functions of numbers, of characters, and on allocation. */

import { floatFormat, fromNumber, toNumber } from "../../ir/fold/floats.js";
import { Op } from "../../ir/instructions.js";
import { i32 } from "../../ir/types.js";
import { ConstFloat, constI32, type Value } from "../../ir/values.js";
import type { Rule } from "./calls.js";
import { argument, is } from "./strings.js";

/** Whether a character lies in a range, as 0 or 1; the same in every locale. */
const inRange =
  (from: number, count: number): Rule =>
  (call) =>
  ({ build }) => {
    const distance = build.add(argument(call, 0), constI32(-from));
    return build.cast(Op.ZExt, build.icmp("ult", distance, constI32(count)), i32);
  };
export const isdigit = inRange(48, 10);
export const isascii: Rule = (call) => (make) =>
  make.build.cast(Op.ZExt, make.build.icmp("ult", argument(call, 0), constI32(128)), i32);
export const toascii: Rule = (call) => (make) => make.build.and(argument(call, 0), constI32(127));
/** Of the smallest number, `abs` is undefined. */
export const abs: Rule = (call) => (make) => make.absolute(argument(call, 0));

/** A floating-point constant as a number, or NaN. */
function numberOf(value: Value): number {
  const format = value.valueKind === "float" ? floatFormat(value.type.kind) : undefined;
  return value.valueKind === "float" && format !== undefined ? toNumber(format, value.bits) : Number.NaN;
}

/** Powers that are exact otherwise, or rounded as the library has to; `errno` is left to those that stay. */
export const pow: Rule = (call) => {
  const [base, exponent] = [argument(call, 0), argument(call, 1)];
  const one = new ConstFloat(call.type, fromNumber(floatFormat(call.type.kind)!, 1));
  if (numberOf(base) === 1) return is(one);
  switch (numberOf(exponent)) {
    case 0:
      return is(one);
    case 1:
      return is(base);
    case 2:
      return ({ build }) => build.binary(Op.FMul, base, base, call.flags);
    case -1:
      return ({ build }) => build.binary(Op.FDiv, one, base, call.flags);
    default:
      return null;
  }
};

/** `realloc` of nothing; `free` of it. */
export const realloc: Rule = (call, context) => {
  const [old, size] = [argument(call, 0), argument(call, 1)];
  if (old.valueKind !== "zero" || !context.mayCall("malloc")) return null;
  return (make) => make.library("malloc", [size]);
};
export const free: Rule = (call) => (argument(call, 0).valueKind === "zero" ? () => null : null);
