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
import { opFormat } from "../isa/op-info.js";
import { Format, JumpMark, X } from "../isa/ops.js";

/** Bytes that `inst` reads of a source in memory. */
function sourceBytes(inst: MInst): number {
  const { op } = inst;
  switch (op) {
    case X.Movzx8:
    case X.Movsx8:
      return 1;
    case X.Movzx16:
    case X.Movsx16:
    case X.Pinsrw:
      return 2;
    case X.Movsxd:
    case X.MovdTo:
      return 4;
    case X.MovqTo:
    case X.Cvtps2pd:
    case X.Cvtdq2pd:
      return 8;
    case X.Cvtsi2ss:
    case X.Cvtsi2sd:
      return inst.size;
    case X.Cvttss2si:
    case X.Cvtss2si:
    case X.Cvtss2sd:
    case X.Sqrtss:
    case X.Rcpss:
    case X.Rsqrtss:
    case X.Ucomiss:
    case X.Cmpss:
    case X.Addss:
    case X.Subss:
    case X.Mulss:
    case X.Divss:
    case X.Minss:
    case X.Maxss:
      return 4;
    case X.Cvttsd2si:
    case X.Cvtsd2si:
    case X.Cvtsd2ss:
    case X.Sqrtsd:
    case X.Ucomisd:
    case X.Cmpsd:
    case X.Addsd:
    case X.Subsd:
    case X.Mulsd:
    case X.Divsd:
    case X.Minsd:
    case X.Maxsd:
      return 8;
    default:
      return op >= X.Movss ? 16 : inst.size;
  }
}

/** Index in `uses` of the source that may be memory; -1 if none may. */
function sourceIndex(inst: MInst): number {
  const { op } = inst;
  switch (opFormat[op]) {
    case Format.Alu:
      switch (op) {
        case X.MovssMerge:
        case X.MovsdMerge:
        case X.Bts:
        case X.Btr:
        case X.Btc:
          return -1;
        case X.Imul:
        case X.Cmov:
          return inst.size === 1 ? -1 : 1;
        default:
          return 1;
      }
    case Format.AluImm:
      return 1;
    case Format.Compare:
      if (op === X.Bt) return -1;
      return op === X.Test && inst.uses.length === 2 && inst.uses[0]!.vreg === inst.uses[1]!.vreg ? -1 : 1;
    case Format.Extend:
    case Format.MulImm:
      return 0;
    case Format.MovImm:
      return op === X.Pextrw ? -1 : 0;
    case Format.Mov:
      switch (op) {
        case X.Copy:
        case X.Mov:
        case X.MovdFrom:
        case X.MovqFrom:
        case X.Movmskps:
        case X.Movmskpd:
        case X.Pmovmskb:
        case X.Movss:
        case X.Movsd:
        case X.Movaps:
        case X.Movups:
          return -1;
        default:
          return 0;
      }
    case Format.Wide:
      // Behind the fixed operands.
      return inst.uses.length - 1;
    default:
      // What goes through a routine has its target in a register.
      return (op === X.CallIndirect || op === X.JmpIndirect) && inst.cc < JumpMark.Thunk ? 0 : -1;
  }
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
  if (inst.op === X.Cmp || (inst.op === X.Test && source === 1)) permitSlot(mf, inst.uses[0], inst.size);
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

/** True if the first two sources may change places: the result is tied to the first. */
export function commutes(inst: MInst): boolean {
  const { op } = inst;
  switch (op) {
    case X.Add:
    case X.Adc:
    case X.And:
    case X.Or:
    case X.Xor:
    case X.Imul:
    case X.Addss:
    case X.Addsd:
    case X.Mulss:
    case X.Mulsd:
    case X.Addps:
    case X.Addpd:
    case X.Mulps:
    case X.Mulpd:
    case X.Andps:
    case X.Orps:
    case X.Xorps:
    case X.Pand:
    case X.Por:
    case X.Pxor:
    case X.Pmullw:
    case X.Pmuludq:
    case X.Pmaddwd:
    case X.Pmulhw:
    case X.Pmulhuw:
    case X.Pavgb:
    case X.Pavgw:
    case X.Pminub:
    case X.Pmaxub:
    case X.Pminsw:
    case X.Pmaxsw:
    case X.Pcmpeqb:
    case X.Pcmpeqw:
    case X.Pcmpeqd:
    case X.Paddb:
    case X.Paddw:
    case X.Paddd:
    case X.Paddq:
      return inst.uses.length === 2 && inst.mem === null && inst.defs.length === 1;
    default:
      return false;
  }
}
