/**
 * Rewritings of two instructions of a block that belong together though others may lie between.
 *
 *   mov a, d … add x, d        → lea (a, x), d                      flags dead afterwards
 *   mov a, d … movsbl d, d     → movsbl a, d                        and the other extensions
 *   shl $56, d; sar $56, d     → movsbq d, d                        flags dead afterwards; shr: movzbl
 *   op d … test d, d           → op d                               op's flags describe d
 *   op m; mov m, d; test d, d  → op m; mov m, d                     and those of what was changed in memory
 *   cmp a, b … cmp a, b        → cmp a, b                           nothing written in between
 *   cmp … setcc d; movzbl d, e → xor e, e; cmp … setcc e            e untouched in between
 *
 * Each looks back a bounded number of instructions.
 * Proof obligations: nothing in between reads or writes the moved register, nothing writes the copied one, and
 * nothing in between sets the flags that are kept.
 */

import { MInst } from "../../codegen/mir.js";
import { hasRegister, isEmptySet, overlaps, type RegisterSet } from "../../codegen/register-set.js";
import { sameInst, sameMem } from "../../codegen/same-inst.js";
import { aluReg, baseDisp, lea, physical } from "../isa/build.js";
import { killsFlags, usedRegisters, writtenRegisters } from "../isa/effects.js";
import { instructionLength, signedImmediate } from "../isa/lengths.js";
import { opFlags, opFormat, readsFlags, writesFlags } from "../isa/op-info.js";
import { AccessMark, Cc, Format, X } from "../isa/ops.js";
import { RSP } from "../isa/registers.js";
import { FlagEffect } from "../isa/row.js";
import { type CcSet, renameConditions, resultConditions } from "./flags.js";

/** How far back a partner is looked for. */
export const window = 8;

/** The instruction reads or writes the register. */
const touches = (inst: MInst, register: number): boolean =>
  hasRegister(usedRegisters(inst), register) || hasRegister(writtenRegisters(inst), register);

/** Index of the instruction before `index` that wrote `register`, if nothing in between touches it; else −1. */
function soleWriter(insts: readonly MInst[], index: number, register: number): number {
  for (let i = index - 1; i >= 0 && i >= index - window; i--) {
    const inst = insts[i]!;
    if (hasRegister(writtenRegisters(inst), register)) return i;
    if (hasRegister(usedRegisters(inst), register)) return -1;
  }
  return -1;
}

/** Whether an instruction strictly between the two writes the register. */
function writtenBetween(insts: readonly MInst[], from: number, to: number, register: number): boolean {
  for (let i = from + 1; i < to; i++) if (hasRegister(writtenRegisters(insts[i]!), register)) return true;
  return false;
}

/** The lea that adds to `a` what the instruction adds to its register; null if there is none. */
function addressForm(inst: MInst, a: number): MInst | null {
  const to = inst.defs[0]!.loc;
  const size = Math.max(inst.size, 4);
  switch (inst.op) {
    case X.Inc:
      return lea(size, to, baseDisp(a, 1));
    case X.Dec:
      return lea(size, to, baseDisp(a, -1));
    case X.Shl: {
      if (inst.imm !== 1) return null;
      const twice = lea(size, to, baseDisp(a, 0));
      twice.mem!.index = physical(a);
      return twice;
    }
    case X.Add:
    case X.Sub: {
      if (inst.mem !== null || inst.symbol !== null) return null;
      if (inst.uses.length > 1) {
        if (inst.op === X.Sub) return null;
        const other = inst.uses[1]!.loc;
        const sum = lea(size, to, baseDisp(a, 0));
        sum.mem!.index = physical(other === to ? a : other);
        // rbp and r13 as base would need a displacement.
        if ((a & 7) === 5 && (sum.mem!.index.loc & 7) !== 5) {
          sum.mem!.base = sum.mem!.index;
          sum.mem!.index = physical(a);
        }
        return sum;
      }
      const value = signedImmediate(inst.imm!, inst.size);
      const disp = inst.op === X.Add ? value : -value;
      return disp === (disp | 0) ? lea(size, to, baseDisp(a, disp)) : null;
    }
    default:
      return null;
  }
}

/**
 * mov and two-address arithmetic as one lea. Replaces the instruction at `index` and empties the copy's place.
 * @returns the index of the copy, which the caller must drop; −1 if nothing was done
 */
export function combineCopy(insts: MInst[], index: number, first: number): number {
  const inst = insts[index]!;
  const to = inst.defs[0]!.loc;
  if (to >= 16 || to === RSP) return -1;
  const at = soleWriter(insts, index, to);
  if (at < first) return -1;
  const copy = insts[at]!;
  if (copy.op !== X.Copy || copy.defs[0]!.loc !== to) return -1;
  const a = copy.uses[0]!.loc;
  if (a >= 16 || a === RSP || copy.size < Math.min(inst.size, 8) || a === to) return -1;
  if (inst.size === 8 && copy.size !== 8) return -1;
  if (writtenBetween(insts, at, index, a)) return -1;
  const address = addressForm(inst, a);
  if (address === null || instructionLength(address) > instructionLength(copy) + instructionLength(inst))
    return -1;
  insts[index] = address;
  return at;
}

/**
 * An extension of a copy extends the original.
 * @param first earlier instructions are out of sight: between them and it others will be put in
 * @returns the index of the copy to drop; −1 if none
 */
export function extendOriginal(insts: readonly MInst[], index: number, first: number): number {
  const inst = insts[index]!;
  if (inst.mem !== null) return -1;
  const to = inst.defs[0]!.loc;
  if (inst.uses[0]!.loc !== to) return -1;
  const at = soleWriter(insts, index, to);
  if (at < first) return -1;
  const copy = insts[at]!;
  if (copy.op !== X.Copy || copy.uses[0]!.loc >= 16 || copy.uses[0]!.loc === RSP) return -1;
  if (writtenBetween(insts, at, index, copy.uses[0]!.loc)) return -1;
  inst.uses[0]!.loc = copy.uses[0]!.loc;
  inst.defs[0]!.tiedTo = -1;
  return at;
}

/** The extension that a shift up and back down by `count` is; −1 if it is none. */
function extensionOf(size: number, count: number, signed: boolean): X | -1 {
  const bits = size * 8 - count;
  if (bits === 8) return signed ? X.Movsx8 : X.Movzx8;
  if (bits === 16) return signed ? X.Movsx16 : X.Movzx16;
  // Of a shift of 32 bits by none, what is above is zero.
  return bits === 32 && signed && size === 8 ? X.Movsxd : -1;
}

/** A shift left and back right at `index` as an extension. @returns the index of the left shift to drop; −1 */
export function shiftsAsExtension(insts: MInst[], index: number, first: number): number {
  const right = insts[index]!;
  if (right.size < 4 || right.imm === null) return -1;
  const to = right.defs[0]!.loc;
  const at = soleWriter(insts, index, to);
  if (at < first) return -1;
  const left = insts[at]!;
  if (
    left.op !== X.Shl ||
    left.size !== right.size ||
    left.imm === null ||
    Number(left.imm) !== Number(right.imm)
  )
    return -1;
  const op = extensionOf(right.size, Number(right.imm), right.op === X.Sar);
  if (op < 0) return -1;
  for (let i = at + 1; i < index; i++) if (readsFlags(insts[i]!.op)) return -1;
  const zero = op === X.Movzx8 || op === X.Movzx16;
  const extend = new MInst(op, zero ? 4 : right.size);
  extend.defs = [physical(to)];
  extend.uses = [physical(to)];
  insts[index] = extend;
  return at;
}

/** What the readers of `test r, r` must read instead after an instruction that leaves CF and OF otherwise. */
const withoutCarry: ReadonlyMap<Cc, Cc> = new Map([
  [Cc.L, Cc.S],
  [Cc.GE, Cc.NS],
  [Cc.A, Cc.NE],
  [Cc.BE, Cc.E],
]);

/** Whether the flags after `inst` describe its result: not so for a shift whose count may be zero. */
function describesResult(inst: MInst): boolean {
  const format = opFormat[inst.op]!;
  const shift = format === Format.Shift || format === Format.DoubleShift;
  return !shift || (inst.imm !== null && (Number(inst.imm) & (inst.size === 8 ? 63 : 31)) !== 0);
}

/**
 * Whether `test r, r` at `index` may go because the flags are already set so; readers are adapted.
 * @param readers conditions read after it; `liveOut`: also in other blocks
 */
export function redundantTest(
  insts: readonly MInst[],
  index: number,
  readers: CcSet,
  liveOut: boolean,
): boolean {
  const test = insts[index]!;
  if (test.op !== X.Test || test.uses.length !== 2 || test.uses[0]!.loc !== test.uses[1]!.loc) return false;
  let register = test.uses[0]!.loc;
  for (let i = index - 1; i >= 0; i--) {
    const inst = insts[i]!;
    const writes = hasRegister(writtenRegisters(inst), register);
    if (!writes && !writesFlags(inst.op)) continue;
    if (writes && isReload(inst) && inst.size === test.size && i > 0) {
      const change = insts[i - 1]!;
      if (change.mem === null || !sameMem(change.mem, inst.mem) || change.size !== inst.size) return false;
      if (opFormat[change.op] === Format.CompareM || !describesResult(change)) return false;
      return agreesWithTest(insts, index, opFlags[change.op] as FlagEffect, readers, liveOut);
    }
    // The flags of the value that the tested register is a copy of.
    if (writes && inst.op === X.Copy && inst.size >= test.size) {
      register = inst.uses[0]!.loc;
      continue;
    }
    if (!writes || inst.defs.length !== 1 || !isEmptySet(inst.clobbers)) return false;
    if (inst.size !== test.size && !fitsBelow(inst, test.size)) return false;
    if (!describesResult(inst)) return false;
    return agreesWithTest(insts, index, opFlags[inst.op] as FlagEffect, readers, liveOut);
  }
  return false;
}

/** Whether flags with this effect serve the readers of the test, which are adapted. */
function agreesWithTest(
  insts: readonly MInst[],
  index: number,
  effect: FlagEffect,
  readers: CcSet,
  liveOut: boolean,
): boolean {
  if (effect === FlagEffect.None || effect === FlagEffect.Other) return false;
  if (effect === FlagEffect.Logic) return true;
  if ((readers & ~resultConditions) === 0) return true;
  if (liveOut) return false;
  for (let cc = 0; cc < 16; cc++)
    if ((readers & ~resultConditions & (1 << cc)) !== 0 && !withoutCarry.has(cc)) return false;
  if (readsCarryLater(insts, index)) return false;
  renameConditions(insts, index, withoutCarry);
  return true;
}

const isReload = (inst: MInst): boolean =>
  inst.op === X.Mov && inst.mem !== null && inst.marks === AccessMark.Reload;

/** The mask clears the sign bit of an operand of `size` bytes and all above: flags are the same for any wider one. */
function fitsBelow(inst: MInst, size: number): boolean {
  if (inst.op !== X.And || inst.imm === null || inst.symbol !== null || inst.mem !== null) return false;
  if (inst.size < 4 && inst.size < size) return false;
  const mask = Number(inst.imm);
  return mask >= 0 && mask < 2 ** (Math.min(size, inst.size, 4) * 8 - 1);
}

/** How far back the same comparison is looked for. */
const compareWindow = 6;

/** Whether the comparison at `index` finds the flags as it would set them: made before, from what is still there. */
export function repeatedCompare(insts: readonly MInst[], index: number): boolean {
  const compare = insts[index]!;
  if (!isCompare(compare)) return false;
  const used = usedRegisters(compare);
  for (let i = index - 1; i >= 0 && i >= index - compareWindow; i--) {
    const inst = insts[i]!;
    if (sameInst(inst, compare)) return true;
    if (writesFlags(inst.op) || overlaps(writtenRegisters(inst), used) || !isEmptySet(inst.clobbers))
      return false;
    if (compare.mem !== null && !leavesMemory(inst)) return false;
  }
  return false;
}

const isCompare = ({ op }: MInst): boolean =>
  op === X.Cmp || op === X.Test || op === X.CmpM || op === X.TestM || op === X.Ucomiss || op === X.Ucomisd;

/** Copies, and conditional moves and sets of registers: nothing else lies between comparisons that are the same. */
const leavesMemory = ({ op, mem }: MInst): boolean =>
  op === X.Copy || ((op === X.Cmov || op === X.Setcc || op === X.Mov || op === X.Lea) && mem === null);

/** adc or sbb reads the flags of `index`: their condition cannot be renamed. */
function readsCarryLater(insts: readonly MInst[], index: number): boolean {
  for (let i = index + 1; i < insts.length; i++) {
    const inst = insts[i]!;
    if (readsFlags(inst.op) && inst.condition < 0) return true;
    if (killsFlags(inst)) return false;
  }
  return false;
}

/**
 * For the movzbl at `index`: zeroes its destination before the flags are made, so that setcc leaves the
 * extended value. @returns where to insert the zeroing; −1 if nothing was done
 */
export function zeroBeforeSet(insts: MInst[], index: number, live: RegisterSet): number {
  const extend = insts[index]!;
  if (extend.op !== X.Movzx8 || extend.mem !== null) return -1;
  const from = extend.uses[0]!.loc;
  const to = extend.defs[0]!.loc;
  if (from !== to && hasRegister(live, from)) return -1;
  const at = soleWriter(insts, index, from);
  if (at < 0 || insts[at]!.op !== X.Setcc) return -1;
  for (let i = at + 1; i < index; i++) if (touches(insts[i]!, to)) return -1;
  for (let i = at - 1; i >= 0 && i >= at - window; i--) {
    const inst = insts[i]!;
    if (touches(inst, to)) return -1;
    if (!killsFlags(inst)) continue;
    if (readsFlags(inst.op)) return -1;
    const set = insts[at]!;
    set.defs[0]!.loc = to;
    set.defs[0]!.tiedTo = 0;
    set.uses = [physical(to)];
    return i;
  }
  return -1;
}

export const zeroing = (register: number): MInst => aluReg(X.Xor, 4, register, register);
