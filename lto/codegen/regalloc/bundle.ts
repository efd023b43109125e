/**
 * Live ranges and bundles: the units that allocators place.
 *
 * A `LiveRange` is a contiguous part of one register's life with the occurrences in it. A `Bundle` is a set of
 * disjoint ranges, of one or several registers, that get the same physical register. Coalescing builds larger
 * bundles, splitting takes them apart; nothing else refers to a "representative".
 */

import type { Liveness } from "../liveness.js";
import type { MFunction, RegClass } from "../mir.js";
import { noRegisters, type RegisterSet } from "../register-set.js";

export class LiveRange {
  constructor(
    readonly vreg: number,
    public start: number,
    public end: number,
    /** Occurrences [useLow, useHigh) of `Liveness.use…`. */
    public useLow: number,
    public useHigh: number,
  ) {}
}

/** How far a bundle has been taken apart; splitting only ever raises it, which bounds the work. */
export const enum SplitLevel {
  /** As coalesced. */
  Web,
  /** Live ranges of a single register. */
  Register,
  /** A part of a register's life. */
  Region,
  /** A run of uses in one block that no call interrupts. */
  Cluster,
  /** One instruction: must get a register. */
  Minimal,
}

const none: readonly number[] = [];
const noRanges: readonly LiveRange[] = [];

export class Bundle {
  ranges: LiveRange[] = [];
  /** Ranges within the others during which a register holds a second name of the same value. */
  shadows: readonly LiveRange[] = noRanges;
  /** Place in the queue; the allocator's choice. */
  key = 0;
  /** Assigned register, or -1. */
  register = -1;
  level = SplitLevel.Web;
  /** Cost of spilling it, per instruction it covers: who stays in a contested register. */
  weight = 0;
  /** Cost of spilling it altogether. */
  spillCost = 0;
  /** Weighted count of operands that name it. */
  mentions = 0;
  /** The same by form, see `TargetRegisters.formCosts`; empty if all are plain. */
  forms: readonly number[] = none;
  /** Instructions covered: the bigger, the earlier it is placed. */
  size = 0;
  /** Registers that all its operands permit. */
  permitted: RegisterSet = noRegisters;
  /** Registers that no fixed operand or clobber takes within it. */
  unblocked: RegisterSet = noRegisters;
  /** What it gains from being in the registers that its fixed operands name; see `BundleCosts.measure`. */
  fixedRegisters: readonly number[] = none;
  fixedGains: readonly number[] = none;
  /** The registers whose ranges it has, each once; see `BundleCosts.measure`. */
  vregs: readonly number[] = none;
  /** The least of them. */
  firstVreg = -1;
  /** The callee-saved register that a parameter in it arrives in, or -1: keeping it there needs no save. */
  arrives = -1;
  /** The register that a parameter in it arrives in, or -1: other bundles had better leave it there. */
  enters = -1;
  /** No longer exists: split or merged. */
  dead = false;
  constructor(
    readonly id: number,
    readonly cls: RegClass,
    /** Bundles with the same number share a home slot. */
    public group: number,
  ) {}
  /** Ranges and shadows. */
  all(): readonly LiveRange[] {
    return this.shadows.length === 0 ? this.ranges : this.ranges.concat(this.shadows);
  }
}

/** One bundle for each register that lives at all; `result[v]` is null for the others. */
export function singletonBundles(fn: MFunction, liveness: Liveness): (Bundle | null)[] {
  const { rangeStart, rangeFrom, rangeTo, useStart, usePoint } = liveness;
  const bundles: (Bundle | null)[] = new Array(fn.vregs.length);
  for (let v = 0; v < fn.vregs.length; v++) {
    const lo = rangeStart[v]!;
    const hi = rangeStart[v + 1]!;
    if (lo === hi) {
      bundles[v] = null;
      continue;
    }
    const bundle = new Bundle(v, fn.vregs[v]!.cls, v);
    let use = useStart[v]!;
    const useEnd = useStart[v + 1]!;
    for (let r = lo; r < hi; r++) {
      const first = use;
      while (use < useEnd && usePoint[use]! < rangeTo[r]!) use++;
      bundle.ranges.push(new LiveRange(v, rangeFrom[r]!, rangeTo[r]!, first, use));
    }
    bundles[v] = bundle;
  }
  return bundles;
}

/** True if the bundles live at the same time somewhere. Time: smaller times log larger. */
export function overlap(a: Bundle, b: Bundle): boolean {
  const small = a.ranges.length <= b.ranges.length ? a.ranges : b.ranges;
  const large = small === a.ranges ? b.ranges : a.ranges;
  let low = 0;
  for (const range of small) {
    // First range of `large` that ends after this one starts.
    let high = large.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (large[middle]!.end <= range.start) low = middle + 1;
      else high = middle;
    }
    if (low === large.length) return false;
    if (large[low]!.start < range.end) return true;
  }
  return false;
}

/** Two sorted lists of disjoint ranges as one. */
export function mergeRanges(a: readonly LiveRange[], b: readonly LiveRange[]): LiveRange[] {
  const result: LiveRange[] = [];
  let i = 0;
  let j = 0;
  while (i < a.length && j < b.length) {
    if (a[i]!.start < b[j]!.start) result.push(a[i++]!);
    else result.push(b[j++]!);
  }
  while (i < a.length) result.push(a[i++]!);
  while (j < b.length) result.push(b[j++]!);
  return result;
}
