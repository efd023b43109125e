/**
 * Which instructions the legaliser may leave alone.
 *
 * One switch per instruction on interned types; this runs over every instruction of the program, so a
 * function that is legal as it stands costs one scan and nothing else.
 */
import { type Inst, Op } from "../../ir/instructions.js";
import { intrinsicOf } from "../../ir/intrinsics.js";
import type { Type } from "../../ir/types.js";
import type { Value } from "../../ir/values.js";
import { intrinsicIsLegal } from "./intrinsic-legality.js";
import { classOf, isLegalType, TypeClass } from "./legal-types.js";
import type { VectorTarget } from "./target.js";

const isLegalOrNone = (type: Type): boolean => classOf(type) <= TypeClass.Vector;
const isIntOrPointer = (c: number): boolean => c === TypeClass.Int || c === TypeClass.Pointer;

/**
 * Whether a constant operand of legal type can be handed to selection: literals, addresses, and the
 * expressions on them that a relocation can express or that selection computes as an address.
 */
export function isLegalConstant(value: Value): boolean {
  switch (value.valueKind) {
    case "expr": {
      if (classOf(value.type) !== TypeClass.Pointer && !value.type.isInt(64)) return false;
      const first = value.operands[0]!;
      switch (value.op) {
        case Op.GetElementPtr:
          for (let i = 1; i < value.operands.length; i++) {
            const index = value.operands[i]!;
            if (index.valueKind !== "int" && index.valueKind !== "zero") return false;
            if (index.type.kind !== "int") return false;
          }
          return first.type.kind === "ptr" && isLegalConstant(first);
        case Op.PtrToInt:
        case Op.IntToPtr:
        case Op.BitCast:
        case Op.AddrSpaceCast:
          return (first.type.kind === "ptr" || first.type.isInt(64)) && isLegalConstant(first);
        case Op.Add:
        case Op.Sub:
          return value.operands[1]!.valueKind === "int" && isLegalConstant(first);
        default:
          return false;
      }
    }
    case "aggregate":
      if (value.type.kind !== "vector") return true;
      for (const element of value.elements) {
        const kind = element.valueKind;
        if (kind !== "int" && kind !== "float" && kind !== "undef") return false;
      }
      return true;
    default:
      return true;
  }
}

/** Whether selection takes the instruction as it is. */
export function isLegalInst(inst: Inst, vectors: VectorTarget): boolean {
  const operands = inst.operands;
  for (let i = 0; i < operands.length; i++) {
    const kind = operands[i]!.valueKind;
    if ((kind === "expr" || kind === "aggregate") && !isLegalConstant(operands[i]!)) return false;
  }
  switch (inst.op) {
    case Op.Ret:
      return operands.length === 0 || isLegalType(operands[0]!.type);
    case Op.Br:
    case Op.CondBr:
    case Op.IndirectBr:
    case Op.Unreachable:
    case Op.Fence:
      return true;
    case Op.Switch:
      return classOf(operands[0]!.type) === TypeClass.Int;
    case Op.Add:
    case Op.Sub:
    case Op.Mul:
    case Op.UDiv:
    case Op.SDiv:
    case Op.URem:
    case Op.SRem:
    case Op.Shl:
    case Op.LShr:
    case Op.AShr: {
      const c = classOf(inst.type);
      return c === TypeClass.Int || (c === TypeClass.Vector && vectors.isLegal(inst));
    }
    case Op.And:
    case Op.Or:
    case Op.Xor: {
      const c = classOf(inst.type);
      return c === TypeClass.Int || c === TypeClass.Bool || (c === TypeClass.Vector && vectors.isLegal(inst));
    }
    case Op.FNeg:
    case Op.FAdd:
    case Op.FSub:
    case Op.FMul:
    case Op.FDiv: {
      const c = classOf(inst.type);
      return c === TypeClass.Float || (c === TypeClass.Vector && vectors.isLegal(inst));
    }
    case Op.Alloca: {
      const count = operands[0]!;
      return (
        count.type.isInt(64) || (count.valueKind === "int" && count.type.bits <= 64 && count.value >= 0n)
      );
    }
    case Op.Load: {
      const c = classOf(inst.type);
      if (inst.data.ordering !== "not_atomic") return isIntOrPointer(c);
      return c >= TypeClass.Int && c <= TypeClass.Vector;
    }
    case Op.Store: {
      const c = classOf(operands[0]!.type);
      if (inst.data.ordering !== "not_atomic") return isIntOrPointer(c);
      return c >= TypeClass.Int && c <= TypeClass.Vector;
    }
    case Op.AtomicRMW:
      return isIntOrPointer(classOf(inst.type)) && isDirectRMW(inst.data.rmw);
    case Op.GetElementPtr:
      if (inst.type.kind !== "ptr") return false;
      for (let i = 1; i < operands.length; i++) {
        const index = operands[i]!;
        if (index.type.kind !== "int") return false;
        if (index.valueKind !== "int" && classOf(index.type) !== TypeClass.Int) return false;
      }
      return true;
    case Op.Trunc: {
      const c = classOf(inst.type);
      return (c === TypeClass.Int || c === TypeClass.Bool) && classOf(operands[0]!.type) === TypeClass.Int;
    }
    case Op.ZExt:
    case Op.SExt: {
      const c = classOf(operands[0]!.type);
      return classOf(inst.type) === TypeClass.Int && (c === TypeClass.Int || c === TypeClass.Bool);
    }
    case Op.FPTrunc:
    case Op.FPExt:
      return classOf(inst.type) === TypeClass.Float && classOf(operands[0]!.type) === TypeClass.Float;
    case Op.FPToUI:
    case Op.FPToSI:
      return isWordInt(inst.type) && classOf(operands[0]!.type) === TypeClass.Float;
    case Op.UIToFP:
    case Op.SIToFP:
      return classOf(inst.type) === TypeClass.Float && isWordInt(operands[0]!.type);
    case Op.PtrToInt:
      return inst.type.isInt(64) && operands[0]!.type.kind === "ptr";
    case Op.IntToPtr:
      return operands[0]!.type.isInt(64) && inst.type.kind === "ptr";
    case Op.BitCast:
      return isLegalBitCast(operands[0]!.type, inst.type);
    case Op.AddrSpaceCast:
      return inst.type.kind === "ptr";
    case Op.ICmp: {
      const c = classOf(operands[0]!.type);
      return isIntOrPointer(c) || (c === TypeClass.Bool && (inst.data === "eq" || inst.data === "ne"));
    }
    case Op.FCmp:
      return classOf(operands[0]!.type) === TypeClass.Float;
    case Op.Freeze:
      return isLegalType(inst.type) && inst.type.kind !== "x86_fp80";
    case Op.Phi:
      return isLegalType(inst.type);
    case Op.Select:
      return isLegalType(inst.type) && operands[0]!.type.kind === "int";
    case Op.Call:
    case Op.Invoke:
    case Op.CallBr: {
      if (!isLegalOrNone(inst.type)) return false;
      const intrinsic = intrinsicOf(operands[0]!);
      if (intrinsic !== null) return inst.op === Op.Call && intrinsicIsLegal(inst, intrinsic);
      for (let i = 1; i <= inst.data.argumentCount; i++) if (!isLegalOrNone(operands[i]!.type)) return false;
      return true;
    }
    default:
      // VAArg, element and value access, compare-exchange, landing pads, resume: always rewritten.
      return false;
  }
}

const isWordInt = (type: Type): boolean => type.isInt(32) || type.isInt(64);

/** int ↔ float or half of the same size, vector ↔ vector. */
export function isLegalBitCast(from: Type, to: Type): boolean {
  if (from === to) return false;
  const f = classOf(from);
  const t = classOf(to);
  if (f === TypeClass.Vector && t === TypeClass.Vector) return true;
  // fp128 lives in a vector register, so its bits are a vector for free.
  if (from.kind === "fp128") return t === TypeClass.Vector;
  if (to.kind === "fp128") return f === TypeClass.Vector;
  if (from.kind === "x86_fp80" || to.kind === "x86_fp80") return false;
  const isMoved = (c: number): boolean => c === TypeClass.Float || c === TypeClass.SoftFloat;
  return (f === TypeClass.Int && isMoved(t)) || (t === TypeClass.Int && isMoved(f));
}

/** Read-modify-write operations that selection has instructions or loops for. */
export function isDirectRMW(op: string): boolean {
  switch (op) {
    case "xchg":
    case "add":
    case "sub":
    case "and":
    case "or":
    case "xor":
    case "nand":
    case "max":
    case "min":
    case "umax":
    case "umin":
      return true;
    default:
      return false;
  }
}
