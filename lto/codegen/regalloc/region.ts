/**
 * Region splitting: keeping a value in a register over the part of its life where that pays.
 *
 * When no register is free for all of a bundle, some registers are free for long parts of it. For each register
 * the layout is divided at the points where it is taken. Within a part, the value would have to be brought into
 * the register where control enters the part: at the start, and at each block that has a predecessor outside. On
 * leaving, nothing is to be done, since the home in memory stays valid. Against this stands what the uses in the
 * part would cost with the value in memory (one reload a run of uses, or the slot as their operand). The register with the
 * greatest gain wins; the rest of the bundle goes to memory.
 *
 * Time: for each register of the class, the bundle's ranges and what conflicts with them.
 */
import { firstRegister, hasRegister, isEmptySet, withoutFirst } from "../register-set.js";
import type { Assignment } from "./assignment.js";
import type { Bundle } from "./bundle.js";
import { branchIndices } from "./cut-points.js";
import type { AllocationProblem } from "./problem.js";
import type { Takings } from "./reservations.js";
import type { Run } from "./split.js";
import { rangeEndingAfter } from "./web-ranges.js";

interface Interval {
  readonly from: number;
  readonly to: number;
  readonly gain: number;
}

export interface RegionPlan {
  readonly register: number;
  readonly intervals: readonly { from: number; to: number }[];
}

/** Gains below this are not worth the risk of an estimate. */
const threshold = 2;

export class RegionPlanner {
  /** First index of the trailing branches of each block, by layout position. */
  private branches: Int32Array | null = null;
  private readonly takings: Takings = { points: [], masks: [] };

  constructor(private readonly problem: AllocationProblem) {}

  /** The best plan for `bundle`, or null if all of it had better be in memory. */
  plan(state: Assignment, bundle: Bundle): RegionPlan | null {
    if (bundle.shadows.length > 0) return null;
    const runs = state.splitter.runs(bundle);
    if (runs.length < 2) return null;
    if (bundle.vregs.length > 1) runs.sort((a, b) => a.start - b.start);
    // No plan gains more than all uses could.
    let most = 0;
    for (let r = 0; r < runs.length; r++) most += savedBy(runs[r]!);
    let best: RegionPlan | null = null;
    let bestGain = threshold;
    if (most <= bestGain) return null;
    this.collectTakings(bundle);
    for (let rest = bundle.permitted; !isEmptySet(rest); rest = withoutFirst(rest)) {
      const register = firstRegister(rest);
      const intervals: Interval[] = [];
      const gain = this.planIn(state, bundle, register, runs, intervals) - state.priceOfUse(bundle, register);
      if (gain > bestGain) {
        bestGain = gain;
        best = { register, intervals };
      }
    }
    return best;
  }

  /** Where instructions take registers from `bundle`: points and masks, in order. */
  private collectTakings(bundle: Bundle): void {
    const { takings } = this;
    takings.points.length = 0;
    takings.masks.length = 0;
    for (const range of bundle.ranges) {
      this.problem.reservations.collect(range.vreg, range.start, range.end, bundle.permitted, takings);
    }
  }

  /**
   * Adds the worthwhile parts of the layout in which `register` is free wherever `bundle` lives to `out`, and
   * returns their gain.
   */
  private planIn(
    state: Assignment,
    bundle: Bundle,
    register: number,
    runs: readonly Run[],
    out: Interval[],
  ): number {
    const { points, masks } = this.takings;
    const { ranges } = bundle;
    const set = state.occupied[register]!;
    const first = out.length;
    let from = ranges[0]!.start;
    let t = 0;
    for (let r = 0; r <= ranges.length; r++) {
      // After the last range only what instructions take before its end is left.
      const isEnd = r === ranges.length;
      const range = ranges[isEnd ? r - 1 : r]!;
      if (!isEnd) set.seek(range.start);
      for (;;) {
        const isTaken = !isEnd && set.current(range.end) !== null;
        if (!isTaken && !isEnd) break;
        const start = isTaken ? Math.max(range.start, set.currentStart()) : range.end;
        for (; t < points.length && points[t]! < start; t++) {
          if (!hasRegister(masks[t]!, register)) continue;
          const point = points[t]!;
          if (point > from) this.evaluate(bundle, runs, from, point, out);
          if (point >= from) from = point + 1;
        }
        if (start > from) this.evaluate(bundle, runs, from, start, out);
        if (isEnd) break;
        from = Math.max(from, Math.min(range.end, set.currentEnd()));
        set.advance();
      }
    }
    let gain = 0;
    for (let k = first; k < out.length; k++) gain += out[k]!.gain;
    return gain;
  }

  /** Appends the worthwhile part of [from, to) and its gain, if there is one. */
  private evaluate(bundle: Bundle, runs: readonly Run[], from: number, to: number, out: Interval[]): void {
    let low = firstRun(runs, from);
    let high = low;
    while (high < runs.length && runs[high]!.start < to) high++;
    while (high > low && runs[high - 1]!.end > to) high--;
    // A region starts with a use from a register, not among the branches of a block.
    while (low < high && !this.mayStart(runs[low]!)) low++;
    if (high - low < 2) return;
    let saved = 0;
    for (let r = low; r < high; r++) saved += savedBy(runs[r]!);
    const start = runs[low]!.start;
    let end = start;
    for (let r = low; r < high; r++) end = Math.max(end, runs[r]!.end, runs[r]!.start + 1);
    if (saved - runs[low]!.reload <= threshold) return;
    const gain = saved - this.entryCost(bundle, runs[low]!, start, end);
    if (gain > threshold) out.push({ from: start, to: end, gain });
  }

  private mayStart(run: Run): boolean {
    if (run.end === run.start) return false;
    this.branches ??= branchIndices(this.problem);
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
    const { ranges } = bundle;
    for (let r = rangeEndingAfter(ranges, start); r < ranges.length; r++) {
      const range = ranges[r]!;
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

/** What the uses of `run` cost with the value in memory; never negative. */
function savedBy({ needed, start, end, inMemory, reload }: Run): number {
  return !needed && end === start ? inMemory : Math.min(inMemory, reload);
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
