/** Conversions of vectors with registers of 512 bits on either side, and of masks known by their bits. */
import type { Lowering, Parts } from "../../codegen/legalize/lowering.js";
import { type CastOp, Flag, type Inst, Op } from "../../ir/instructions.js";
import { doubleType, floatType, i16, i32, type Type } from "../../ir/types.js";
import { ConstData, type Value, zeroOf } from "../../ir/values.js";
import {
  bytesOf,
  halveParts,
  isWidest,
  narrowParts,
  splatOf,
  vex,
  wideOf,
  widestOf,
  widestParts,
} from "./avx-registers.js";
import { makeMask, underMask } from "./evex-assembly.js";
import { knownWord, maskOfWord, wordOf } from "./evex-masks.js";
import { type Evex, isMaskable, isWhole, joinWords, laneMoves, wordAt } from "./evex-parts.js";
import { isNonNegative } from "./vectors-facts.js";
import { intLane, registerOf, type Shape, shapeOf } from "./vectors-shape.js";
import { as, imm, letterOf, v2i64 } from "./vectors-sse.js";

/** The parts of a conversion; null: it is done on halves. */
export function nativeEvexCast(l: Lowering, inst: Inst, operand: Value, evex: Evex): Parts | null {
  const source = shapeOf(operand.type);
  const target = shapeOf(inst.type);
  if (target.representation === "mask") return toMask(l, inst, operand, evex);
  if (target.representation !== "lanes" || !target.isExact) return null;
  const op = inst.op as CastOp;
  if (source.representation === "mask") return fromMask(l, op, operand, inst.type, evex);
  if (source.representation !== "lanes" || !source.isExact) return null;
  const fillsSource = isWhole(operand.type, evex.features);
  const fillsTarget = isWhole(inst.type, evex.features);
  if (!fillsSource && !fillsTarget) return null;
  // Instructions that widen or narrow bytes are of AVX-512BW.
  if (!evex.features.bw && (source.laneBits < 16 || target.laneBits < 16)) return null;
  const parts = l.parts(operand).map((p) => (p.valueKind === "undef" ? zeroOf(p.type) : p));
  const types = l.partTypes(inst.type);
  const { dq } = evex.features;
  switch (op) {
    case Op.ZExt:
    case Op.SExt:
      return fillsTarget ? extend(l, parts, source.laneBits, types, op === Op.SExt) : null;
    case Op.Trunc:
      return fillsSource ? truncate(l, parts, target.laneBits, types) : null;
    case Op.SIToFP:
    case Op.UIToFP: {
      const isSigned = op === Op.SIToFP || (inst.flags & Flag.NonNeg) !== 0 || isNonNegative(operand);
      return toFloats(l, isSigned, parts, source, target, types, dq);
    }
    case Op.FPToSI:
    case Op.FPToUI:
      return toInts(l, op === Op.FPToSI, parts, source, target, types, dq);
    case Op.FPExt:
      if (source.lane === floatType && target.lane === doubleType && fillsTarget)
        return piecewise(l, "Cvtps2pd", parts, 32, types);
      if (source.element.kind === "half" && target.lane === floatType && fillsTarget)
        return piecewise(l, "Cvtph2ps", parts, 16, types);
      return null;
    case Op.FPTrunc:
      if (source.lane === doubleType && target.lane === floatType && fillsSource)
        return collect(l, types, parts, (r) => vex(l, "Cvtpd2ps", wideOf(floatType), r));
      if (source.lane === floatType && target.element.kind === "half" && fillsSource)
        return collect(l, types, parts, (r) => vex(l, "Cvtps2ph", wideOf(i16), r, imm(4)));
      return null;
    default:
      return null;
  }
}

/** The lowest bit of each lane. */
function toMask(l: Lowering, inst: Inst, operand: Value, evex: Evex): Parts | null {
  const { type } = operand;
  if (inst.op !== Op.Trunc || !isWhole(type, evex.features) || type.count > 64) return null;
  if (shapeOf(type).element.kind !== "int") return null;
  const parts = l.parts(operand);
  const letter = letterOf(parts[0]!.type.element.bits);
  const own = parts.map((r) =>
    makeMask(l, `vptestm${letter} $2, $1`, r.type.count, [r, splatOf(r.type, 1n)]),
  );
  return maskOfWord(l, evex.avx, inst.type, joinWords(l, type.count, parts[0]!.type.count, own));
}

function fromMask(l: Lowering, op: CastOp, operand: Value, type: Type, evex: Evex): Parts | null {
  const target = shapeOf(type);
  if (target.element.kind !== "int" || (op !== Op.SExt && op !== Op.ZExt) || type.count > 64) return null;
  const mask = l.parts(operand);
  if (!isWhole(type, evex.features) && !(isMaskable(type, evex.features) && knownWord(mask) !== undefined))
    return null;
  const word = wordOf(l, evex.avx, operand.type, mask);
  return l.partTypes(type).map((own, i) => {
    const bits = wordAt(l, word, type.count, own.count, i);
    const lanes =
      op === Op.ZExt ? splatOf(own, 1n) : new ConstData(own, new Uint8Array(bytesOf(own)).fill(255));
    return underMask(l, `${laneMoves[target.laneBits]!} $1`, own, own.count, bits, null, [lanes]);
  });
}

/** Consecutive pieces of registers. @param bytes of a piece, at least 8 */
function piecesOf(l: Lowering, parts: Parts, bytes: number): Value[] {
  if (bytes === 64) return [...parts];
  if (bytes === 32) return [...halveParts(l, parts)];
  const registers = narrowParts(l, parts);
  if (bytes === 16) return [...registers];
  return registers.flatMap((r) => {
    const high = vex(l, "Psrldq", v2i64, as(l, r, v2i64), imm(8));
    return [r, as(l, high, r.type)];
  });
}

/** Each register of `types` by an instruction on as many lanes. @param bits of a lane of what it reads */
function piecewise(l: Lowering, name: string, parts: Parts, bits: number, types: readonly Type[]): Parts {
  const each = types.map((t) => (bits * t.count) / 8);
  const pieces = piecesOf(l, parts, each[0]!);
  return types.map((type, i) => vex(l, name, type, pieces[i]!));
}

function extend(l: Lowering, parts: Parts, from: number, types: readonly Type[], signed: boolean): Parts {
  const to = types[0]!.element.bits;
  return piecewise(l, `Pmov${signed ? "s" : "z"}x${letterOf(from)}${letterOf(to)}`, parts, from, types);
}

/** Registers made narrower by `f`, put together as those of `types`. */
function collect(l: Lowering, types: readonly Type[], parts: Parts, f: (register: Value) => Value): Parts {
  return widestParts(l, types, parts.map(f));
}

/** Integer lanes made narrower, to `to` bits. */
function truncate(l: Lowering, parts: Parts, to: number, types: readonly Type[]): Parts | null {
  const from = parts[0]!.type.element.bits;
  const name = `Pmov${letterOf(from)}${letterOf(to)}`;
  const lane = intLane(to);
  const bytes = (64 * to) / from;
  const half = bytes === 32 ? wideOf(lane) : registerOf(lane);
  const narrow = parts.map((r) => vex(l, name, half, r));
  if (bytes >= 16) return widestParts(l, types, narrow);
  // Halves of registers, in pairs.
  const pairs: Value[] = [];
  for (let i = 0; i < narrow.length; i += 2) {
    const [a, b] = [narrow[i]!, narrow[i + 1]];
    if (b === undefined) pairs.push(a);
    else pairs.push(as(l, vex(l, "Punpcklqdq", v2i64, as(l, a, v2i64), as(l, b, v2i64)), half));
  }
  return widestParts(l, types, pairs);
}
function toFloats(
  l: Lowering,
  signed: boolean,
  parts: Parts,
  source: Shape,
  target: Shape,
  types: readonly Type[],
  dq: boolean,
): Parts | null {
  if (source.element.kind !== "int" || !target.lane.isFloat) return null;
  const isDouble = target.lane === doubleType;
  const sign = signed ? "" : "u";
  if (source.laneBits === 64) {
    if (!dq || !isWidest(parts[0]!.type)) return null;
    if (isDouble) return parts.map((r) => vex(l, `Cvt${sign}qq2pd`, widestOf(doubleType), r));
    return collect(l, types, parts, (r) => vex(l, `Cvt${sign}qq2ps`, wideOf(floatType), r));
  }
  if (!isWidest(types[0]!)) return null;
  if (source.laneBits < 32) {
    const dwords = types.map(() => (isDouble ? wideOf(i32) : widestOf(i32)));
    const extended = extend(l, parts, source.laneBits, dwords, signed);
    return isDouble
      ? types.map((type, i) => vex(l, "Cvtdq2pd", type, extended[i]!))
      : extended.map((r) => vex(l, "Cvtdq2ps", widestOf(floatType), r));
  }
  if (isDouble) return piecewise(l, `Cvt${sign}dq2pd`, parts, 32, types);
  return parts.map((r) => vex(l, `Cvt${sign}dq2ps`, widestOf(floatType), r));
}

function toInts(
  l: Lowering,
  signed: boolean,
  parts: Parts,
  source: Shape,
  target: Shape,
  types: readonly Type[],
  dq: boolean,
): Parts | null {
  if (!source.lane.isFloat || target.element.kind !== "int") return null;
  const { bits } = target.element;
  const isFloat = source.lane === floatType;
  const sign = signed ? "" : "u";
  if (bits === 64) {
    if (!dq || !isWidest(types[0]!)) return null;
    if (isFloat) return piecewise(l, `Cvttps2${sign}qq`, parts, 32, types);
    return parts.map((r) => vex(l, `Cvttpd2${sign}qq`, widestOf(intLane(64)), r));
  }
  if (!isWidest(parts[0]!.type)) return null;
  if (bits === 32) {
    if (isFloat) return parts.map((r) => vex(l, `Cvttps2${sign}dq`, widestOf(i32), r));
    return collect(l, types, parts, (r) => vex(l, `Cvttpd2${sign}dq`, wideOf(i32), r));
  }
  // Narrower ones are in range of signed 32 bits.
  if (!isFloat) return null;
  const dwords = parts.map((r) => vex(l, "Cvttps2dq", widestOf(i32), r));
  return truncate(l, dwords, bits, types);
}
