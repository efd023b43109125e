/**
 * Typing rules that instructions and constant expressions share (LLVM Language Reference). Each function
 * returns what is wrong, or null.
 */
import { Op } from "../ir/instructions.js";
import { i1, type Type, vectorType } from "../ir/types.js";
import type { Value } from "../ir/values.js";
import { describeType } from "./describe.js";

export type Problem = string | null;

const isIntLike = (type: Type): boolean => type.scalar.kind === "int";
const isFloatLike = (type: Type): boolean => type.scalar.isFloat;
const isPointerLike = (type: Type): boolean => type.scalar.kind === "ptr";

/** Values of the type can be computed with, passed and stored. */
export function isFirstClass(type: Type): boolean {
  switch (type.kind) {
    case "void":
    case "function":
    case "label":
    case "metadata":
    case "token":
      return false;
    default:
      return true;
  }
}

/** Width of a non-pointer scalar or vector, in bits; 0 for anything else. */
function primitiveBits(type: Type): number {
  switch (type.kind) {
    case "int":
      return type.bits;
    case "half":
    case "bfloat":
      return 16;
    case "float":
      return 32;
    case "double":
      return 64;
    case "x86_fp80":
      return 80;
    case "fp128":
      return 128;
    case "vector":
      return type.count * primitiveBits(type.element);
    default:
      return 0;
  }
}

/** Same number of lanes; scalars count as such. */
const sameShape = (a: Type, b: Type): boolean =>
  a.isVector === b.isVector && (!a.isVector || a.count === b.count);

export const isCast = (op: Op): boolean => op >= Op.Trunc && op <= Op.AddrSpaceCast;
export const isBinary = (op: Op): boolean => op >= Op.Add && op <= Op.Xor;
/** Binary operations on floating-point values. */
const isFloatBinary = (op: Op): boolean =>
  op === Op.FAdd || op === Op.FSub || op === Op.FMul || op === Op.FDiv || op === Op.FRem;

export function binaryProblem(op: Op, type: Type, left: Type, right: Type): Problem {
  if (left !== right)
    return `operands have different types, ${describeType(left)} and ${describeType(right)}`;
  if (left !== type) return `the result has type ${describeType(type)}, not that of the operands`;
  if (isFloatBinary(op) ? !isFloatLike(type) : !isIntLike(type))
    return `operands of type ${describeType(type)}`;
  return null;
}

/** Result type of a comparison of values of `type`. */
const comparisonType = (type: Type): Type => (type.isVector ? vectorType(type.count, i1) : i1);

const intPredicates = new Set(["eq", "ne", "ugt", "uge", "ult", "ule", "sgt", "sge", "slt", "sle"]);
const floatPredicates = new Set(
  "false oeq ogt oge olt ole one ord uno ueq ugt uge ult ule une true".split(" "),
);

export function comparisonProblem(op: Op, predicate: unknown, type: Type, left: Type, right: Type): Problem {
  if (left !== right)
    return `operands have different types, ${describeType(left)} and ${describeType(right)}`;
  const predicates = op === Op.ICmp ? intPredicates : floatPredicates;
  if (typeof predicate !== "string" || !predicates.has(predicate)) return "unknown predicate";
  if (op === Op.ICmp ? !isIntLike(left) && !isPointerLike(left) : !isFloatLike(left))
    return `operands of type ${describeType(left)}`;
  if (type !== comparisonType(left)) return `the result has type ${describeType(type)}`;
  return null;
}

export function castProblem(op: Op, from: Type, to: Type): Problem {
  if (
    !isFirstClass(from) ||
    !isFirstClass(to) ||
    from.isAggregate ||
    to.isAggregate ||
    !castAllows(op, from, to)
  )
    return `cannot convert ${describeType(from)} to ${describeType(to)}`;
  return null;
}

function castAllows(op: Op, from: Type, to: Type): boolean {
  if (op === Op.BitCast) {
    if (isPointerLike(from) || isPointerLike(to))
      return (
        isPointerLike(from) &&
        isPointerLike(to) &&
        from.scalar === to.scalar &&
        // A pointer and a vector of one pointer are the same bits.
        (from.isVector ? from.count : 1) === (to.isVector ? to.count : 1)
      );
    return primitiveBits(from) === primitiveBits(to);
  }
  if (!sameShape(from, to)) return false;
  const narrow = primitiveBits(from.scalar);
  const wide = primitiveBits(to.scalar);
  switch (op) {
    case Op.Trunc:
      return isIntLike(from) && isIntLike(to) && narrow > wide;
    case Op.ZExt:
    case Op.SExt:
      return isIntLike(from) && isIntLike(to) && narrow < wide;
    case Op.FPTrunc:
      return isFloatLike(from) && isFloatLike(to) && narrow > wide;
    case Op.FPExt:
      return isFloatLike(from) && isFloatLike(to) && narrow < wide;
    case Op.FPToUI:
    case Op.FPToSI:
      return isFloatLike(from) && isIntLike(to);
    case Op.UIToFP:
    case Op.SIToFP:
      return isIntLike(from) && isFloatLike(to);
    case Op.PtrToInt:
      return isPointerLike(from) && isIntLike(to);
    case Op.IntToPtr:
      return isIntLike(from) && isPointerLike(to);
    default:
      return isPointerLike(from) && isPointerLike(to) && from.scalar !== to.scalar;
  }
}

/** A constant index as a number, also when it is the same in all lanes of a vector; else null. */
function constantIndex(value: Value): number | null {
  switch (value.valueKind) {
    case "int":
      return value.num;
    case "zero":
      return 0;
    case "data": {
      // Indices of struct members are i32.
      const { bytes } = value;
      if (bytes.length < 4) return null;
      const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
      const first = view.getInt32(0, true);
      for (let at = 4; at + 4 <= bytes.length; at += 4) if (view.getInt32(at, true) !== first) return null;
      return first;
    }
    case "aggregate":
      return value.elements.length > 0 ? constantIndex(value.elements[0]!) : null;
    default:
      return null;
  }
}

/** @param operands base and indices */
export function gepProblem(elementType: Type, type: Type, operands: readonly Value[]): Problem {
  const base = operands[0];
  if (base === undefined || !isPointerLike(base.type)) return "the base is not a pointer";
  if (!isFirstClass(elementType)) return `element type ${describeType(elementType)} has no size`;
  let lanes = base.type.isVector ? base.type.count : 0;
  let at = elementType;
  for (let i = 1; i < operands.length; i++) {
    const index = operands[i]!;
    if (!isIntLike(index.type)) return `index of type ${describeType(index.type)}`;
    if (index.type.isVector) {
      if (lanes !== 0 && lanes !== index.type.count) return "vectors of different lengths";
      lanes = index.type.count;
    }
    if (i === 1) continue;
    if (at.kind === "struct") {
      if (index.type.scalar.bits !== 32) return `struct index of type ${describeType(index.type)}`;
      const member = constantIndex(index);
      if (member === null || !(member >= 0 && member < at.elements.length))
        return `struct index is not a constant within ${describeType(at)}`;
      at = at.elements[member]!;
    } else if (at.kind === "array" || at.kind === "vector") at = at.element;
    else return `index into ${describeType(at)}`;
  }
  const pointer = base.type.scalar;
  const expected = lanes === 0 ? pointer : vectorType(lanes, pointer);
  return type === expected ? null : `the result has type ${describeType(type)}`;
}

/** Type at an index path into an aggregate, or undefined if the path leads nowhere. */
export function typeAt(aggregate: Type, path: readonly number[]): Type | undefined {
  let type = aggregate;
  for (const index of path) {
    if (!Number.isInteger(index) || index < 0) return undefined;
    if (type.kind === "struct" && index < type.elements.length) type = type.elements[index]!;
    else if (type.kind === "array" && index < type.count) type = type.element;
    else return undefined;
  }
  return type;
}

export function selectProblem(condition: Type, type: Type, ifTrue: Type, ifFalse: Type): Problem {
  if (ifTrue !== ifFalse)
    return `choices have different types, ${describeType(ifTrue)} and ${describeType(ifFalse)}`;
  if (ifTrue !== type) return `the result has type ${describeType(type)}`;
  if (!isFirstClass(type) && type.kind !== "token") return `choices of type ${describeType(type)}`;
  if (condition === i1) return null;
  if (!condition.isVector || condition.element !== i1) return `condition of type ${describeType(condition)}`;
  return type.isVector && type.count === condition.count ? null : "condition and choices differ in length";
}

export const isPowerOfTwo = (n: unknown): boolean =>
  typeof n === "number" && n >= 1 && Number.isInteger(Math.log2(n));
