/**
 * Spilling for SSA-based allocation: which value is in a register where, so that never more values are in
 * registers than there are registers.
 *
 * After Braun and Hack, "Register Spilling and Live-Range Splitting for SSA-Form Programs" (CC 2009): one walk
 * over the blocks keeps the set W of values in registers. Before each instruction, values it needs are brought in
 * and, where too many are in, those with the farthest next use go out. A block starts with what all its
 * predecessors leave in registers and then what some leave, nearest use first; a loop header starts with what is
 * worth most, as much as survives the loop's calls. Among values that a block does not use any more, those worth
 * least go first, so that blocks agree. Differences are made up for on the edges by the rewriter. Values are stored once, at their
 * definition.
 *
 * An instruction's fixed operands, clobbers and definitions lower the number of registers at its points. Sets of
 * permitted registers are not modelled; colouring copes with them.
 *
 * Result: for each value the segments of its life in a register. Segments that an edge connects form one bundle, and
 * so do those of different values that the coalescer merged, where one's segment ends in a move to the other's.
 * A bundle that saves less than it takes to bring its values into registers is taken apart at once.
 * Time: instructions times the registers of the class, plus sorting at block boundaries.
 */
import { type LoopNest, loopNest } from "../../analysis/loop-nest.js";
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
import type { MBlock, MFunction, MInst, RegOperand } from "../mir.js";
import { Bundle, LiveRange, SplitLevel } from "./bundle.js";
import { nextUse } from "./next-use.js";
import { type AllocationProblem, popCount } from "./problem.js";
import { firstUse } from "./split.js";

/** A bundle of register segments and what it costs to bring values into the registers where they begin. */
export interface SegmentBundle {
  readonly bundle: Bundle;
  readonly entryCost: number;
}

/**
 * Bundles of register segments.
 * @param groupOf by register: the group of its bundle
 * @param webOf by register: a number shared by registers that never live at the same time and had better be in one
 * place; -1 for none
 * @param worthOf by register: what keeping it in a register is worth, over all of its life
 */
export function spillToPressure(
  problem: AllocationProblem,
  groupOf: Int32Array,
  webOf: Int32Array,
  worthOf: Float64Array,
): SegmentBundle[] {
  return new Spiller(problem, groupOf, webOf, worthOf).run();
}

/** Later than any point. */
const beyond = 2 ** 30;

/** A stretch of a value's life in a register, within one block. */
interface Segment {
  readonly vreg: number;
  readonly start: number;
  end: number;
  /** Union-find parent: itself for a representative. */
  parent: number;
  /** What bringing the value in costs. */
  entryCost: number;
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
  /** Blocks in the order of the walk, and the number of each in it. */
  private readonly order: readonly number[];
  private readonly rank: Int32Array;
  private readonly loops: LoopNest;
  /** By loop header: registers that some instruction of the loop clobbers. */
  private readonly loopClobbers: Int32Array;

  constructor(
    private readonly problem: AllocationProblem,
    private readonly groupOf: Int32Array,
    private readonly webOf: Int32Array,
    private readonly worthOf: Float64Array,
  ) {
    const { fn, target } = problem;
    this.open = new Int32Array(fn.vregs.length).fill(-1);
    for (let c = 0; c < target.classCount; c++) this.inside.push([]);
    this.atEnd = fn.blocks.map(() => new Map());
    this.atStart = fn.blocks.map(() => new Map());
    this.liveIn = this.collectLiveIn();
    const { position } = problem.liveness.numbering;
    this.loops = loopNest(
      fn.blocks.map((block) => block.succs.map((next) => position[next.id]!)),
      [0],
    );
    this.order = this.loops.reversePostOrder;
    this.loopClobbers = clobbersOfLoops(fn, this.loops);
    this.rank = new Int32Array(fn.blocks.length).fill(-1);
    for (let k = 0; k < this.order.length; k++) this.rank[this.order[k]!] = k;
  }

  run(): SegmentBundle[] {
    for (const b of this.order) this.walk(b);
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

  /** What a reload of `vreg` costs. */
  private reloadCost(vreg: number): number {
    const { fn, policy } = this.problem;
    const { remat, size } = fn.vregs[vreg]!;
    return remat !== null ? policy.remat : policy.memory(size);
  }

  private capacity(cls: number): number {
    return popCount(this.problem.allocatable[cls]!);
  }

  private enter(vreg: number, start: number): void {
    const blockEnd = this.blockEnd;
    const end = Math.min(blockEnd, this.liveUntil(vreg, start));
    if (end <= start) return;
    this.open[vreg] = this.segments.length;
    this.segments.push({ vreg, start, end, parent: this.segments.length, entryCost: 0 });
    this.inside[this.problem.fn.vregs[vreg]!.cls]!.push(vreg);
  }

  private blockEnd = 0;

  /** Values of `cls` to have in registers at the head of block `b`. */
  private initial(b: number, cls: number): number[] {
    const { fn, liveness } = this.problem;
    const { head, position } = liveness.numbering;
    const block = fn.blocks[b]!;
    const start = 4 * head[b]!;
    const done: number[] = [];
    for (const pred of block.preds) {
      const p = position[pred.id]!;
      if (this.rank[p]! < this.rank[b]!) done.push(p);
    }
    const isHeader = done.length < block.preds.length;
    const params = new Map(block.params.map((param, p) => [param.vreg, p]));
    const candidates: { vreg: number; rank: number; next: number }[] = [];
    for (const vreg of this.liveIn[b]!) {
      if (fn.vregs[vreg]!.cls !== cls) continue;
      let present = 0;
      const param = params.get(vreg) ?? -1;
      for (const p of done) if (this.segmentAt(p, block, vreg, param) >= 0) present++;
      if (present === 0) continue;
      const rank = isHeader || present === done.length ? 0 : 1;
      candidates.push({ vreg, rank, next: this.nextUse(vreg, start) });
    }
    const { worthOf } = this;
    const all = this.problem.allocatable[cls]!;
    let taken = this.problem.reservations.blocked(-2, start, start + 1, all);
    // What lives around the loop has to survive its calls.
    if (isHeader) taken |= this.loopClobbers[b]! & all;
    candidates.sort(
      (x, y) =>
        x.rank - y.rank ||
        (isHeader ? 0 : x.next - y.next) ||
        worthOf[y.vreg]! - worthOf[x.vreg]! ||
        x.vreg - y.vreg,
    );
    return candidates.slice(0, popCount(all & ~taken)).map(({ vreg }) => vreg);
  }

  /**
   * The segment that becomes that of `vreg` (parameter number `param` of `block`, or -1) on the edge from the block
   * at `pred`; -1 if there it is in memory.
   */
  private segmentAt(pred: number, block: MBlock, vreg: number, param: number): number {
    if (param < 0) return this.atEnd[pred]!.get(vreg) ?? -1;
    const { succs, succArgs } = this.problem.fn.blocks[pred]!;
    const arg = succArgs[succs.indexOf(block)]![param]!;
    return arg.vreg < 0 ? -1 : (this.atEnd[pred]!.get(arg.vreg) ?? -1);
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
      const source = this.open[inst.uses[0]!.vreg]!;
      this.expire(cls, early);
      this.limit(cls, this.capacity(cls) - 1, early, early, null);
      this.enter(def, early);
      this.continueFrom(source, def);
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
    const sources: number[] = [];
    if (ties) {
      for (const def of inst.defs) {
        const source = def.tiedTo >= 0 ? inst.uses[def.tiedTo]!.vreg : -1;
        sources.push(source >= 0 ? this.open[source]! : -1);
      }
    }
    const extra = inst.extra;
    const all = extra !== null && extra.kind === "call" && extra.returnsTwice;
    for (let cls = 0; cls < this.inside.length; cls++) {
      const mask = allocatable[cls]!;
      this.expire(cls, early);
      for (const vreg of needed) {
        if (fn.vregs[vreg]!.cls !== cls || this.open[vreg]! >= 0) continue;
        this.enter(vreg, early);
        if (this.open[vreg]! >= 0) this.segments[this.open[vreg]!]!.entryCost = this.reloadCost(vreg);
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
      for (let d = 0; d < inst.defs.length; d++) {
        const def = inst.defs[d]!;
        if (def.vreg < 0 || fn.vregs[def.vreg]!.cls !== cls) continue;
        this.enter(def.vreg, defPoint(def, index));
        if (ties) this.continueFrom(sources[d]!, def.vreg);
      }
      this.limit(cls, size, early + 3, early + 4, null);
    }
  }

  /** Point of the next use in the block; a large number for all that are not used in it any more. */
  private nextUse(vreg: number, point: number): number {
    const next = nextUse(this.problem.liveness, vreg, point);
    return next < this.blockEnd ? next : beyond;
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
      let least = 0;
      for (let k = 0; k < list.length; k++) {
        const vreg = list[k]!;
        if (needed !== null && afterUse === point && needed.has(vreg)) continue;
        const next = this.nextUse(vreg, point + 1);
        const worth = this.worthOf[vreg]!;
        if (next > farthest || (next === farthest && worth < least)) {
          farthest = next;
          least = worth;
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

  /** Joins the segment of `vreg` that just began with `source`, if that ends here and is of the same web. */
  private continueFrom(source: number, vreg: number): void {
    const segment = this.open[vreg]!;
    if (source < 0 || segment < 0) return;
    const from = this.segments[source]!;
    if (from.end > this.segments[segment]!.start || !this.sameWeb(from.vreg, vreg)) return;
    this.unite(segment, source);
  }

  private sameWeb(a: number, b: number): boolean {
    return a === b || (this.webOf[a]! >= 0 && this.webOf[a] === this.webOf[b]);
  }

  /** Joins segments that meet on an edge, and charges for edges on which a value has to be brought in. */
  private connect(): void {
    const { fn, liveness } = this.problem;
    const { position } = liveness.numbering;
    for (let b = 0; b < fn.blocks.length; b++) {
      const block = fn.blocks[b]!;
      const params = new Map(block.params.map((param, p) => [param.vreg, p]));
      for (const [vreg, segment] of this.atStart[b]!) {
        const param = params.get(vreg) ?? -1;
        let missing = 0;
        for (const pred of block.preds) {
          const other = this.segmentAt(position[pred.id]!, block, vreg, param);
          if (other < 0) missing++;
          else if (this.sameWeb(this.segments[other]!.vreg, vreg)) this.unite(segment, other);
        }
        if (missing > 0) {
          this.segments[segment]!.entryCost += this.reloadCost(vreg) * (param >= 0 ? missing : 1);
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

  private bundles(): SegmentBundle[] {
    const { fn, liveness } = this.problem;
    const { useStart, usePoint } = liveness;
    const byRoot = new Map<number, Bundle>();
    const entryCost: number[] = [];
    let nextId = fn.vregs.length;
    for (let s = 0; s < this.segments.length; s++) {
      const { vreg, start, end } = this.segments[s]!;
      const root = this.find(s);
      entryCost[root] = (entryCost[root] ?? 0) + this.segments[s]!.entryCost;
      if (end <= start) continue;
      let bundle = byRoot.get(root);
      if (bundle === undefined) {
        bundle = new Bundle(nextId++, fn.vregs[vreg]!.cls, this.groupOf[vreg]!);
        bundle.level = SplitLevel.Region;
        byRoot.set(root, bundle);
      }
      const low = firstUse(usePoint, useStart[vreg]!, useStart[vreg + 1]!, start);
      const high = firstUse(usePoint, low, useStart[vreg + 1]!, end);
      bundle.ranges.push(new LiveRange(vreg, start, end, low, high));
    }
    return [...byRoot].map(([root, bundle]) => {
      bundle.ranges.sort((a, b) => a.start - b.start);
      return { bundle, entryCost: entryCost[root]! };
    });
  }
}

/** By loop header: registers that some instruction of the loop, or of a loop in it, clobbers. */
function clobbersOfLoops(fn: MFunction, { header, outer }: LoopNest): Int32Array {
  const masks = new Int32Array(fn.blocks.length);
  for (let b = 0; b < masks.length; b++) {
    if (header[b]! < 0) continue;
    let clobbers = 0;
    for (const inst of fn.blocks[b]!.insts) {
      const { extra } = inst;
      clobbers |= extra?.kind === "call" && extra.returnsTwice ? -1 : inst.clobbers;
    }
    if (clobbers !== 0) for (let h = header[b]!; h >= 0; h = outer[h]!) masks[h]! |= clobbers;
  }
  return masks;
}
