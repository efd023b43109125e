/**
 * What is known of a value while constants are propagated: nothing flows there yet (`unknown`), one constant, or any
 * value (`varying`). Values only move down in this order:
 *
 *     unknown  →  poison  →  undef  →  a constant  →  varying
 *
 * Poison and undef may be replaced by any constant, so they join to the other side. A constant is compared by
 * structure; floating-point constants by their bits.
 */
import { type Constant, sameConstant } from "../../ir/values.js";

export const unknown = null;
export const varying: unique symbol = Symbol("varying");
export type Known = Constant | typeof unknown | typeof varying;

export const isConstantFact = (known: Known): known is Constant => known !== unknown && known !== varying;

const isUndefined = (known: Constant): boolean => known.valueKind === "undef";

/** The least fact that covers both. */
export function join(a: Known, b: Known): Known {
  if (a === b || b === unknown) return a;
  if (a === unknown) return b;
  if (a === varying || b === varying) return varying;
  // Of two that mean the same it is the first, or who computes anew would never see an end.
  if (a.valueKind === "undef") return b.valueKind === "undef" && (b.poison || !a.poison) ? a : b;
  if (b.valueKind === "undef") return a;
  return sameConstant(a, b) ? a : varying;
}

/**
 * What stands for a value that was `before` and has been computed anew as `now`: lower than both, so that computing
 * ends although results that came from undef operands may change.
 */
export function lower(before: Known, now: Known): Known {
  if (before === unknown || before === now) return now;
  if (before === varying || now === unknown) return before;
  if (now !== varying && isUndefined(now) && !isUndefined(before)) return before;
  return join(before, now);
}
