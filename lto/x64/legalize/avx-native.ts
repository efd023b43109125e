/**
 * Operations that AVX, or AVX2, has instructions or short sequences for, on registers of 128 and 256 bits alike; what is none
 * of these is null. Integers of 256 bits want AVX2; both have all that SSE4.2 has.
 */
import { elementOf } from "../../codegen/legalize/constants.js";
import { intResize } from "../../codegen/legalize/integers.js";
import type { Lowering, Parts } from "../../codegen/legalize/lowering.js";
import {
  type BinaryOp,
  type FloatPredicate,
  type Inst,
  type IntPredicate,
  Op,
} from "../../ir/instructions.js";
import { doubleType, floatType, i32, i64, type Type } from "../../ir/types.js";
import { ConstData, isConstant, type Value, zeroOf } from "../../ir/values.js";
import { nativeCast } from "./avx-cast.js";
import { maskFrom, maskLike } from "./avx-masks.js";
import { alike, bytesOf, constantLanes, halvesOf, isWide, splatOf, vex } from "./avx-registers.js";
import { nativeShuffle } from "./avx-shuffle.js";
import { halfArithmetic } from "./half.js";
import { lowerHalves, type QuadOperations, quadProduct } from "./quad-products.js";
import { compareFloats as compareBySse } from "./vectors-arith.js";
import { extensionsOf } from "./vectors-extensions.js";
import { isNonNegative, isSplat, signedBits, uniformConstant, usedBits } from "./vectors-facts.js";
import { shiftCount } from "./vectors-lanes.js";
import { naturalOf, signsOf } from "./vectors-masks.js";
import { bitsOf, intLane, shapeOf } from "./vectors-shape.js";
import { as, imm, letterOf } from "./vectors-sse.js";

/** Registers with undefined ones fixed to zero, for sequences that read them more than once. */
export function pinnedParts(l: Lowering, value: Value): Parts {
  const parts = l.parts(value);
  return parts.some((p) => p.valueKind === "undef")
    ? parts.map((p) => (p.valueKind === "undef" ? zeroOf(p.type) : p))
    : parts;
}

/** Whether there are integer operations as wide as the registers. */
export const hasIntegers = (parts: Parts, avx2: boolean): boolean =>
  avx2 || !parts.some((p) => isWide(p.type));

/** The parts of an instruction on vectors; null: the baseline's code does it. */
export function nativeOperation(l: Lowering, inst: Inst, avx2: boolean): Parts | null {
  const { operands } = inst;
  switch (inst.op) {
    case Op.ICmp:
    case Op.FCmp:
      return compare(l, inst.data, inst.type, operands[0]!, operands[1]!, avx2);
    case Op.Select:
      return select(l, operands[0]!, operands[1]!, operands[2]!, avx2);
    case Op.ShuffleVector:
      return nativeShuffle(l, operands[0]!, operands[1]!, inst.type, inst.data, avx2);
    case Op.FNeg: {
      const shape = shapeOf(inst.type);
      if (shape.representation !== "lanes" || !shape.lane.isFloat) return null;
      return pinnedParts(l, operands[0]!).map((r) => l.fneg(r, inst.flags));
    }
    case Op.Trunc:
    case Op.ZExt:
    case Op.SExt:
    case Op.FPTrunc:
    case Op.FPExt:
    case Op.FPToUI:
    case Op.FPToSI:
    case Op.UIToFP:
    case Op.SIToFP:
      return nativeCast(l, inst, operands[0]!, avx2);
    default:
      if (inst.op >= Op.Add && inst.op <= Op.Xor)
        return binary(l, inst.op as BinaryOp, inst.type, operands[0]!, operands[1]!, inst.flags, avx2);
      return null;
  }
}

function binary(
  l: Lowering,
  op: BinaryOp,
  type: Type,
  left: Value,
  right: Value,
  flags: number,
  avx2: boolean,
): Parts | null {
  const shape = shapeOf(type);
  if (shape.representation === "mask") return logical(l, op, type, left, right, avx2);
  if (shape.representation !== "lanes") return null;
  const a = pinnedParts(l, left);
  const b = pinnedParts(l, right);
  const each = (f: (x: Value, y: Value) => Value): Parts => a.map((x, i) => f(x, b[i]!));
  switch (op) {
    case Op.And:
    case Op.Or:
    case Op.Xor:
      return each((x, y) => l.bin(op, x, y, shape.isExact ? flags : 0));
    case Op.Add:
    case Op.Sub:
      return hasIntegers(a, avx2) ? each((x, y) => l.bin(op, x, y, shape.isExact ? flags : 0)) : null;
    case Op.FAdd:
    case Op.FSub:
    case Op.FMul:
    case Op.FDiv:
      return shape.lane.isFloat
        ? each((x, y) => l.bin(op, x, y, flags))
        : halfArithmetic(l, op, type, [a, b], flags);
    case Op.Mul:
      if (!hasIntegers(a, avx2) || shape.laneBits === 8) return null;
      if (shape.laneBits === 64 && shape.isExact) return multiplyQuads(l, left, right, null);
      return each((x, y) =>
        shape.laneBits === 64
          ? quadProduct(l, x, y, [64, 64], quadOperations(l, x.type))
          : l.bin(Op.Mul, x, y),
      );
    case Op.Shl:
      return shape.isExact ? shift(l, "ll", right, a, b, avx2) : null;
    case Op.LShr:
      return shape.isExact ? shift(l, "rl", right, a, b, avx2) : null;
    case Op.AShr:
      return shape.isExact ? shift(l, "ra", right, a, b, avx2) : null;
    default:
      return null;
  }
}

/** Bit operations on masks, in the form that one of them was made in if it is another than that of all masks. */
function logical(
  l: Lowering,
  op: BinaryOp,
  type: Type,
  left: Value,
  right: Value,
  avx2: boolean,
): Parts | null {
  if (op !== Op.And && op !== Op.Or && op !== Op.Xor) return null;
  const a = l.parts(left);
  const b = l.parts(right);
  const made = naturalOf(a) ?? naturalOf(b);
  const { bits, registers } = made ?? { bits: shapeOf(type).laneBits, registers: a };
  const types = registers.map((r) => r.type);
  const y = maskOperand(l, type, right, b, types, avx2);
  const wide = maskOperand(l, type, left, a, types, avx2).map((r, i) => l.bin(op, r, as(l, y[i]!, r.type)));
  return maskFrom(l, type, bits, wide);
}

function maskOperand(
  l: Lowering,
  type: Type,
  value: Value,
  parts: Parts,
  types: readonly Type[],
  avx2: boolean,
): Parts {
  if (!isConstant(value) || value.valueKind === "expr") return maskLike(l, type, parts, types, avx2);
  let lane = 0;
  return types.map((t) => {
    const bits = Array.from({ length: t.count }, (_, i) => {
      const element = lane + i < type.count ? elementOf(value, lane + i) : null;
      return element?.valueKind === "int" && (element.num & 1) !== 0 ? -1n : 0n;
    });
    lane += t.count;
    return constantLanes(t, bits);
  });
}

/** Products of 64-bit lanes. @param whole of lanes of which nothing is known; null: from products of halves */
export function multiplyQuads(
  l: Lowering,
  left: Value,
  right: Value,
  whole: ((a: Value, b: Value) => Value) | null,
): Parts {
  const used = [usedBits(left), usedBits(right)] as const;
  const isUnsigned = used[0] <= 32 && used[1] <= 32;
  if (isUnsigned || (signedBits(left) <= 32 && signedBits(right) <= 32)) {
    const halves = (value: Value): Parts =>
      lowerHalves(
        (v) => pinnedParts(l, v),
        (v, control) => vex(l, "Pshufd", v.type, v, imm(control)),
        value,
      );
    const b = halves(right);
    return halves(left).map((x, i) => {
      const dwords = alike(x.type, i32);
      const op = isUnsigned ? "Pmuludq" : "Pmuldq";
      return vex(l, op, alike(x.type, i64), as(l, x, dwords), as(l, b[i]!, dwords));
    });
  }
  const b = pinnedParts(l, right);
  return pinnedParts(l, left).map(
    (x, i) => whole?.(x, b[i]!) ?? quadProduct(l, x, b[i]!, used, quadOperations(l, x.type)),
  );
}

function quadOperations(l: Lowering, type: Type): QuadOperations {
  const dwords = alike(type, i32);
  return {
    multiply: (x, y) => vex(l, "Pmuludq", type, as(l, x, dwords), as(l, y, dwords)),
    shiftRight: (v) => vex(l, "Psrlq", type, v, imm(32)),
    shiftLeft: (v) => vex(l, "Psllq", type, v, imm(32)),
  };
}

export type Shift = "ll" | "rl" | "ra";

/** Every lane shifted by a constant below the lane width; there is none for bytes, and no arithmetic one of 64 bits. */
export const shiftBy = (l: Lowering, kind: Shift, v: Value, amount: number): Value =>
  amount === 0 ? v : vex(l, `Ps${kind}${letterOf(v.type.element.bits)}`, v.type, v, imm(amount));

/** Of another block, as what loops do not change is: lanes that are there already are better than a count that has to be made. */
export const isElsewhere = (l: Lowering, value: Value): boolean =>
  value.valueKind !== "inst" || value.parent !== l.block;

function shift(l: Lowering, kind: Shift, amounts: Value, a: Parts, b: Parts, avx2: boolean): Parts | null {
  const bits = a[0]!.type.element.bits;
  if (bits === 8 || (bits === 64 && kind === "ra") || !hasIntegers(a, avx2)) return null;
  const constant = uniformConstant(amounts);
  if (constant !== null)
    return a.map((r) => (constant >= bits ? zeroOf(r.type) : shiftBy(l, kind, r, constant)));
  const hasVariable = avx2 && bits >= 32;
  if (isSplat(amounts) && !(hasVariable && isElsewhere(l, amounts))) {
    const first = b[0]!;
    const count = shiftCount(l, amounts, isWide(first.type) ? halvesOf(l, first)[0] : first);
    return a.map((r) => vex(l, `Ps${kind}${letterOf(bits)}`, r.type, r, count));
  }
  if (!hasVariable) return null;
  return a.map((r, i) => vex(l, `Ps${kind}v${letterOf(bits)}`, r.type, r, b[i]!));
}

/** Immediates of vcmpps (Intel SDM, CMPPS, table of pseudo-ops). */
export const compareImmediates: Readonly<Record<string, number>> = {
  oeq: 0,
  olt: 1,
  ole: 2,
  uno: 3,
  une: 4,
  uge: 5,
  ugt: 6,
  ord: 7,
  ueq: 8,
  ult: 9,
  ule: 10,
  false: 11,
  one: 12,
  oge: 13,
  ogt: 14,
  true: 15,
};

const isDoubles = (type: Type): boolean => type.element === doubleType;

/** A comparison of floats or doubles, as a mask of integer lanes. */
export function compareFloats(l: Lowering, predicate: FloatPredicate, a: Value, b: Value): Value {
  const { type } = a;
  // There are fewer comparisons without AVX.
  if (!extensionsOf(l).avx) return compareBySse(l, predicate, a, b);
  const name = isDoubles(type) ? "Cmppd" : "Cmpps";
  const result = vex(l, name, type, a, b, imm(compareImmediates[predicate]!));
  return as(l, result, alike(type, intLane(bitsOf(type.element))));
}

const ones = (type: Type): Value => new ConstData(type, new Uint8Array(bytesOf(type)).fill(255));

function compareInts(l: Lowering, predicate: IntPredicate, a: Value, b: Value): Value {
  const { type } = a;
  const letter = letterOf(type.element.bits);
  const equal = (x: Value, y: Value): Value => vex(l, `Pcmpeq${letter}`, type, x, y);
  const greater = (x: Value, y: Value): Value => vex(l, `Pcmpgt${letter}`, type, x, y);
  const not = (x: Value): Value => l.bin(Op.Xor, x, ones(type));
  if (predicate[0] === "u") {
    if (type.element.bits === 64) {
      const flip = splatOf(type, 1n << 63n);
      const signed = `s${predicate.slice(1)}` as IntPredicate;
      return compareInts(l, signed, l.bin(Op.Xor, a, flip), l.bin(Op.Xor, b, flip));
    }
    const most = (name: string): Value => vex(l, `P${name}u${letter}`, type, a, b);
    switch (predicate) {
      case "ule":
        return equal(most("min"), a);
      case "uge":
        return equal(most("max"), a);
      case "ugt":
        return not(equal(most("min"), a));
      default:
        return not(equal(most("max"), a));
    }
  }
  switch (predicate) {
    case "eq":
      return equal(a, b);
    case "ne":
      return not(equal(a, b));
    case "sgt":
      return greater(a, b);
    case "slt":
      return greater(b, a);
    case "sge":
      return not(greater(b, a));
    default:
      return not(greater(a, b));
  }
}

function compare(
  l: Lowering,
  predicate: IntPredicate | FloatPredicate,
  result: Type,
  left: Value,
  right: Value,
  avx2: boolean,
): Parts | null {
  const shape = shapeOf(left.type);
  if (shape.representation !== "lanes" || !shape.isExact) return null;
  const isInt = shape.element.kind === "int" || shape.element.kind === "ptr";
  if (!isInt && !shape.lane.isFloat) return null;
  const a = pinnedParts(l, left);
  const b = pinnedParts(l, right);
  if (isInt && !hasIntegers(a, avx2)) return null;
  if (isInt && shape.laneBits === 64 && !/eq|ne/.test(predicate) && !extensionsOf(l).sse42) return null;
  if (isInt && predicate[0] === "u" && isNonNegative(left) && isNonNegative(right))
    predicate = `s${predicate.slice(1)}` as IntPredicate;
  const masks = a.map((r, i) =>
    isInt
      ? compareInts(l, predicate as IntPredicate, r, b[i]!)
      : compareFloats(l, predicate as FloatPredicate, r, b[i]!),
  );
  return maskFrom(l, result, shape.laneBits, masks);
}

/** `set` where the mask's lanes are all ones, `clear` where they are zeros. */
export function blendBy(l: Lowering, mask: Value, set: Value, clear: Value): Value {
  const { type } = set;
  const bits = bitsOf(type.element);
  // The sign of each lane is all that is looked at, or of each byte of words.
  if (bits !== 16) mask = signsOf(mask, bits);
  const lane = bits === 32 ? floatType : bits === 64 ? doubleType : null;
  if (lane === null) {
    const bytes = alike(type, intLane(8));
    return as(l, vex(l, "Pblendvb", bytes, as(l, clear, bytes), as(l, set, bytes), as(l, mask, bytes)), type);
  }
  const form = alike(type, lane);
  const name = bits === 32 ? "Blendvps" : "Blendvpd";
  return as(l, vex(l, name, form, as(l, clear, form), as(l, set, form), as(l, mask, form)), type);
}

function select(l: Lowering, condition: Value, left: Value, right: Value, avx2: boolean): Parts | null {
  const { type } = left;
  const shape = shapeOf(type);
  if (shape.representation !== "lanes") return null;
  const a = l.parts(left);
  const b = l.parts(right);
  if (shape.laneBits < 32 && !hasIntegers(a, avx2)) return null;
  const types = l.partTypes(type);
  const mask = maskLike(l, condition.type, l.parts(condition), types, avx2);
  return a.map((r, i) => {
    const other = b[i]!;
    if (r === other) return r;
    const bits = as(l, mask[i]!, alike(r.type, intLane(bitsOf(r.type.element))));
    if (other.valueKind === "zero") return as(l, l.bin(Op.And, bits, as(l, r, bits.type)), r.type);
    return blendBy(l, bits, r, other);
  });
}

/** The bits of a mask that fills one register of 256 bits; null: not such a mask. */
export function nativeBits(l: Lowering, type: Type, parts: Parts): Parts | null {
  const shape = shapeOf(type);
  if (shape.representation !== "mask") return null;
  const natural = naturalOf(parts) ?? { bits: shape.laneBits, registers: parts };
  const [register] = natural.registers;
  if (natural.registers.length !== 1 || !isWide(register!.type) || register!.type.count !== shape.count)
    return null;
  const signs = signsOf(register!, natural.bits);
  let word: Value;
  switch (natural.bits) {
    case 8:
      word = vex(l, "Pmovmskb", i32, signs);
      break;
    case 32:
      word = vex(l, "Movmskps", i32, as(l, signs, alike(signs.type, floatType)));
      break;
    case 64:
      word = vex(l, "Movmskpd", i32, as(l, signs, alike(signs.type, doubleType)));
      break;
    default:
      return null;
  }
  const bits = intResize(l, 32, shape.count, [word], false);
  if (shape.count < 32) l.knownBits.set(bits[0]!, shape.count);
  return bits;
}
