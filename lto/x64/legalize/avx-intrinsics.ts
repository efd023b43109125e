/** Vector intrinsics that have instructions from SSE3 to AVX2, FMA and F16C, on registers of 128 and 256 bits. */
import type { Lowering, Parts } from "../../codegen/legalize/lowering.js";
import { type Inst, isCall, Op } from "../../ir/instructions.js";
import { Strictness } from "../../ir/strict-float.js";
import { floatType, i8, i16, i64, type Type } from "../../ir/types.js";
import { type Value, zeroOf } from "../../ir/values.js";
import { vectorFeatures } from "../isa/vector-features.js";
import { blendBy, compareFloats, hasIntegers, pinnedParts, shiftBy } from "./avx-native.js";
import { alike, bytesOf, constantLanes, splatOf, vex } from "./avx-registers.js";
import { avxMachineIntrinsic } from "./avx-x86.js";
import { extensionsOf } from "./vectors-extensions.js";
import { uniformConstant } from "./vectors-facts.js";
import { type Shape, shapeOf } from "./vectors-shape.js";
import { as, imm, letterOf } from "./vectors-sse.js";

/** The parts of a call of a vector intrinsic, or one of the machine's; null: the baseline's code does it. */
export function nativeIntrinsic(l: Lowering, base: string, inst: Inst, avx2: boolean): Parts | null {
  if (!isCall(inst) || l.strictness !== Strictness.None) return null;
  const args = inst.operands.slice(1, 1 + inst.data.argumentCount);
  if (base.startsWith("x86."))
    return extensionsOf(l).avx ? avxMachineIntrinsic(l, base.slice("x86.".length), inst, args) : null;
  if (inst.type.kind !== "vector" || args[0]?.type !== inst.type) return null;
  const shape = shapeOf(inst.type);
  if (shape.representation !== "lanes" || !shape.isExact) return null;
  if (shape.lane.isFloat) return onFloats(l, base, shape, inst.flags, args);
  if (shape.element.kind !== "int") return null;
  return integerIntrinsic(l, base, shape, args, avx2);
}

/** Immediates of vroundps: the mode, and 8 for no exception of inexact results. */
export const roundingImmediates: Readonly<Record<string, number>> = {
  roundeven: 8,
  floor: 9,
  ceil: 10,
  trunc: 11,
  rint: 4,
  nearbyint: 12,
};

function onFloats(
  l: Lowering,
  base: string,
  shape: Shape,
  flags: number,
  args: readonly Value[],
): Parts | null {
  const suffix = shape.laneBits === 32 ? "ps" : "pd";
  const a = pinnedParts(l, args[0]!);
  const sign = 1n << BigInt(shape.laneBits - 1);
  const bits = (type: Type, inverted: boolean): Value => splatOf(type, inverted ? sign - 1n : sign);
  const rounding = roundingImmediates[base];
  if (rounding !== undefined) return a.map((r) => vex(l, `Round${suffix}`, r.type, r, imm(rounding)));
  switch (base) {
    case "fma":
    case "fmuladd": {
      const b = pinnedParts(l, args[1]!);
      const c = pinnedParts(l, args[2]!);
      if (vectorFeatures(l.fn.attributes.fn).fma)
        return a.map((r, i) => vex(l, `Fmadd213${suffix}`, r.type, r, b[i]!, c[i]!));
      if (base === "fma") return null;
      return a.map((r, i) => l.bin(Op.FAdd, l.bin(Op.FMul, r, b[i]!, flags), c[i]!, flags));
    }
    case "sqrt":
      return a.map((r) => vex(l, `Sqrt${suffix}`, r.type, r));
    case "fabs":
      return a.map((r) => vex(l, "Andps", r.type, r, bits(r.type, true)));
    case "copysign": {
      const b = pinnedParts(l, args[1]!);
      return a.map((r, i) => {
        const magnitude = vex(l, "Andps", r.type, r, bits(r.type, true));
        return vex(l, "Orps", r.type, magnitude, vex(l, "Andps", r.type, b[i]!, bits(r.type, false)));
      });
    }
    case "minnum":
    case "maxnum": {
      // min(b, a) gives a for any NaN, right unless a is the NaN.
      const b = pinnedParts(l, args[1]!);
      return a.map((r, i) => {
        const chosen = vex(l, `${base === "minnum" ? "Min" : "Max"}${suffix}`, r.type, b[i]!, r);
        return blendBy(l, compareFloats(l, "uno", r, r), b[i]!, chosen);
      });
    }
    default:
      return null;
  }
}

/** Of floats or doubles, with FMA. */
export function multiplyAdd(l: Lowering, a: Value, b: Value, c: Value): Value | null {
  if (!vectorFeatures(l.fn.attributes.fn).fma || l.strictness !== Strictness.None) return null;
  return vex(l, a.type === floatType ? "Fmadd213ss" : "Fmadd213sd", a.type, a, b, c);
}

/** Operations with an instruction for lanes of 8 to 32 bits: its name before the letter, and the widest lane. */
const integerInstructions: Readonly<Record<string, readonly [string, number]>> = {
  smax: ["Pmaxs", 32],
  smin: ["Pmins", 32],
  umax: ["Pmaxu", 32],
  umin: ["Pminu", 32],
  "uadd.sat": ["Paddus", 16],
  "sadd.sat": ["Padds", 16],
  "usub.sat": ["Psubus", 16],
  "ssub.sat": ["Psubs", 16],
};

/** Of integers of 8 to 64 bits. */
export function integerIntrinsic(
  l: Lowering,
  base: string,
  shape: Shape,
  args: readonly Value[],
  avx2: boolean,
): Parts | null {
  const bits = shape.laneBits;
  const a = pinnedParts(l, args[0]!);
  if (!hasIntegers(a, avx2)) return null;
  const instruction = integerInstructions[base];
  if (instruction !== undefined) {
    const [name, widest] = instruction;
    if (bits > widest) return null;
    const b = pinnedParts(l, args[1]!);
    return a.map((r, i) => vex(l, `${name}${letterOf(bits)}`, r.type, r, b[i]!));
  }
  switch (base) {
    case "abs":
      return bits > 32 ? null : a.map((r) => vex(l, `Pabs${letterOf(bits)}`, r.type, r));
    case "bswap":
      return a.map((r) => shuffleBytes(l, r, (i) => i ^ (bits / 8 - 1)));
    case "bitreverse":
      return a.map((r) => reverseBits(l, r, bits));
    case "ctpop":
      return a.map((r) => countBits(l, r, bits));
    case "fshl":
    case "fshr":
      return funnelShift(l, base, shape, args, a, avx2);
    default:
      return null;
  }
}

/** Bytes of each 128 bits in another order. @param from the place in 16 that each is taken from */
function shuffleBytes(l: Lowering, v: Value, from: (at: number) => number): Value {
  const bytes = alike(v.type, i8);
  const control = constantLanes(
    bytes,
    Array.from({ length: bytesOf(bytes) }, (_, i) => BigInt(from(i % 16))),
  );
  return as(l, vex(l, "Pshufb", bytes, as(l, v, bytes), control), v.type);
}

/** What tables say of the lower and of the upper four bits of each byte. */
function byNibbles(
  l: Lowering,
  v: Value,
  low: (nibble: number) => number,
  high: (nibble: number) => number,
): readonly [Value, Value] {
  const bytes = alike(v.type, i8);
  const words = alike(v.type, i16);
  const table = (f: (nibble: number) => number): Value =>
    constantLanes(
      bytes,
      Array.from({ length: bytesOf(bytes) }, (_, i) => BigInt(f(i % 16))),
    );
  const nibbles = splatOf(bytes, 15n);
  const lower = l.bin(Op.And, as(l, v, bytes), nibbles);
  const upper = l.bin(Op.And, as(l, shiftBy(l, "rl", as(l, v, words), 4), bytes), nibbles);
  return [vex(l, "Pshufb", bytes, table(low), lower), vex(l, "Pshufb", bytes, table(high), upper)];
}

const reversed = (nibble: number): number =>
  ((nibble & 1) << 3) | ((nibble & 2) << 1) | ((nibble & 4) >> 1) | ((nibble & 8) >> 3);

function reverseBits(l: Lowering, v: Value, bits: number): Value {
  const [low, high] = byNibbles(
    l,
    v,
    (n) => reversed(n) << 4,
    (n) => reversed(n),
  );
  const inBytes = as(l, l.bin(Op.Or, low, high), v.type);
  return bits === 8 ? inBytes : shuffleBytes(l, inBytes, (i) => i ^ (bits / 8 - 1));
}

function countBits(l: Lowering, v: Value, bits: number): Value {
  const count = (n: number): number => (n & 1) + ((n >> 1) & 1) + ((n >> 2) & 1) + (n >> 3);
  const [low, high] = byNibbles(l, v, count, count);
  const bytes = l.bin(Op.Add, low, high);
  if (bits === 8) return as(l, bytes, v.type);
  const quads = alike(v.type, i64);
  if (bits === 64) return vex(l, "Psadbw", quads, bytes, zeroOf(bytes.type));
  let lanes = as(l, bytes, v.type);
  for (let step = 8; step < bits; step *= 2) lanes = l.bin(Op.Add, lanes, shiftBy(l, "rl", lanes, step));
  return l.bin(Op.And, lanes, splatOf(v.type, 0xffn));
}

/** Lanes of two registers, one above the other, shifted together; rotated where both are one. */
function funnelShift(
  l: Lowering,
  base: string,
  shape: Shape,
  args: readonly Value[],
  high: Parts,
  avx2: boolean,
): Parts | null {
  const bits = shape.laneBits;
  if (bits === 8) return null;
  const low = pinnedParts(l, args[1]!);
  const constant = uniformConstant(args[2]!);
  const isLeft = base === "fshl";
  if (constant !== null) {
    const amount = constant % bits;
    if (amount === 0) return isLeft ? high : low;
    const left = isLeft ? amount : bits - amount;
    return high.map((h, i) =>
      l.bin(Op.Or, shiftBy(l, "ll", h, left), shiftBy(l, "rl", low[i]!, bits - left)),
    );
  }
  if (!avx2 || bits === 16) return null;
  // Shifts by as much as a lane has give zero.
  const letter = letterOf(bits);
  return pinnedParts(l, args[2]!).map((raw, i) => {
    const { type } = raw;
    const amount = l.bin(Op.And, raw, splatOf(type, BigInt(bits - 1)));
    const rest = l.bin(Op.Sub, splatOf(type, BigInt(bits)), amount);
    const left = vex(l, `Psllv${letter}`, type, high[i]!, isLeft ? amount : rest);
    const right = vex(l, `Psrlv${letter}`, type, low[i]!, isLeft ? rest : amount);
    return l.bin(Op.Or, left, right);
  });
}
