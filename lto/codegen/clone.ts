/** Copies of machine instructions with operands of their own. */
import { MemOperand, MInst, RegOperand } from "./mir.js";

function cloneOperand(operand: RegOperand | null): RegOperand | null {
  if (operand === null) return null;
  const copy = new RegOperand(
    operand.vreg,
    operand.allowed,
    operand.mayBeSlot,
    operand.tiedTo,
    operand.early,
  );
  copy.loc = operand.loc;
  return copy;
}

/** A memory operand that shares no register operand with `mem`. */
function cloneMem(mem: MemOperand): MemOperand {
  return new MemOperand(
    cloneOperand(mem.base),
    cloneOperand(mem.index),
    mem.disp,
    mem.symbol,
    mem.slot,
    mem.mode,
  );
}

/** A copy of an instruction with operands of its own. `extra` is shared. */
export function cloneInst(inst: MInst): MInst {
  const copy = new MInst(inst.op, inst.size);
  copy.defs = inst.defs.map((operand) => cloneOperand(operand)!);
  copy.uses = inst.uses.map((operand) => cloneOperand(operand)!);
  copy.mem = inst.mem === null ? null : cloneMem(inst.mem);
  copy.imm = inst.imm;
  copy.symbol = inst.symbol;
  copy.cc = inst.cc;
  copy.clobbers = inst.clobbers;
  copy.targets = [...inst.targets];
  copy.extra = inst.extra;
  return copy;
}
