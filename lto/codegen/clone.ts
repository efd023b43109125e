/** Copies of machine instructions with operands of their own. */
import { MemOperand, MInst, RegOperand } from "./mir.js";

function cloneOperand(operand: RegOperand): RegOperand {
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
    mem.base === null ? null : cloneOperand(mem.base),
    mem.index === null ? null : cloneOperand(mem.index),
    mem.disp,
    mem.symbol,
    mem.slot,
    mem.mode,
  );
}

/** A copy of an instruction with operands of its own. `extra` is shared. */
export function cloneInst(inst: MInst): MInst {
  const copy = new MInst(inst.op, inst.size, inst.defs.map(cloneOperand), inst.uses.map(cloneOperand));
  if (inst.mem !== null) copy.mem = cloneMem(inst.mem);
  copyRest(inst, copy);
  return copy;
}

/** The instruction with other memory, to take its place: the register operands are still those of the old one. */
export function withMemory(inst: MInst, mem: MemOperand): MInst {
  const copy = new MInst(inst.op, inst.size, inst.defs, inst.uses);
  copy.mem = mem;
  copyRest(inst, copy);
  return copy;
}

/** What is in no operand. */
function copyRest(inst: MInst, copy: MInst): void {
  copy.imm = inst.imm;
  copy.symbol = inst.symbol;
  copy.condition = inst.condition;
  copy.marks = inst.marks;
  copy.clobbers = inst.clobbers;
  copy.targets = inst.targets;
  copy.extra = inst.extra;
  copy.origin = inst.origin;
}
