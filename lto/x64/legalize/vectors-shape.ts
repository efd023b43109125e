/**
 * How vector types are held in SSE2 registers.
 *
 * - Lanes of i8 … i64, float and double are themselves; other integers up to 64 bits are promoted to the next
 *   lane with undefined upper bits; pointers are i64 lanes, half and bfloat are i16 lanes of their bits.
 * - A vector of i1 is a mask: lanes of all ones or all zeros, as wide as fills one register (i8 at least).
 * - Vectors of one element and of elements wider than 64 bits are their elements, each as its own parts.
 * Lanes past the element count are undefined. This is what LLVM 19 does for the SSE2 baseline, including at
 * calls (checked with llc on the shapes that C programs pass).
 */
import { doubleType, floatType, i8, i16, i32, i64, type Type, vectorType } from "../../ir/types.js";

export type Representation = "lanes" | "mask" | "each";

export interface Shape {
  readonly representation: Representation;
  readonly element: Type;
  readonly count: number;
  /** Machine lane type; meaningless for `each`. */
  readonly lane: Type;
  readonly laneBits: number;
  readonly perRegister: number;
  readonly registers: number;
  readonly register: Type;
  /** Each lane is exactly the bits of its element, so memory holds the registers' bytes. */
  readonly isExact: boolean;
}

const shapes: (Shape | undefined)[] = [];
const registerTypes = new Map<Type, Type>();

export function bitsOf(lane: Type): number {
  return lane.kind === "float" ? 32 : lane.kind === "double" ? 64 : lane.bits;
}
/** The 128-bit vector of a lane type. */
export function registerOf(lane: Type): Type {
  let type = registerTypes.get(lane);
  if (type === undefined) registerTypes.set(lane, (type = vectorType(128 / bitsOf(lane), lane)));
  return type;
}
export function intLane(bits: number): Type {
  return bits === 8 ? i8 : bits === 16 ? i16 : bits === 32 ? i32 : i64;
}

function laneOf(element: Type, count: number): Type | null {
  switch (element.kind) {
    case "int":
      if (element.bits === 1) return count <= 2 ? i64 : count <= 4 ? i32 : count <= 8 ? i16 : i8;
      if (element.bits > 64) return null;
      return element.bits <= 8 ? i8 : element.bits <= 16 ? i16 : element.bits <= 32 ? i32 : i64;
    case "ptr":
      return i64;
    case "half":
    case "bfloat":
      return i16;
    case "float":
      return floatType;
    case "double":
      return doubleType;
    default:
      return null;
  }
}

export function shapeOf(type: Type): Shape {
  return (shapes[type.id] ??= makeShape(type));
}

function makeShape(type: Type): Shape {
  const { element, count } = type;
  const lane = count === 1 ? null : laneOf(element, count);
  if (lane === null)
    return {
      representation: "each",
      element,
      count,
      lane: element,
      laneBits: 0,
      perRegister: 1,
      registers: count,
      register: element,
      isExact: false,
    };
  const laneBits = bitsOf(lane);
  const perRegister = 128 / laneBits;
  const isMask = element.isInt(1);
  return {
    representation: isMask ? "mask" : "lanes",
    element,
    count,
    lane,
    laneBits,
    perRegister,
    registers: Math.ceil(count / perRegister),
    register: registerOf(lane),
    isExact: !isMask && (element.kind !== "int" || element.bits === laneBits),
  };
}
