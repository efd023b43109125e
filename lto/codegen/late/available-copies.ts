/**
 * Parameters that allocation copied into callee-saved registers or spilled, seen from the paths that need neither.
 *
 *     mov %rdi, %rbx               test %rdi, %rdi
 *     mov %rsi, 8(%rsp)     →      je out
 *     test %rbx, %rbx              (frame) mov %rdi, %rbx
 *     je out                               mov %rsi, 8(%rsp)
 *
 * Available copies: at a point, place P — a register that the frame saves, or a spill slot — is known to hold the
 * same value as register S, because every path here has executed `mov S, P` and changed neither since (forward
 * data flow, meet = equal or none). Where that holds P need not be set up: reads of P can read S, and the copy
 * itself can wait until control enters the region that has a frame. A saved register that the function has not
 * changed yet is its own source: it holds what the caller left in it, which may be an argument.
 * A block that can do with sources alone is no reason for a frame.
 * Linear in the instructions for each round of the data flow; rounds are loop depth and two.
 *
 * Proof obligations: any definition or clobber of P or S ends the fact; a copy of 4 bytes stands for its low half
 * only; only operands that can be any register are renamed, and none that is tied to a definition.
 * Breaks if: a spill slot is accessed other than by operands that name it.
 */

import type { RegisterLiveness } from "../ipra/collect.js";
import { CopyOp, type MBlock, type MemOperand, type MFunction, type MInst, RegOperand } from "../mir.js";
import {
  hasRegister,
  noRegisters,
  overlaps,
  type RegisterSet,
  single,
  withRegister,
} from "../register-set.js";
import { OpFact, type Target } from "../target.js";

/** For each place: 0 if nothing is known, else source + 1, plus `half` if only the low 4 bytes are equal. */
export type Facts = Uint8Array;
const half = 64;
/** Places beyond the general registers are spill slots. */
const slotLimit = 16;

const sourceOf = (fact: number): number => (fact & (half - 1)) - 1;
const isHalf = (fact: number): boolean => (fact & half) !== 0;

/** The operand is a whole slot. */
const isWholeSlot = (mem: MemOperand): boolean =>
  mem.slot >= 0 && mem.disp === 0 && mem.index === null && mem.base === null && mem.symbol === null;

function sameFacts(a: Facts, b: Facts): boolean {
  for (let p = 0; p < a.length; p++) if (a[p] !== b[p]) return false;
  return true;
}

export class AvailableCopies {
  /** Facts at the start and end of each block, by position. */
  private readonly atStart: (Facts | null)[];
  private readonly atEnd: (Facts | null)[];
  /** 1: by its instructions the block can do without the frame. */
  private readonly able: Uint8Array;
  /** Registers that facts may rest on: saved ones and sources. */
  private watched: RegisterSet;
  /** Slots that are places, and the place of each slot or -1. */
  private readonly slots: number[] = [];
  private readonly placeOfSlot: Int8Array;
  /** Bit p − 16: the slot of place p may be read later; at the start and end of each block. */
  private readonly slotsIn: Int32Array;
  private readonly slotsOut: Int32Array;
  private readonly target: Target;
  /** Number of general registers: the first places. */
  private readonly registers: number;
  private readonly places: number;

  /**
   * @param saved registers that the frame saves
   * @param positions of the blocks by id
   * @param needsFrame what an instruction does that its registers and slots do not show
   */
  constructor(
    private readonly mf: MFunction,
    private readonly saved: RegisterSet,
    private readonly positions: Int32Array,
    private readonly needsFrame: (inst: MInst) => boolean,
  ) {
    const { blocks } = mf;
    this.target = mf.target;
    this.registers = mf.target.registers.generalCount;
    this.places = this.registers + slotLimit;
    this.atStart = blocks.map(() => null);
    this.atEnd = blocks.map(() => null);
    this.able = new Uint8Array(blocks.length);
    this.watched = saved;
    this.slotsIn = new Int32Array(blocks.length);
    this.slotsOut = new Int32Array(blocks.length);
    this.placeOfSlot = new Int8Array(mf.slots.length).fill(-1);
    for (const inst of blocks[0]!.insts)
      if (this.isPlainAccess(inst, OpFact.Store) && inst.uses.length === 1) this.addSlot(inst.mem!.slot);
  }

  /** A store of a general register, or a load into one, of 4 or 8 bytes at the start of a slot. */
  private isPlainAccess(inst: MInst, fact: OpFact): boolean {
    const { mem } = inst;
    if ((this.target.instructions.facts[inst.op]! & fact) === 0 || mem === null) return false;
    return (inst.size === 4 || inst.size === 8) && isWholeSlot(mem);
  }

  private isGeneral(register: number): boolean {
    return register >= 0 && register < this.registers;
  }

  /** Whether the use at `index` can name the source of the fact instead. */
  private mayRename(inst: MInst, index: number, fact: number): boolean {
    return fact !== 0 && this.target.instructions.canRename(inst, index, isHalf(fact));
  }

  private addSlot(slot: number): void {
    if (this.mf.slots[slot]!.kind !== "spill" || this.placeOfSlot[slot]! >= 0) return;
    if (this.slots.length === slotLimit) return;
    this.placeOfSlot[slot] = this.registers + this.slots.length;
    this.slots.push(slot);
  }

  /** Inline assembly names its slots in a way of its own. */
  private forgetAssemblySlots(): void {
    if (this.slots.length === 0) return;
    for (const block of this.mf.blocks)
      for (const { extra } of block.insts) {
        if (extra === null || extra.kind !== "asm") continue;
        for (const operand of extra.operands)
          if (operand.kind === "mem" && operand.mem.slot >= 0) this.placeOfSlot[operand.mem.slot] = -1;
      }
  }

  /** The slot's value is followed: it is no object that must stay where it is. */
  follows(slot: number): boolean {
    return this.placeOfSlot[slot]! >= 0;
  }

  /** The first block alone: whether it can do without the frame. */
  entryIsFree(): boolean {
    return this.walk(this.mf.blocks[0]!, this.atEntry(), false);
  }

  private atEntry(): Facts {
    const facts = new Uint8Array(this.places);
    for (let r = 0; r < this.registers; r++) if (this.isSaved(r)) facts[r] = r + 1;
    return facts;
  }

  /**
   * Solves the data flow.
   * @param order positions of all reachable blocks in reverse postorder
   */
  solve(order: readonly number[]): void {
    const { blocks } = this.mf;
    this.forgetAssemblySlots();
    for (let changed = true; changed; ) {
      changed = false;
      for (const b of order) {
        const block = blocks[b]!;
        const start = this.meet(block, b);
        const before = this.atStart[b]!;
        if (before !== null && sameFacts(before, start)) continue;
        this.atStart[b] = start;
        const end = start.slice();
        this.able[b] = this.walk(block, end, false) ? 1 : 0;
        this.atEnd[b] = end;
        changed = true;
      }
    }
    if (this.slots.length > 0) this.solveSlots(order);
  }

  /** What all predecessors agree on; those not reached yet agree with everything. */
  private meet(block: MBlock, b: number): Facts {
    let facts = b === 0 ? this.atEntry() : null;
    for (const pred of block.preds) {
      const end = this.atEnd[this.positions[pred.id]!]!;
      if (end === null) continue;
      if (facts === null) facts = end.slice();
      else for (let p = 0; p < this.places; p++) if (facts[p] !== end[p]) facts[p] = 0;
    }
    return facts ?? new Uint8Array(this.places);
  }

  /** Liveness of the slots. */
  private solveSlots(order: readonly number[]): void {
    const { blocks } = this.mf;
    const read = new Int32Array(blocks.length);
    const written = new Int32Array(blocks.length);
    for (const b of order)
      for (const inst of blocks[b]!.insts) {
        const { mem } = inst;
        if (mem === null || mem.slot < 0 || this.placeOfSlot[mem.slot]! < 0) continue;
        const bit = 1 << (this.placeOfSlot[mem.slot]! - this.registers);
        // A store of all its bytes reads nothing of it.
        const whole = this.isPlainAccess(inst, OpFact.Store) && inst.size === this.mf.slots[mem.slot]!.size;
        if (whole) written[b]! |= bit;
        else if ((written[b]! & bit) === 0) read[b]! |= bit;
      }
    for (let changed = true; changed; ) {
      changed = false;
      for (let i = order.length - 1; i >= 0; i--) {
        const b = order[i]!;
        let out = 0;
        for (const succ of blocks[b]!.succs) out |= this.slotsIn[this.positions[succ.id]!]!;
        const into = read[b]! | (out & ~written[b]!);
        if (out === this.slotsOut[b] && into === this.slotsIn[b]) continue;
        this.slotsOut[b] = out;
        this.slotsIn[b] = into;
        changed = true;
      }
    }
  }

  /** Whether the block can run without the frame; after `solve`. */
  isFree(b: number, liveness: RegisterLiveness): boolean {
    const start = this.atStart[b]!;
    const end = this.atEnd[b]!;
    if (start === null || end === null) return false;
    return (
      this.able[b] === 1 &&
      this.covers(start, liveness.liveIn[b]!, this.slotsIn[b]!) &&
      this.covers(end, liveness.liveOut[b]!, this.slotsOut[b]!)
    );
  }

  /** Whether the place holds a value of the function, by what is live. */
  private isLive(place: number, live: RegisterSet, slots: number): boolean {
    if (place >= this.registers) return ((slots >>> (place - this.registers)) & 1) === 1;
    return this.isSaved(place) && hasRegister(live, place);
  }

  /** Every place that is live has a source. */
  private covers(facts: Facts, live: RegisterSet, slots: number): boolean {
    for (let p = 0; p < this.places; p++) if (facts[p] === 0 && this.isLive(p, live, slots)) return false;
    return true;
  }

  /** Renames the registers of a block without frame, and drops the copies it need not make. */
  rename(b: number): void {
    this.walk(this.mf.blocks[b]!, this.atStart[b]!.slice(), true);
  }

  /** Facts at the start or end of a block. */
  startOf(b: number): Facts {
    return this.atStart[b] ?? new Uint8Array(this.places);
  }
  endOf(b: number): Facts {
    return this.atEnd[b] ?? new Uint8Array(this.places);
  }

  /**
   * The copies that make the places what block `b`, which has a frame, expects at its start; null if facts are
   * missing. They name slots.
   */
  copiesInto(b: number, facts: Facts, live: RegisterSet): MInst[] | null {
    if (!this.covers(facts, live, this.slotsIn[b]!)) return null;
    const { move, store } = this.target.registers;
    const out: MInst[] = [];
    for (let p = 0; p < this.places; p++) {
      const fact = facts[p]!;
      if (!this.isLive(p, live, this.slotsIn[b]!) || sourceOf(fact) === p) continue;
      const size = isHalf(fact) ? 4 : 8;
      if (p < this.registers) {
        out.push(move(0, size, p, sourceOf(fact)));
        continue;
      }
      out.push(store(0, size, this.slots[p - this.registers]!, sourceOf(fact)));
    }
    return out;
  }

  /** Registers that facts read. */
  sources(facts: Facts): RegisterSet {
    let set = noRegisters;
    for (let p = 0; p < this.places; p++) if (facts[p] !== 0) set = withRegister(set, sourceOf(facts[p]!));
    return set;
  }

  /**
   * Carries `facts` through the block.
   * @param apply renames registers and drops copies; the block must be free
   * @returns whether no instruction needs the frame
   */
  private walk(block: MBlock, facts: Facts, apply: boolean): boolean {
    let free = true;
    const kept: MInst[] = [];
    const { insts } = block;
    for (let i = 0; i < insts.length; i++) {
      const inst = insts[i]!;
      if (free && this.needsFrame(inst)) free = false;
      const place = this.copiedTo(inst, facts);
      if (place >= 0) {
        const from = inst.uses[0]!.loc;
        const fact = this.isSaved(from) ? facts[from]! : from + 1;
        this.watched = withRegister(this.watched, sourceOf(fact));
        this.forget(facts, place < this.registers ? single(place) : noRegisters);
        facts[place] = inst.size === 8 ? fact : fact | half;
        continue;
      }
      if (!this.rewrite(inst, facts, apply)) free = false;
      if (inst.op === CopyOp && this.isSelfCopy(inst, facts, apply)) continue;
      let written = inst.clobbers;
      const { defs } = inst;
      for (let d = 0; d < defs.length; d++)
        if (defs[d]!.loc >= 0) written = withRegister(written, defs[d]!.loc);
      if (overlaps(written, this.saved)) free = false;
      if (overlaps(written, this.watched)) this.forget(facts, written);
      if (apply) kept.push(inst);
    }
    if (apply) block.insts = kept;
    return free;
  }

  private isSaved(register: number): boolean {
    return hasRegister(this.saved, register);
  }

  /** The place that the instruction makes a copy of a register in, if that register has a source; else -1. */
  private copiedTo(inst: MInst, facts: Facts): number {
    if (inst.op !== CopyOp && (this.target.instructions.facts[inst.op]! & OpFact.Store) === 0) return -1;
    const from = inst.uses.length === 1 ? inst.uses[0]!.loc : -1;
    if (!this.isGeneral(from) || from === this.target.registers.stackPointer) return -1;
    if (this.isSaved(from) && facts[from] === 0) return -1;
    if (inst.op === CopyOp) {
      if (inst.mem !== null || inst.size < 4) return -1;
      const to = inst.defs[0]!.loc;
      if (!this.isGeneral(to) || !this.isSaved(to) || from === to) return -1;
      return sourceOf(facts[from]!) === to ? -1 : to;
    }
    // The upper half of a register with half a source is zero; a slot would have to be told.
    if (
      !this.isPlainAccess(inst, OpFact.Store) ||
      (inst.size === 8 && this.isSaved(from) && isHalf(facts[from]!))
    )
      return -1;
    return this.placeOfSlot[inst.mem!.slot]!;
  }

  /** A copy of all of P into the S that P is equal to does nothing. `renamed`: it reads S by now. */
  private isSelfCopy(inst: MInst, facts: Facts, renamed: boolean): boolean {
    if (inst.size !== 8 || inst.mem !== null || inst.uses.length !== 1) return false;
    const from = inst.uses[0]!.loc;
    const to = inst.defs[0]!.loc;
    return this.isGeneral(from) && (renamed ? from === to : this.isSaved(from) && facts[from] === to + 1);
  }

  /** Renames what the instruction reads, if `apply`. @returns whether that is possible */
  private rewrite(inst: MInst, facts: Facts, apply: boolean): boolean {
    const { uses, mem } = inst;
    for (let i = 0; i < uses.length; i++) {
      const register = uses[i]!.loc;
      if (!this.isGeneral(register) || !this.isSaved(register)) continue;
      if (!this.mayRename(inst, i, facts[register]!)) return false;
      if (apply) uses[i]!.loc = sourceOf(facts[register]!);
    }
    if (inst.extra !== null && inst.extra.kind === "asm") return inst.extra.operands.length === 0;
    if (mem === null) return true;
    if (mem.slot >= 0 && this.placeOfSlot[mem.slot]! >= 0) return this.rewriteLoad(inst, facts, apply);
    return this.rewriteAddress(mem.base, facts, apply) && this.rewriteAddress(mem.index, facts, apply);
  }

  private rewriteAddress(part: RegOperand | null, facts: Facts, apply: boolean): boolean {
    if (part === null || !this.isGeneral(part.loc) || !this.isSaved(part.loc)) return true;
    const fact = facts[part.loc]!;
    if (fact === 0 || isHalf(fact)) return false;
    if (apply) part.loc = sourceOf(fact);
    return true;
  }

  /** An access of a followed slot: a load becomes a copy of the source; anything else may write the slot. */
  private rewriteLoad(inst: MInst, facts: Facts, apply: boolean): boolean {
    const place = this.placeOfSlot[inst.mem!.slot]!;
    const fact = facts[place]!;
    if (!this.isPlainAccess(inst, OpFact.Load)) {
      facts[place] = 0;
      return false;
    }
    if (fact === 0 || (isHalf(fact) && inst.size > 4)) return false;
    if (!apply) return true;
    inst.op = CopyOp;
    inst.mem = null;
    inst.uses = [RegOperand.physical(sourceOf(fact))];
    return true;
  }

  /** Ends the facts that rest on registers that are written. */
  private forget(facts: Facts, written: RegisterSet): void {
    for (let p = 0; p < this.places; p++) {
      const fact = facts[p]!;
      if (fact === 0) continue;
      if (hasRegister(written, sourceOf(fact))) facts[p] = 0;
      else if (p < this.registers && hasRegister(written, p)) facts[p] = 0;
    }
  }
}
