/**
 * What a rule is asked about: an instruction, what the engine knows there, and the few before it that the rule may see;
 * and what the rule wants to have in their places. Recording that allocates nothing, and changes nothing yet.
 */
import { MInst } from "../../codegen/mir.js";
import { hasRegister, noRegisters, type RegisterSet } from "../../codegen/register-set.js";
import { usedRegisters, writtenRegisters } from "../isa/effects.js";
import { instructionLength } from "../isa/lengths.js";
import { readsFlags } from "../isa/op-info.js";
import { X } from "../isa/ops.js";
import type { Facts } from "./facts.js";
import { allConditions, type CcSet, type Renaming, readersAfter } from "./flags.js";

/** Stands where an instruction was dropped, until the block is rebuilt: what looks back or ahead sees through it. */
export const gone = new MInst(X.Nop, 1);

/** What a rule wants of the instruction that it was asked about. */
export const enum Edit {
  None,
  Drop,
  Replace,
  /** By two. */
  ReplaceByTwo,
  /** It and those after it, by a list. */
  ReplaceRun,
}

/** Bytes of a register's zeroing by xor, and by push and pop: both without prefix. */
const shortZero = 2;
const pushedZero = 3;

/** The instruction reads or writes the register. */
export const touches = (inst: MInst, register: number): boolean =>
  hasRegister(usedRegisters(inst), register) || hasRegister(writtenRegisters(inst), register);

export class Match {
  constructor(
    /** Of the forward walk: what is known before the instruction. */
    readonly facts: Facts,
  ) {}

  // Of the function.
  minsize = false;
  /** Something may be pushed and popped again. */
  pushes = false;
  /** Small constants become push and pop, which sign-extend: `constant-by-push`. */
  shortPushes = false;
  framePointer = false;

  // Of the block.
  insts: MInst[] = [];
  /** The flags are read in other blocks. */
  flagsOut = false;
  /** Of the forward walk: no run is looked for before this instruction. */
  nextRun = 0;
  /** Of the backward walk, by index: what will be put in before the instruction. */
  readonly before: (MInst[] | undefined)[] = [];

  // Of the instruction.
  inst: MInst = gone;
  index = 0;
  /** Of the backward walk: live after it, the flags included. */
  live: RegisterSet = noRegisters;
  /** Conditions read of the flags after the instruction; −1: not asked yet. */
  knownReaders = -1;

  /** Of the rule that is asked: how far back it sees. */
  window = 0;

  /** Conditions that are read of the flags as they are after the instruction; all, where they leave the block. */
  readers(): CcSet {
    if (this.knownReaders < 0) this.knownReaders = readersAfter(this.insts, this.index, this.flagsOut);
    return this.knownReaders;
  }
  /** What reads the flags may lie in other blocks. */
  flagsLeave(): boolean {
    return this.readers() === allConditions;
  }

  /** The first instruction in the rule's window. */
  first(): number {
    return Math.max(0, this.index - this.window);
  }
  /** The last before which others will be put in; if there is none, the first: earlier ones are no neighbours any more. */
  private firstVisible(): number {
    const first = this.first();
    for (let i = this.index; i > first; i--) if (this.before[i] !== undefined) return i;
    return first;
  }

  /** Index of the instruction before that wrote `register`, if nothing in between touches it; else −1. */
  writerOf(register: number): number {
    const { insts, index } = this;
    const first = this.first();
    for (let i = index - 1; i >= first; i--) {
      const inst = insts[i]!;
      if (hasRegister(writtenRegisters(inst), register)) return i;
      if (hasRegister(usedRegisters(inst), register)) return -1;
    }
    return -1;
  }
  /** The same, but for what is out of sight. */
  visibleWriterOf(register: number): number {
    const at = this.writerOf(register);
    return at < this.firstVisible() ? -1 : at;
  }

  /** Whether an instruction between that at `from` and this one writes the register. */
  isWrittenSince(from: number, register: number): boolean {
    for (let i = from + 1; i < this.index; i++)
      if (hasRegister(writtenRegisters(this.insts[i]!), register)) return true;
    return false;
  }
  /** Whether one reads or writes it. */
  isTouchedSince(from: number, register: number): boolean {
    for (let i = from + 1; i < this.index; i++) if (touches(this.insts[i]!, register)) return true;
    return false;
  }
  /** Whether one reads the flags. */
  areFlagsReadSince(from: number): boolean {
    for (let i = from + 1; i < this.index; i++) if (readsFlags(this.insts[i]!.op)) return true;
    return false;
  }

  // What the rule wants.

  edit: Edit = Edit.None;
  made: MInst = gone;
  second: MInst = gone;
  run: readonly MInst[] | null = null;
  runEnd = 0;
  /** Another instruction that goes, or (`partnerMade`) becomes another; −1: none. */
  partner = -1;
  partnerMade: MInst = gone;
  /** Before which instruction `inserted` comes; −1: nothing does. */
  insertAt = -1;
  inserted: MInst = gone;
  renaming: Renaming | null = null;
  /** Bytes that other rules cannot take away any more. */
  price = 0;
  /** Liveness goes on as if nothing had changed: what the result reads besides is garbage. */
  readsGarbage = false;

  /** Forgets what the last rule wanted. */
  clear(): void {
    this.edit = Edit.None;
    this.partner = -1;
    this.insertAt = -1;
    this.renaming = null;
    this.run = null;
    this.price = 0;
    this.readsGarbage = false;
  }

  drop(): void {
    this.edit = Edit.Drop;
  }
  replace(inst: MInst): void {
    this.edit = Edit.Replace;
    this.made = inst;
  }
  replaceByTwo(first: MInst, second: MInst): void {
    this.edit = Edit.ReplaceByTwo;
    this.made = first;
    this.second = second;
  }
  /** The instructions from this one to before `end` become these, fewer. */
  replaceRun(end: number, insts: readonly MInst[]): void {
    this.edit = Edit.ReplaceRun;
    this.runEnd = end;
    this.run = insts;
  }
  /** The result has registers as operands that nothing but it needs, whatever they hold. */
  replaceWithGarbage(inst: MInst): void {
    this.replace(inst);
    this.readsGarbage = true;
  }
  dropAt(index: number): void {
    this.partner = index;
    this.partnerMade = gone;
  }
  replaceAt(index: number, inst: MInst): void {
    this.partner = index;
    this.partnerMade = inst;
  }
  insertBefore(index: number, inst: MInst): void {
    this.insertAt = index;
    this.inserted = inst;
  }
  /** Flags that were made at `from` stay till here: what zeroes registers in between must not change them. */
  keepFlagsFrom(from: number): void {
    for (let i = from + 1; i < this.index; i++) {
      const inst = this.insts[i]!;
      if (inst.op !== X.Mov || inst.imm !== 0 || inst.symbol !== null) continue;
      const pushed = this.shortPushes ? pushedZero : instructionLength(inst);
      this.price += Math.min(pushed, instructionLength(inst)) - shortZero;
    }
  }
  /** Those that read the flags after the instruction read other conditions instead. */
  rename(renaming: Renaming): void {
    this.renaming = renaming;
  }
}

/** The instruction as another operation or size, of the same operands: these are not copied. */
export function like(inst: MInst, op: X, size = inst.size): MInst {
  const other = new MInst(op, size, inst.defs, inst.uses);
  other.mem = inst.mem;
  other.imm = inst.imm;
  other.symbol = inst.symbol;
  other.condition = inst.condition;
  other.marks = inst.marks;
  return other;
}
