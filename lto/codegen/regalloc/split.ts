/**
 * Taking a bundle apart that no register can hold as a whole.
 *
 * Web → the ranges of each register → runs of uses within a block → single instructions. What a step leaves out
 * is in memory: the rewriter reloads, recomputes, or names the slot. Since every step raises the level and a
 * minimal bundle needs a register for one instruction only, allocation ends.
 *
 * A run is worth a register if some occurrence needs one anyway, or if keeping all of them in memory costs more
 * than one reload.
 */

import { UseKind } from "../liveness.js";
import { intersect, isEmptySet, minus, noRegisters, type RegisterSet } from "../register-set.js";
import { Bundle, LiveRange, SplitLevel } from "./bundle.js";
import type { BundleCosts } from "./bundle-costs.js";
import type { AllocationProblem } from "./problem.js";
import { occurrenceCost } from "./spill-cost.js";

/** Uses of one value, close together. */
export interface Run {
  readonly vreg: number;
  readonly start: number;
  /** Equal to `start` for a lone use that takes its value straight from memory. */
  end: number;
  readonly useLow: number;
  useHigh: number;
  /** Some use needs a register even if the value is in memory. */
  needed: boolean;
  /** Cost of all uses if the value stays in memory. */
  inMemory: number;
  /** Cost of bringing the value into a register for this run. */
  readonly reload: number;
}

export class Splitter {
  constructor(
    private readonly problem: AllocationProblem,
    private readonly costs: BundleCosts,
    private nextId: number,
  ) {}

  /** The bundles that replace `bundle`; all of a higher level. */
  split(bundle: Bundle): Bundle[] {
    bundle.dead = true;
    switch (bundle.level) {
      case SplitLevel.Web:
        if (bundle.all().some((range) => range.vreg !== bundle.ranges[0]!.vreg)) {
          return this.byRegister(bundle);
        }
        return this.clusters(bundle);
      case SplitLevel.Register:
      case SplitLevel.Region:
        return this.clusters(bundle);
      case SplitLevel.Cluster:
        return this.minimal(bundle);
      case SplitLevel.Minimal: {
        const range = bundle.ranges[0]!;
        throw new Error(`no register for virtual register ${range.vreg} at index ${range.start >> 2}`);
      }
    }
  }

  /**
   * Makes a region of each of the intervals, which are disjoint and in order, and clusters of what lies outside.
   */
  regions(
    bundle: Bundle,
    intervals: readonly { from: number; to: number }[],
  ): { regions: Bundle[]; rest: Bundle[] } {
    const { usePoint } = this.problem.liveness;
    bundle.dead = true;
    const regions: Bundle[] = [];
    const outside: LiveRange[] = [];
    const ranges = bundle.all();
    let inside: LiveRange[] = [];
    let k = 0;
    const close = (): void => {
      if (inside.length > 0) regions.push(this.create(bundle, SplitLevel.Region, inside));
      inside = [];
      k++;
    };
    for (let range of ranges) {
      while (k < intervals.length && intervals[k]!.to <= range.start) close();
      for (; k < intervals.length && intervals[k]!.from < range.end; close()) {
        const { from, to } = intervals[k]!;
        if (range.start < from) {
          const [before, after] = divideRange(range, from, usePoint);
          outside.push(before);
          range = after;
        }
        if (range.end <= to) {
          inside.push(range);
          break;
        }
        const [before, after] = divideRange(range, to, usePoint);
        inside.push(before);
        range = after;
      }
      if (k === intervals.length || range.start < intervals[k]!.from) outside.push(range);
    }
    while (k < intervals.length) close();
    const remainder = this.create(bundle, SplitLevel.Region, outside);
    return { regions, rest: this.clusters(remainder) };
  }

  create(like: Bundle, level: SplitLevel, ranges: LiveRange[]): Bundle {
    const bundle = new Bundle(this.nextId++, like.cls, like.group);
    bundle.level = level;
    bundle.ranges = ranges;
    return bundle;
  }

  private byRegister(bundle: Bundle): Bundle[] {
    const byVReg = new Map<number, LiveRange[]>();
    for (const range of bundle.all()) {
      const list = byVReg.get(range.vreg);
      if (list === undefined) byVReg.set(range.vreg, [range]);
      else list.push(range);
    }
    return [...byVReg.values()].map((ranges) =>
      this.create(bundle, SplitLevel.Register, bundle.shadows.length === 0 ? ranges : joinRanges(ranges)),
    );
  }

  /**
   * Cuts a bundle in two at `point`, which must be the first point of an instruction or a block; both parts are
   * regions. Null if nothing would be left on one side.
   */
  cut(bundle: Bundle, point: number): [Bundle, Bundle] | null {
    const ranges = divideAt(bundle.ranges, point, this.problem.liveness.usePoint);
    if (ranges.before.length === 0 || ranges.after.length === 0) return null;
    const shadows = divideAt(bundle.shadows, point, this.problem.liveness.usePoint);
    bundle.dead = true;
    const level = Math.max(bundle.level, SplitLevel.Region);
    const first = this.create(bundle, level, ranges.before);
    first.shadows = shadows.before;
    const second = this.create(bundle, level, ranges.after);
    second.shadows = shadows.after;
    return [first, second];
  }

  private clusters(bundle: Bundle): Bundle[] {
    const result: Bundle[] = [];
    for (const run of this.runs(bundle)) {
      if (!run.needed && run.inMemory <= run.reload) continue;
      if (run.end <= run.start) continue;
      const range = new LiveRange(run.vreg, run.start, run.end, run.useLow, run.useHigh);
      result.push(this.create(bundle, SplitLevel.Cluster, [range]));
    }
    return result;
  }

  /** Runs of uses within blocks that no instruction interrupts by taking all registers, in order by register. */
  runs(bundle: Bundle): Run[] {
    const { fn, liveness, reservations, allocatable, policy } = this.problem;
    const { useIndex, usePoint, useKind, numbering } = liveness;
    const result: Run[] = [];
    const all = allocatable[bundle.cls]!;
    for (const range of bundle.all()) {
      const info = fn.vregs[range.vreg]!;
      const remat = info.remat !== null;
      const reload = remat ? policy.remat : policy.memory(info.size);
      let open: Run | null = null;
      let mask = noRegisters;
      for (let u = range.useLow; u < range.useHigh; u++) {
        const kind = useKind[u]! as UseKind;
        if (kind === UseKind.Arg || kind === UseKind.Param) continue;
        const isDef = this.costs.isDefinition(u);
        if (isDef && remat) continue;
        const index = useIndex[u]!;
        const point = usePoint[u]!;
        const consumed = kind === UseKind.Fixed || kind === UseKind.Tied || kind === UseKind.Copied;
        let useEnd = point + 1;
        if (isDef) useEnd = Math.min(range.end, kind === UseKind.FixedDef ? 4 * index + 4 : 4 * index + 3);
        const operandMask =
          consumed || kind === UseKind.FixedDef ? all : this.permittedAt(u, range.useHigh, all);
        const needed = this.costs.needsRegister(u, remat);
        const inMemory = occurrenceCost(policy, kind, info.size, remat);
        if (open !== null && numbering.blockAt[open.start >> 2] === numbering.blockAt[index]) {
          let left = intersect(mask, operandMask);
          if (useEnd > open.end) left = minus(left, reservations.blocked(range.vreg, open.end, useEnd, mask));
          if (!isEmptySet(left)) {
            mask = left;
            open.end = Math.max(open.end, useEnd);
            open.useHigh = u + 1;
            open.needed ||= needed;
            open.inMemory += inMemory;
            continue;
          }
        }
        open = null;
        const run: Run = {
          vreg: range.vreg,
          start: point,
          end: useEnd,
          useLow: u,
          useHigh: u + 1,
          needed,
          inMemory,
          reload: isDef ? 0 : reload,
        };
        if (consumed) {
          // Such a use takes the value from memory into its own register: nothing to gain alone.
          run.end = run.start;
          result.push(run);
          continue;
        }
        mask = minus(operandMask, reservations.blocked(range.vreg, point, useEnd, all));
        if (isEmptySet(mask)) {
          if (!needed) continue;
          throw new Error(`no register permitted for virtual register ${range.vreg} at index ${index}`);
        }
        open = run;
        result.push(run);
      }
    }
    return result;
  }

  /** Those of `all` that all operands from occurrence `use` on of the same instruction and value permit. */
  private permittedAt(use: number, limit: number, all: RegisterSet): RegisterSet {
    const { useIndex, useOperand } = this.problem.liveness;
    let permitted = all;
    for (let u = use; u < limit && useIndex[u] === useIndex[use]; u++) {
      if (!isEmptySet(useOperand[u]!.allowed)) permitted = intersect(permitted, useOperand[u]!.allowed);
    }
    return permitted;
  }

  private minimal(bundle: Bundle): Bundle[] {
    const { fn, liveness } = this.problem;
    const { useIndex, usePoint, useKind } = liveness;
    const result: Bundle[] = [];
    for (const range of bundle.ranges) {
      const remat = fn.vregs[range.vreg]!.remat !== null;
      for (let u = range.useLow; u < range.useHigh; u++) {
        if (!this.costs.needsRegister(u, remat)) continue;
        const index = useIndex[u]!;
        const end = useKind[u] === UseKind.Def ? 4 * index + 3 : 4 * index + 1;
        let high = u + 1;
        // Further uses of the value by the same instruction share the register.
        while (high < range.useHigh && useIndex[high] === index) high++;
        result.push(
          this.create(bundle, SplitLevel.Minimal, [new LiveRange(range.vreg, usePoint[u]!, end, u, high)]),
        );
        u = high - 1;
      }
    }
    return result;
  }
}

/** Ranges of one register, of which some may touch, in order and joined. */
function joinRanges(ranges: readonly LiveRange[]): LiveRange[] {
  const result: LiveRange[] = [];
  for (const range of [...ranges].sort((a, b) => a.start - b.start)) {
    const last = result[result.length - 1];
    if (last !== undefined && last.end === range.start) {
      last.end = range.end;
      last.useHigh = range.useHigh;
    } else result.push(new LiveRange(range.vreg, range.start, range.end, range.useLow, range.useHigh));
  }
  return result;
}

/** The parts of `range` before and after `point`, which lies within it. */
export function divideRange(range: LiveRange, point: number, usePoint: Int32Array): [LiveRange, LiveRange] {
  const use = firstUse(usePoint, range.useLow, range.useHigh, point);
  return [
    new LiveRange(range.vreg, range.start, point, range.useLow, use),
    new LiveRange(range.vreg, point, range.end, use, range.useHigh),
  ];
}

/** Index of the first of the occurrences [low, high) at or after `point`. */
function firstUse(usePoint: Int32Array, low: number, high: number, point: number): number {
  while (low < high) {
    const middle = (low + high) >> 1;
    if (usePoint[middle]! < point) low = middle + 1;
    else high = middle;
  }
  return low;
}

function divideAt(
  ranges: readonly LiveRange[],
  point: number,
  usePoint: Int32Array,
): { before: LiveRange[]; after: LiveRange[] } {
  const before: LiveRange[] = [];
  const after: LiveRange[] = [];
  for (const range of ranges) {
    if (range.end <= point) before.push(range);
    else if (range.start >= point) after.push(range);
    else {
      const [first, second] = divideRange(range, point, usePoint);
      before.push(first);
      after.push(second);
    }
  }
  return { before, after };
}
