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
import { Bundle, LiveRange, SplitLevel } from "./bundle.js";
import type { BundleCosts } from "./bundle-costs.js";
import type { AllocationProblem } from "./problem.js";
import { occurrenceCost } from "./spill-cost.js";

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

  /** Keeps ids below `limit` for bundles that others made. */
  reserveIds(limit: number): void {
    this.nextId = Math.max(this.nextId, limit);
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
    const { fn, liveness, reservations, allocatable, policy } = this.problem;
    const { useIndex, usePoint, useKind, numbering } = liveness;
    const result: Bundle[] = [];
    const all = allocatable[bundle.cls]!;
    for (const range of bundle.all()) {
      const info = fn.vregs[range.vreg]!;
      const remat = info.remat !== null;
      const reload = remat ? policy.remat : policy.memory(info.size);
      // The open run.
      let first = -1;
      let last = -1;
      let start = 0;
      let end = 0;
      let mask = 0;
      let needed = false;
      let benefit = 0;
      const close = (): void => {
        if (first >= 0 && (needed || benefit > reload)) {
          result.push(
            this.create(bundle, SplitLevel.Cluster, [new LiveRange(range.vreg, start, end, first, last + 1)]),
          );
        }
        first = -1;
      };
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
        const operandMask = consumed || kind === UseKind.FixedDef ? all : all & this.maskAt(u, range.useHigh);
        if (first >= 0) {
          const sameBlock = numbering.blockAt[useIndex[first]!] === numbering.blockAt[index];
          const from = Math.max(end, start);
          const open =
            sameBlock && useEnd > end
              ? mask & operandMask & ~reservations.blocked(range.vreg, from, useEnd, mask)
              : sameBlock
                ? mask & operandMask
                : 0;
          if (open !== 0) {
            mask = open;
            last = u;
            end = Math.max(end, useEnd);
            needed ||= this.costs.needsRegister(u, remat);
            benefit += occurrenceCost(policy, kind, info.size, remat);
            continue;
          }
          close();
        }
        // Consumed uses take the value from memory into their own register.
        if (consumed) continue;
        const free = operandMask & ~reservations.blocked(range.vreg, point, useEnd, all);
        if (free === 0) {
          if (!this.costs.needsRegister(u, remat)) continue;
          throw new Error(`no register permitted for virtual register ${range.vreg} at index ${index}`);
        }
        first = u;
        last = u;
        start = point;
        end = useEnd;
        mask = free;
        needed = this.costs.needsRegister(u, remat);
        benefit = occurrenceCost(policy, kind, info.size, remat);
      }
      close();
    }
    return result;
  }

  /** Registers that all operands from occurrence `use` on of the same instruction and value permit. */
  private maskAt(use: number, limit: number): number {
    const { useIndex, useOperand } = this.problem.liveness;
    let mask = -1;
    for (let u = use; u < limit && useIndex[u] === useIndex[use]; u++) {
      if (useOperand[u]!.allowed !== 0) mask &= useOperand[u]!.allowed;
    }
    return mask;
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
      let use = range.useLow;
      while (use < range.useHigh && usePoint[use]! < point) use++;
      before.push(new LiveRange(range.vreg, range.start, point, range.useLow, use));
      after.push(new LiveRange(range.vreg, point, range.end, use, range.useHigh));
    }
  }
  return { before, after };
}
