/**
 * Coalescing by values: `dominance`.
 *
 * After Boissinot et al., "Revisiting Out-of-SSA Translation for Correctness, Code Quality and Efficiency" (CGO
 * 2009): two registers that live at the same time interfere only if they can hold different values. A copy and
 * what it copies hold one value, and so do the parameter of a block with one predecessor and its argument. In SSA
 * form this is decided by names alone: each register is traced back to the one it is a copy of.
 *
 * Where two names of a value live at the same time in one bundle, one of them is the bundle's range and the other
 * its shadow. The paper finds intersections by walking a dominance forest of the class; here the live intervals
 * are at hand and sorted, and a merge of two lists answers the same question in linear time.
 */
import { valueNames } from "../liveness.js";
import { type Bundle, type LiveRange, singletonBundles } from "./bundle.js";
import { type Coalescer, collectAffinities, distinct } from "./coalesce.js";
import { divideRange } from "./split.js";

export const coalesceByValues: Coalescer = (problem) => {
  const { fn, liveness } = problem;
  const value = valueNames(fn);
  const bundleOf = singletonBundles(fn, liveness);
  const affinities = collectAffinities(problem);
  for (const affinity of affinities) {
    const a = bundleOf[affinity.a];
    const b = bundleOf[affinity.b];
    if (a == null || b == null || a === b) continue;
    const [into, from] = a.ranges.length >= b.ranges.length ? [a, b] : [b, a];
    const merged = a.cls === b.cls ? unite(into, from, value, liveness.usePoint) : null;
    if (merged === null) continue;
    for (const range of from.all()) bundleOf[range.vreg] = into;
    into.ranges = merged.ranges;
    into.shadows = into.shadows.concat(from.shadows, merged.shadows);
    from.dead = true;
    from.ranges = [];
    from.shadows = [];
  }
  return { bundles: distinct(bundleOf), affinities };
};

/**
 * The ranges of both bundles as one list, with parts of `from` that are covered already as shadows; null if
 * different values live at the same time.
 */
function unite(
  into: Bundle,
  from: Bundle,
  value: Int32Array,
  usePoint: Int32Array,
): { ranges: LiveRange[]; shadows: LiveRange[] } | null {
  const ranges: LiveRange[] = [];
  const shadows: LiveRange[] = [];
  const mine = into.ranges;
  let i = 0;
  for (const theirs of from.ranges) {
    while (i < mine.length && mine[i]!.end <= theirs.start) ranges.push(mine[i++]!);
    let rest: LiveRange | null = theirs;
    for (; i < mine.length && mine[i]!.start < theirs.end; ) {
      const cover = mine[i]!;
      if (value[cover.vreg] !== value[theirs.vreg]) return null;
      if (rest.start < cover.start) {
        const [before, after]: [LiveRange, LiveRange] = divideRange(rest, cover.start, usePoint);
        ranges.push(before);
        rest = after;
      }
      if (rest.end <= cover.end) {
        shadows.push(rest);
        rest = null;
        break;
      }
      const [shadow, after]: [LiveRange, LiveRange] = divideRange(rest, cover.end, usePoint);
      shadows.push(shadow);
      rest = after;
      ranges.push(cover);
      i++;
    }
    if (rest !== null) ranges.push(rest);
  }
  while (i < mine.length) ranges.push(mine[i++]!);
  return { ranges, shadows };
}
