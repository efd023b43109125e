/**
 * Region splitting: keeping a value in a register over the part of its life where that pays.
 *
 * When no register is free for all of a bundle, some registers are free for long parts of it. For each register
 * the layout is divided at the points where it is taken. Within a part, the value would have to be brought into
 * the register where control enters the part: at the start, and at each block that has a predecessor outside. On
 * leaving, nothing is to be done, since the home in memory stays valid. Against this stands what the uses in the
 * part would cost with the value in memory (one reload a run of uses, or naming the slot). The register with the
 * greatest gain wins; the rest of the bundle goes to memory.
 *
 * Time: for each register of the class, the bundle's ranges and what conflicts with them.
 */
import type { Assignment } from "./assignment.js";
import type { Bundle } from "./bundle.js";
import { type AllocationProblem, registersIn } from "./problem.js";
import type { Takings } from "./reservations.js";
import type { Run } from "./split.js";

export interface RegionPlan {
  readonly register: number;
  readonly intervals: readonly { from: number; to: number }[];
}

/** Gains below this are not worth the risk of an estimate. */
const threshold = 2;

export class RegionPlanner {
  /** First index of the trailing branches of each block, by layout position. */
  private readonly branches: Int32Array;

  constructor(private readonly problem: AllocationProblem) {
    const { fn, liveness, target } = problem;
    this.branches = Int32Array.from(
      fn.blocks,
      (block, b) => liveness.numbering.head[b]! + 1 + target.terminatorStart(block.insts),
    );
  }

  /** The best plan for `bundle`, or null if all of it had better be in memory. */
  plan(state: Assignment, bundle: Bundle): RegionPlan | null {
    if (bundle.shadows.length > 0) return null;
    const runs = state.splitter.runs(bundle).sort((a, b) => a.start - b.start);
    if (runs.length < 2) return null;
    const takings = this.takings(bundle);
    let best: RegionPlan | null = null;
    let bestGain = threshold;
    for (const register of registersIn(bundle.permitted)) {
      const price = state.priceOfUse(bundle, register);
      let gain = 0;
      const intervals: { from: number; to: number }[] = [];
      for (const part of this.freeParts(state, bundle, register, takings)) {
        const interval = this.evaluate(bundle, runs, part.from, part.to);
        if (interval === null) continue;
        gain += interval.gain;
        intervals.push(interval);
      }
      gain -= price;
      if (gain > bestGain) {
        bestGain = gain;
        best = { register, intervals };
      }
    }
    return best;
  }

  /** Where instructions take registers from `bundle`: points and masks, in order. */
  private takings(bundle: Bundle): Takings {
    const takings: Takings = { points: [], masks: [] };
    for (const range of bundle.ranges) {
      this.problem.reservations.collect(range.vreg, range.start, range.end, bundle.permitted, takings);
    }
    return takings;
  }

  /** Parts of the layout in which `register` is free wherever `bundle` lives. */
  private freeParts(
    state: Assignment,
    bundle: Bundle,
    register: number,
    { points, masks }: Takings,
  ): { from: number; to: number }[] {
    const parts: { from: number; to: number }[] = [];
    let from = bundle.ranges[0]!.start;
    const block = (start: number, end: number): void => {
      if (start > from) parts.push({ from, to: start });
      if (end > from) from = end;
    };
    let t = 0;
    const blockUntil = (limit: number): void => {
      for (; t < points.length && points[t]! < limit; t++) {
        if (((masks[t]! >>> register) & 1) === 1) block(points[t]!, points[t]! + 1);
      }
    };
    const set = state.occupied[register]!;
    for (const range of bundle.ranges) {
      set.seek(range.start);
      for (; set.current(range.end) !== null; set.advance()) {
        const taken = Math.max(range.start, set.currentStart());
        blockUntil(taken);
        block(taken, Math.min(range.end, set.currentEnd()));
      }
    }
    const last = bundle.ranges[bundle.ranges.length - 1]!.end;
    blockUntil(last);
    if (last > from) parts.push({ from, to: last });
    return parts;
  }

  /** The worthwhile part of [from, to) and its gain; null if there is none. */
  private evaluate(
    bundle: Bundle,
    runs: readonly Run[],
    from: number,
    to: number,
  ): { from: number; to: number; gain: number } | null {
    let low = firstRun(runs, from);
    let high = low;
    while (high < runs.length && runs[high]!.start < to) high++;
    while (high > low && runs[high - 1]!.end > to) high--;
    // A region starts with a use from a register, not among the branches of a block.
    while (low < high && !this.mayStart(runs[low]!)) low++;
    if (high - low < 2) return null;
    let saved = 0;
    for (let r = low; r < high; r++) {
      const run = runs[r]!;
      saved += run.needed ? Math.min(run.reload, run.inMemory) : Math.min(run.inMemory, run.reload);
      if (!run.needed && run.end === run.start) saved += run.inMemory - Math.min(run.inMemory, run.reload);
    }
    const start = runs[low]!.start;
    let end = start;
    for (let r = low; r < high; r++) end = Math.max(end, runs[r]!.end, runs[r]!.start + 1);
    const gain = saved - this.entryCost(bundle, runs[low]!, start, end);
    return gain > threshold ? { from: start, to: end, gain } : null;
  }

  private mayStart(run: Run): boolean {
    if (run.end === run.start) return false;
    return run.start >> 2 <= this.branches[this.problem.liveness.numbering.blockAt[run.start >> 2]!]!;
  }

  /** Cost of bringing values into the register on the ways into [start, end). */
  private entryCost(bundle: Bundle, first: Run, start: number, end: number): number {
    const { fn, liveness, policy } = this.problem;
    const { numbering, defIndex } = liveness;
    const { head, blockAt, position } = numbering;
    const priceOf = (vreg: number): number =>
      fn.vregs[vreg]!.remat !== null ? policy.remat : policy.memory(fn.vregs[vreg]!.size);
    let cost = first.reload;
    for (const range of bundle.ranges) {
      if (range.end <= start) continue;
      if (range.start >= end) break;
      let b = blockAt[Math.max(range.start, start) >> 2]!;
      if (4 * head[b]! < Math.max(range.start, start)) b++;
      for (; b < fn.blocks.length && 4 * head[b]! < Math.min(range.end, end); b++) {
        const isParam = defIndex[range.vreg] === head[b];
        let outside = 0;
        for (const pred of fn.blocks[b]!.preds) {
          const leave = 4 * head[position[pred.id]! + 1]! - 1;
          if (leave < start || leave >= end) outside++;
        }
        if (outside > 0) cost += priceOf(range.vreg) * (isParam ? outside : 1);
      }
    }
    return cost;
  }
}

/** Index of the first run that starts at or after `point`. */
function firstRun(runs: readonly Run[], point: number): number {
  let low = 0;
  let high = runs.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (runs[middle]!.start < point) low = middle + 1;
    else high = middle;
  }
  return low;
}
