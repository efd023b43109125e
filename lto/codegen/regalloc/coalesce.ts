/**
 * Coalescing by interval intersection, after Pereira's PhiMemCoalesce: `pereira`.
 *
 * Candidates are pairs of registers that a copy, a tie or a block argument connects. Two bundles are merged if
 * their live ranges do not intersect. Ties come first (a failed one always costs a move), then copies, then
 * block arguments, each group from the most to the least frequent block.
 *
 * The result is a list of final bundles: no map from registers to representatives outlives this function.
 * Merging also puts registers into one slot group: they never live at the same time.
 * Time: one intersection test per candidate, linear in the smaller bundle times log of the larger; merging, n log n
 * (`web-ranges.ts`).
 */
import { isVirtualCopy } from "../liveness.js";
import { CopyOp, type MFunction, type MInst } from "../mir.js";
import { type Bundle, type LiveRange, singletonBundles } from "./bundle.js";
import type { AllocationProblem } from "./problem.js";
import { WebRanges } from "./web-ranges.js";

/** A pair of registers that a move would connect if they were in different places. */
export interface Affinity {
  readonly a: number;
  readonly b: number;
  /** 0 tie, 1 copy, 2 block argument. */
  readonly rank: number;
  /** Weight of the block the move would be in. */
  readonly weight: number;
}

export interface Coalescing {
  readonly bundles: readonly Bundle[];
  /** All pairs, whether they are in one bundle now or stayed apart. */
  readonly affinities: readonly Affinity[];
}

export type Coalescer = (problem: AllocationProblem) => Coalescing;

/** A copy to a wider name, which stays an instruction: in one register it may turn out to do nothing. */
function widens(fn: MFunction, { op, defs, uses }: MInst): boolean {
  if (op !== CopyOp || defs.length !== 1 || uses.length !== 1) return false;
  const to = defs[0]!.vreg;
  const from = uses[0]!.vreg;
  return to >= 0 && from >= 0 && fn.vregs[to]!.size > fn.vregs[from]!.size;
}

/** All affinities of the function in the order in which they should be tried. */
export function collectAffinities(problem: AllocationProblem): Affinity[] {
  const { fn, liveness, policy } = problem;
  const list: Affinity[] = [];
  for (const block of fn.blocks) {
    const weight = policy.weight(block);
    for (const inst of block.insts) {
      if (isVirtualCopy(fn, inst) || widens(fn, inst)) {
        list.push({ a: inst.defs[0]!.vreg, b: inst.uses[0]!.vreg, rank: 1, weight });
        continue;
      }
      for (const def of inst.defs) {
        if (def.tiedTo < 0 || def.vreg < 0) continue;
        const use = inst.uses[def.tiedTo]!;
        if (use.vreg >= 0) list.push({ a: def.vreg, b: use.vreg, rank: 0, weight });
      }
    }
    for (let s = 0; s < block.succs.length; s++) {
      const params = block.succs[s]!.params;
      for (let p = 0; p < params.length; p++) {
        const param = params[p]!.vreg;
        const arg = block.succArgs[s]![p]!.vreg;
        if (arg >= 0 && liveness.deadParam[param] === 0) list.push({ a: param, b: arg, rank: 2, weight });
      }
    }
  }
  // Stable sort: equal candidates stay in program order.
  return list.sort((x, y) => x.rank - y.rank || y.weight - x.weight);
}

/** Merges what does not interfere; see the file header. */
export const coalesceByIntervals: Coalescer = (problem) => {
  const { fn, liveness } = problem;
  const bundleOf = singletonBundles(fn, liveness);
  const affinities = collectAffinities(problem);
  const webs = new WebRanges();
  for (const affinity of affinities) {
    const a = bundleOf[affinity.a];
    const b = bundleOf[affinity.b];
    if (a == null || b == null || a === b || a.cls !== b.cls) continue;
    const into = webs.count(a) >= webs.count(b) ? a : b;
    const ranges = webs.all(into === a ? b : a);
    if (overlaps(webs, into, ranges)) continue;
    for (const range of ranges) bundleOf[range.vreg] = into;
    webs.add(into, ranges);
    const from = into === a ? b : a;
    webs.clear(from);
    from.dead = true;
  }
  const bundles = distinct(bundleOf);
  webs.finish(bundles);
  return { bundles, affinities };
};

/** True if `bundle` lives somewhere in one of the ranges. */
function overlaps(webs: WebRanges, bundle: Bundle, ranges: readonly LiveRange[]): boolean {
  for (let k = 0; k < ranges.length; k++) {
    const { start, end } = ranges[k]!;
    const other = webs.firstEndingAfter(bundle, start);
    if (other === null) return false;
    if (other.start < end) return true;
  }
  return false;
}

/** No merging at all: `none`. */
export const coalesceNothing: Coalescer = (problem) => {
  const bundleOf = singletonBundles(problem.fn, problem.liveness);
  return { bundles: distinct(bundleOf), affinities: collectAffinities(problem) };
};

/** The bundles that are left, in order of their first register. */
export function distinct(bundleOf: readonly (Bundle | null)[]): Bundle[] {
  const bundles: Bundle[] = [];
  for (let v = 0; v < bundleOf.length; v++) {
    const bundle = bundleOf[v];
    if (bundle != null && bundle.id === v && !bundle.dead) bundles.push(bundle);
  }
  return bundles;
}
