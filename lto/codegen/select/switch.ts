/**
 * Switches: runs of cases as range tests, dense runs as jump tables, a balanced tree over both.
 *
 * Partition: dynamic programming for the fewest clusters, a table being allowed over any run that is dense
 * enough (O(n²) with n bounded; Kannan & Proebsting, "Correction to 'Producing good code for the case
 * statement'"). How dense that is, and how long chains of tests get, are costs of the target (`lto/target/switches.ts`).
 */
import { type InstWith, Op } from "../../ir/instructions.js";
import type { Value } from "../../ir/values.js";
import type { SwitchCosts } from "../../target/switches.js";
import type { JumpTable, MBlock, VReg } from "../mir.js";
import { connect } from "./blocks.js";
import type { FunctionSelection } from "./function-selection.js";

/** What a switch on one value is made of. Numbers are signed. It emits nothing when it is made. */
export interface SwitchCode {
  /** Jumps through tables may be made. */
  readonly allowsTables: boolean;
  /** Emits what all of it shares, once, before all else. */
  prepare(): void;
  /** Branches if the value is less. */
  branchIfLess(bound: bigint, target: MBlock): void;
  branchIfEqual(n: bigint, target: MBlock): void;
  /** Branches if low ≤ value ≤ high. */
  branchIfInside(low: bigint, high: bigint, target: MBlock): void;
  /** The value less `low` in a register; branches if it is not among low…high. */
  index(low: bigint, high: bigint, outside: MBlock): VReg;
  /** The form of a table, when it is made. */
  tableForm(): Pick<JumpTable, "entryBytes" | "origin">;
  /** Jumps where the table leads at an index, in a block of its own: without constants that others may share. */
  jumpByTable(index: VReg, table: JumpTable, targets: readonly MBlock[]): void;
}

interface Cluster {
  /** Inclusive, as signed numbers. */
  readonly low: bigint;
  readonly high: bigint;
  readonly target: MBlock;
  /** For a table: the ranges inside, else null. */
  readonly table: readonly Cluster[] | null;
}

/** Blocks of the tree in creation order; they go right after the head. */
export function selectSwitch(s: FunctionSelection, inst: InstWith<Op.Switch>, head: MBlock): MBlock[] {
  const value = inst.operands[0]!;
  const fallback = s.blocks.head(inst.blocks[0]!);
  const ranges = mergeRanges(s, inst, fallback);
  if (value.valueKind === "int" || ranges.length === 0) {
    const hit =
      value.valueKind === "int" && ranges.find((r) => r.low <= value.value && value.value <= r.high);
    const target = hit ? hit.target : fallback;
    connect(head, target);
    s.jump(target);
    return [];
  }
  const { goal } = s.mf;
  const costs = goal === "none" ? null : s.mf.target.costs.switches[goal];
  // The tree is written from its end: what makes the value has to wait for the head.
  const isMade = isInRegister(s, value);
  const vreg = isMade ? s.reg(value) : s.newReg(value.type);
  const code = s.switchCode(vreg, value.type);
  const tree = new SwitchTree(s, code, costs?.longestChain ?? ranges.length, fallback, head);
  const clusters = costs !== null && code.allowsTables ? partition(ranges, costs) : ranges;
  const bits = BigInt(value.type.bits);
  tree.plan(clusters, -(1n << (bits - 1n)), (1n << (bits - 1n)) - 1n, head);
  tree.emit(() => {
    if (!isMade) s.copy(vreg, s.reg(value), s.spillSize(value.type));
    code.prepare();
  });
  return tree.extra;
}

/** Whether code elsewhere gives the value its register: not if it is a constant, or the address of a slot. */
function isInRegister(s: FunctionSelection, value: Value): boolean {
  const inst = s.resolve(value);
  return inst.valueKind === "argument" || (inst.valueKind === "inst" && inst.op !== Op.Alloca);
}

function mergeRanges(s: FunctionSelection, inst: InstWith<Op.Switch>, fallback: MBlock): Cluster[] {
  const cases = inst.data.map((c, i) => ({ value: c.value, target: s.blocks.head(inst.blocks[i + 1]!) }));
  cases.sort((a, b) => (a.value < b.value ? -1 : 1));
  const out: Cluster[] = [];
  for (const { value, target } of cases) {
    if (target === fallback) continue;
    const last = out[out.length - 1];
    if (last !== undefined && last.target === target && last.high + 1n === value)
      out[out.length - 1] = { ...last, high: value };
    else out.push({ low: value, high: value, target, table: null });
  }
  return out;
}

/** Ranges up to which the best partition is looked for. */
const mostRanges = 2000;

/** Fewest clusters such that each is a range or a dense table. */
function partition(ranges: Cluster[], costs: SwitchCosts): Cluster[] {
  const n = ranges.length;
  if (n < costs.leastRanges) return ranges;
  const density = new Density(ranges, costs);
  if (n > mostRanges) return density.isEnough(0, n - 1) ? [makeTable(ranges)] : ranges;
  const best = new Int32Array(n + 1);
  const end = new Int32Array(n);
  for (let i = n - 1; i >= 0; i--) {
    best[i] = best[i + 1]! + 1;
    end[i] = i;
    for (let j = n - 1; j > i; j--) {
      if (j - i + 1 < costs.leastRanges || best[j + 1]! + 1 >= best[i]! || !density.isEnough(i, j)) continue;
      best[i] = best[j + 1]! + 1;
      end[i] = j;
    }
  }
  const out: Cluster[] = [];
  for (let i = 0; i < n; i = end[i]! + 1)
    out.push(end[i] === i ? ranges[i]! : makeTable(ranges.slice(i, end[i]! + 1)));
  return out;
}

const makeTable = (inside: Cluster[]): Cluster => ({
  low: inside[0]!.low,
  high: inside[inside.length - 1]!.high,
  target: inside[0]!.target,
  table: inside,
});

/** Entries of the largest table. */
const mostEntries = 1 << 16;

/** Which runs of ranges are dense enough for a table, each in the same time: a partition asks for all of them. */
class Density {
  /** Where each range begins and how many values it has, both with what no table can hold counted as a little more than that. */
  private readonly starts: Float64Array;
  private readonly widths: Float64Array;
  /** Tests of all ranges before each. */
  private readonly tests: Int32Array;

  constructor(
    ranges: readonly Cluster[],
    private readonly costs: SwitchCosts,
  ) {
    this.starts = new Float64Array(ranges.length);
    this.widths = new Float64Array(ranges.length);
    this.tests = new Int32Array(ranges.length + 1);
    const bounded = (values: bigint): number => Math.min(Number(values), mostEntries + 1);
    for (const [i, { low, high }] of ranges.entries()) {
      if (i > 0) this.starts[i] = this.starts[i - 1]! + bounded(low - ranges[i - 1]!.low);
      this.widths[i] = bounded(high - low + 1n);
      this.tests[i + 1] = this.tests[i]! + (low === high ? 1 : 2);
    }
  }

  isEnough(from: number, to: number): boolean {
    const span = this.starts[to]! - this.starts[from]! + this.widths[to]!;
    if (span > mostEntries) return false;
    return (this.tests[to + 1]! - this.tests[from]!) * 100 >= span * this.costs.leastTests;
  }
}

class SwitchTree {
  readonly extra: MBlock[] = [];
  /** Blocks still to be written, in the order they were made: emitted backwards from the last. */
  private readonly work: { block: MBlock; emit: () => void }[] = [];

  constructor(
    private readonly s: FunctionSelection,
    private readonly code: SwitchCode,
    private readonly longestChain: number,
    private readonly fallback: MBlock,
    private readonly head: MBlock,
  ) {}

  private newBlock(): MBlock {
    const block = this.s.blocks.after(this.head);
    this.extra.push(block);
    return block;
  }

  /** Plans the decision among `clusters` in `block`, given that the value lies in low…high. */
  plan(clusters: readonly Cluster[], low: bigint, high: bigint, block: MBlock): void {
    if (clusters.length <= this.longestChain) return this.planChain(clusters, low, high, block);
    const middle = clusters.length >> 1;
    const pivot = clusters[middle]!.low;
    const left = this.newBlock();
    const right = this.newBlock();
    this.work.push({
      block,
      emit: () => {
        connect(block, left);
        connect(block, right);
        this.code.branchIfLess(pivot, left);
        this.s.jump(right);
      },
    });
    this.plan(clusters.slice(0, middle), low, pivot - 1n, left);
    this.plan(clusters.slice(middle), pivot, high, right);
  }

  private planChain(clusters: readonly Cluster[], low: bigint, high: bigint, first: MBlock): void {
    let block = first;
    clusters.forEach((cluster, i) => {
      const isLast = i === clusters.length - 1;
      const next = isLast ? this.fallback : this.newBlock();
      const current = block;
      // What is left may be exactly this cluster.
      const certain = cluster.low === low && cluster.high === high;
      this.work.push({ block: current, emit: () => this.emitCluster(cluster, current, next, certain) });
      if (cluster.low === low) low = cluster.high + 1n;
      block = next;
    });
  }

  private emitCluster(cluster: Cluster, block: MBlock, next: MBlock, certain: boolean): void {
    const { s, code } = this;
    const { low, high, target, table } = cluster;
    if (table !== null) return this.emitTable(cluster, table, block, next);
    connect(block, target);
    if (certain) return s.jump(target);
    connect(block, next);
    if (low === high) code.branchIfEqual(low, target);
    else code.branchIfInside(low, high, target);
    s.jump(next);
  }

  private emitTable({ low, high }: Cluster, inside: readonly Cluster[], block: MBlock, next: MBlock): void {
    const { s, code } = this;
    const all = new Array<MBlock>(Number(high - low) + 1).fill(next);
    for (const range of inside)
      for (let v = range.low; v <= range.high; v++) all[Number(v - low)] = range.target;
    const dispatch = this.newBlock();
    const index = code.index(low, high, next);
    s.jump(dispatch);
    connect(block, next);
    connect(block, dispatch);
    const table: JumpTable = { targets: all, ...code.tableForm() };
    s.mf.jumpTables.push(table);
    const targets = [...new Set(all)];
    // The dispatch block comes later in program order: its code is made aside.
    dispatch.insts = s.code.aside(() => code.jumpByTable(index, table, targets));
    for (const target of targets) connect(dispatch, target);
  }

  /**
   * Writes the planned blocks, last first; the head's own instructions, which are the last, stay in the buffer.
   * @param begin emits what the head begins with
   */
  emit(begin: () => void): void {
    const { s } = this;
    for (let i = this.work.length - 1; i >= 0; i--) {
      const { block, emit } = this.work[i]!;
      if (block === this.head) begin();
      emit();
      if (block === this.head) continue;
      s.code.flush();
      s.code.finishBlock(block);
    }
  }
}
