/**
 * Vector code for the SSE2 baseline: the legaliser's vector target.
 *
 * Values are held as lower-vectors-shape.ts says: narrow vectors widened to one register, wide ones split,
 * i1 vectors as lane masks. An operation is done register by register where SSE2 has an instruction or a
 * short sequence for it, and lane by lane otherwise. What remains are `tsc.x64.*` calls, one for one with
 * instructions, and plain operations on full registers.
 */

import { floatNeg } from "../../codegen/legalize/floats.js";
import type { Lowering } from "../../codegen/legalize/lowering.js";
import { scalarBinary, scalarCast, scalarCompare } from "../../codegen/legalize/scalars.js";
import type { Parts, VectorTarget } from "../../codegen/legalize/target.js";
import {
  type BinaryOp,
  type CastOp,
  Flag,
  type FloatPredicate,
  type Inst,
  type IntPredicate,
  Op,
} from "../../ir/instructions.js";
import type { Type } from "../../ir/types.js";
import { ConstUndef, type Value, zeroOf } from "../../ir/values.js";
import { lowerHalves } from "./quad-products.js";
import {
  compareEqual,
  compareFloats,
  compareInts,
  dwordShuffle,
  type FactorFacts,
  multiply,
  type ShiftKind,
  shiftUniform,
  shiftVariable,
} from "./vectors-arith.js";
import { castVector, extendInLane, packPairs, vectorFromBits, vectorToBits } from "./vectors-cast.js";
import { clampOf, packsOf } from "./vectors-clamp.js";
import { extensionsOf } from "./vectors-extensions.js";
import {
  isNonNegative,
  isSplat,
  signedBits,
  splatScalar,
  uniformConstant,
  usedBits,
} from "./vectors-facts.js";
import { vectorIntrinsic } from "./vectors-intrinsics.js";
import { knownLanes, shiftLanes } from "./vectors-lane-shifts.js";
import {
  build,
  constantVector,
  elements,
  extractElement,
  insertElement,
  shiftCount,
  splat,
} from "./vectors-lanes.js";
import { fixedForm, maskOfWidth, naturalWidth, resizeMask } from "./vectors-masks.js";
import { loadVector, storeVector } from "./vectors-memory.js";
import { type Shape, shapeOf } from "./vectors-shape.js";
import { shuffle } from "./vectors-shuffle.js";
import {
  as,
  bitAnd,
  bitXor,
  blend,
  shiftConstant,
  splatConstant,
  sse,
  v2i64,
  v4i32,
  v8i16,
  v16i8,
} from "./vectors-sse.js";

export const sse2Vectors: VectorTarget = {
  registerBytes: 16,
  partTypes(type, scalarParts) {
    const shape = shapeOf(type);
    if (shape.representation !== "each") return new Array<Type>(shape.registers).fill(shape.register);
    const element = scalarParts(type.element);
    return Array.from({ length: type.count }, () => element).flat();
  },
  argumentForm(type) {
    const shape = shapeOf(type);
    if (shape.count > 1 && (shape.count & (shape.count - 1)) !== 0) {
      let rounded = 4;
      while (rounded < shape.count) rounded *= 2;
      const { element } = type;
      const bits = element.kind === "int" ? element.bits : element.kind === "x86_fp80" ? 80 : shape.laneBits;
      if (rounded * bits !== 128 || !shape.isExact) return "elements";
    }
    return shape.representation === "mask" ? "mask" : "registers";
  },
  wholeMask(l, parts) {
    return parts.map((r) => {
      const one = splatConstant(r.type.element, 1n);
      return compareEqual(l, bitAnd(l, r, one), one);
    });
  },
  isLegal(inst) {
    switch (inst.op) {
      case Op.Add:
      case Op.Sub:
      case Op.And:
      case Op.Or:
      case Op.Xor:
      case Op.FAdd:
      case Op.FSub:
      case Op.FMul:
      case Op.FDiv:
      case Op.FNeg:
        return true;
      case Op.Mul:
        return inst.type.element.bits === 16;
      default:
        return false;
    }
  },
  lower: lowerVector,
  intrinsic: vectorIntrinsic,
  constant: constantVector,
  load: loadVector,
  store: storeVector,
  toBits: vectorToBits,
  fromBits: vectorFromBits,
  elements,
  build,
};

function lowerVector(l: Lowering, inst: Inst): Parts {
  const operands = inst.operands;
  switch (inst.op) {
    case Op.ExtractElement:
      return extractElement(l, operands[0]!, operands[1]!);
    case Op.InsertElement:
      return insertElement(l, operands[0]!, operands[1]!, operands[2]!);
    case Op.ShuffleVector:
      return lowerShuffle(l, operands[0]!, operands[1]!, inst.type, inst.data);
    case Op.Select:
      return lowerSelect(l, operands[0]!, operands[1]!, operands[2]!);
    case Op.ICmp:
    case Op.FCmp:
      return lowerCompare(l, inst.data, inst.type, operands[0]!, operands[1]!);
    case Op.FNeg:
      return lowerNeg(l, inst.type, l.parts(operands[0]!), inst.flags);
    case Op.Trunc:
    case Op.ZExt:
    case Op.SExt:
    case Op.FPTrunc:
    case Op.FPExt:
    case Op.FPToUI:
    case Op.FPToSI:
    case Op.UIToFP:
    case Op.SIToFP:
    case Op.PtrToInt:
    case Op.IntToPtr:
    case Op.AddrSpaceCast:
      return lowerCast(l, inst.op as CastOp, inst, operands[0]!);
    default:
      if (inst.op >= Op.Add && inst.op <= Op.Xor)
        return lowerBinary(l, inst.op as BinaryOp, inst.type, operands[0]!, operands[1]!, inst.flags);
      throw new Error(`legalize: no vector lowering for opcode ${inst.op}`);
  }
}

/** Registers with undefined ones fixed to zero, for sequences that read them more than once. */
function pin(l: Lowering, value: Value): Parts {
  const parts = l.parts(value);
  return parts.some((p) => p.valueKind === "undef")
    ? parts.map((p) => (p.valueKind === "undef" ? zeroOf(p.type) : p))
    : parts;
}

function lowerCast(l: Lowering, op: CastOp, inst: Inst, source: Value): Parts {
  const packed = op === Op.Trunc ? packedClamp(l, inst.type, source) : null;
  if (packed !== null) return packed;
  // Sign extension by a shift, and signed conversion, are shorter than what unsigned ones take.
  const known = op === Op.UIToFP && ((inst.flags & Flag.NonNeg) !== 0 || isNonNegative(source));
  const spread = op === Op.ZExt || op === Op.SExt ? extendedSplat(l, op, inst.type, source) : null;
  if (spread !== null) return spread;
  const isLossless =
    op === Op.Trunc && ((inst.flags & Flag.Nuw) !== 0 || usedBits(source) <= inst.type.element.bits);
  return castVector(l, known ? Op.SIToFP : op, source.type, inst.type, pin(l, source), isLossless);
}

/** A scalar in all lanes is extended by itself: that is one instruction, and one register for all; null: it is none. */
function extendedSplat(l: Lowering, op: Op.ZExt | Op.SExt, type: Type, source: Value): Parts | null {
  const scalar = splatScalar(source);
  const [from, to] = [shapeOf(source.type), shapeOf(type)];
  if (scalar === null || from.representation !== "lanes" || to.representation !== "lanes" || !to.isExact)
    return null;
  const [extended] = scalarCast(l, op, source.type.element, type.element, l.parts(scalar));
  return new Array<Value>(to.registers).fill(splat(l, extended!, to.register));
}

/** Lanes made narrower by packs that saturate; null: they are not within bounds, or there are no such packs. */
function packedClamp(l: Lowering, type: Type, source: Value): Parts | null {
  const [from, to] = [shapeOf(source.type), shapeOf(type)];
  if (from.representation !== "lanes" || to.representation !== "lanes" || !from.isExact || !to.isExact)
    return null;
  const clamp = clampOf(source, to.laneBits);
  const packs = clamp && packsOf(from.laneBits, to.laneBits, clamp.signed, extensionsOf(l).sse41);
  if (packs === null) return null;
  return packs.reduce<Parts>(
    (registers, ending) =>
      packPairs(registers, (a, b) => sse(l, `pack${ending}`, ending.endsWith("w") ? v8i16 : v16i8, a, b)),
    pin(l, clamp!.value),
  );
}

function byElements(l: Lowering, op: BinaryOp, type: Type, a: Parts, b: Parts, flags: number): Parts {
  const x = elements(l, type, a);
  const y = elements(l, type, b);
  return build(
    l,
    type,
    x.map((p, i) => scalarBinary(l, op, type.element, p, y[i]!, flags)),
  );
}

function lowerBinary(l: Lowering, op: BinaryOp, type: Type, left: Value, right: Value, flags: number): Parts {
  const shape = shapeOf(type);
  const a = pin(l, left);
  const b = pin(l, right);
  if (shape.representation === "each") return byElements(l, op, type, a, b, flags);
  if (shape.representation === "mask") return maskBinary(l, op, type, a, b);
  const each = (f: (x: Value, y: Value) => Value): Parts => a.map((x, i) => f(x, b[i]!));
  switch (op) {
    case Op.Add:
    case Op.Sub:
    case Op.And:
    case Op.Or:
    case Op.Xor:
      return each((x, y) => l.bin(op, x, y, shape.isExact ? flags : 0));
    case Op.Mul: {
      const facts: FactorFacts | null =
        shape.isExact && shape.laneBits >= 32
          ? { used: [usedBits(left), usedBits(right)], signed: [signedBits(left), signedBits(right)] }
          : null;
      if (shape.laneBits === 64 && facts !== null && facts.used[0] <= 32 && facts.used[1] <= 32) {
        const halves = (value: Value): Parts =>
          lowerHalves(
            (v) => pin(l, v),
            (v, control) => dwordShuffle(l, v, control),
            value,
          );
        const y = halves(right);
        return halves(left).map((x, i) => multiply(l, as(l, x, v2i64), as(l, y[i]!, v2i64), facts));
      }
      const words =
        facts !== null && shape.laneBits === 32 ? wordFactors(l, facts, [left, right], [a, b]) : null;
      if (words !== null) {
        const [x, y] = words;
        return x.map((r, i) => sse(l, "pmaddwd", v4i32, as(l, r, v8i16), as(l, y[i]!, v8i16)));
      }
      return each((x, y) => multiply(l, x, y, facts));
    }
    case Op.FAdd:
    case Op.FSub:
    case Op.FMul:
    case Op.FDiv:
      if (!shape.lane.isFloat) break;
      return each((x, y) => l.bin(op, x, y, flags));
    case Op.Shl:
      return lowerShift(l, "sll", shape, right, a, b);
    case Op.LShr:
      return lowerShift(l, "srl", shape, right, extendInLane(l, shape, a, false), b);
    case Op.AShr:
      return lowerShift(l, "sra", shape, right, extendInLane(l, shape, a, true), b);
    default:
      break;
  }
  return byElements(l, op, type, a, b, flags);
}

/**
 * Dwords that are signed words as `pmaddwd` multiplies them, without a mask: a factor that is an extension by its sign is extended
 * with zeros instead. null: none is, or a mask is not needed.
 */
function wordFactors(
  l: Lowering,
  { used, signed }: FactorFacts,
  factors: readonly [Value, Value],
  [a, b]: readonly [Parts, Parts],
): readonly [Parts, Parts] | null {
  if (Math.max(...signed) > 16 || Math.min(...used) < 16) return null;
  const cleared = (value: Value): Parts | null => {
    if (value.valueKind !== "inst" || value.op !== Op.SExt) return null;
    const word = value.operands[0]!;
    return word.type.element.isInt(16) ? castVector(l, Op.ZExt, word.type, value.type, pin(l, word)) : null;
  };
  const first = cleared(factors[0]);
  if (first !== null) return [first, b];
  const second = cleared(factors[1]);
  return second === null ? null : [a, second];
}

/** i1 arithmetic modulo two; a shift amount or divisor can only be the harmless one. */
function maskBinary(l: Lowering, op: BinaryOp, type: Type, a: Parts, b: Parts): Parts {
  switch (op) {
    case Op.Add:
    case Op.Sub:
    case Op.Xor:
      return logical(l, Op.Xor, type, a, b);
    case Op.Mul:
    case Op.And:
      return logical(l, Op.And, type, a, b);
    case Op.Or:
      return logical(l, Op.Or, type, a, b);
    case Op.URem:
    case Op.SRem:
      return a.map((r) => zeroOf(r.type));
    default:
      return a;
  }
}

/** Bitwise operation on masks, on their remembered forms too when those agree. */
function logical(l: Lowering, op: Op.And | Op.Or | Op.Xor, type: Type, a: Parts, b: Parts): Parts {
  const shape = shapeOf(type);
  const bits = naturalWidth(a) ?? naturalWidth(b);
  if (bits !== null && bits !== shape.laneBits) {
    const x = maskOfWidth(l, shape, a, bits);
    const y = maskOfWidth(l, shape, b, bits);
    const wide = x.map((r, i) => l.bin(op, r, as(l, y[i]!, r.type)));
    return fixedForm(l, shape, bits, wide);
  }
  return a.map((r, i) => l.bin(op, r, b[i]!));
}

function lowerShift(l: Lowering, kind: ShiftKind, shape: Shape, amounts: Value, a: Parts, b: Parts): Parts {
  const constant = uniformConstant(amounts);
  if (constant !== null)
    return a.map((r) => (constant >= shape.laneBits ? zeroOf(r.type) : shiftConstant(l, kind, r, constant)));
  const counts = extendInLane(l, shape, b, false);
  if (isSplat(amounts)) {
    const count = shiftCount(l, amounts, counts[0]!);
    return a.map((r) => shiftUniform(l, kind, r, count));
  }
  return a.map((r, i) => {
    const known = knownLanes(counts[i]!);
    return known === null ? shiftVariable(l, kind, r, counts[i]!) : shiftLanes(l, kind, r, known);
  });
}

function lowerNeg(l: Lowering, type: Type, a: Parts, flags: number): Parts {
  const shape = shapeOf(type);
  if (shape.representation === "each") {
    const all = elements(l, type, a).map((p) => floatNeg(l, type.element, p, flags));
    return build(l, type, all);
  }
  if (!shape.lane.isFloat) {
    const sign = splatConstant(shape.lane, 1n << BigInt(shape.laneBits - 1));
    return a.map((r) => bitXor(l, r, sign));
  }
  return a.map((r) => l.fneg(r, flags));
}

function lowerCompare(
  l: Lowering,
  predicate: IntPredicate | FloatPredicate,
  resultType: Type,
  left: Value,
  right: Value,
): Parts {
  const type = left.type;
  const shape = shapeOf(type);
  const result = shapeOf(resultType);
  let a = pin(l, left);
  let b = pin(l, right);
  const isIntLane = shape.element.kind === "int" || shape.element.kind === "ptr";
  if (shape.representation === "each" || (!isIntLane && !shape.lane.isFloat)) {
    const x = elements(l, type, a);
    const y = elements(l, type, b);
    const bits = x.map((p, i): Parts => [scalarCompare(l, predicate, type.element, p, y[i]!)]);
    return build(l, resultType, bits);
  }
  let masks: Parts;
  if (isIntLane) {
    // Where the sign bits are known to be clear, the signed order serves, and needs no flipping.
    if (predicate[0] === "u" && shape.laneBits >= 32 && isNonNegative(left) && isNonNegative(right))
      predicate = `s${predicate.slice(1)}` as IntPredicate;
    const signed = predicate[0] === "s";
    if (shape.representation === "lanes") {
      a = extendInLane(l, shape, a, signed);
      b = extendInLane(l, shape, b, signed);
    }
    // All ones is -1 as well as the largest unsigned value, so masks compare like i1.
    masks = a.map((r, i) => compareInts(l, predicate as IntPredicate, r, b[i]!));
  } else masks = a.map((r, i) => compareFloats(l, predicate as FloatPredicate, r, b[i]!));
  return fixedForm(l, result, shape.laneBits, masks);
}

function lowerSelect(l: Lowering, condition: Value, left: Value, right: Value): Parts {
  const type = left.type;
  const shape = shapeOf(type);
  const mask = l.parts(condition);
  const a = l.parts(left);
  const b = l.parts(right);
  if (shape.representation === "each") {
    const bits = elements(l, condition.type, mask);
    const size = a.length / type.count;
    return a.map((p, i) => l.select(bits[Math.floor(i / size)]![0]!, p, b[i]!));
  }
  const wide = maskOfWidth(l, shapeOf(condition.type), mask, shape.laneBits);
  return a.map((r, i) => blend(l, wide[i]!, r, b[i]!));
}

/** shufflevector between any counts: each result register from the source registers it draws on. */
function lowerShuffle(l: Lowering, left: Value, right: Value, type: Type, mask: readonly number[]): Parts {
  const from = shapeOf(left.type);
  const to = shapeOf(type);
  const count = left.type.count;
  let a = l.parts(left);
  let b = l.parts(right);
  if (from.representation === "each" || to.representation === "each") {
    const x = elements(l, left.type, a);
    const y = elements(l, left.type, b);
    const undef: Parts = l.partTypes(type.element).map((t) => new ConstUndef(t, true));
    return build(
      l,
      type,
      mask.map((i) => (i < 0 ? undef : i < count ? x[i]! : y[i - count]!)),
    );
  }
  if (from.representation === "mask") {
    a = resizeMask(l, from.count, from.laneBits, to.laneBits, a);
    b = resizeMask(l, from.count, from.laneBits, to.laneBits, b);
  }
  const n = to.perRegister;
  const out: Value[] = [];
  for (let r = 0; r < to.registers; r++) {
    const wanted: { register: Value; lane: number }[] = [];
    for (let i = 0; i < n; i++) {
      const m = r * n + i < mask.length ? mask[r * n + i]! : -1;
      const side = m < count ? a : b;
      const lane = m < count ? m : m - count;
      wanted.push(
        m < 0 ? { register: a[0]!, lane: -1 } : { register: side[Math.floor(lane / n)]!, lane: lane % n },
      );
    }
    out.push(gather(l, to.register, wanted));
  }
  return out;
}

/** One register from lanes of any number of registers, two at a time. */
export function gather(l: Lowering, type: Type, wanted: readonly { register: Value; lane: number }[]): Value {
  const sources: Value[] = [];
  for (const { register, lane } of wanted)
    if (lane >= 0 && register.valueKind !== "undef" && !sources.includes(register)) sources.push(register);
  if (sources.length === 0) return new ConstUndef(type, false);
  const n = wanted.length;
  const [first, second] = sources;
  let result = shuffle(
    l,
    first!,
    second ?? first!,
    wanted.map((w) =>
      w.lane < 0 ? -1 : w.register === first ? w.lane : w.register === second ? n + w.lane : -1,
    ),
  );
  const done = new Set<Value>([first!, second ?? first!]);
  for (const source of sources.slice(2)) {
    result = shuffle(
      l,
      result,
      source,
      wanted.map((w, i) =>
        w.lane < 0 ? -1 : w.register === source ? n + w.lane : done.has(w.register) ? i : -1,
      ),
    );
    done.add(source);
  }
  return result;
}
