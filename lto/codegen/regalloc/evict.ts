/**
 * Placing one bundle, with eviction: what `greedy` and `ssa` have in common.
 *
 * A bundle takes the cheapest register that is free over all its ranges; cheap means: short to name, where its fixed
 * operands and moves want it, and no callee-saved register that would have to be saved first. If none is free, it
 * evicts bundles that are less worth keeping (spill cost per covered instruction), which are queued again. If that
 * fails too, or memory is cheaper than saving a new callee-saved register, it keeps a register where that pays
 * (`region.ts`) or is taken apart (`split.ts`).
 *
 * Ends because evicting needs a strictly greater weight and splitting raises a level.
 */
import type { Assignment } from "./assignment.js";
import { type Bundle, SplitLevel } from "./bundle.js";
import { RegionPlanner } from "./region.js";

export class EvictingPlacer {
  private readonly regions: RegionPlanner;

  constructor(private readonly state: Assignment) {
    this.regions = new RegionPlanner(state.problem);
  }

  /** Places all queued bundles, then undoes what turns out to be worth less than it costs. */
  run(): void {
    const { state } = this;
    this.drain();
    for (let round = 0; round < 4 && state.reconsider(); round++) this.drain();
    state.improve();
    state.renameCalleeSaved();
  }

  /** Places all queued bundles. */
  drain(): void {
    this.state.drain((bundle) => this.place(bundle));
  }

  /** Finds a register for `bundle`, or splits it. */
  private place(bundle: Bundle): void {
    const { state } = this;
    const count = state.rank(bundle);
    const free = state.firstFree(bundle, count);
    if (free >= 0) {
      if (!state.prefersMemory(bundle, free)) {
        state.assign(bundle, free);
        return;
      }
    } else {
      const victim = this.chooseEviction(bundle, count);
      if (victim >= 0) {
        this.evictAll(bundle, victim);
        state.assign(bundle, victim);
        return;
      }
    }
    if (bundle.level === SplitLevel.Minimal && state.rearrange(bundle, new Set())) return;
    const plan = bundle.level < SplitLevel.Region ? this.regions.plan(state, bundle) : null;
    if (plan !== null) state.splitByPlan(bundle, plan);
    else state.split(bundle);
  }

  /** The register whose occupants are together the cheapest to move out of the way; -1 if none. */
  private chooseEviction(bundle: Bundle, count: number): number {
    let best = -1;
    let bestCost = bundle.weight;
    for (let k = 0; k < count; k++) {
      const register = this.state.order[k]!;
      const cost = this.evictionCost(bundle, register, bestCost) + 1e-6 * this.state.price[register]!;
      if (cost < bestCost) {
        best = register;
        bestCost = cost;
      }
    }
    return best;
  }

  /** Sum of the weights of the occupants; infinite if one of them is worth at least as much as `bundle`. */
  private evictionCost(bundle: Bundle, register: number, limit: number): number {
    const set = this.state.occupied[register]!;
    let sum = 0;
    let last: Bundle | null = null;
    for (const range of bundle.ranges) {
      set.seek(range.start);
      for (let owner = set.current(range.end); owner !== null; owner = set.current(range.end)) {
        if (owner.weight >= bundle.weight) return Number.POSITIVE_INFINITY;
        if (owner !== last) {
          sum += owner.weight;
          if (sum >= limit) return Number.POSITIVE_INFINITY;
          last = owner;
        }
        set.advance();
      }
    }
    return sum;
  }

  private evictAll(bundle: Bundle, register: number): void {
    const set = this.state.occupied[register]!;
    for (const range of bundle.ranges) {
      for (let owner = set.firstOverlap(range.start, range.end); owner !== null; ) {
        this.state.unassign(owner);
        this.state.requeue(owner);
        owner = set.firstOverlap(range.start, range.end);
      }
    }
  }
}
