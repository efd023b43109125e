/**
 * Registers that are longer to name in some places (Intel SDM vol. 2, 2.1.5 and 2.2.1.2): as the byte operand of an
 * instruction, sil, dil and bpl take a REX prefix; as a base without an index, r12 takes a SIB byte, like rsp; as
 * a base without a displacement, rbp and r13 take a zero one.
 *
 * REX prefixes of r8 to r15 are not counted here (`mentionCost`). That rax has shorter forms with immediates was tried
 * as well and gained nothing: other reasons decide about it.
 */
import type { MInst, RegOperand } from "../../codegen/mir.js";
import { X } from "./ops.js";
import { R12, R13, RBP, RDI, RSI } from "./registers.js";

const enum Form {
  Byte,
  /** Base without index, with a displacement. */
  Base,
  /** Base with neither. */
  BareBase,
  /** Base with an index and no displacement. */
  IndexedBase,
}

const costs = (...registers: number[]): number[] =>
  Array.from({ length: 48 }, (_, register) => (registers.includes(register) ? 1 : 0));

/** Additional bytes by form and register. */
export const formCosts: readonly (readonly number[])[] = [
  costs(RSI, RDI, RBP),
  costs(R12),
  costs(R12, RBP, R13),
  costs(RBP, R13),
];

/** The form in which `inst` names the register of `operand`; -1 if none of these. */
export function encodingForm(inst: MInst, operand: RegOperand): number {
  const { mem } = inst;
  if (mem !== null) {
    if (operand === mem.base) {
      if (mem.symbol !== null) return mem.index === null ? Form.Base : -1;
      if (mem.index !== null) return mem.disp === 0 ? Form.IndexedBase : -1;
      return mem.disp === 0 ? Form.BareBase : Form.Base;
    }
    if (operand === mem.index) return -1;
  }
  if (inst.size === 1) return Form.Byte;
  return (inst.op === X.Movzx8 || inst.op === X.Movsx8) && operand === inst.uses[0] ? Form.Byte : -1;
}
