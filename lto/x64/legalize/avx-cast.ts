/** Conversions of vectors by instructions from SSE4.1 to AVX2 and F16C. */
import type { Lowering, Parts } from "../../codegen/legalize/lowering.js";
import { type CastOp, Flag, type Inst, Op } from "../../ir/instructions.js";
import { doubleType, floatType, i32, type Type } from "../../ir/types.js";
import { type Value, zeroOf } from "../../ir/values.js";
import { vectorFeatures } from "../isa/vector-features.js";
import { maskFrom, maskLike } from "./avx-masks.js";
import { alike, isWide, join, narrowParts, splatOf, vex, wideOf, wideParts } from "./avx-registers.js";
import { clampOf, packsOf } from "./vectors-clamp.js";
import { isNonNegative, usedBits } from "./vectors-facts.js";
import { registerOf, type Shape, shapeOf } from "./vectors-shape.js";
import { as, imm, letterOf, v2i64, v4i32, v8i16, v16i8 } from "./vectors-sse.js";

/** The parts of a conversion; null: the baseline's code does it. */
export function nativeCast(l: Lowering, inst: Inst, operand: Value, avx2: boolean): Parts | null {
  const source = shapeOf(operand.type);
  const target = shapeOf(inst.type);
  if (target.representation === "mask") return toMask(l, inst, operand, source, avx2);
  if (target.representation !== "lanes" || !target.isExact) return null;
  const parts = pinnedParts(l, operand);
  const types = l.partTypes(inst.type);
  const op = inst.op as CastOp;
  if (source.representation === "mask") return fromMask(l, op, operand, parts, target, types, avx2);
  if (source.representation !== "lanes" || !source.isExact) return null;
  switch (op) {
    case Op.ZExt:
    case Op.SExt: {
      const signed = op === Op.SExt;
      return extend(l, narrowParts(l, parts), source.laneBits, target.laneBits, types, signed, avx2);
    }
    case Op.Trunc: {
      const packed = packedClamp(l, operand, source.laneBits, target.laneBits, types);
      const isLossless = (inst.flags & Flag.Nuw) !== 0 || usedBits(operand) <= target.laneBits;
      return packed ?? truncate(l, parts, target.laneBits, types, avx2, isLossless);
    }
    case Op.SIToFP:
    case Op.UIToFP: {
      const isSigned = op === Op.SIToFP || (inst.flags & Flag.NonNeg) !== 0 || isNonNegative(operand);
      return toFloats(l, isSigned, parts, source, target, types, avx2);
    }
    case Op.FPToSI:
    case Op.FPToUI:
      return toInts(l, op === Op.FPToSI, parts, source, target, types, avx2);
    case Op.FPExt:
      if (source.lane === floatType && target.lane === doubleType)
        return halvesBy(l, "Cvtps2pd", narrowParts(l, parts), types, 2);
      if (source.element.kind === "half" && target.lane === floatType && hasHalf(l))
        return halvesBy(l, "Cvtph2ps", narrowParts(l, parts), types, 2);
      return null;
    case Op.FPTrunc:
      if (source.lane === doubleType && target.lane === floatType)
        return narrowed(l, parts, types, (r) => vex(l, "Cvtpd2ps", registerOf(floatType), r));
      if (source.lane === floatType && target.element.kind === "half" && hasHalf(l))
        return narrowed(l, parts, types, (r) => vex(l, "Cvtps2ph", v8i16, r, imm(4)));
      return null;
    default:
      return null;
  }
}

const pinnedParts = (l: Lowering, value: Value): Parts =>
  l.parts(value).map((p) => (p.valueKind === "undef" ? zeroOf(p.type) : p));

const hasHalf = (l: Lowering): boolean => vectorFeatures(l.fn.attributes.fn).f16c;

/** The lowest bit of each lane. */
function toMask(l: Lowering, inst: Inst, operand: Value, source: Shape, avx2: boolean): Parts | null {
  if (inst.op !== Op.Trunc || source.representation !== "lanes" || source.element.kind !== "int") return null;
  const parts = l.parts(operand);
  if (!avx2 && parts.some((p) => isWide(p.type))) return null;
  const masks = parts.map((r) => {
    const one = splatOf(r.type, 1n);
    return vex(l, `Pcmpeq${letterOf(source.laneBits)}`, r.type, l.bin(Op.And, r, one), one);
  });
  return maskFrom(l, inst.type, source.laneBits, masks);
}

function fromMask(
  l: Lowering,
  op: CastOp,
  operand: Value,
  mask: Parts,
  target: Shape,
  types: readonly Type[],
  avx2: boolean,
): Parts | null {
  if (target.element.kind !== "int" || (op !== Op.SExt && op !== Op.ZExt)) return null;
  const lanes = maskLike(l, operand.type, mask, types, avx2);
  if (op === Op.SExt) return lanes;
  return lanes.map((r) =>
    target.laneBits > 8 && (avx2 || !isWide(r.type))
      ? vex(l, `Psrl${letterOf(target.laneBits)}`, r.type, r, imm(target.laneBits - 1))
      : l.bin(Op.And, r, splatOf(r.type, 1n)),
  );
}

/** What begins at a bit of consecutive registers of 128 bits, at its low end. */
function chunkAt(l: Lowering, registers: Parts, bit: number): Value {
  const register = registers[Math.floor(bit / 128)]!;
  const within = bit % 128;
  if (within === 0) return register;
  return as(l, vex(l, "Psrldq", v2i64, as(l, register, v2i64), imm(within / 8)), register.type);
}

/** Integer lanes from `from` bits to `to`, from registers of 128 bits. */
function extend(
  l: Lowering,
  registers: Parts,
  from: number,
  to: number,
  types: readonly Type[],
  signed: boolean,
  avx2: boolean,
): Parts {
  const name = `Pmov${signed ? "s" : "z"}x${letterOf(from)}${letterOf(to)}`;
  let bit = 0;
  const next = (type: Type): Value => {
    const chunk = chunkAt(l, registers, bit);
    bit += ((isWide(type) ? 256 : 128) * from) / to;
    return vex(l, name, type, chunk);
  };
  return types.map((type) => {
    if (!isWide(type) || avx2) return next(type);
    const half = registerOf(type.element);
    return join(l, next(half), next(half));
  });
}

/** Each of the registers of `types` by an instruction that reads a part of one of 128 bits. @param ratio how much wider results are */
function halvesBy(l: Lowering, name: string, registers: Parts, types: readonly Type[], ratio: number): Parts {
  let bit = 0;
  return types.map((type) => {
    const chunk = chunkAt(l, registers, bit);
    bit += (isWide(type) ? 256 : 128) / ratio;
    return vex(l, name, type, chunk);
  });
}

/** Registers made half as wide by `f`, which gives at most 128 bits, packed into those of `types`. */
function narrowed(l: Lowering, parts: Parts, types: readonly Type[], f: (register: Value) => Value): Parts {
  const out: Value[] = [];
  const halves = parts.map((r) => ({ value: f(r), isFull: isWide(r.type) }));
  for (let i = 0; i < halves.length; i++) {
    const { value, isFull } = halves[i]!;
    const second = halves[i + 1];
    if (isFull || second === undefined) out.push(value);
    else {
      const both = vex(l, "Punpcklqdq", v2i64, as(l, value, v2i64), as(l, second.value, v2i64));
      out.push(as(l, both, value.type));
      i++;
    }
  }
  return wideParts(l, types, out);
}

/** Integer lanes halved in width until `to` bits. */
function truncate(
  l: Lowering,
  parts: Parts,
  to: number,
  types: readonly Type[],
  avx2: boolean,
  isLossless = false,
): Parts | null {
  if (!avx2 && !isLossless && parts.some((p) => isWide(p.type))) return null;
  let bits = parts[0]!.type.element.bits;
  let registers = parts;
  if (bits === 64) {
    registers = halvePairs(narrowParts(l, registers), (a, b) => {
      const [x, y] = [a, b].map((v) => as(l, v, registerOf(floatType))) as [Value, Value];
      return as(l, vex(l, "Shufps", registerOf(floatType), x, y, imm(0x88)), v4i32);
    });
    bits = 32;
  }
  if (bits > to) {
    // Cleared above what stays, lanes lose nothing when they saturate.
    const kept = (1n << BigInt(to)) - 1n;
    const cleared = isLossless ? registers : registers.map((r) => l.bin(Op.And, r, splatOf(r.type, kept)));
    registers = narrowParts(l, cleared);
    if (bits === 32) {
      registers = halvePairs(registers, (a, b) => vex(l, "Packusdw", v8i16, a, b));
      bits = 16;
    }
    if (bits > to) registers = halvePairs(registers, (a, b) => vex(l, "Packuswb", v16i8, a, b));
  }
  return wideParts(l, types, registers);
}

/** Lanes that are held within bounds first, by packs that saturate; null: they are not. */
function packedClamp(
  l: Lowering,
  operand: Value,
  from: number,
  to: number,
  types: readonly Type[],
): Parts | null {
  const clamp = clampOf(operand, to);
  const packs = clamp && packsOf(from, to, clamp.signed, true);
  if (packs === null) return null;
  const registers = packs.reduce<Parts>(
    (halves, ending) =>
      halvePairs(halves, (a, b) => vex(l, `Pack${ending}`, ending.endsWith("w") ? v8i16 : v16i8, a, b)),
    narrowParts(l, pinnedParts(l, clamp!.value)),
  );
  return wideParts(l, types, registers);
}

function halvePairs(registers: Parts, f: (a: Value, b: Value) => Value): Value[] {
  const out: Value[] = [];
  for (let i = 0; i < registers.length; i += 2) out.push(f(registers[i]!, registers[i + 1] ?? registers[i]!));
  return out;
}

function toFloats(
  l: Lowering,
  signed: boolean,
  parts: Parts,
  source: Shape,
  target: Shape,
  types: readonly Type[],
  avx2: boolean,
): Parts | null {
  if (source.element.kind !== "int" || source.laneBits > 32 || !target.lane.isFloat) return null;
  if (source.laneBits === 32 && !signed) return null;
  const isDouble = target.lane === doubleType;
  let dwords = parts;
  if (source.laneBits < 32) {
    // As many registers as there are floats; half as many for doubles, whose conversion reads the half of a register.
    const wanted = isDouble ? dwordTypes(source.count) : types.map((t) => alike(t, i32));
    dwords = extend(l, narrowParts(l, parts), source.laneBits, 32, wanted, signed, avx2);
  }
  if (!isDouble) return dwords.map((r) => vex(l, "Cvtdq2ps", alike(r.type, floatType), r));
  return halvesBy(l, "Cvtdq2pd", narrowParts(l, dwords), types, 2);
}

/** Registers that hold so many dwords. */
const dwordTypes = (count: number): Type[] => {
  const halves = Math.ceil(count / 4);
  const pairs = new Array<Type>(Math.floor(halves / 2)).fill(wideOf(i32));
  return halves % 2 === 0 ? pairs : [...pairs, v4i32];
};

function toInts(
  l: Lowering,
  signed: boolean,
  parts: Parts,
  source: Shape,
  target: Shape,
  types: readonly Type[],
  avx2: boolean,
): Parts | null {
  if (!source.lane.isFloat || target.element.kind !== "int") return null;
  const { bits } = target.element;
  if (bits > 32 || (bits === 32 && !signed)) return null;
  const wanted = bits === 32 ? types : dwordTypes(source.count);
  const dwords =
    source.lane === floatType
      ? parts.map((r) => vex(l, "Cvttps2dq", alike(r.type, i32), r))
      : narrowed(l, parts, wanted, (r) => vex(l, "Cvttpd2dq", v4i32, r));
  return bits === 32 ? dwords : truncate(l, dwords, bits, types, avx2);
}
