/**
 * What is known of a value while constants are propagated: nothing flows there yet (`unknown`), one constant, an
 * interval of integers, or any value (`varying`). Values only move down in this order:
 *
 *     unknown  →  poison  →  undef  →  a constant  →  an interval  →  a larger one …  →  varying
 *
 * Poison and undef may be replaced by any constant, so they join to the other side; uses of a value that is undef may
 * each see another one, so undef and an interval are any value: intervals are of values that stay. A constant is
 * compared by structure; floating-point constants by their bits. An interval that grows a third time, or in a
 * loop at all, grows as far as the type allows, so that computing ends.
 */
import { type Constant, sameConstant } from "../../ir/values.js";
import { type Bounds, factOf, hasIntervals, hull, Interval, isSame, pointOf, widened } from "./interval.js";

export const unknown = null;
export const varying: unique symbol = Symbol("varying");
export type Known = Constant | Interval | typeof unknown | typeof varying;

export const isConstantFact = (known: Known): known is Constant =>
  known !== unknown && known !== varying && known.valueKind !== "interval";
/** Each use may see another value. */
export const isUndef = (known: Known): boolean =>
  known !== unknown && known !== varying && known.valueKind === "undef" && !known.poison;

const isUndefined = (known: Constant | Interval): boolean => known.valueKind === "undef";
const mostSteps = 2;

/** The bounds that a fact gives; null: none. */
export function boundsOf(known: Known): Bounds | null {
  if (known === unknown || known === varying) return null;
  if (known.valueKind === "interval") return known;
  return known.valueKind === "int" ? pointOf(known) : null;
}

/** The least fact that covers both. */
export function join(a: Known, b: Known): Known {
  if (a === b || b === unknown) return a;
  if (a === unknown) return b;
  if (a === varying || b === varying) return varying;
  // Of two that mean the same it is the first, or who computes anew would never see an end.
  if (a.valueKind === "undef") {
    if (b.valueKind === "undef") return b.poison || !a.poison ? a : b;
    return b.valueKind === "interval" && !a.poison ? varying : b;
  }
  if (b.valueKind === "undef") return a.valueKind === "interval" && !b.poison ? varying : a;
  if (a.valueKind !== "interval" && b.valueKind !== "interval" && sameConstant(a, b)) return a;
  return joinIntegers(a, b);
}
function joinIntegers(a: Constant | Interval, b: Constant | Interval): Known {
  if (a.type !== b.type || !hasIntervals(a.type)) return varying;
  const left = boundsOf(a);
  const right = boundsOf(b);
  if (left === null || right === null) return varying;
  const both = hull(left, right);
  if (a.valueKind === "interval" && isSame(a, both)) return a;
  const steps = a.valueKind === "interval" ? a.steps : 0;
  return factOf(a.type, both.least, both.largest, both.values, steps) ?? varying;
}

/**
 * What stands for a value that was `before` and has been computed anew as `now`: lower than both, so that computing
 * ends although results that came from undef operands may change.
 * @param isPhi each round of a loop may add to it
 */
export function lower(before: Known, now: Known, isPhi = false): Known {
  if (before === unknown || before === now) return now;
  if (before === varying || now === unknown) return before;
  if (now !== varying && isUndefined(now) && !isUndefined(before)) return before;
  const joined = join(before, now);
  if (joined === before || joined === varying || joined === unknown || joined.valueKind !== "interval")
    return joined;
  const { type, least, largest, values } = joined;
  if (before.valueKind !== "interval") return joined;
  // A list of values only gets longer, up to its limit.
  if (!isPhi && (values !== null || before.steps < mostSteps))
    return new Interval(type, least, largest, values, before.steps + (values === null ? 1 : 0));
  const { least: from, largest: to } = widened(before, joined, type.bits);
  return factOf(type, from, to, null, before.steps) ?? varying;
}

/** What flows into one place from several sides. */
export class Inflow {
  private anyUndef: boolean;
  constructor(public known: Known) {
    this.anyUndef = isUndef(known);
  }
  get isAnything(): boolean {
    return this.known === varying;
  }
  /** @returns whether less is known now */
  add(value: Known): boolean {
    const { known } = this;
    if (known === varying) return false;
    this.anyUndef ||= isUndef(value);
    let now = lower(known, join(known, value));
    // An interval is of values that are the same for all uses.
    if (this.anyUndef && now !== unknown && now !== varying && now.valueKind === "interval") now = varying;
    this.known = now;
    return now !== known;
  }
}
