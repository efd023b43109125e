/**
 * Which register operands an instruction can also take from memory, and which sources it can exchange: what the
 * allocator may choose beyond registers.
 *
 * The counterpart of `slot-operands.ts`, which gives the instruction its memory form once an operand is in a slot.
 * An operand qualifies if the operation reads no more bytes than the value's slot has. Constant time.
 * Source: Intel SDM volume 2 (operand forms).
 */

import { type MFunction, MInst, type RegOperand } from "../../codegen/mir.js";
import { isEmptySet } from "../../codegen/register-set.js";
import { memory } from "../isa/memory-operand.js";
import { opCommutes, opFormat, opMemory, opSource, opSourceBytes } from "../isa/op-info.js";
import { Format, invert, wantsR11, X } from "../isa/ops.js";
import { bytesRead, lastUse, noMemory, noSource } from "../isa/row.js";

/** Bytes that `inst` reads of a source in memory. */
const sourceBytes = ({ op, size }: MInst): number => bytesRead(opSourceBytes[op]!, size);

/** Index in `uses` of the source that may be memory; -1 if none may. */
function sourceIndex(inst: MInst): number {
  const { op, uses } = inst;
  if (op === X.Test && uses.length === 2 && uses[0]!.vreg === uses[1]!.vreg) return noSource;
  // What goes through a routine has its target in a register.
  if (wantsR11(inst.marks)) return noSource;
  const source = opSource[op]!;
  return source === lastUse ? uses.length - 1 : source;
}

/**
 * Sets `mayBeSlot` on the sources of `inst` for which a memory form exists. Not on a result tied to its source:
 * operations on memory in place are rare (one function in fifty of SQLite), and an instruction that may do one
 * cannot take its other source from memory.
 */
export function permitSlots(mf: MFunction, inst: MInst): void {
  if (inst.mem !== null || inst.op === X.Asm) return;
  const source = sourceIndex(inst);
  if (source >= 0 && source < inst.uses.length) permitSlot(mf, inst.uses[source], sourceBytes(inst));
  const compares = opFormat[inst.op] === Format.Compare && opMemory[inst.op] !== noMemory;
  if (compares && source >= 0) permitSlot(mf, inst.uses[0], inst.size);
}

function permitSlot(mf: MFunction, use: RegOperand | undefined, bytes: number): void {
  if (use === undefined || use.vreg < 0 || !isEmptySet(use.allowed)) return;
  if (mf.vregs[use.vreg]!.size >= bytes) use.mayBeSlot = true;
}

/** A store of the constant that `definition` moves to a register; null if it is no small constant. */
export function storeConstant(definition: MInst, size: number, slot: number): MInst | null {
  const { imm } = definition;
  if (definition.op !== X.Mov || definition.symbol !== null || typeof imm !== "number") return null;
  const store = new MInst(X.MovM, size);
  // Four bytes moved to a register clear the upper half; a store of eight would extend the sign.
  if (size === 8 && definition.size !== 8 && imm < 0) return null;
  store.mem = memory(null, null, 1, 0, null, false, slot);
  store.imm = imm;
  return store;
}

/** True if the first two sources may change places: the result is tied to the first. Of moves on a condition that turns it round. */
export const commutes = ({ op, uses, mem, defs }: MInst): boolean =>
  (opCommutes[op] === 1 || op === X.Cmov) && uses.length === 2 && mem === null && defs.length === 1;

/** The first two sources of an instruction that commutes have changed places. */
export function exchanged(inst: MInst): void {
  if (inst.op === X.Cmov) inst.condition = invert(inst.condition);
}
