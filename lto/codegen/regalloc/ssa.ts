/**
 * Decoupled SSA allocation: `ssa`.
 *
 * First spilling lowers the pressure until colouring must succeed (`ssa-spill.ts`), then registers are given out in
 * dominance order, where every value that lives at a definition already has its register; preferences (fixed
 * operands, other ends of moves) choose among the free ones; the edges' parallel copies are the rewriter's. The
 * shape is that of Hack's thesis and of Cranelift's first allocator.
 *
 * Fixed operands and clobbers break the theorem that colouring cannot fail: a value may find no register that is
 * free for all of its segment although one is free at each point. It then changes registers where it has to, and
 * as a last resort is taken apart (`split.ts`).
 * Time: n log n for n segments, times the registers of a class. Fast, few spills, more moves than `greedy`.
 */
import { Assignment } from "./assignment.js";
import { type Bundle, SplitLevel } from "./bundle.js";
import type { Coalescing } from "./coalesce.js";
import { CutPoints } from "./cut-points.js";
import { dominancePreorder } from "./dominance.js";
import type { AllocationProblem, Placement } from "./problem.js";
import { spillToPressure } from "./ssa-spill.js";

/** Places values; `coalescing` contributes homes in memory and preferences. */
export function allocateSsa(problem: AllocationProblem, coalescing: Coalescing): Placement {
  const { fn, liveness } = problem;
  const { numbering } = liveness;
  const preorder = dominancePreorder(fn, numbering.position);
  const keyOf = (bundle: Bundle): number => {
    const { start } = bundle.ranges[0]!;
    return preorder[numbering.blockAt[start >> 2]!]! * 2 ** 32 + start;
  };
  const state = new Assignment(problem, coalescing, keyOf);
  const group = new Int32Array(fn.vregs.length);
  for (let v = 0; v < group.length; v++) group[v] = v;
  const web = new Int32Array(fn.vregs.length).fill(-1);
  const worth = new Float64Array(fn.vregs.length);
  for (const bundle of coalescing.bundles) {
    state.costs.measure(bundle);
    for (const vreg of bundle.vregs) worth[vreg] = bundle.weight;
    for (const { vreg } of bundle.ranges) {
      group[vreg] = bundle.group;
      if (bundle.shadows.length === 0) web[vreg] = bundle.group;
    }
  }
  const segments = spillToPressure(problem, group, web, worth);
  state.splitter.reserveIds(fn.vregs.length + segments.length);
  for (const { bundle, entryCost } of segments) {
    state.enqueue(bundle);
    if (entryCost > 0 && saving(state, bundle) <= entryCost) state.split(bundle);
  }
  const cuts = new CutPoints(problem);
  const run = (): void => state.drain((bundle) => place(state, cuts, bundle));
  run();
  for (let round = 0; round < 4 && state.reconsider(); round++) run();
  state.improve();
  state.renameCalleeSaved();
  return state.placement();
}

/** What the uses of `bundle` would cost with its values in memory. */
function saving(state: Assignment, bundle: Bundle): number {
  let sum = 0;
  for (const { needed, start, end, inMemory, reload } of state.splitter.runs(bundle)) {
    sum += !needed && end === start ? inMemory : Math.min(inMemory, reload);
  }
  return sum;
}

function place(state: Assignment, cuts: CutPoints, bundle: Bundle): void {
  const count = state.rank(bundle);
  const free = state.firstFree(bundle, count);
  if (free >= 0) {
    if (!state.prefersMemory(bundle, free)) {
      state.assign(bundle, free);
      return;
    }
  } else if (bundle.level < SplitLevel.Cluster) {
    const point = cuts.balanced(bundle, cuts.latest(bundle, cuts.longestFree(state, bundle)));
    const parts = point >= 0 ? state.splitter.cut(bundle, point) : null;
    if (parts !== null) {
      state.forget(bundle);
      for (const part of parts) state.enqueue(part);
      return;
    }
  }
  if (bundle.level === SplitLevel.Minimal && state.rearrange(bundle, new Set())) return;
  state.split(bundle);
}
