/**
 * Switches: runs of cases as range tests, dense runs as jump tables, a balanced tree over both.
 *
 * Partition: dynamic programming for the fewest clusters, a table being allowed over any run that is dense
 * enough (O(n²) with n bounded; Kannan & Proebsting, "Correction to 'Producing good code for the case
 * statement'"). For size, a test chain is used up to more cases than for speed: a compare and a short jump
 * take 5 bytes, a table costs an entry's 1 to 4 bytes a value besides about 20 bytes of code.
 */

import { type JumpTable, type MBlock, MInst, RegOperand, type VReg } from "../../codegen/mir.js";
import { noRegisters } from "../../codegen/register-set.js";
import { operationSize } from "../../codegen/select/operation-size.js";
import type { InstWith, Op } from "../../ir/instructions.js";
import { memory } from "../isa/memory-operand.js";
import { Cc, X } from "../isa/ops.js";
import { connect, jump, jumpIf } from "./branch.js";
import type { Selector } from "./selector.js";

interface Cluster {
  /** Inclusive, as signed numbers. */
  readonly low: bigint;
  readonly high: bigint;
  readonly target: MBlock;
  /** For a table: the ranges inside, else null. */
  readonly table: readonly Cluster[] | null;
}

/** Blocks of the tree in creation order; they go right after the head. */
export function selectSwitch(s: Selector, inst: InstWith<Op.Switch>, head: MBlock): MBlock[] {
  const value = inst.operands[0]!;
  const fallback = s.heads[inst.blocks[0]!.id]!;
  const ranges = mergeRanges(s, inst, fallback);
  if (value.valueKind === "int") {
    const hit = ranges.find((r) => r.low <= value.value && value.value <= r.high);
    connect(head, hit?.target ?? fallback);
    jump(s, hit?.target ?? fallback);
    return [];
  }
  if (ranges.length === 0) {
    connect(head, fallback);
    jump(s, fallback);
    return [];
  }
  const tree = new SwitchTree(s, s.reg(value), operationSize(s.layout, value.type), fallback, head);
  const clusters = s.optimize && s.allowsJumpTables ? partition(s, ranges) : ranges;
  const bits = BigInt(value.type.bits);
  tree.emit(clusters, -(1n << (bits - 1n)), (1n << (bits - 1n)) - 1n, head);
  tree.finish();
  return tree.extra;
}

function mergeRanges(s: Selector, inst: InstWith<Op.Switch>, fallback: MBlock): Cluster[] {
  const cases = inst.data.map((c, i) => ({ value: c.value, target: s.heads[inst.blocks[i + 1]!.id]! }));
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

/** Fewest clusters such that each is a range or a dense table. */
function partition(s: Selector, ranges: Cluster[]): Cluster[] {
  const n = ranges.length;
  const small = s.mf.goal !== "speed";
  const minimum = small ? 5 : 4;
  if (n < minimum || n > 2000) return n > 2000 ? greedyTables(ranges, small) : ranges;
  const best = new Int32Array(n + 1);
  const end = new Int32Array(n);
  for (let i = n - 1; i >= 0; i--) {
    best[i] = best[i + 1]! + 1;
    end[i] = i;
    for (let j = n - 1; j > i; j--) {
      if (j - i + 1 < minimum || best[j + 1]! + 1 >= best[i]! || !isDense(ranges, i, j, small)) continue;
      best[i] = best[j + 1]! + 1;
      end[i] = j;
    }
  }
  const out: Cluster[] = [];
  for (let i = 0; i < n; i = end[i]! + 1)
    out.push(end[i] === i ? ranges[i]! : makeTable(ranges.slice(i, end[i]! + 1)));
  return out;
}

function greedyTables(ranges: Cluster[], small: boolean): Cluster[] {
  return isDense(ranges, 0, ranges.length - 1, small) ? [makeTable(ranges)] : ranges;
}

const makeTable = (inside: Cluster[]): Cluster => ({
  low: inside[0]!.low,
  high: inside[inside.length - 1]!.high,
  target: inside[0]!.target,
  table: inside,
});

function isDense(ranges: Cluster[], from: number, to: number, small: boolean): boolean {
  const span = Number(ranges[to]!.high - ranges[from]!.low) + 1;
  if (span > 1 << 16) return false;
  let tests = 0;
  for (let i = from; i <= to; i++) tests += ranges[i]!.low === ranges[i]!.high ? 1 : 2;
  return tests * 100 >= span * (small ? 40 : 10);
}

class SwitchTree {
  readonly extra: MBlock[] = [];
  /** Blocks still to be written, in the order they were made: emitted backwards from the last. */
  private readonly work: { block: MBlock; emit: () => void }[] = [];

  constructor(
    private readonly s: Selector,
    private readonly value: VReg,
    private readonly size: number,
    private readonly fallback: MBlock,
    private readonly head: MBlock,
  ) {}

  private newBlock(): MBlock {
    const block = this.s.newBlockAfter(this.head);
    this.extra.push(block);
    return block;
  }

  /** Plans the decision among `clusters` in `block`, given that the value lies in low…high. */
  emit(clusters: readonly Cluster[], low: bigint, high: bigint, block: MBlock): void {
    const chain = this.s.minsize ? 6 : 3;
    if (clusters.length <= chain || !this.s.optimize) return this.emitChain(clusters, low, high, block);
    const middle = clusters.length >> 1;
    const pivot = clusters[middle]!.low;
    const left = this.newBlock();
    const right = this.newBlock();
    this.work.push({
      block,
      emit: () => {
        connect(block, left);
        connect(block, right);
        this.compare(pivot);
        jumpIf(this.s, Cc.L, left);
        jump(this.s, right);
      },
    });
    this.emit(clusters.slice(0, middle), low, pivot - 1n, left);
    this.emit(clusters.slice(middle), pivot, high, right);
  }

  private emitChain(clusters: readonly Cluster[], low: bigint, high: bigint, first: MBlock): void {
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
    const { s } = this;
    if (cluster.table !== null) return this.emitTable(cluster, block, next);
    connect(block, cluster.target);
    if (certain) return jump(s, cluster.target);
    connect(block, next);
    if (cluster.low === cluster.high) {
      this.compare(cluster.low);
      jumpIf(s, Cc.E, cluster.target);
    } else {
      const offset = this.offsetFrom(cluster.low);
      this.compareRegister(offset, cluster.high - cluster.low);
      jumpIf(s, Cc.BE, cluster.target);
    }
    jump(s, next);
  }

  private emitTable(cluster: Cluster, block: MBlock, next: MBlock): void {
    const { s } = this;
    const inside = cluster.table!;
    const span = Number(cluster.high - cluster.low) + 1;
    const targets = new Array<MBlock>(span).fill(next);
    for (const range of inside)
      for (let v = range.low; v <= range.high; v++) targets[Number(v - cluster.low)] = range.target;
    const index = this.offsetFrom(cluster.low, true);
    const dispatch = s.newBlockAfter(this.head);
    this.extra.push(dispatch);
    this.compareRegister(index, cluster.high - cluster.low);
    jumpIf(s, Cc.A, next);
    jump(s, dispatch);
    connect(block, next);
    connect(block, dispatch);
    // Short entries are zero-extended addresses.
    const isLow = s.options.codeModel === "small" || s.options.codeModel === "medium";
    const direct = !s.pic && (s.mf.goal === "speed" || !isLow);
    const table: JumpTable = { targets, entryBytes: direct ? 8 : 4, origin: s.pic ? "table" : "zero" };
    s.mf.jumpTables.push(table);
    // The dispatch block comes later in program order: its code is made aside.
    const saved = s.buffer;
    s.buffer = [];
    const machine = new MInst(X.JmpIndirect, 8);
    machine.extra = { kind: "jump-table", table };
    machine.targets = [...new Set(targets)];
    if (direct) {
      const symbol = { kind: "direct", target: { kind: "jump-table", table } } as const;
      machine.mem = memory(null, new RegOperand(index), 8, 0, symbol);
    } else machine.uses.push(new RegOperand(this.loadTarget(index, table)));
    s.emit(machine);
    dispatch.insts = s.buffer;
    s.buffer = saved;
    for (const target of machine.targets) connect(dispatch, target);
  }

  /** The address of the target by its index. */
  private loadTarget(index: VReg, table: JumpTable): VReg {
    const { s } = this;
    const target = s.newGpr();
    const load = new MInst(X.TableLoad, 8);
    load.defs = [new RegOperand(target)];
    // Position-independent code adds the address of the table, in a register of its own.
    if (s.pic) load.defs.push(new RegOperand(s.newGpr(), noRegisters, false, -1, true));
    load.uses = [new RegOperand(index)];
    load.extra = { kind: "jump-table", table };
    s.emit(load);
    return target;
  }

  /** value − low in at least 32 bits; zero-extended to a full register when it is to be an index. */
  private offsetFrom(low: bigint, index = false): VReg {
    const { s } = this;
    const width = this.size === 8 ? 8 : 4;
    let value = this.value;
    if (this.size < 4) {
      // Narrow subtraction wraps in 32 bits otherwise: sign-extend first, the bounds are signed.
      const wide = s.newGpr(4);
      s.unary(this.size === 1 ? X.Movsx8 : X.Movsx16, 4, wide, value);
      value = wide;
    }
    if (low === 0n) {
      if (!index || width === 8) return value;
      const zeroExtended = s.newGpr();
      s.unary(X.Mov, 4, zeroExtended, value);
      return zeroExtended;
    }
    const result = s.newGpr();
    if (low >= -2147483647n && low <= 2147483648n) {
      const lea = new MInst(X.Lea, width);
      lea.defs = [new RegOperand(result)];
      lea.mem = memory(new RegOperand(value), null, 1, Number(-low));
      s.emit(lea);
    } else {
      const bound = s.newGpr();
      s.moveImm(bound, width, width === 8 ? low : Number(low));
      s.binary(X.Sub, width, result, value, bound);
    }
    return result;
  }

  private compare(bound: bigint): void {
    const { s } = this;
    const cmp = new MInst(X.Cmp, this.size);
    cmp.uses = [new RegOperand(this.value)];
    if (bound >= -2147483648n && bound <= 2147483647n) cmp.imm = Number(bound);
    else {
      const wide = s.newGpr();
      s.moveImm(wide, 8, bound);
      cmp.uses.push(new RegOperand(wide));
    }
    s.emit(cmp);
  }

  /** Compares an offset (32 or 64 bits) with an unsigned bound. */
  private compareRegister(offset: VReg, bound: bigint): void {
    const { s } = this;
    const width = this.size === 8 ? 8 : 4;
    const cmp = new MInst(X.Cmp, width);
    cmp.uses = [new RegOperand(offset)];
    if (bound <= 2147483647n) cmp.imm = Number(bound);
    else if (width === 4) cmp.imm = Number(BigInt.asIntN(32, bound));
    else {
      const wide = s.newGpr();
      s.moveImm(wide, 8, bound);
      cmp.uses.push(new RegOperand(wide));
    }
    s.emit(cmp);
  }

  /** Writes the planned blocks, last first; the head's own instructions stay in the buffer. */
  finish(): void {
    const { s } = this;
    for (let i = this.work.length - 1; i >= 0; i--) {
      const { block, emit } = this.work[i]!;
      emit();
      if (block === this.head) continue;
      s.flush();
      s.settle();
      s.finishBlock(block);
    }
  }
}
