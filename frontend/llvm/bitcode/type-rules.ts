/**
 * The typing rules that instructions and constant expressions share (LLVM Language Reference). They keep
 * ill-typed input out of the IR; each throws InputError.
 */
import { InputError, UnsupportedError } from "../../../lto/ir/errors.js";
import { Op } from "../../../lto/ir/instructions.js";
import { floatBits, type Type, vectorType } from "../../../lto/ir/types.js";
import type { Value } from "../../../lto/ir/values.js";

const illTyped = (what: string): InputError => new InputError(`malformed bitcode: ill-typed ${what}`);

/** Both operands of one type, of integers for an integer operator and floats for a float one. */
export function checkBinary(op: Op, a: Type, b: Type): void {
  if (a !== b) throw illTyped("binary operator");
  const scalar = a.scalar;
  switch (op) {
    case Op.FAdd:
    case Op.FSub:
    case Op.FMul:
    case Op.FDiv:
    case Op.FRem:
      if (!scalar.isFloat) throw illTyped("floating-point operator");
      break;
    default:
      if (scalar.kind !== "int") throw illTyped("integer operator");
  }
}

function sameShape(from: Type, to: Type): boolean {
  return from.isVector === to.isVector && from.count === to.count;
}

/** Bits that a bitcast sees; -1 for what it cannot cast, and for pointers, which it does not mix. */
function bits(type: Type): number {
  const scalar = type.scalar;
  const lanes = type.isVector ? type.count : 1;
  if (scalar.kind === "int") return scalar.bits * lanes;
  return scalar.isFloat ? floatBits[scalar.kind]! * lanes : -1;
}

export function checkCast(op: Op, from: Type, to: Type): void {
  const a = from.scalar;
  const b = to.scalar;
  let ok: boolean;
  switch (op) {
    case Op.Trunc:
      ok = a.kind === "int" && b.kind === "int" && a.bits > b.bits;
      break;
    case Op.ZExt:
    case Op.SExt:
      ok = a.kind === "int" && b.kind === "int" && a.bits < b.bits;
      break;
    case Op.FPTrunc:
      ok = a.isFloat && b.isFloat && floatBits[a.kind]! > floatBits[b.kind]!;
      break;
    case Op.FPExt:
      ok = a.isFloat && b.isFloat && floatBits[a.kind]! < floatBits[b.kind]!;
      break;
    case Op.FPToUI:
    case Op.FPToSI:
      ok = a.isFloat && b.kind === "int";
      break;
    case Op.UIToFP:
    case Op.SIToFP:
      ok = a.kind === "int" && b.isFloat;
      break;
    case Op.PtrToInt:
      ok = a.kind === "ptr" && b.kind === "int";
      break;
    case Op.IntToPtr:
      ok = a.kind === "int" && b.kind === "ptr";
      break;
    case Op.AddrSpaceCast:
      ok = a.kind === "ptr" && b.kind === "ptr" && a !== b;
      break;
    default:
      if (from === to && (a.kind === "int" || a.kind === "ptr" || a.isFloat)) return;
      if (a.kind === "ptr" && b.kind === "ptr") ok = a === b && lanes(from) === lanes(to);
      else {
        const size = bits(from);
        if (size < 0 || size !== bits(to)) throw illTyped("bitcast");
        return;
      }
      if (!ok) throw illTyped("bitcast");
      return;
  }
  if (!ok || !sameShape(from, to)) throw illTyped("cast");
}

const lanes = (type: Type): number => (type.isVector ? type.count : 1);

/** @returns the result type of a getelementptr whose operands are the base and the indices. */
export function checkGep(elementType: Type, operands: readonly { readonly type: Type }[]): Type {
  const base = operands[0]!.type;
  if (base.scalar.kind !== "ptr") throw illTyped("getelementptr base");
  let count = base.isVector ? base.count : 0;
  let current = elementType;
  for (let i = 1; i < operands.length; i++) {
    const index = operands[i]!;
    const type = index.type;
    if (type.scalar.kind !== "int") throw illTyped("getelementptr index");
    if (type.isVector) {
      if (count !== 0 && count !== type.count) throw illTyped("getelementptr index");
      count = type.count;
    }
    if (i === 1) continue;
    if (current.kind === "struct") current = memberOf(current, index as Value);
    else if (current.kind === "array" || current.kind === "vector") current = current.element;
    else throw illTyped("getelementptr index");
  }
  return count === 0 || base.isVector ? base : vectorType(count, base);
}

function memberOf(struct: Type, index: Value): Type {
  let member: number;
  if (!index.type.scalar.isInt(32)) throw illTyped("getelementptr member number");
  if (index.valueKind === "int") member = index.num;
  else if (index.valueKind === "zero") member = 0;
  else if (index.type.isVector) throw new UnsupportedError("getelementptr with a vector of member numbers");
  else throw illTyped("getelementptr member number");
  const type = struct.elements[member];
  if (type === undefined) throw illTyped("getelementptr member number");
  return type;
}

/** @returns the type at the end of an index path into an aggregate. */
export function typeAt(aggregate: Type, path: readonly number[]): Type {
  let type = aggregate;
  for (const index of path) {
    if (type.kind === "struct") {
      const member = type.elements[index];
      if (member === undefined) throw illTyped("aggregate index");
      type = member;
    } else if (type.kind === "array" && index < type.count) type = type.element;
    else throw illTyped("aggregate index");
  }
  return type;
}
