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
 * are at hand and sorted, and a search for each range of the smaller bundle answers the same question.
 */
import { valueNames } from "../liveness.js";
import { type Bundle, type LiveRange, singletonBundles } from "./bundle.js";
import { type Coalescer, collectAffinities, distinct } from "./coalesce.js";
import { divideRange } from "./split.js";
import { WebRanges } from "./web-ranges.js";

export const coalesceByValues: Coalescer = (problem) => {
  const { fn, liveness } = problem;
  const value = valueNames(fn);
  const bundleOf = singletonBundles(fn, liveness);
  const affinities = collectAffinities(problem);
  const webs = new WebRanges();
  for (const affinity of affinities) {
    const a = bundleOf[affinity.a];
    const b = bundleOf[affinity.b];
    if (a == null || b == null || a === b || a.cls !== b.cls) continue;
    const [into, from] = webs.count(a) >= webs.count(b) ? [a, b] : [b, a];
    const ranges = webs.all(from);
    const parts = divide(webs, into, ranges, value, liveness.usePoint);
    if (parts === null) continue;
    for (const range of ranges) bundleOf[range.vreg] = into;
    for (const range of from.shadows) bundleOf[range.vreg] = into;
    webs.add(into, parts.added);
    if (from.shadows.length + parts.shadows.length > 0) {
      into.shadows = into.shadows.concat(from.shadows, parts.shadows);
    }
    from.dead = true;
    from.shadows = [];
    webs.clear(from);
  }
  const bundles = distinct(bundleOf);
  webs.finish(bundles);
  return { bundles, affinities };
};

/**
 * The parts of `ranges` that `into` does not cover, which it would get, and the others, which become shadows; null
 * if different values live at the same time.
 */
function divide(
  webs: WebRanges,
  into: Bundle,
  ranges: readonly LiveRange[],
  value: Int32Array,
  usePoint: Int32Array,
): { added: LiveRange[]; shadows: LiveRange[] } | null {
  const added: LiveRange[] = [];
  const shadows: LiveRange[] = [];
  for (const range of ranges) {
    let rest: LiveRange | null = range;
    let cover = webs.firstEndingAfter(into, range.start);
    for (; cover !== null && cover.start < range.end; cover = webs.next()) {
      if (value[cover.vreg] !== value[range.vreg]) return null;
      if (rest.start < cover.start) {
        const [before, after]: [LiveRange, LiveRange] = divideRange(rest, cover.start, usePoint);
        added.push(before);
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
    }
    if (rest !== null) added.push(rest);
  }
  return { added, shadows };
}
