/** Which types are legal, and classes of the others. */
import { UnsupportedError } from "../../ir/errors.js";
import type { Type } from "../../ir/types.js";
import type { VectorTarget } from "./target.js";

/** Classes of types, as small integers. */
export const TypeClass = {
  /** void, label, metadata, token, function: never a value to lower. */
  None: 0,
  Bool: 1,
  /** i8, i16, i32, i64. */
  Int: 2,
  Pointer: 3,
  /** float, double, x86_fp80. */
  Float: 4,
  /** half, bfloat, fp128: values that only move. */
  SoftFloat: 5,
  /** A full 128-bit vector of machine lanes. */
  Vector: 6,
  /** Integers of other widths. */
  OddInt: 7,
  Aggregate: 8,
  /** Vectors of other shapes. */
  OddVector: 9,
  /** A full 256-bit vector of machine lanes: as `Vector` where registers are as wide, else as `OddVector`. */
  WideVector: 10,
  /** A full 512-bit vector of machine lanes, likewise. */
  WidestVector: 11,
} as const;

const classes: (number | undefined)[] = [];

/** `__ptr32` of Microsoft's compilers, with and without a sign. */
const narrowSpaces = new Set([270, 271]);

function classify(type: Type): number {
  switch (type.kind) {
    case "int":
      switch (type.bits) {
        case 1:
          return TypeClass.Bool;
        case 8:
        case 16:
        case 32:
        case 64:
          return TypeClass.Int;
        default:
          return TypeClass.OddInt;
      }
    case "ptr":
      if (narrowSpaces.has(type.addressSpace))
        throw new UnsupportedError(`32-bit pointer (address space ${type.addressSpace})`);
      return TypeClass.Pointer;
    case "float":
    case "double":
    case "x86_fp80":
      return TypeClass.Float;
    case "half":
    case "bfloat":
    case "fp128":
      return TypeClass.SoftFloat;
    case "vector":
      return isMachineVector(type, 128)
        ? TypeClass.Vector
        : isMachineVector(type, 256)
          ? TypeClass.WideVector
          : isMachineVector(type, 512)
            ? TypeClass.WidestVector
            : TypeClass.OddVector;
    case "array":
    case "struct":
      return TypeClass.Aggregate;
    default:
      return TypeClass.None;
  }
}

/** So many bits of i8, i16, i32, i64, float or double. */
function isMachineVector(type: Type, bits: number): boolean {
  const element = type.element;
  switch (element.kind) {
    case "int":
      return classOf(element) === TypeClass.Int && element.bits * type.count === bits;
    case "float":
      return type.count * 32 === bits;
    case "double":
      return type.count * 64 === bits;
    default:
      return false;
  }
}

export function classOf(type: Type): number {
  return classes[type.id] ?? (classes[type.id] = classify(type));
}

/** The class among those of a function. */
export function classIn(type: Type, vectors: VectorTarget): number {
  const c = classOf(type);
  if (c < TypeClass.WideVector) return c;
  const bytes = c === TypeClass.WideVector ? 32 : 64;
  return vectors.registerBytes >= bytes ? TypeClass.Vector : TypeClass.OddVector;
}

/** A type whose values are one legal value of the same type. */
export function isLegalType(type: Type, vectors: VectorTarget): boolean {
  const c = classIn(type, vectors);
  return c >= TypeClass.Bool && c <= TypeClass.Vector;
}
