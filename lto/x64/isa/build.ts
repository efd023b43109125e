/** Constructors of machine instructions with physical operands, for the passes after allocation. */

import { type MemOperand, MInst, RegOperand, type SymbolRef } from "../../codegen/mir.js";
import { memory } from "./memory-operand.js";
import { X } from "./ops.js";
import { RSP } from "./registers.js";

export const physical = (register: number): RegOperand => RegOperand.physical(register);

/** `base + disp`. */
export const baseDisp = (base: number, disp: number): MemOperand => memory(physical(base), null, 1, disp);

/** Memory operand of a whole slot. */
export const slotOperand = (slot: number): MemOperand => memory(null, null, 1, 0, null, false, slot);

/** Copy of a whole register of `size` bytes. */
export function copy(size: number, to: number, from: number): MInst {
  const inst = new MInst(X.Copy, size);
  inst.defs = [physical(to)];
  inst.uses = [physical(from)];
  return inst;
}

/** op register, imm: two-address arithmetic. */
export function aluImm(op: X, size: number, register: number, imm: number): MInst {
  const inst = new MInst(op, size);
  const def = physical(register);
  def.tiedTo = 0;
  inst.defs = [def];
  inst.uses = [physical(register)];
  inst.imm = imm;
  return inst;
}

/** op to, from: two-address arithmetic. */
export function aluReg(op: X, size: number, to: number, from: number): MInst {
  const inst = new MInst(op, size);
  const def = physical(to);
  def.tiedTo = 0;
  inst.defs = [def];
  inst.uses = [physical(to), physical(from)];
  return inst;
}

export function lea(size: number, to: number, mem: MemOperand): MInst {
  const inst = new MInst(X.Lea, size);
  inst.defs = [physical(to)];
  inst.mem = mem;
  return inst;
}

/** Push or PushSaved. */
export function push(register: number, op: X = X.Push): MInst {
  const inst = new MInst(op, 8);
  inst.uses = [physical(register)];
  return inst;
}

/** Pop or PopSaved. */
export function pop(register: number, op: X = X.Pop): MInst {
  const inst = new MInst(op, 8);
  inst.defs = [physical(register)];
  return inst;
}

export function pushImm(imm: number, symbol: SymbolRef | null = null): MInst {
  const inst = new MInst(X.Push, 8);
  inst.imm = imm;
  inst.symbol = symbol;
  return inst;
}

/** register = constant (signed 32 bits). */
export function movImm(size: number, register: number, imm: number): MInst {
  const inst = new MInst(X.Mov, size);
  inst.defs = [physical(register)];
  inst.imm = imm;
  return inst;
}

/** The low byte of a register = constant; the rest stays. */
export function byteImm(register: number, imm: number): MInst {
  return aluImm(X.Mov, 1, register, imm);
}

/** rsp += delta by arithmetic that changes the flags; the shorter of add and sub. */
export function adjustStack(delta: number): MInst {
  if (delta === 128 || (delta < 0 && delta !== -128)) return aluImm(X.Sub, 8, RSP, -delta);
  return aluImm(X.Add, 8, RSP, delta);
}
