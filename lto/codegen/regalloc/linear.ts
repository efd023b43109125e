/**
 * Linear scan with lifetime holes and second chances: `linear`.
 *
 * Bundles are placed by the start of their lives. If a register is free all over a bundle's ranges, holes
 * included, it gets the cheapest such register. Otherwise the register that stays free the longest is taken up
 * to the point where it is wanted by something else, and the rest of the bundle is queued again, to be moved or
 * reloaded (Traub et al., "Quality and Speed in Linear-scan Register Allocation"; Wimmer and Mössenböck for
 * splitting at the optimal position). If no register is free even at the start, the bundle whose life goes on the
 * longest gives way: the holder's remainder, or the newcomer itself.
 *
 * The result has more moves than `greedy`'s. Time: n log n for n ranges, times the registers of a class. Ends
 * because parts of a cut are smaller, and a bundle that cannot be cut is taken apart one level (`split.ts`).
 */
import { Assignment } from "./assignment.js";
import { type Bundle, SplitLevel } from "./bundle.js";
import type { Coalescing } from "./coalesce.js";
import { CutPoints } from "./cut-points.js";
import type { AllocationProblem, Placement } from "./problem.js";

/** Places the bundles of `coalescing`. */
export function allocateLinear(problem: AllocationProblem, coalescing: Coalescing): Placement {
  return new LinearScan(problem, coalescing).run();
}

class LinearScan {
  private readonly state: Assignment;
  private readonly cuts: CutPoints;

  constructor(problem: AllocationProblem, coalescing: Coalescing) {
    this.cuts = new CutPoints(problem);
    this.state = new Assignment(problem, coalescing, (bundle) => bundle.ranges[0]!.start);
    for (const bundle of coalescing.bundles) this.state.enqueue(bundle);
  }

  run(): Placement {
    this.state.drain((bundle) => this.place(bundle));
    this.state.improve();
    return this.state.placement();
  }

  private place(bundle: Bundle): void {
    const { state } = this;
    const count = state.rank(bundle);
    const free = state.firstFree(bundle, count);
    if (free >= 0) {
      if (!state.prefersMemory(bundle, free)) {
        state.assign(bundle, free);
        return;
      }
    } else if (this.takeUntilConflict(bundle) || this.displace(bundle, count)) return;
    if (bundle.level === SplitLevel.Minimal && state.rearrange(bundle, new Set())) return;
    state.split(bundle);
  }

  /** Gives the longest possible first part of `bundle` a register, if that part has a use worth it. */
  private takeUntilConflict(bundle: Bundle): boolean {
    if (bundle.level >= SplitLevel.Cluster) return false;
    const { state, cuts } = this;
    const point = cuts.balanced(bundle, cuts.latest(bundle, cuts.longestFree(state, bundle)));
    if (point < 0 || !cuts.isWorthwhile(bundle, point)) return false;
    const parts = state.splitter.cut(bundle, point);
    if (parts === null) return false;
    state.forget(bundle);
    for (const part of parts) state.enqueue(part);
    return true;
  }

  /** Displaces the occupants of a register if all of them live on longer than `bundle` and weigh less. */
  private displace(bundle: Bundle, count: number): boolean {
    const { state } = this;
    let best = -1;
    let bestEnd = bundle.ranges[bundle.ranges.length - 1]!.end;
    for (let k = 0; k < count; k++) {
      let end = 0;
      for (const owner of state.ownersOf(bundle, state.order[k]!)) {
        if (owner.weight >= bundle.weight) end = -1;
        if (end >= 0) end = Math.max(end, owner.ranges[owner.ranges.length - 1]!.end);
      }
      // A minimal bundle cannot wait for a better one.
      if (end > 0 && (end > bestEnd || (best < 0 && bundle.level >= SplitLevel.Cluster))) {
        best = state.order[k]!;
        bestEnd = end;
      }
    }
    if (best < 0) return false;
    for (const owner of state.ownersOf(bundle, best)) {
      state.unassign(owner);
      state.requeue(owner);
    }
    state.assign(bundle, best);
    return true;
  }
}
