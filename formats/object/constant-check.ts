/**
 * The typing rules of constant expressions, checked when one is read from an object, since code that folds
 * or emits constants takes them for granted (LLVM Language Reference, "Constant Expressions").
 */
import { InputError } from "../../lto/ir/errors.js";
import { Op } from "../../lto/ir/instructions.js";
import type { Type } from "../../lto/ir/types.js";
import type { ConstExpr } from "../../lto/ir/values.js";

/** The same shape: both scalars, or vectors of one length. */
function sameShape(a: Type, b: Type): boolean {
  return a.kind === "vector" ? b.kind === "vector" && a.count === b.count : b.kind !== "vector";
}

const isInt = (type: Type): boolean => type.scalar.kind === "int";
const isPtr = (type: Type): boolean => type.scalar.kind === "ptr";
const isFloat = (type: Type): boolean => type.scalar.isFloat;

function castFits(op: Op, from: Type, to: Type): boolean {
  if (op !== Op.BitCast && !sameShape(from, to)) return false;
  switch (op) {
    case Op.Trunc:
      return isInt(from) && isInt(to) && from.scalar.bits > to.scalar.bits;
    case Op.ZExt:
    case Op.SExt:
      return isInt(from) && isInt(to) && from.scalar.bits < to.scalar.bits;
    case Op.FPTrunc:
    case Op.FPExt:
      return isFloat(from) && isFloat(to);
    case Op.FPToUI:
    case Op.FPToSI:
      return isFloat(from) && isInt(to);
    case Op.UIToFP:
    case Op.SIToFP:
      return isInt(from) && isFloat(to);
    case Op.PtrToInt:
      return isPtr(from) && isInt(to);
    case Op.IntToPtr:
      return isInt(from) && isPtr(to);
    case Op.AddrSpaceCast:
      return isPtr(from) && isPtr(to);
    default: // BitCast between sized non-aggregates; pointers only to pointers.
      return (
        (isInt(from) || isFloat(from) || isPtr(from)) &&
        (isInt(to) || isFloat(to) || isPtr(to)) &&
        isPtr(from) === isPtr(to)
      );
  }
}

function fits(expr: ConstExpr): boolean {
  const { op, type } = expr;
  const types = expr.operands.map((operand) => operand.type);
  const [a, b, c] = types as [Type, Type, Type];
  switch (op) {
    case Op.GetElementPtr:
      return (
        types.length >= 1 &&
        isPtr(a) &&
        isPtr(type) &&
        types.every((index, i) => i === 0 || isInt(index)) &&
        expr.elementType!.kind !== "function" &&
        expr.elementType!.kind !== "void"
      );
    case Op.ICmp:
      return a === b && (isInt(a) || isPtr(a)) && isInt(type) && type.scalar.bits === 1 && sameShape(a, type);
    case Op.FCmp:
      return a === b && isFloat(a) && isInt(type) && type.scalar.bits === 1 && sameShape(a, type);
    case Op.Select:
      return a.scalar.isInt(1) && b === c && b === type && (a.kind !== "vector" || sameShape(a, b));
    case Op.ExtractElement:
      return a.kind === "vector" && a.element === type && b.kind === "int";
    case Op.InsertElement:
      return a.kind === "vector" && a === type && a.element === b && c.kind === "int";
    case Op.FNeg:
    case Op.FAdd:
    case Op.FSub:
    case Op.FMul:
    case Op.FDiv:
    case Op.FRem:
      return isFloat(type) && types.every((t) => t === type);
    default:
      if (op >= Op.Add && op <= Op.Xor) return isInt(type) && a === type && b === type;
      return castFits(op, a, type);
  }
}

/** @throws InputError when operand and result types do not fit the operation */
export function checkExpression(expr: ConstExpr): void {
  if (!fits(expr)) throw new InputError("a constant expression is ill-typed");
}
