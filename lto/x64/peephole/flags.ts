/**
 * Who reads the flags, and what may then be done about the instruction that sets them.
 *
 * The readers of one setting of the flags are collected as a set of condition codes (bit n for code n), which
 * is what a rewriting needs: an instruction may be exchanged for one that agrees with it on those conditions.
 */

import type { MInst } from "../../codegen/mir.js";
import { killsFlags } from "../isa/effects.js";
import { opFlags, opReads, readsFlags } from "../isa/op-info.js";
import { Cc } from "../isa/ops.js";
import { FlagEffect, FlagRead } from "../isa/row.js";

/** A set of condition codes. */
export type CcSet = number;
export const allConditions: CcSet = 0xffff;

/** By condition: what to read in its place; a condition that is not there stays. */
export type Renaming = ReadonlyMap<Cc, Cc>;

const setOf = (...ccs: Cc[]): CcSet => ccs.reduce((set, cc) => set | (1 << cc), 0);
/** Conditions on ZF, SF and PF alone. */
export const resultConditions = setOf(Cc.E, Cc.NE, Cc.S, Cc.NS, Cc.P, Cc.NP);
export const zeroConditions = setOf(Cc.E, Cc.NE);
/** Conditions that look at CF. */
export const carryConditions = setOf(Cc.B, Cc.AE, Cc.BE, Cc.A);
/** Comparisons of unsigned numbers, and equality. */
export const unsignedConditions = carryConditions | zeroConditions;

/** Conditions that an instruction reads. */
export function conditionsRead(inst: MInst): CcSet {
  switch (opReads[inst.op] as FlagRead) {
    case FlagRead.None:
      return 0;
    case FlagRead.Condition:
      return 1 << inst.condition;
    case FlagRead.Carry:
      return 1 << Cc.B;
  }
}

/** Conditions read of the flags as they are after instruction `index`; `liveOut`: flags leave the block. */
export function readersAfter(insts: readonly MInst[], index: number, liveOut: boolean): CcSet {
  let set = 0;
  for (let i = index + 1; i < insts.length; i++) {
    const inst = insts[i]!;
    set |= conditionsRead(inst);
    if (killsFlags(inst)) return set;
  }
  return liveOut ? allConditions : set;
}

/** Some instruction reads the flags after `index` by no condition, so that there is none to rename: adc and sbb. */
export function isCarryAdded(insts: readonly MInst[], index: number): boolean {
  for (let i = index + 1; i < insts.length; i++) {
    const inst = insts[i]!;
    if (readsFlags(inst.op) && inst.condition < 0) return true;
    if (killsFlags(inst)) return false;
  }
  return false;
}

/** Whether all of the conditions have a name in the renaming. */
export function canRename(readers: CcSet, renaming: Renaming): boolean {
  for (let cc = 0; cc < 16; cc++) if ((readers & (1 << cc)) !== 0 && !renaming.has(cc)) return false;
  return true;
}

/** Replaces conditions in all readers after `index` up to the next setting of the flags. */
export function renameConditions(insts: readonly MInst[], index: number, renaming: Renaming): void {
  for (let i = index + 1; i < insts.length; i++) {
    const inst = insts[i]!;
    if (readsFlags(inst.op) && inst.condition >= 0)
      inst.condition = renaming.get(inst.condition) ?? inst.condition;
    // Nobody reads a carry from before inc and dec: rules make them only where nobody does.
    if (killsFlags(inst) || opFlags[inst.op] === FlagEffect.KeepsCarry) return;
  }
}
