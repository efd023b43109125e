/**
 * Shorter instructions for the same effect, one at a time.
 *
 * Each rewriting states what it needs besides the instruction: flags that nobody reads, conditions that its
 * readers do not use, a free stack below rsp. The driver walks backwards, so it knows what is live after the
 * instruction. Source of lengths: Intel SDM, volume 2, chapter 2.
 * Constant time per instruction, except where readers of the flags are looked up.
 * Proof obligations: the same registers (all 64 bits of each definition that may be used), the same memory,
 * and the same value of every condition that is read.
 */

import type { MBlock, MemOperand, MInst } from "../../codegen/mir.js";
import { aluImm, aluReg, byteImm, copy, physical, pop, pushImm } from "../isa/build.js";
import { signedImmediate } from "../isa/lengths.js";
import { hasSegment, isRipRelative, scaleOf, setScale } from "../isa/memory-operand.js";
import { opPure } from "../isa/op-info.js";
import { AccessMark, Cc, X } from "../isa/ops.js";
import { RAX, RBP, RSP } from "../isa/registers.js";
import { Pure } from "../isa/row.js";
import { UpperBits, upperBits } from "../isa/upper-bits.js";
import { flagsConstantForm } from "./constant-forms.js";
import { type CcSet, carryConditions, renameConditions, zeroConditions } from "./flags.js";

/** What the driver knows at an instruction. */
export interface Situation {
  readonly block: MBlock;
  readonly minsize: boolean;
  /** Something may be pushed and popped again: the bytes below rsp are free, and unwind tables do not grow by it. */
  readonly pushes: boolean;
  /** Index of the instruction in the block. */
  index: number;
  /** Nothing reads the flags as they are after the instruction. */
  flagsDead: boolean;
  /** Conditions that are read of the flags as they are after it. */
  readers: CcSet;
}

/** Several instructions take the place of one, in order. */
export type Replacement = MInst | readonly MInst[];

const isImm8 = (value: number): boolean => value >= -128 && value <= 127;
const plainImmediate = (inst: MInst): boolean => inst.imm !== null && inst.symbol === null;

function shrinkConstant(inst: MInst, s: Situation): Replacement {
  if (!plainImmediate(inst) || inst.mem !== null) return inst;
  const to = inst.defs[0]!.loc;
  const { size } = inst;
  if (s.flagsDead && (inst.imm === 0 || inst.imm === 0n)) return aluReg(X.Xor, 4, to, to);
  if (!s.minsize || size < 4) return inst;
  // A 64-bit constant of 32 significant bits is moved as such, zero-extended: push would extend its sign.
  const value = size === 8 ? Number(inst.imm) : signedImmediate(inst.imm!, 4);
  if (s.pushes) {
    // pop writes 64 bits, and push has extended the sign.
    const fits = isImm8(value) && (size === 8 || value >= 0 || upperBits(inst, true) === UpperBits.Undefined);
    return fits ? [pushImm(value), pop(to)] : inst;
  }
  if (!s.flagsDead) return inst;
  switch (flagsConstantForm(value, to)) {
    case "ones":
      return aluImm(X.Or, size, to, -1);
    case "increment":
      return [aluReg(X.Xor, 4, to, to), unary(X.Inc, to)];
    case "byte":
      return [aluReg(X.Xor, 4, to, to), byteImm(to, value)];
    case null:
      return inst;
  }
}

/** op register, of 32 bits: one-operand arithmetic. */
function unary(op: X, register: number): MInst {
  const inst = aluImm(op, 4, register, 0);
  inst.imm = null;
  return inst;
}

/** add, sub by 1 or 128. */
function shrinkAddition(inst: MInst, s: Situation, memory: boolean): Replacement {
  if (!plainImmediate(inst) || (!memory && inst.mem !== null)) return inst;
  if ((s.readers & carryConditions) !== 0) return inst;
  const isAdd = inst.op === X.Add || inst.op === X.AddM;
  const value = signedImmediate(inst.imm!, inst.size);
  if (value === 1 || value === -1) {
    // The frame's own adjustments are read by the unwinder pass as add and sub.
    if (!memory && inst.defs[0]!.loc === RSP) return inst;
    const up = (value === 1) === isAdd;
    inst.op = memory ? (up ? X.IncM : X.DecM) : up ? X.Inc : X.Dec;
    inst.imm = null;
  } else if (value === 128 && inst.size > 1) {
    inst.op = memory ? (isAdd ? X.SubM : X.AddM) : isAdd ? X.Sub : X.Add;
    inst.imm = -128;
  }
  return inst;
}

/** cmp r, 0 → test r, r; a bound that does not fit 8 bits becomes its neighbour that does. */
function shrinkCompare(inst: MInst, s: Situation): Replacement {
  if (!plainImmediate(inst)) return inst;
  const value = signedImmediate(inst.imm!, inst.size);
  if (value === 0 && inst.op === X.Cmp && inst.mem === null) {
    inst.op = X.Test;
    inst.imm = null;
    inst.uses.push(physical(inst.uses[0]!.loc));
    return inst;
  }
  if (inst.size === 1) return inst;
  if (value === 128) moveBound(inst, s, 127, below128);
  else if (value === -129) moveBound(inst, s, -128, above129);
  return inst;
}

/** x < 128 is x ≤ 127. */
const below128: ReadonlyMap<Cc, Cc> = new Map([
  [Cc.L, Cc.LE],
  [Cc.GE, Cc.G],
  [Cc.B, Cc.BE],
  [Cc.AE, Cc.A],
]);
/** x > −129 is x ≥ −128. */
const above129: ReadonlyMap<Cc, Cc> = new Map([
  [Cc.G, Cc.GE],
  [Cc.LE, Cc.L],
  [Cc.A, Cc.AE],
  [Cc.BE, Cc.B],
]);

function moveBound(inst: MInst, s: Situation, bound: number, renaming: ReadonlyMap<Cc, Cc>): void {
  for (let cc = 0; cc < 16; cc++) if ((s.readers & (1 << cc)) !== 0 && !renaming.has(cc)) return;
  // All readers must be in the block; adc and sbb have no condition to rename.
  const { insts } = s.block;
  for (let i = s.index + 1; i < insts.length; i++) {
    const { op } = insts[i]!;
    if (op === X.Adc || op === X.Sbb || op === X.AdcM || op === X.SbbM) return;
  }
  renameConditions(insts, s.index, renaming);
  inst.imm = bound;
}

/** A test of low bits is a test of the low byte. */
function shrinkTest(inst: MInst, s: Situation): Replacement {
  if (!plainImmediate(inst) || inst.mem !== null || inst.size === 1) return inst;
  const value = inst.size === 8 ? Number(inst.imm) : signedImmediate(inst.imm!, inst.size);
  if (value >= 0 && (value <= 127 || (value <= 255 && (s.readers & ~zeroConditions) === 0))) inst.size = 1;
  else if (value >= 0 && inst.size === 8) inst.size = 4;
  return inst;
}

/** and with a mask of one or two bytes is a zero extension; a 64-bit mask without sign is a 32-bit one. */
function shrinkMask(inst: MInst, s: Situation): Replacement {
  if (!plainImmediate(inst) || inst.mem !== null) return inst;
  const value = inst.size === 8 ? Number(inst.imm) : signedImmediate(inst.imm!, inst.size);
  if (inst.size >= 4 && s.flagsDead && (value === 0xff || value === 0xffff)) {
    inst.op = value === 0xff ? X.Movzx8 : X.Movzx16;
    inst.size = 4;
    inst.imm = null;
    inst.defs[0]!.tiedTo = -1;
    return inst;
  }
  if (inst.size === 8 && value >= 0 && value <= 0x7fffffff) inst.size = 4;
  return inst;
}

/** Address arithmetic that an addition or copy does. Flags must be dead for all but the copy. */
function shrinkLea(inst: MInst, s: Situation): Replacement {
  const mem = inst.mem!;
  const to = inst.defs[0]!.loc;
  if (mem.symbol !== null || hasSegment(mem) || mem.slot >= 0 || mem.base === null) return inst;
  const base = mem.base.loc;
  const size = inst.size === 2 ? 4 : inst.size;
  // rbp = rsp is left to the frame.
  if (base === RSP) {
    const plain = mem.index === null && mem.disp === 0 && size === 8 && to !== RSP && to !== RBP;
    return plain ? copy(8, to, RSP) : inst;
  }
  if (to === RSP) return inst;
  if (mem.index === null) {
    if (mem.disp === 0) return base === to && size === 8 ? [] : copy(size, to, base);
    if (base !== to || !s.flagsDead) return inst;
    const add = aluReg(X.Add, size, to, to);
    add.uses.pop();
    add.imm = mem.disp;
    return shrinkAddition(add, { ...s, readers: 0 }, false);
  }
  const index = mem.index.loc;
  if (!s.flagsDead || mem.disp !== 0 || scaleOf(mem) !== 1) return inst;
  if (base === to) return aluReg(X.Add, size, to, index);
  if (index === to) return aluReg(X.Add, size, to, base);
  return inst;
}

/**
 * The same address in fewer bytes: an index without base is a base, index·2 without base is base + index, and
 * rbp or r13 as base of an unscaled index change places with it (they need a displacement as base only).
 */
function shortenAddress(mem: MemOperand): void {
  const { index } = mem;
  if (index === null || isRipRelative(mem)) return;
  if (mem.base === null) {
    if (scaleOf(mem) > 2) return;
    mem.base = physical(index.loc);
    if (scaleOf(mem) === 1) mem.index = null;
    setScale(mem, 1);
  }
  if (mem.index === null || scaleOf(mem) !== 1 || mem.disp !== 0 || mem.symbol !== null) return;
  if ((mem.base.loc & 7) !== 5 || (mem.index.loc & 7) === 5) return;
  const base = mem.base.loc;
  mem.base.loc = mem.index.loc;
  mem.index.loc = base;
}

/** Sign extensions within rax have short forms. */
function shrinkSignExtension(inst: MInst): Replacement {
  if (inst.mem !== null || inst.uses.length !== 1) return inst;
  if (inst.uses[0]!.loc !== RAX || inst.defs[0]!.loc !== RAX) return inst;
  if (inst.op === X.Movsx16 && inst.size !== 4) return inst;
  inst.op = X.ExtendRax;
  inst.defs[0]!.tiedTo = 0;
  return inst;
}

/** Storing 0 or −1 to memory that nobody else watches, as and/or with a one-byte immediate. */
function shrinkStore(inst: MInst, s: Situation): Replacement {
  if (
    !s.minsize ||
    !s.flagsDead ||
    inst.marks !== AccessMark.Plain ||
    !plainImmediate(inst) ||
    inst.size === 1
  )
    return inst;
  const value = signedImmediate(inst.imm!, inst.size);
  if (value !== 0 && value !== -1) return inst;
  inst.op = value === 0 ? X.AndM : X.OrM;
  inst.imm = value;
  inst.marks = 0;
  return inst;
}

/** The shorter form of one instruction, or the instruction itself. */
export function shrink(inst: MInst, s: Situation): Replacement {
  if (inst.mem !== null) shortenAddress(inst.mem);
  switch (inst.op) {
    case X.Mov:
      // What tests of it could know is known: from here on it is a load as any other.
      if (inst.mem !== null) inst.marks = 0;
      return shrinkConstant(inst, s);
    case X.Add:
    case X.Sub:
      return shrinkAddition(inst, s, false);
    case X.AddM:
    case X.SubM:
      return shrinkAddition(inst, s, true);
    case X.Cmp:
    case X.CmpM:
      return shrinkCompare(inst, s);
    case X.Test:
      return shrinkTest(inst, s);
    case X.And:
      return shrinkMask(inst, s);
    case X.Lea:
      return shrinkLea(inst, s);
    case X.Movsxd:
    case X.Movsx16:
      return shrinkSignExtension(inst);
    case X.MovM:
      return shrinkStore(inst, s);
    default:
      return inst;
  }
}

/** Nothing but its definition: may go when that is dead. */
export function isPure({ op, mem, defs }: MInst): boolean {
  const pure = opPure[op] as Pure;
  if (pure === Pure.Never || defs[0]?.loc === RSP) return false;
  return pure === Pure.Always || mem === null;
}
