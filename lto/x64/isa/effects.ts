/**
 * What an instruction with physical operands does to registers and flags, besides its value.
 *
 * In sets rsp, which is always live, stands for the arithmetic flags. Definitions count as
 * writing the whole register: before allocation they were whole values, so nothing can depend on the rest.
 * Source: Intel SDM volume 2.
 */

import type { MemOperand, MInst } from "../../codegen/mir.js";
import { highWord, lowWord, type RegisterSet, setOfWords } from "../../codegen/register-set.js";
import { opFlags, opFormat, opSame, opStack } from "./op-info.js";
import { Format, X } from "./ops.js";
import { RBP, RSP, XMM16 } from "./registers.js";
import { FlagEffect, SameSource, Stack } from "./row.js";

/** The arithmetic flags in a set. */
export const flagsRegister = RSP;
const registersOnly = ~(1 << RSP);

/** As bits. */
function memUses(mem: MemOperand | null): number {
  if (mem === null) return 0;
  let mask = 0;
  if (mem.base !== null) mask |= 1 << mem.base.loc;
  if (mem.index !== null) mask |= 1 << mem.index.loc;
  return mask & registersOnly;
}

const hasSameSources = ({ uses }: MInst): boolean => uses.length === 2 && uses[0]!.loc === uses[1]!.loc;

/** The value of the only source register does not matter: `xor r, r` and the like. */
export function isZeroIdiom(inst: MInst): boolean {
  return opSame[inst.op] === SameSource.Zero && hasSameSources(inst);
}

/** `or r, -1`: the old value does not matter. */
const isOnesIdiom = (inst: MInst): boolean =>
  inst.op === X.Or && inst.imm === -1 && inst.size >= 4 && inst.mem === null && inst.symbol === null;

/** `sbb r, r` depends on the carry alone. */
const isCarryMask = (inst: MInst): boolean => opSame[inst.op] === SameSource.Carry && hasSameSources(inst);

/** Registers that the instruction reads, without those that an exit hands back to the caller. */
export function usedRegisters(inst: MInst): RegisterSet {
  let mask = memUses(inst.mem);
  let high = 0;
  if (!isZeroIdiom(inst) && !isCarryMask(inst) && !isOnesIdiom(inst)) {
    const { uses } = inst;
    for (let i = 0; i < uses.length; i++) {
      const { loc } = uses[i]!;
      if (loc >= XMM16) high |= 1 << (loc - XMM16);
      else if (loc >= 0) mask |= 1 << loc;
    }
  }
  const extra = inst.extra;
  if (extra !== null && extra.kind === "asm")
    for (const operand of extra.operands) if (operand.kind === "mem") mask |= memUses(operand.mem);
  if (opStack[inst.op] === Stack.Leave) mask |= 1 << RBP;
  return setOfWords(mask & registersOnly, high);
}

/** Registers whose old value is gone after the instruction. */
export function writtenRegisters(inst: MInst): RegisterSet {
  let mask = lowWord(inst.clobbers);
  let high = highWord(inst.clobbers);
  const { defs } = inst;
  for (let i = 0; i < defs.length; i++) {
    const { loc } = defs[i]!;
    if (loc >= XMM16) high |= 1 << (loc - XMM16);
    else if (loc >= 0) mask |= 1 << loc;
  }
  if (opStack[inst.op] === Stack.Leave) mask |= 1 << RBP;
  return setOfWords(mask & registersOnly, high);
}

/** The instruction leaves none of the old flags. */
export function killsFlags(inst: MInst): boolean {
  const effect = opFlags[inst.op] as FlagEffect;
  if (effect === FlagEffect.None || effect === FlagEffect.KeepsCarry) return false;
  const format = opFormat[inst.op]!;
  // Shifting by a count in cl that may be zero keeps the flags; rotates keep most of them.
  if (format === Format.Shift || format === Format.ShiftM || format === Format.DoubleShift) {
    if (inst.imm === null) return false;
    return inst.op !== X.Rol && inst.op !== X.Ror && inst.op !== X.RolM && inst.op !== X.RorM;
  }
  return true;
}
