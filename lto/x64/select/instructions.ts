/** Instructions that are no calls, phis or terminators, by what they do. */

import { MInst, RegOperand } from "../../codegen/mir.js";
import { type Inst, Op, opNames } from "../../ir/instructions.js";
import { i64 } from "../../ir/types.js";
import { constInt, type Value } from "../../ir/values.js";
import { X } from "../isa/ops.js";
import { selectGep } from "./address.js";
import * as atomics from "./atomics.js";
import { selectCompareResult } from "./condition.js";
import * as float from "./float.js";
import { selectBinary, selectExtension, selectTrunc } from "./integer.js";
import { selectLoad, selectStore } from "./memory.js";
import { selectSelect } from "./select.js";
import type { Selector } from "./selector.js";
import { selectVectorBinary } from "./vector.js";

export function selectInst(s: Selector, inst: Inst): void {
  switch (inst.op) {
    case Op.Store:
      return atomics.isAtomicStore(inst) ? atomics.selectAtomicStore(s, inst) : selectStore(s, inst);
    case Op.Fence:
      return atomics.selectFence(s, inst);
    case Op.CmpXchg:
      return atomics.selectCmpXchg(s, inst);
    case Op.AtomicRMW:
      return atomics.selectAtomicRMW(s, inst);
    case Op.Add:
    case Op.Sub:
    case Op.Mul:
    case Op.And:
    case Op.Or:
    case Op.Xor:
      return inst.type.isVector ? selectVectorBinary(s, inst) : selectBinary(s, inst);
    case Op.UDiv:
    case Op.SDiv:
    case Op.URem:
    case Op.SRem:
    case Op.Shl:
    case Op.LShr:
    case Op.AShr:
      return selectBinary(s, inst);
    case Op.FAdd:
    case Op.FSub:
    case Op.FMul:
    case Op.FDiv:
      return float.selectFloatBinary(s, inst);
    case Op.FNeg:
      return float.selectFNeg(s, inst);
    case Op.Load:
      return selectLoad(s, inst);
    case Op.GetElementPtr:
      return selectGep(s, inst);
    case Op.ICmp:
    case Op.FCmp:
      return selectCompareResult(s, inst);
    case Op.Select:
      return selectSelect(s, inst as Extract<Inst, { op: Op.Select }>);
    case Op.Alloca:
      return selectDynamicAlloca(s, inst);
    default:
      return selectConversion(s, inst);
  }
}

function selectConversion(s: Selector, inst: Inst): void {
  // The casts share one variant of the union; each lowering looks at the op it is for.
  const cast = inst as never;
  switch (inst.op) {
    case Op.Trunc:
      return selectTrunc(s, cast);
    case Op.ZExt:
    case Op.SExt:
      return selectExtension(s, cast);
    case Op.FPExt:
      return float.selectFPExt(s, cast);
    case Op.FPTrunc:
      return float.selectFPTrunc(s, cast);
    case Op.SIToFP:
    case Op.UIToFP:
      return float.selectIntToFloat(s, cast);
    case Op.FPToSI:
    case Op.FPToUI:
      return float.selectFloatToInt(s, cast);
    case Op.BitCast:
      return float.selectBitCast(s, cast);
    case Op.IntToPtr:
    case Op.PtrToInt:
    case Op.AddrSpaceCast:
    case Op.Freeze: {
      // Of a constant: everything else is a view.
      const result = s.resultOf(inst);
      return s.copy(result, s.reg(inst.operands[0]!), s.mf.vregs[result]!.size);
    }
    default:
      s.unsupported(`instruction ${opNames[inst.op]} on ${inst.type}`);
  }
}

/** alloca outside the entry block, or of a variable number of elements. */
function selectDynamicAlloca(s: Selector, inst: Extract<Inst, { op: Op.Alloca }>): void {
  const elementSize = s.layout.allocSize(inst.data.allocatedType);
  const count: Value = inst.operands[0]!;
  let bytes: number;
  if (count.valueKind === "int") bytes = s.reg(constInt(i64, Number(count.value) * elementSize));
  else {
    let wide = s.reg(count);
    if (count.type.bits < 64) {
      const extended = s.newGpr();
      s.unary(X.Mov, 4, extended, wide);
      wide = extended;
    }
    if (elementSize === 1) bytes = wide;
    else {
      bytes = s.newGpr();
      const mul = new MInst(X.ImulImm, 8);
      mul.defs = [new RegOperand(bytes)];
      mul.uses = [new RegOperand(wide)];
      mul.imm = elementSize;
      s.emit(mul);
    }
  }
  const alloca = new MInst(X.DynamicAlloca, 8);
  alloca.defs = [new RegOperand(s.resultOf(inst))];
  alloca.uses = [new RegOperand(bytes)];
  alloca.imm = Math.max(16, inst.data.align);
  s.emit(alloca);
}
