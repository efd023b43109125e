/**
 * Program points, operand occurrences and live intervals of a machine function in SSA form.
 *
 * Every instruction of the layout gets an index, and every block one more before its instructions, its
 * head. An index i has four points:
 *
 *     4i    Early    register uses are read; early and tied definitions are written from here on
 *     4i+1  Clobber  the instruction destroys its clobbered registers
 *     4i+2  Late     ordinary definitions are written
 *     4i+3  After    copies out of fixed definition registers are done
 *
 * Inserted moves execute in the gap between 4i-1 and 4i. A use in a fixed register and the use that a
 * definition is tied to are consumed in that gap: the value need not live on to 4i, because the gap's moves put
 * it into the fixed register or into the definition's. A copy is nothing but such a move. Likewise the value of a fixed definition begins at 4i+3.
 * Block parameters begin at the head of their block, arguments end with their block.
 *
 * Method: per register, walk from each use's block up to the definition's (Boissinot et al., "Computing
 * Liveness Sets for SSA-Form Programs"); linear in the size of the result. Intervals are half-open, sorted,
 * disjoint, and merged over blocks that follow each other in the layout.
 * Breaks if: a register has two definitions, or a definition does not dominate a use.
 */

import { CopyOp, type MBlock, type MFunction, type MInst, type RegOperand } from "./mir.js";
import { includesSet, isEmptySet, isSingle } from "./register-set.js";

/** Phases of an instruction index; a point is `4 * index + phase`. */
export const Early = 0;
export const Clobber = 1;
export const Late = 2;
export const After = 3;

/** How an occurrence of a register constrains where the register is. */
export const enum UseKind {
  /** Must be in a register at 4i. */
  Reg,
  /** In a register or in a slot at 4i. */
  Any,
  /** Copied to a fixed register in the gap before. */
  Fixed,
  /** Copied to the place of a tied definition in the gap before. */
  Tied,
  /** Read by a copy, which the allocator replaces by a move in the gap. */
  Copied,
  /** Passed to a block parameter at the end of the block. */
  Arg,
  /** Definition in a register. */
  Def,
  /** Definition in a register or in a slot. */
  AnyDef,
  /** Definition in a fixed register, copied from there. */
  FixedDef,
  /** Written by a copy's move. */
  CopyDef,
  /** Block parameter. */
  Param,
}

export const isDefKind = (kind: UseKind): boolean => kind >= UseKind.Def;

/** Positions of blocks and instructions in the layout. */
export interface Numbering {
  /** Index of the head of each block by layout position; one more entry: the end of the last block. */
  readonly head: Int32Array;
  /** Layout position of the block that owns an index. */
  readonly blockAt: Int32Array;
  /** Layout position by `MBlock.id`. */
  readonly position: Int32Array;
}

/** All occurrences of registers, grouped by register, in order of position. */
export interface Liveness {
  readonly numbering: Numbering;
  /** Occurrences of register v: [useStart[v], useStart[v + 1]). The definition is among them. */
  readonly useStart: Int32Array;
  /** Point at which an occurrence takes place (see the file header; consumed uses: 4i-1). */
  readonly usePoint: Int32Array;
  /** Index of the instruction; for arguments the last index of the block. */
  readonly useIndex: Int32Array;
  readonly useKind: Uint8Array;
  readonly useOperand: readonly RegOperand[];
  /** Index (instruction or head) of the definition of each register; -1: never defined. */
  readonly defIndex: Int32Array;
  /** Intervals of register v: entries [rangeStart[v], rangeStart[v + 1]) of the next two. */
  readonly rangeStart: Int32Array;
  readonly rangeFrom: Int32Array;
  readonly rangeTo: Int32Array;
  /** By register: 1 for block parameters that no instruction needs, even indirectly. */
  readonly deadParam: Uint8Array;
}

/** Numbers blocks and instructions of `fn` in layout order. */
function numberFunction(fn: MFunction): Numbering {
  const blocks = fn.blocks;
  const head = new Int32Array(blocks.length + 1);
  let maxId = 0;
  let next = 0;
  for (let b = 0; b < blocks.length; b++) {
    head[b] = next;
    next += blocks[b]!.insts.length + 1;
    if (blocks[b]!.id > maxId) maxId = blocks[b]!.id;
  }
  head[blocks.length] = next;
  const blockAt = new Int32Array(next);
  const position = new Int32Array(maxId + 1).fill(-1);
  for (let b = 0; b < blocks.length; b++) {
    blockAt.fill(b, head[b], head[b + 1]);
    position[blocks[b]!.id] = b;
  }
  return { head, blockAt, position };
}

/**
 * Writes the register operands that `inst` reads to the front of `out`: `uses` first, in order, then address
 * registers. Returns their number. The loop form of `forEachUse`.
 */
export function collectUses(inst: MInst, out: RegOperand[]): number {
  const uses = inst.uses;
  let count = 0;
  for (; count < uses.length; count++) out[count] = uses[count]!;
  const mem = inst.mem;
  if (mem !== null) {
    if (mem.base !== null) out[count++] = mem.base;
    if (mem.index !== null) out[count++] = mem.index;
  }
  const extra = inst.extra;
  if (extra !== null && extra.kind === "asm") {
    for (const operand of extra.operands) {
      if (operand.kind !== "mem" || operand.mem === mem) continue;
      if (operand.mem.base !== null) out[count++] = operand.mem.base;
      if (operand.mem.index !== null) out[count++] = operand.mem.index;
    }
  }
  return count;
}

/**
 * The definition whose place `operand` is read from: the one tied to it, or one tied to another use of the same
 * register when the constraints allow that place (`add %eax, %eax`) and it is not written early. Null if there is
 * none.
 * `position` is the operand's index among the collected uses.
 */
export function tieOf(inst: MInst, operand: RegOperand, position: number): RegOperand | null {
  const defs = inst.defs;
  for (let d = 0; d < defs.length; d++) {
    if (defs[d]!.tiedTo === position && position < inst.uses.length) return defs[d]!;
  }
  for (let d = 0; d < defs.length; d++) {
    const def = defs[d]!;
    if (def.tiedTo < 0 || def.early || inst.uses[def.tiedTo]!.vreg !== operand.vreg) continue;
    if (isEmptySet(operand.allowed)) return def;
    if (!isEmptySet(def.allowed) && includesSet(operand.allowed, def.allowed)) return def;
  }
  return null;
}

/** True if any definition of `inst` is tied to a use. */
export function hasTies(inst: MInst): boolean {
  const defs = inst.defs;
  for (let d = 0; d < defs.length; d++) if (defs[d]!.tiedTo >= 0) return true;
  return false;
}

/** The kind of a use, given the definition it is tied to (see `tieOf`). */
export function useKindOf(operand: RegOperand, tie: RegOperand | null): UseKind {
  if (tie !== null) return UseKind.Tied;
  if (isSingle(operand.allowed)) return UseKind.Fixed;
  return operand.mayBeSlot ? UseKind.Any : UseKind.Reg;
}

/**
 * True if `inst` does nothing but give a value a second name: the allocator drops it when both are in one
 * place. A copy that widens may be there to clear the upper part, and stays.
 */
export function isVirtualCopy(fn: MFunction, inst: MInst): boolean {
  if (inst.op !== CopyOp || inst.defs.length !== 1 || inst.uses.length !== 1) return false;
  const def = inst.defs[0]!;
  const use = inst.uses[0]!;
  if (def.vreg < 0 || use.vreg < 0 || !isEmptySet(def.allowed) || !isEmptySet(use.allowed)) return false;
  const to = fn.vregs[def.vreg]!;
  const from = fn.vregs[use.vreg]!;
  return to.size <= from.size && to.cls === from.cls && to.size <= inst.size;
}

/** The kind of an instruction's definition. */
function defKindOf(def: RegOperand): UseKind {
  if (isSingle(def.allowed)) return UseKind.FixedDef;
  return def.mayBeSlot && def.tiedTo < 0 ? UseKind.AnyDef : UseKind.Def;
}

/** Point at which the register that `def` of instruction `index` defines begins to live. */
function defPoint(def: RegOperand, index: number): number {
  if (isSingle(def.allowed)) return 4 * index + After;
  return 4 * index + (def.early || def.tiedTo >= 0 ? Early : Late);
}

/** Computes occurrences and live intervals of every register. */
export function computeLiveness(fn: MFunction): Liveness {
  const numbering = numberFunction(fn);
  // One place more than registers: `useStart` by prefix sums.
  const count = new Int32Array(fn.vregs.length + 1);
  countOperands(fn, count);
  const deadParam = findDeadParams(fn, count);
  const occurrences = collectOccurrences(fn, numbering, deadParam, count);
  return { numbering, deadParam, ...occurrences, ...buildIntervals(fn, numbering, occurrences) };
}

/** Counts the operands of instructions by register, into `count[v + 1]`: uses now, definitions too. */
function countOperands(fn: MFunction, count: Int32Array): void {
  const buffer: RegOperand[] = [];
  const blocks = fn.blocks;
  for (let b = 0; b < blocks.length; b++) {
    const insts = blocks[b]!.insts;
    for (let i = 0; i < insts.length; i++) {
      const inst = insts[i]!;
      const uses = collectUses(inst, buffer);
      for (let k = 0; k < uses; k++) {
        const vreg = buffer[k]!.vreg;
        if (vreg >= 0) count[vreg + 1]!++;
      }
      const defs = inst.defs;
      for (let k = 0; k < defs.length; k++) {
        const vreg = defs[k]!.vreg;
        if (vreg >= 0) count[vreg + 1]!++;
      }
    }
  }
}

/** Marks block parameters that are passed around only among themselves. `count`: operands of instructions. */
function findDeadParams(fn: MFunction, count: Int32Array): Uint8Array {
  const dead = new Uint8Array(fn.vregs.length);
  const work: number[] = [];
  let unread = 0;
  for (const block of fn.blocks) {
    for (const { vreg } of block.params) {
      if (count[vreg + 1]! > 0) work.push(vreg);
      else {
        dead[vreg] = 1;
        unread++;
      }
    }
  }
  if (unread === 0) return dead;
  // Arguments by parameter.
  const argsOf = new Map<number, number[]>();
  for (const block of fn.blocks) {
    for (let s = 0; s < block.succs.length; s++) {
      const params = block.succs[s]!.params;
      for (let p = 0; p < params.length; p++) {
        const arg = block.succArgs[s]![p]!.vreg;
        // Only what is a parameter itself can be revived.
        if (arg < 0 || dead[arg] === 0) continue;
        const param = params[p]!.vreg;
        const list = argsOf.get(param);
        if (list === undefined) argsOf.set(param, [arg]);
        else list.push(arg);
      }
    }
  }
  while (work.length > 0) {
    const args = argsOf.get(work.pop()!);
    if (args === undefined) continue;
    for (const arg of args) {
      if (dead[arg] === 0) continue;
      dead[arg] = 0;
      work.push(arg);
    }
  }
  return dead;
}

type Occurrences = Pick<
  Liveness,
  "useStart" | "usePoint" | "useIndex" | "useKind" | "useOperand" | "defIndex"
>;

/** `count`: operands of instructions by register, shifted by one; becomes `useStart`. */
function collectOccurrences(
  fn: MFunction,
  numbering: Numbering,
  deadParam: Uint8Array,
  count: Int32Array,
): Occurrences {
  const vregCount = fn.vregs.length;
  const useStart = count;
  const blocks = fn.blocks;
  for (let b = 0; b < blocks.length; b++) {
    const { params, succs, succArgs } = blocks[b]!;
    for (let p = 0; p < params.length; p++) {
      const { vreg } = params[p]!;
      if (deadParam[vreg] === 0) useStart[vreg + 1]!++;
    }
    for (let s = 0; s < succs.length; s++) {
      const targets = succs[s]!.params;
      for (let p = 0; p < targets.length; p++) {
        const { vreg } = succArgs[s]![p]!;
        if (vreg >= 0 && deadParam[targets[p]!.vreg] === 0) useStart[vreg + 1]!++;
      }
    }
  }
  for (let v = 0; v < vregCount; v++) useStart[v + 1]! += useStart[v]!;
  const total = useStart[vregCount]!;
  const fill = useStart.slice(0, vregCount);
  const usePoint = new Int32Array(total);
  const useIndex = new Int32Array(total);
  const useKind = new Uint8Array(total);
  const useOperand: RegOperand[] = new Array(total);
  const defIndex = new Int32Array(vregCount).fill(-1);
  const buffer: RegOperand[] = [];

  const add = (operand: RegOperand, kind: UseKind, index: number, point: number): void => {
    const v = operand.vreg;
    let at = fill[v]!++;
    // Within one instruction a consumed use sorts before an ordinary one.
    while (at > useStart[v]! && usePoint[at - 1]! > point) {
      usePoint[at] = usePoint[at - 1]!;
      useIndex[at] = useIndex[at - 1]!;
      useKind[at] = useKind[at - 1]!;
      useOperand[at] = useOperand[at - 1]!;
      at--;
    }
    usePoint[at] = point;
    useIndex[at] = index;
    useKind[at] = kind;
    useOperand[at] = operand;
  };

  const define = (vreg: number, index: number): void => {
    if (defIndex[vreg]! >= 0) throw new Error(`virtual register ${vreg} is defined twice`);
    defIndex[vreg] = index;
  };

  for (let b = 0; b < blocks.length; b++) {
    const block = blocks[b]!;
    let index = numbering.head[b]!;
    for (let p = 0; p < block.params.length; p++) {
      const param = block.params[p]!;
      define(param.vreg, index);
      if (deadParam[param.vreg] === 0) add(param, UseKind.Param, index, 4 * index);
    }
    const insts = block.insts;
    for (let i = 0; i < insts.length; i++) {
      const inst = insts[i]!;
      index++;
      if (isVirtualCopy(fn, inst)) {
        add(inst.uses[0]!, UseKind.Copied, index, 4 * index - 1);
        define(inst.defs[0]!.vreg, index);
        add(inst.defs[0]!, UseKind.CopyDef, index, 4 * index);
        continue;
      }
      const uses = collectUses(inst, buffer);
      const ties = hasTies(inst);
      for (let k = 0; k < uses; k++) {
        const operand = buffer[k]!;
        if (operand.vreg < 0) continue;
        const kind = useKindOf(operand, ties ? tieOf(inst, operand, k) : null);
        const consumed = kind === UseKind.Tied || kind === UseKind.Fixed;
        add(operand, kind, index, consumed ? 4 * index - 1 : 4 * index);
      }
      const defs = inst.defs;
      for (let k = 0; k < defs.length; k++) {
        const def = defs[k]!;
        if (def.vreg < 0) continue;
        define(def.vreg, index);
        add(def, defKindOf(def), index, defPoint(def, index));
      }
    }
    for (let s = 0; s < block.succs.length; s++) {
      const params = block.succs[s]!.params;
      for (let p = 0; p < params.length; p++) {
        if (deadParam[params[p]!.vreg] !== 0) continue;
        const arg = block.succArgs[s]![p]!;
        if (arg.vreg >= 0) add(arg, UseKind.Arg, index, 4 * index + After);
      }
    }
  }
  return { useStart, usePoint, useIndex, useKind, useOperand, defIndex };
}

/** Predecessors of each block by layout position: [start[b], start[b + 1]) of `list`. */
function predecessorTable(fn: MFunction, position: Int32Array): { start: Int32Array; list: Int32Array } {
  const blocks = fn.blocks;
  const start = new Int32Array(blocks.length + 1);
  for (let b = 0; b < blocks.length; b++) start[b + 1] = start[b]! + blocks[b]!.preds.length;
  const list = new Int32Array(start[blocks.length]!);
  for (let b = 0; b < blocks.length; b++) {
    const preds: readonly MBlock[] = blocks[b]!.preds;
    for (let p = 0; p < preds.length; p++) list[start[b]! + p] = position[preds[p]!.id]!;
  }
  return { start, list };
}

function buildIntervals(
  fn: MFunction,
  numbering: Numbering,
  occurrences: Occurrences,
): Pick<Liveness, "rangeStart" | "rangeFrom" | "rangeTo"> {
  const { head, blockAt, position } = numbering;
  const { useStart, usePoint, useIndex, useKind, defIndex } = occurrences;
  const count = fn.vregs.length;
  const blockCount = fn.blocks.length;
  const liveIn = new Int32Array(blockCount).fill(-1);
  const liveOut = new Int32Array(blockCount).fill(-1);
  const { start: predStart, list: preds } = predecessorTable(fn, position);
  const rangeStart = new Int32Array(count + 1);
  let from = new Int32Array(count + 64);
  let to = new Int32Array(count + 64);
  let ranges = 0;
  // Blocks that the register is live into; the front doubles as the work list.
  let blocksIn = new Int32Array(16);
  for (let v = 0; v < count; v++) {
    rangeStart[v] = ranges;
    const lo = useStart[v]!;
    const hi = useStart[v + 1]!;
    if (lo === hi) continue;
    if (defIndex[v]! < 0) throw new Error(`virtual register ${v} is used but never defined`);
    const defBlock = blockAt[defIndex[v]!]!;
    let found = 0;
    for (let u = lo; u < hi; u++) {
      const block = blockAt[useIndex[u]!]!;
      if (block === defBlock || liveIn[block] === v) continue;
      liveIn[block] = v;
      if (found === blocksIn.length) blocksIn = grow(blocksIn);
      blocksIn[found++] = block;
    }
    for (let k = 0; k < found; k++) {
      const b = blocksIn[k]!;
      const end = predStart[b + 1]!;
      if (predStart[b] === end) throw new Error(`virtual register ${v} is live into the entry`);
      for (let p = predStart[b]!; p < end; p++) {
        const pred = preds[p]!;
        liveOut[pred] = v;
        if (pred === defBlock || liveIn[pred] === v) continue;
        liveIn[pred] = v;
        if (found === blocksIn.length) blocksIn = grow(blocksIn);
        blocksIn[found++] = pred;
      }
    }
    if (found > 1) sortPrefix(blocksIn, found);
    // Walk the blocks in layout order with a cursor over the uses; the definition's block fits in between.
    const first = ranges;
    let cursor = lo;
    let k = 0;
    let defDone = false;
    // Unread values of fixed definitions never leave their registers, and those of copies are never made.
    const idle = hi - lo === 1 && (useKind[lo] === UseKind.FixedDef || useKind[lo] === UseKind.CopyDef);
    while (!idle && (k < found || !defDone)) {
      const isDef: boolean = !defDone && (k === found || defBlock < blocksIn[k]!);
      const b = isDef ? defBlock : blocksIn[k++]!;
      if (isDef) defDone = true;
      const blockEnd = 4 * head[b + 1]!;
      let start = 4 * head[b]!;
      let end = 0;
      while (cursor < hi && usePoint[cursor]! < blockEnd) {
        const point = usePoint[cursor]!;
        if (isDefKind(useKind[cursor]!)) {
          start = point;
          // A dead definition occupies its place until the instruction is over.
          end = (point & ~3) + (useKind[cursor] === UseKind.FixedDef ? 4 : After);
        } else if (point >= end) end = point + 1;
        cursor++;
      }
      if (liveOut[b] === v) end = blockEnd;
      if (ranges > first && to[ranges - 1] === start) {
        to[ranges - 1] = end;
        continue;
      }
      if (ranges === from.length) {
        from = grow(from);
        to = grow(to);
      }
      from[ranges] = start;
      to[ranges] = end;
      ranges++;
    }
  }
  rangeStart[count] = ranges;
  return { rangeStart, rangeFrom: from.subarray(0, ranges), rangeTo: to.subarray(0, ranges) };
}

/** Sorts the first `count` numbers of `array`. */
function sortPrefix(array: Int32Array, count: number): void {
  if (count > 24) {
    array.subarray(0, count).sort();
    return;
  }
  for (let k = 1; k < count; k++) {
    const value = array[k]!;
    let at = k;
    for (; at > 0 && array[at - 1]! > value; at--) array[at] = array[at - 1]!;
    array[at] = value;
  }
}

function grow(array: Int32Array<ArrayBuffer>): Int32Array<ArrayBuffer> {
  const bigger = new Int32Array(array.length * 2);
  bigger.set(array);
  return bigger;
}

/**
 * Brings `liveness` up to date after the two uses of instruction `index` changed places: which of them is consumed
 * by a tied definition, and what may be in a slot. Neither is used by the instruction in another operand.
 * `livesOn` tells whether the value is needed after the instruction.
 */
export function refreshUse(
  liveness: Liveness,
  inst: MInst,
  position: number,
  index: number,
  livesOn: boolean,
): void {
  const operand = inst.uses[position]!;
  const v = operand.vreg;
  const { useStart, usePoint, useIndex, useKind } = liveness;
  let low = useStart[v]!;
  let high = useStart[v + 1]!;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (useIndex[middle]! < index) low = middle + 1;
    else high = middle;
  }
  const before = usePoint[low]!;
  const kind = useKindOf(operand, tieOf(inst, operand, position));
  const point = kind === UseKind.Tied || kind === UseKind.Fixed ? 4 * index - 1 : 4 * index;
  useKind[low] = kind;
  usePoint[low] = point;
  if (livesOn || point === before) return;
  const r = rangeAt(liveness, v, before);
  (liveness.rangeTo as Int32Array)[r] = point + 1;
}

/** Index of the interval of `vreg` that covers `point`; -1 if it does not live there. */
export function rangeAt(liveness: Liveness, vreg: number, point: number): number {
  const { rangeStart, rangeFrom, rangeTo } = liveness;
  let low = rangeStart[vreg]!;
  let high = rangeStart[vreg + 1]!;
  const stop = high;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (rangeTo[middle]! <= point) low = middle + 1;
    else high = middle;
  }
  return low < stop && rangeFrom[low]! <= point ? low : -1;
}

/**
 * By register: the register whose value it is a name of, through copies and through parameters of blocks with one
 * predecessor. In SSA form two registers with one name hold the same value wherever both are live.
 */
export function valueNames(fn: MFunction): Int32Array {
  const source = new Int32Array(fn.vregs.length).fill(-1);
  // A narrower name is moved by narrower moves: it does not keep all of the value.
  const link = (to: number, from: number): void => {
    if (fn.vregs[to]!.size === fn.vregs[from]!.size) source[to] = from;
  };
  for (const block of fn.blocks) {
    for (const inst of block.insts) if (isVirtualCopy(fn, inst)) link(inst.defs[0]!.vreg, inst.uses[0]!.vreg);
    for (let s = 0; s < block.succs.length; s++) {
      const successor = block.succs[s]!;
      if (successor.preds.length !== 1) continue;
      for (let p = 0; p < successor.params.length; p++) {
        const param = successor.params[p]!.vreg;
        const arg = block.succArgs[s]![p]!.vreg;
        if (arg >= 0) link(param, arg);
      }
    }
  }
  const name = new Int32Array(fn.vregs.length);
  for (let v = 0; v < name.length; v++) {
    let root = v;
    while (source[root]! >= 0) root = source[root]!;
    name[v] = root;
    // Halve chains so that long ones stay cheap.
    if (source[v]! >= 0) source[v] = root;
  }
  return name;
}
