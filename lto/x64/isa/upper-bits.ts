/**
 * What the bits of a general register above the operation's size hold after a definition: the contract that rules may
 * rely on and must leave as it is. In 64-bit mode the machine itself zeroes them after 32-bit operations; the contract
 * promises less where a shorter form leaves something else there.
 * Source: Intel SDM volume 1, 3.4.1.1.
 */

import type { MInst } from "../../codegen/mir.js";
import { signedImmediate } from "./lengths.js";
import { opUpper, resultSize } from "./op-info.js";
import { X } from "./ops.js";
import { Upper } from "./row.js";

export const enum UpperBits {
  /** There are none: all 64 bits are the operation's. */
  None,
  Zero,
  /** Those of the register before. */
  Kept,
  /** Whatever: nobody may rely on them, and a rule may change them. */
  Undefined,
}

/** Changes the low byte of a register, as `byteImm` makes it. */
export const isByteMove = (inst: MInst): boolean =>
  inst.op === X.Mov && inst.size === 1 && inst.imm !== null && inst.uses.length === 1 && inst.mem === null;

/** A constant of 32 bits that push and pop give with its sign extended. */
function isNegativeByte(inst: MInst): boolean {
  if (inst.op !== X.Mov || inst.size !== 4 || inst.imm === null || inst.symbol !== null) return false;
  const value = signedImmediate(inst.imm, 4);
  return value < 0 && value >= -128;
}

/**
 * Of an instruction with one definition, a general register.
 * @param pushes small constants may become push and pop
 */
export function upperBits(inst: MInst, pushes: boolean): UpperBits {
  const size = resultSize(inst.op, inst.size);
  if (size === 8) return UpperBits.None;
  switch (opUpper[inst.op] as Upper) {
    case Upper.Unsure:
      return UpperBits.Undefined;
    case Upper.Byte:
      return inst.uses.length > 0 ? UpperBits.Kept : UpperBits.Undefined;
  }
  if (isByteMove(inst)) return UpperBits.Kept;
  if (size < 4 || (pushes && isNegativeByte(inst))) return UpperBits.Undefined;
  return UpperBits.Zero;
}
