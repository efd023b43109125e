/** Vector intrinsics that have something better than lane by lane, and those that only exist on vectors. */

import { intBinary, intCompare, intConstant, intResize } from "../../codegen/legalize/integers.js";
import type { Lowering, Parts } from "../../codegen/legalize/lowering.js";
import { type Inst, isCall, Op } from "../../ir/instructions.js";
import { i8, i16, i64 } from "../../ir/types.js";
import type { Value } from "../../ir/values.js";
import { roundLanes } from "./rounding.js";
import { scalarIntrinsics } from "./scalar-intrinsics.js";
import { systemIntrinsics } from "./system-intrinsics.js";
import {
  absolute,
  compareFloats,
  minMax,
  type ShiftKind,
  shiftUniform,
  shiftVariable,
} from "./vectors-arith.js";
import { isNonNegative, isSplat, uniformConstant } from "./vectors-facts.js";
import { build, elements, extractLane, toRegister } from "./vectors-lanes.js";
import { lowerReduction } from "./vectors-reduce.js";
import { registerOf, type Shape, shapeOf } from "./vectors-shape.js";
import {
  andNot,
  as,
  bitAnd,
  bitNot,
  bitOr,
  bitXor,
  blend,
  imm,
  shiftConstant,
  splatConstant,
  sse,
  v2i64,
} from "./vectors-sse.js";
import { x86VectorIntrinsic } from "./vectors-x86.js";

/** Lowers a call of a vector or target intrinsic by its base name; null if it has no form of its own here. */
export function vectorIntrinsic(l: Lowering, base: string, inst: Inst): Parts | null {
  if (!isCall(inst)) return null;
  const args = inst.operands.slice(1, 1 + inst.data.argumentCount);
  if (base.startsWith("vector.reduce."))
    return lowerReduction(l, base.slice("vector.reduce.".length).split(".")[0]!, inst, args);
  if (base.startsWith("x86."))
    return (
      (scalarIntrinsics.get(base) ?? systemIntrinsics.get(base))?.(l, inst, args) ??
      x86VectorIntrinsic(l, base, inst, args)
    );
  const whole = rearrange(l, base, inst, args);
  if (whole !== null) return whole;
  if (inst.type.kind !== "vector" || args[0]?.type !== inst.type) return null;
  const shape = shapeOf(inst.type);
  if (shape.representation !== "lanes") return null;
  return byRegisters(l, base, shape, inst, args);
}

/** Lane-wise operations with an instruction or short sequence per register. */
function byRegisters(
  l: Lowering,
  base: string,
  shape: Shape,
  inst: Inst,
  args: readonly Value[],
): Parts | null {
  const pinned = (v: Value): Parts =>
    l.parts(v).map((p) => (p.valueKind === "undef" ? splatConstant(p.type.element, 0n) : p));
  const binary = (f: (a: Value, b: Value) => Value): Parts => {
    const b = pinned(args[1]!);
    return pinned(args[0]!).map((r, i) => f(r, b[i]!));
  };
  const unary = (f: (a: Value) => Value): Parts => pinned(args[0]!).map(f);
  const isInt = shape.element.kind === "int" && shape.isExact;
  const bits = shape.laneBits;
  switch (base) {
    case "smax":
    case "smin":
    case "umax":
    case "umin":
      return isInt ? binary(minMaxOf(l, base, bits, args)) : null;
    case "abs":
      return isInt ? unary((a) => absolute(l, a)) : null;
    case "uadd.sat":
      if (!isInt) return null;
      if (bits <= 16) return binary((a, b) => sse(l, bits === 8 ? "paddusb" : "paddusw", a.type, a, b));
      // a + min(b, ~a)
      return binary((a, b) => l.bin(Op.Add, a, minMax(l, "umin", b, bitNot(l, a))));
    case "usub.sat":
      if (!isInt) return null;
      if (bits <= 16) return binary((a, b) => sse(l, bits === 8 ? "psubusb" : "psubusw", a.type, a, b));
      return binary((a, b) => l.bin(Op.Sub, minMax(l, "umax", a, b), b));
    case "sadd.sat":
    case "ssub.sat":
      if (!isInt) return null;
      if (bits <= 16) {
        const name = `p${base.slice(1, 4)}s${bits === 8 ? "b" : "w"}`;
        return binary((a, b) => sse(l, name, a.type, a, b));
      }
      return binary((a, b) => saturate(l, base === "sadd.sat", a, b));
    case "fmuladd": {
      if (!shape.lane.isFloat) return null;
      const addend = pinned(args[2]!);
      return binary((a, b) => l.bin(Op.FMul, a, b, inst.flags)).map((r, i) =>
        l.bin(Op.FAdd, r, addend[i]!, inst.flags),
      );
    }
    case "sqrt":
      if (!shape.lane.isFloat) return null;
      return unary((a) => sse(l, shape.lane.kind === "float" ? "sqrtps" : "sqrtpd", a.type, a));
    case "floor":
    case "ceil":
    case "trunc":
    case "roundeven":
    case "rint":
    case "nearbyint": {
      if (!shape.lane.isFloat || !shape.isExact) return null;
      const rounded = pinned(args[0]!).map((a) => roundLanes(l, base, a));
      return rounded.every((r) => r !== null) ? rounded : null;
    }
    case "fabs":
      return unary((a) => bitAnd(l, a, signMask(shape, true)));
    case "copysign":
      return binary((a, b) =>
        bitOr(l, bitAnd(l, a, signMask(shape, true)), bitAnd(l, b, signMask(shape, false))),
      );
    case "minnum":
    case "maxnum":
      if (!shape.lane.isFloat) return null;
      return binary((a, b) => numberMinMax(l, base === "minnum", shape, a, b));
    case "bswap":
      return isInt ? unary((a) => swapBytes(l, a, bits)) : null;
    case "ctpop":
      return isInt ? unary((a) => populationCount(l, a, bits)) : null;
    case "fshl":
    case "fshr":
      return isInt
        ? funnelShift(l, base === "fshl", args[2]!, pinned(args[0]!), pinned(args[1]!), pinned(args[2]!))
        : null;
    default:
      return null;
  }
}

/**
 * Lanes of two registers, one above the other, shifted together: each by what is left of the other's shift.
 * @param amounts what `counts` are the registers of; taken modulo the lane width
 */
function funnelShift(
  l: Lowering,
  isLeft: boolean,
  amounts: Value,
  high: Parts,
  low: Parts,
  counts: Parts,
): Parts {
  const { element } = high[0]!.type;
  const { bits } = element;
  const constant = uniformConstant(amounts);
  if (constant !== null) {
    const amount = constant % bits;
    if (amount === 0) return isLeft ? high : low;
    const left = isLeft ? amount : bits - amount;
    return high.map((h, i) =>
      bitOr(l, shiftConstant(l, "sll", h, left), shiftConstant(l, "srl", low[i]!, bits - left)),
    );
  }
  // What is not shifted by the amount moves by the rest in two steps, since that may be the whole width.
  const mask = splatConstant(element, BigInt(bits - 1));
  const amount = counts.map((count) => bitAnd(l, count, mask));
  const rest = amount.map((count) => bitXor(l, count, mask));
  const [left, right] = isLeft ? [amount, rest] : [rest, amount];
  const shift = shifter(l, isSplat(amounts));
  return high.map((h, i) => {
    const above = isLeft ? h : shiftConstant(l, "sll", h, 1);
    const below = isLeft ? shiftConstant(l, "srl", low[i]!, 1) : low[i]!;
    return bitOr(l, shift("sll", above, left[i]!), shift("srl", below, right[i]!));
  });
}

/** Shifts by counts in lanes; `isUniform`: by that in the first. */
function shifter(l: Lowering, isUniform: boolean): (kind: ShiftKind, v: Value, counts: Value) => Value {
  if (!isUniform) return (kind, v, counts) => shiftVariable(l, kind, v, counts);
  return (kind, v, counts) =>
    shiftUniform(l, kind, v, toRegister(l, l.cast(Op.ZExt, extractLane(l, counts, 0), i64), v2i64));
}

/** Where the sign bits are clear, the order that the machine has for the width. */
function minMaxOf(
  l: Lowering,
  base: string,
  bits: number,
  args: readonly Value[],
): (a: Value, b: Value) => Value {
  const isMachine = bits === 8 ? base[0] === "u" : base[0] === "s";
  const swapped = `${base[0] === "u" ? "s" : "u"}${base.slice(1)}`;
  const kind = !isMachine && args.every(isNonNegative) ? swapped : base;
  return (a, b) => minMax(l, kind, a, b);
}

function signMask(shape: Shape, inverted: boolean): Value {
  const sign = 1n << BigInt(shape.laneBits - 1);
  return splatConstant(shape.lane, inverted ? sign - 1n : sign);
}

/** min(b, a) gives a for any NaN, right unless a is the NaN. */
function numberMinMax(l: Lowering, isMin: boolean, shape: Shape, a: Value, b: Value): Value {
  const suffix = shape.lane.kind === "float" ? "ps" : "pd";
  const chosen = sse(l, `${isMin ? "min" : "max"}${suffix}`, a.type, b, a);
  return blend(l, compareFloats(l, "uno", a, a), b, chosen);
}

/** The wrapped result, or the bound by the sign of `a` where the signs show an overflow. */
function saturate(l: Lowering, isAdd: boolean, a: Value, b: Value): Value {
  const bits = a.type.element.bits;
  const result = l.bin(isAdd ? Op.Add : Op.Sub, a, b);
  const changed = bitXor(l, a, result);
  const overflow = isAdd ? andNot(l, bitXor(l, a, b), changed) : bitAnd(l, bitXor(l, a, b), changed);
  const mask = shiftConstant(l, "sra", overflow, bits - 1);
  const bound = bitXor(
    l,
    shiftConstant(l, "sra", a, bits - 1),
    splatConstant(a.type.element, (1n << BigInt(bits - 1)) - 1n),
  );
  return blend(l, mask, bound, result);
}

function swapBytes(l: Lowering, a: Value, bits: number): Value {
  if (bits === 8) return a;
  const words = as(l, a, registerOf(i16));
  let v = bitOr(l, shiftConstant(l, "sll", words, 8), shiftConstant(l, "srl", words, 8));
  if (bits > 16) {
    const order = bits === 32 ? 0b10_11_00_01 : 0b00_01_10_11;
    v = sse(l, "pshuflw", v.type, v, imm(order));
    v = sse(l, "pshufhw", v.type, v, imm(order));
  }
  return as(l, v, a.type);
}

/** Pairs, nibbles and bytes by masks; the bytes of a lane summed by psadbw or shifts. */
function populationCount(l: Lowering, a: Value, bits: number): Value {
  const mask = (byte: bigint): Value => splatConstant(i8, byte);
  const bytes = registerOf(i8);
  let v = as(l, a, bytes);
  v = l.bin(Op.Sub, v, bitAnd(l, shiftConstant(l, "srl", v, 1), mask(0x55n)));
  v = l.bin(Op.Add, bitAnd(l, v, mask(0x33n)), bitAnd(l, shiftConstant(l, "srl", v, 2), mask(0x33n)));
  v = bitAnd(l, l.bin(Op.Add, v, shiftConstant(l, "srl", v, 4)), mask(0x0fn));
  let lanes = as(l, v, a.type);
  for (let step = 8; step < bits; step *= 2)
    lanes = l.bin(Op.Add, lanes, shiftConstant(l, "srl", lanes, step));
  return bits === 8 ? lanes : bitAnd(l, lanes, splatConstant(a.type.element, 0xffn));
}

/** Intrinsics that move whole elements. */
function rearrange(l: Lowering, base: string, inst: Inst, args: readonly Value[]): Parts | null {
  const type = inst.type;
  const lanesOf = (v: Value): Parts[] => elements(l, v.type, l.parts(v));
  const constant = (v: Value): number => {
    if (v.valueKind !== "int") throw l.unsupported(`llvm.${base} with a variable index`);
    return Number(v.value);
  };
  const interleaved = /^(?:experimental\.)?vector\.(de)?interleave([2-8])$/.exec(base);
  if (interleaved !== null) {
    const ways = Number(interleaved[2]);
    if (interleaved[1] === undefined) {
      const all = args.map(lanesOf);
      return build(
        l,
        type,
        all[0]!.flatMap((_, i) => all.map((lanes) => lanes[i]!)),
      );
    }
    const lanes = lanesOf(args[0]!);
    return type.elements.flatMap((member, way) => [
      ...build(
        l,
        member,
        lanes.filter((_, i) => i % ways === way),
      ),
    ]);
  }
  switch (base) {
    case "vector.insert":
    case "experimental.vector.insert": {
      const lanes = lanesOf(args[0]!);
      const sub = lanesOf(args[1]!);
      lanes.splice(constant(args[2]!), sub.length, ...sub);
      return build(l, type, lanes);
    }
    case "vector.extract":
    case "experimental.vector.extract": {
      const at = constant(args[1]!);
      return build(l, type, lanesOf(args[0]!).slice(at, at + type.count));
    }
    case "vector.reverse":
    case "experimental.vector.reverse":
      return build(l, type, lanesOf(args[0]!).reverse());
    case "vector.splice":
    case "experimental.vector.splice": {
      const both = [...lanesOf(args[0]!), ...lanesOf(args[1]!)];
      const at = constant(args[2]!);
      const from = at < 0 ? type.count + at : at;
      return build(l, type, both.slice(from, from + type.count));
    }
    case "vector.splice.left":
    case "vector.splice.right": {
      const both = [...lanesOf(args[0]!), ...lanesOf(args[1]!)];
      const by = constant(args[2]!);
      const from = base.endsWith("left") ? by : type.count - by;
      return build(l, type, both.slice(from, from + type.count));
    }
    case "vector.partial.reduce.add": {
      // Which lanes go where is not said: each to the next.
      const sums = lanesOf(args[0]!);
      const { bits } = type.element;
      lanesOf(args[1]!).forEach((lane, i) => {
        const at = i % type.count;
        sums[at] = intBinary(l, Op.Add, bits, sums[at]!, lane);
      });
      return build(l, type, sums);
    }
    case "experimental.vector.extract.last.active": {
      const chosen = lanesOf(args[1]!);
      return lanesOf(args[0]!).reduce<Parts>(
        (last, lane, i) => lane.map((part, k) => l.select(chosen[i]![0]!, part, last[k]!)),
        l.parts(args[2]!),
      );
    }
    case "stepvector":
    case "experimental.stepvector": {
      const width = type.element.bits;
      return build(
        l,
        type,
        Array.from({ length: type.count }, (_, i) => intConstant(width, BigInt(i))),
      );
    }
    case "get.active.lane.mask": {
      const width = args[0]!.type.bits;
      const lanes = Array.from({ length: type.count }, (_, i): Parts => {
        const wide = intResize(l, width, 128, l.parts(args[0]!), false);
        const position = intBinary(l, Op.Add, 128, wide, intConstant(128, BigInt(i)));
        return [intCompare(l, "ult", 128, position, intResize(l, width, 128, l.parts(args[1]!), false))];
      });
      return build(l, type, lanes);
    }
    default:
      return null;
  }
}
