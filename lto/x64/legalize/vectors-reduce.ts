/**
 * Horizontal reductions (LangRef, "Vector Reduction Intrinsics").
 *
 * Registers are combined first, then the halves of one register, as long as the live lanes are a power of
 * two; otherwise lane by lane. Ordered floating-point sums and products go strictly from first to last.
 */
import { floatMinMax } from "../../codegen/legalize/floats.js";
import { intBinary, intCompare, intConstant, isZero, selectParts } from "../../codegen/legalize/integers.js";
import type { Lowering, Parts } from "../../codegen/legalize/lowering.js";
import { scalarBinary } from "../../codegen/legalize/scalars.js";
import { type BinaryOp, Flag, type Inst, Op } from "../../ir/instructions.js";
import { intType, type Type } from "../../ir/types.js";
import type { Value } from "../../ir/values.js";
import { minMax, multiply } from "./vectors-arith.js";
import { extendInLane, vectorToBits } from "./vectors-cast.js";
import { elements, extractLane, fromLane } from "./vectors-lanes.js";
import { type Shape, shapeOf } from "./vectors-shape.js";
import { shuffle } from "./vectors-shuffle.js";

const binaryOps: Readonly<Record<string, BinaryOp>> = {
  add: Op.Add,
  mul: Op.Mul,
  and: Op.And,
  or: Op.Or,
  xor: Op.Xor,
  fadd: Op.FAdd,
  fmul: Op.FMul,
};

/** Lowers `llvm.vector.reduce.NAME`. */
export function lowerReduction(l: Lowering, name: string, inst: Inst, args: readonly Value[]): Parts {
  const vector = args[args.length - 1]!;
  const type = vector.type;
  const parts = l.parts(vector);
  const shape = shapeOf(type);
  if (name === "fadd" || name === "fmul") {
    const start = l.parts(args[0]!);
    const op = binaryOps[name]!;
    if ((inst.flags & Flag.AllowReassoc) !== 0 && shape.representation === "lanes" && shape.lane.isFloat) {
      const folded = foldLanes(l, shape, parts, (a, b) => l.bin(op, a, b, inst.flags));
      if (folded !== null) return scalarBinary(l, op, type.element, start, folded, inst.flags);
    }
    let sum = start;
    for (const p of elements(l, type, parts)) sum = scalarBinary(l, op, type.element, sum, p, inst.flags);
    return sum;
  }
  if (shape.representation === "mask") return reduceMask(l, name, type, parts);
  if (shape.representation === "lanes" && !shape.lane.isFloat && shape.element.kind === "int") {
    const signed = name[0] === "s";
    const op = binaryOps[name];
    const source = op === undefined ? extendInLane(l, shape, parts, signed) : parts;
    const folded = foldLanes(l, shape, source, (a, b) =>
      op === undefined ? minMax(l, name, a, b) : op === Op.Mul ? multiply(l, a, b) : l.bin(op, a, b),
    );
    if (folded !== null) return folded;
  }
  const all = elements(l, type, parts);
  return all.slice(1).reduce((sum, p) => combine(l, name, type.element, sum, p, inst.flags), all[0]!);
}

function combine(l: Lowering, name: string, type: Type, a: Parts, b: Parts, flags: number): Parts {
  const op = binaryOps[name];
  if (op !== undefined) return intBinary(l, op, type.bits, a, b);
  switch (name) {
    case "fmax":
    case "fmin":
      return floatMinMax(l, name === "fmax" ? "maxnum" : "minnum", type, a, b, flags);
    case "fmaximum":
    case "fminimum":
      return floatMinMax(l, name.slice(1), type, a, b, flags);
    default: {
      const predicate = `${name[0]}${name.endsWith("max") ? "gt" : "lt"}` as "sgt";
      return selectParts(l, intCompare(l, predicate, type.bits, a, b), a, b);
    }
  }
}

/** Combines registers, then halves; null unless the lanes in use fill a power of two everywhere. */
function foldLanes(l: Lowering, shape: Shape, parts: Parts, f: (a: Value, b: Value) => Value): Parts | null {
  const inUse = Math.min(shape.count, shape.perRegister);
  if ((inUse & (inUse - 1)) !== 0 || shape.count % inUse !== 0) return null;
  let total = parts[0]!;
  for (let i = 1; i < parts.length; i++) total = f(total, parts[i]!);
  const n = shape.perRegister;
  for (let half = inUse / 2; half >= 1; half /= 2) {
    const upper = Array.from({ length: n }, (_, i) => (i < half ? i + half : -1));
    total = f(total, shuffle(l, total, total, upper));
  }
  return fromLane(l, shape, extractLane(l, total, 0));
}

/** By the mask's bits: and, or, and the parity. As a signed number the set bit is the least. */
function reduceMask(l: Lowering, name: string, type: Type, parts: Parts): Parts {
  const count = type.count;
  const bits = vectorToBits(l, type, parts);
  switch (name) {
    case "and":
    case "mul":
    case "umin":
    case "smax":
      return [intCompare(l, "eq", count, bits, intConstant(count, -1n))];
    case "or":
    case "umax":
    case "smin":
      return [l.not(isZero(l, count, bits))];
    default: {
      let word = bits;
      for (let shift = 1; shift < count; shift *= 2)
        word = intBinary(
          l,
          Op.Xor,
          count,
          word,
          intBinary(l, Op.LShr, count, word, intConstant(count, BigInt(shift))),
        );
      return [l.cast(Op.Trunc, word[0]!, intType(1))];
    }
  }
}
