/**
 * Parameters that allocation copied into callee-saved registers, seen from the paths that do not need the copy.
 *
 *     mov %rdi, %rbx               test %rdi, %rdi
 *     test %rbx, %rbx       →      je out
 *     je out                       (frame) mov %rdi, %rbx
 *
 * Available copies: at a point, callee-saved register R is known to hold the same value as register S, which is
 * not saved, because every path here has executed `mov S, R` and changed neither since (forward data flow, meet =
 * equal or none). Where that holds R need not be set up: reads of R can read S, and the copy itself can wait
 * until control enters the region that has a frame. A block that can do with S instead of all registers that the
 * frame saves is no reason for a frame.
 * Linear in the instructions for each round of the data flow; rounds are loop depth and two.
 *
 * Proof obligations: any definition or clobber of R or S ends the fact; a copy of 4 bytes stands for its low half
 * only; only operands of formats without fixed registers are renamed, and none that is tied to a definition.
 * Breaks if: a pass between allocation and this one keeps a value in S across blocks without an instruction.
 */
import type { RegisterLiveness } from "../codegen/ipra/collect.js";
import type { MBlock, MFunction, MInst, RegMask, RegOperand } from "../codegen/mir.js";
import { copy } from "./build.js";
import { opFormat } from "./op-info.js";
import { Format, X } from "./ops.js";
import { RSP } from "./registers.js";

/** For each register: 0 if nothing is known, else source + 1, plus `half` if only the low 4 bytes are equal. */
type Facts = Uint8Array;
const half = 32;
const registers = 16;

export const sourceOf = (fact: number): number => (fact & (half - 1)) - 1;

/** What the instruction does that registers do not show: it can run only where the frame is. */
export type NeedsFrame = (inst: MInst) => boolean;

const renamable = new Set<Format>([
  Format.Mov,
  Format.MovM,
  Format.Alu,
  Format.AluM,
  Format.AluImm,
  Format.Compare,
  Format.CompareM,
  Format.Extend,
  Format.Lea,
  Format.Mem,
  Format.MovImm,
  Format.MulImm,
  Format.UnaryM,
]);

const isGeneral = (operand: RegOperand): boolean => operand.loc >= 0 && operand.loc < registers;

/** A register use of the instruction that is renamed for the fact; false if it cannot be. */
function mayRename(inst: MInst, index: number, fact: number): boolean {
  if (fact === 0) return false;
  if (inst.op === X.Keep) return true;
  if (inst.op === X.JmpIndirect) return (fact & half) === 0;
  const format = opFormat[inst.op] as Format;
  if (!renamable.has(format)) return false;
  for (const def of inst.defs) if (def.tiedTo === index) return false;
  // An extension reads 4 bytes at most, whatever it writes.
  return (fact & half) === 0 || inst.size <= 4 || format === Format.Extend;
}

export class AvailableCopies {
  /** Facts at the start and end of each block, by position. */
  private readonly atStart: (Facts | null)[];
  private readonly atEnd: (Facts | null)[];

  /**
   * @param saved registers that the frame saves
   * @param positions of the blocks by id
   */
  constructor(
    private readonly mf: MFunction,
    private readonly saved: RegMask,
    private readonly positions: Int32Array,
    private readonly needsFrame: NeedsFrame,
  ) {
    this.atStart = mf.blocks.map(() => null);
    this.atEnd = mf.blocks.map(() => null);
  }

  /** The first block alone: whether it can do without the frame. */
  entryIsFree(): boolean {
    return this.walk(this.mf.blocks[0]!, new Uint8Array(registers), false);
  }

  /**
   * Solves the data flow.
   * @param order positions of all reachable blocks in reverse postorder
   */
  solve(order: readonly number[]): void {
    const { blocks } = this.mf;
    for (let changed = true; changed; ) {
      changed = false;
      for (const b of order) {
        const block = blocks[b]!;
        const start = this.meet(block, b);
        const before = this.atStart[b]!;
        if (before !== null && start.every((fact, r) => fact === before[r])) continue;
        this.atStart[b] = start;
        const end = start.slice();
        this.walk(block, end, false);
        this.atEnd[b] = end;
        changed = true;
      }
    }
  }

  /** What all predecessors agree on; those not reached yet agree with everything. */
  private meet(block: MBlock, b: number): Facts {
    let facts: Facts | null = b === 0 ? new Uint8Array(registers) : null;
    for (const pred of block.preds) {
      const end = this.atEnd[this.positions[pred.id]!]!;
      if (end === null) continue;
      if (facts === null) facts = end.slice();
      else for (let r = 0; r < registers; r++) if (facts[r] !== end[r]) facts[r] = 0;
    }
    return facts ?? new Uint8Array(registers);
  }

  /** Whether the block can run without the frame; after `solve`. */
  isFree(b: number, liveness: RegisterLiveness): boolean {
    const start = this.atStart[b]!;
    const end = this.atEnd[b]!;
    if (start === null || end === null) return false;
    return (
      this.covers(start, liveness.liveIn[b]!) &&
      this.covers(end, liveness.liveOut[b]!) &&
      this.walk(this.mf.blocks[b]!, start.slice(), false)
    );
  }

  /** Every saved register of `live` has a source. */
  private covers(facts: Facts, live: RegMask): boolean {
    for (let r = 0; r < registers; r++)
      if (((this.saved & live) >>> r) & 1 && facts[r] === 0) return false;
    return true;
  }

  /** Renames the registers of a block without frame, and drops the copies it need not make. */
  rename(b: number): void {
    this.walk(this.mf.blocks[b]!, this.atStart[b]!.slice(), true);
  }

  /** Facts at the end of block `from`. */
  endOf(from: number): Facts {
    return this.atEnd[from] ?? new Uint8Array(registers);
  }
  startOf(to: number): Facts {
    return this.atStart[to] ?? new Uint8Array(registers);
  }

  /** The copies that make the registers of `live` what a block with a frame expects; null if facts are missing. */
  copies(facts: Facts, live: RegMask): MInst[] | null {
    if (!this.covers(facts, live)) return null;
    const out: MInst[] = [];
    for (let r = 0; r < registers; r++)
      if (((this.saved & live) >>> r) & 1)
        out.push(copy((facts[r]! & half) !== 0 ? 4 : 8, r, sourceOf(facts[r]!)));
    return out;
  }

  /** Registers that the facts about `live` read. */
  sources(facts: Facts, live: RegMask): RegMask {
    let mask = 0;
    for (let r = 0; r < registers; r++)
      if (((this.saved & live) >>> r) & 1 && facts[r] !== 0) mask |= 1 << sourceOf(facts[r]!);
    return mask;
  }

  /**
   * Carries `facts` through the block.
   * @param apply renames registers and drops copies; the block must be free
   * @returns whether no instruction needs the frame
   */
  private walk(block: MBlock, facts: Facts, apply: boolean): boolean {
    let free = true;
    const kept: MInst[] = [];
    for (const inst of block.insts) {
      if (this.needsFrame(inst)) free = false;
      if (this.isCopyIn(inst, facts)) {
        const from = inst.uses[0]!.loc;
        const fact = this.isSaved(from) ? facts[from]! : from + 1;
        const to = inst.defs[0]!.loc;
        this.forget(facts, 1 << to);
        facts[to] = inst.size === 8 ? fact : fact | half;
        continue;
      }
      if (!this.rewrite(inst, facts, apply)) free = false;
      if (this.isSelfCopy(inst, facts, apply)) continue;
      let written = inst.clobbers;
      for (const def of inst.defs) if (def.loc >= 0) written |= 1 << def.loc;
      if ((written & this.saved) !== 0) free = false;
      if ((written & 0xffff) !== 0) this.forget(facts, written);
      if (apply) kept.push(inst);
    }
    if (apply) block.insts = kept;
    return free;
  }

  private isSaved(register: number): boolean {
    return ((this.saved >>> register) & 1) === 1;
  }

  /** A copy into a saved register from one that keeps its value without a frame. */
  private isCopyIn(inst: MInst, facts: Facts): boolean {
    if (inst.op !== X.Copy || inst.mem !== null || inst.size < 4) return false;
    const [to] = inst.defs;
    const [from] = inst.uses;
    if (to === undefined || from === undefined || !isGeneral(to) || !isGeneral(from)) return false;
    if (!this.isSaved(to.loc) || from.loc === RSP || from.loc === to.loc) return false;
    return !this.isSaved(from.loc) || (facts[from.loc] !== 0 && sourceOf(facts[from.loc]!) !== to.loc);
  }

  /** A copy of all of R into the S that R is equal to does nothing. `renamed`: it reads S by now. */
  private isSelfCopy(inst: MInst, facts: Facts, renamed: boolean): boolean {
    if (inst.op !== X.Copy || inst.size !== 8 || inst.mem !== null || !isGeneral(inst.uses[0]!)) return false;
    const from = inst.uses[0]!.loc;
    const to = inst.defs[0]!.loc;
    return renamed ? from === to : this.isSaved(from) && facts[from] === to + 1;
  }

  /** Renames what the instruction reads, if `apply`. @returns whether that is possible */
  private rewrite(inst: MInst, facts: Facts, apply: boolean): boolean {
    const { uses, mem } = inst;
    for (let i = 0; i < uses.length; i++) {
      const register = uses[i]!.loc;
      if (register < 0 || register >= registers || !this.isSaved(register)) continue;
      if (!mayRename(inst, i, facts[register]!)) return false;
      if (apply) uses[i]!.loc = sourceOf(facts[register]!);
    }
    if (inst.extra !== null && inst.extra.kind === "asm") return inst.extra.operands.length === 0;
    if (mem === null) return true;
    for (const part of [mem.base, mem.index]) {
      if (part === null || !this.isSaved(part.loc)) continue;
      const fact = facts[part.loc]!;
      if (fact === 0 || (fact & half) !== 0) return false;
      if (apply) part.loc = sourceOf(fact);
    }
    return true;
  }

  /** Ends the facts about registers that are written. */
  private forget(facts: Facts, written: RegMask): void {
    for (let r = 0; r < registers; r++) {
      const fact = facts[r]!;
      if (fact !== 0 && ((((written >>> r) & 1) === 1) || ((written >>> sourceOf(fact)) & 1) === 1)) facts[r] = 0;
    }
  }
}
