/**
 * Spilling for SSA-based allocation: which value is in a register where, so that never more values are in
 * registers than there are registers.
 *
 * After Braun and Hack, "Register Spilling and Live-Range Splitting for SSA-Form Programs" (CC 2009): one walk
 * over the blocks keeps the set W of values in registers. Before each instruction, values it needs are brought in
 * and, where too many are in, those with the farthest next use go out. A block starts with what all its
 * predecessors leave in registers and then what some leave, nearest use first; a loop header starts with the
 * nearest uses. Differences are made up for on the edges by the rewriter. Values are stored once, at their
 * definition.
 *
 * An instruction's fixed operands, clobbers and definitions lower the number of registers at its points. Sets of
 * permitted registers are not modelled; colouring copes with them.
 *
 * Result: for each value the segments of its life in a register; segments that an edge connects form one bundle.
 * Time: instructions times the registers of the class, plus sorting at block boundaries.
 */
import {
  collectUses,
  defPoint,
  hasTies,
  isSingle,
  isVirtualCopy,
  tieOf,
  UseKind,
  useKindOf,
} from "../liveness.js";
import type { MInst, RegOperand } from "../mir.js";
import { Bundle, LiveRange, SplitLevel } from "./bundle.js";
import { nextUse } from "./next-use.js";
import { type AllocationProblem, popCount } from "./problem.js";
import { firstUse } from "./split.js";

/** Bundles of register segments; their groups are those of `groupOf`. */
export function spillToPressure(problem: AllocationProblem, groupOf: (vreg: number) => number): Bundle[] {
  return new Spiller(problem, groupOf).run();
}

/** A stretch of a value's life in a register, within one block. */
interface Segment {
  readonly vreg: number;
  readonly start: number;
  end: number;
  /** Union-find parent: itself for a representative. */
  parent: number;
}

class Spiller {
  private readonly segments: Segment[] = [];
  /** Open segment of each value, -1 if it is in memory; valid within a block. */
  private readonly open: Int32Array;
  /** Values in registers, by class. */
  private readonly inside: number[][] = [];
  private readonly atEnd: Map<number, number>[];
  private readonly atStart: Map<number, number>[];
  private readonly liveIn: number[][];

  constructor(
    private readonly problem: AllocationProblem,
    private readonly groupOf: (vreg: number) => number,
  ) {
    const { fn, target } = problem;
    this.open = new Int32Array(fn.vregs.length).fill(-1);
    for (let c = 0; c < target.classCount; c++) this.inside.push([]);
    this.atEnd = fn.blocks.map(() => new Map());
    this.atStart = fn.blocks.map(() => new Map());
    this.liveIn = this.collectLiveIn();
  }

  run(): Bundle[] {
    for (let b = 0; b < this.problem.fn.blocks.length; b++) this.walk(b);
    this.connect();
    return this.bundles();
  }

  private collectLiveIn(): number[][] {
    const { fn, liveness } = this.problem;
    const { rangeStart, rangeFrom, rangeTo, numbering } = liveness;
    const { head, blockAt } = numbering;
    const lists: number[][] = fn.blocks.map(() => []);
    for (let v = 0; v < fn.vregs.length; v++) {
      for (let r = rangeStart[v]!; r < rangeStart[v + 1]!; r++) {
        let b = blockAt[rangeFrom[r]! >> 2]!;
        if (4 * head[b]! < rangeFrom[r]!) b++;
        for (; b < fn.blocks.length && 4 * head[b]! < rangeTo[r]!; b++) lists[b]!.push(v);
      }
    }
    return lists;
  }

  /** End of the interval of `vreg` that covers `point`. */
  private liveUntil(vreg: number, point: number): number {
    const { rangeStart, rangeTo } = this.problem.liveness;
    let low = rangeStart[vreg]!;
    let high = rangeStart[vreg + 1]!;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (rangeTo[middle]! <= point) low = middle + 1;
      else high = middle;
    }
    return low < rangeStart[vreg + 1]! ? rangeTo[low]! : point;
  }

  private capacity(cls: number): number {
    return popCount(this.problem.allocatable[cls]!);
  }

  private enter(vreg: number, start: number): void {
    const blockEnd = this.blockEnd;
    const end = Math.min(blockEnd, this.liveUntil(vreg, start));
    if (end <= start) return;
    this.open[vreg] = this.segments.length;
    this.segments.push({ vreg, start, end, parent: this.segments.length });
    this.inside[this.problem.fn.vregs[vreg]!.cls]!.push(vreg);
  }

  private blockEnd = 0;

  /** Values of `cls` to have in registers at the head of block `b`. */
  private initial(b: number, cls: number): number[] {
    const { fn, liveness } = this.problem;
    const { head, position } = liveness.numbering;
    const block = fn.blocks[b]!;
    const start = 4 * head[b]!;
    const done = block.preds.map((pred) => position[pred.id]!).filter((p) => p < b);
    const isHeader = done.length < block.preds.length;
    const params = new Set(block.params.map((param) => param.vreg));
    const candidates: { vreg: number; rank: number; next: number }[] = [];
    for (const vreg of this.liveIn[b]!) {
      if (fn.vregs[vreg]!.cls !== cls) continue;
      let present = 0;
      for (const p of done) if (params.has(vreg) || this.atEnd[p]!.has(vreg)) present++;
      if (present === 0) continue;
      const rank = isHeader || present === done.length ? 0 : 1;
      candidates.push({ vreg, rank, next: nextUse(liveness, vreg, start) });
    }
    candidates.sort((x, y) => x.rank - y.rank || x.next - y.next || x.vreg - y.vreg);
    const reserved = this.problem.reservations.blocked(-2, start, start + 1, this.problem.allocatable[cls]!);
    return candidates.slice(0, this.capacity(cls) - popCount(reserved)).map(({ vreg }) => vreg);
  }

  private walk(b: number): void {
    const { fn, liveness } = this.problem;
    const { head } = liveness.numbering;
    this.blockEnd = 4 * head[b + 1]!;
    for (let cls = 0; cls < this.inside.length; cls++) {
      this.inside[cls] = [];
      for (const vreg of this.initial(b, cls)) {
        this.enter(vreg, 4 * head[b]!);
        this.atStart[b]!.set(vreg, this.open[vreg]!);
      }
    }
    let index = head[b]!;
    for (const inst of fn.blocks[b]!.insts) this.pass(inst, ++index);
    for (const list of this.inside) {
      for (const vreg of list) {
        const segment = this.segments[this.open[vreg]!]!;
        if (segment.end === this.blockEnd) this.atEnd[b]!.set(vreg, this.open[vreg]!);
        this.open[vreg] = -1;
      }
    }
  }

  private readonly buffer: RegOperand[] = [];

  private pass(inst: MInst, index: number): void {
    const { fn, allocatable } = this.problem;
    const early = 4 * index;
    if (isVirtualCopy(fn, inst)) {
      const def = inst.defs[0]!.vreg;
      const { cls } = fn.vregs[def]!;
      this.expire(cls, early);
      this.limit(cls, this.capacity(cls) - 1, early, early, null);
      this.enter(def, early);
      return;
    }
    const count = collectUses(inst, this.buffer);
    const ties = hasTies(inst);
    const needed = new Set<number>();
    let fixedUses = 0;
    for (let k = 0; k < count; k++) {
      const use = this.buffer[k]!;
      if (use.vreg < 0) continue;
      const kind = useKindOf(use, ties ? tieOf(inst, use, k) : null);
      if (kind === UseKind.Fixed) fixedUses |= use.allowed;
      else if (kind === UseKind.Reg || (kind === UseKind.Any && fn.vregs[use.vreg]!.remat !== null))
        needed.add(use.vreg);
    }
    const extra = inst.extra;
    const all = extra !== null && extra.kind === "call" && extra.returnsTwice;
    for (let cls = 0; cls < this.inside.length; cls++) {
      const mask = allocatable[cls]!;
      this.expire(cls, early);
      for (const vreg of needed) {
        if (fn.vregs[vreg]!.cls === cls && this.open[vreg]! < 0) this.enter(vreg, early);
      }
      let earlyFixed = fixedUses & mask;
      let lateFixed = 0;
      let earlyFree = 0;
      let lateFree = 0;
      for (const def of inst.defs) {
        if (def.vreg < 0 || fn.vregs[def.vreg]!.cls !== cls) continue;
        const isEarly = def.early || def.tiedTo >= 0;
        if (isSingle(def.allowed)) {
          lateFixed |= def.allowed;
          if (isEarly) earlyFixed |= def.allowed;
        } else {
          lateFree++;
          if (isEarly) earlyFree++;
        }
      }
      const size = popCount(mask);
      this.limit(cls, size - popCount(earlyFixed & mask) - earlyFree, early, early, needed);
      this.expire(cls, early + 1);
      const clobbers = (all ? -1 : inst.clobbers) & mask;
      this.limit(cls, size - popCount(clobbers) - earlyFree, early, early + 1, needed);
      this.limit(cls, size - popCount(lateFixed & mask) - lateFree, early, early + 1, needed);
      for (const def of inst.defs) {
        if (def.vreg >= 0 && fn.vregs[def.vreg]!.cls === cls) this.enter(def.vreg, defPoint(def, index));
      }
      this.limit(cls, size, early + 3, early + 4, null);
    }
  }

  /** Removes values that are dead from `point` on. */
  private expire(cls: number, point: number): void {
    const list = this.inside[cls]!;
    let kept = 0;
    for (const vreg of list) {
      if (this.segments[this.open[vreg]!]!.end > point) list[kept++] = vreg;
      else this.open[vreg] = -1;
    }
    list.length = kept;
  }

  /**
   * Sends values out until at most `count` are in: at `point`, or at `afterUse` if the instruction needs them.
   * Needed values stay if `afterUse` is `point`.
   */
  private limit(
    cls: number,
    count: number,
    point: number,
    afterUse: number,
    needed: Set<number> | null,
  ): void {
    const list = this.inside[cls]!;
    while (list.length > count) {
      let victim = -1;
      let farthest = -1;
      for (let k = 0; k < list.length; k++) {
        const vreg = list[k]!;
        if (needed !== null && afterUse === point && needed.has(vreg)) continue;
        const next = nextUse(this.problem.liveness, vreg, point + 1);
        if (next > farthest) {
          farthest = next;
          victim = k;
        }
      }
      if (victim < 0) return;
      const vreg = list[victim]!;
      const segment = this.segments[this.open[vreg]!]!;
      // A definition just made stays in its register until the instruction is over.
      const end = needed?.has(vreg) ? afterUse : needed === null ? afterUse : point;
      segment.end = Math.max(segment.start, Math.min(segment.end, end));
      this.open[vreg] = -1;
      list.splice(victim, 1);
    }
  }

  /** Joins segments of a value that meet on an edge. */
  private connect(): void {
    const { fn, liveness } = this.problem;
    const { position } = liveness.numbering;
    for (let b = 0; b < fn.blocks.length; b++) {
      for (const [vreg, segment] of this.atStart[b]!) {
        for (const pred of fn.blocks[b]!.preds) {
          const other = this.atEnd[position[pred.id]!]!.get(vreg);
          if (other !== undefined) this.unite(segment, other);
        }
      }
    }
  }

  private find(segment: number): number {
    let root = segment;
    while (this.segments[root]!.parent !== root) root = this.segments[root]!.parent;
    while (this.segments[segment]!.parent !== root) {
      const next = this.segments[segment]!.parent;
      this.segments[segment]!.parent = root;
      segment = next;
    }
    return root;
  }

  private unite(a: number, b: number): void {
    const x = this.find(a);
    const y = this.find(b);
    if (x < y) this.segments[y]!.parent = x;
    else this.segments[x]!.parent = y;
  }

  private bundles(): Bundle[] {
    const { fn, liveness } = this.problem;
    const { useStart, usePoint } = liveness;
    const byRoot = new Map<number, Bundle>();
    let nextId = fn.vregs.length;
    for (let s = 0; s < this.segments.length; s++) {
      const { vreg, start, end } = this.segments[s]!;
      if (end <= start) continue;
      const root = this.find(s);
      let bundle = byRoot.get(root);
      if (bundle === undefined) {
        bundle = new Bundle(nextId++, fn.vregs[vreg]!.cls, this.groupOf(vreg));
        bundle.level = SplitLevel.Region;
        byRoot.set(root, bundle);
      }
      const low = firstUse(usePoint, useStart[vreg]!, useStart[vreg + 1]!, start);
      const high = firstUse(usePoint, low, useStart[vreg + 1]!, end);
      bundle.ranges.push(new LiveRange(vreg, start, end, low, high));
    }
    for (const bundle of byRoot.values()) {
      bundle.ranges.sort((a, b) => a.start - b.start);
    }
    return [...byRoot.values()];
  }
}
