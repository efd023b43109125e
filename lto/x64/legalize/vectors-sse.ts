/** Single-register building blocks: SSE2 instructions as internal calls, casts, constants, bit operations. */
import type { Emitter } from "../../codegen/legalize/emitter.js";
import { internalIntrinsic } from "../../codegen/legalize/internal.js";
import { Op } from "../../ir/instructions.js";
import type { Func } from "../../ir/module.js";
import { doubleType, floatType, functionType, i8, i32, i64, type Type } from "../../ir/types.js";
import { ConstData, type ConstInt, ConstUndef, ConstZero, constInt, type Value } from "../../ir/values.js";
import { bitsOf, intLane, registerOf } from "./vectors-shape.js";

export const v16i8 = registerOf(i8);
export const v8i16 = registerOf(intLane(16));
export const v4i32 = registerOf(i32);
export const v2i64 = registerOf(i64);
export const v4f32 = registerOf(floatType);
export const v2f64 = registerOf(doubleType);

const immediates: ConstInt[] = [];
export function imm(value: number): ConstInt {
  return (immediates[value] ??= constInt(i8, value));
}

/** By name, of the last use. */
const functions = new Map<string, Func>();

/** Calls `tsc.x64.NAME`. What a name stands for may give registers of several types. */
export function sse(l: Emitter, name: string, result: Type, ...args: Value[]): Value {
  let fn = functions.get(name);
  if (fn === undefined || fn.valueType.result !== result) {
    fn = internalIntrinsic(
      `tsc.x64.${name}`,
      functionType(
        result,
        args.map((a) => a.type),
      ),
    );
    functions.set(name, fn);
  }
  return l.call(fn, args);
}

/** The register as another register type. */
export function as(l: Emitter, v: Value, type: Type): Value {
  if (v.type === type) return v;
  switch (v.valueKind) {
    case "data":
      return new ConstData(type, v.bytes);
    case "zero":
      return new ConstZero(type);
    case "undef":
      return new ConstUndef(type, v.poison);
    case "inst":
      if (v.op === Op.BitCast && v.operands[0]!.type === type) return v.operands[0]!;
      if (v.op === Op.BitCast && v.operands[0]!.type.kind === "vector")
        return l.cast(Op.BitCast, v.operands[0]!, type);
      break;
  }
  return l.cast(Op.BitCast, v, type);
}

/** A binary instruction on registers of type `type`, given and giving any register types. */
export function sse2(l: Emitter, name: string, type: Type, a: Value, b: Value): Value {
  return sse(l, name, type, as(l, a, type), as(l, b, type));
}

/** All lanes one constant. `value` is wrapped to the lane. */
export function splatConstant(lane: Type, value: bigint): Value {
  const bits = bitsOf(lane);
  const wrapped = BigInt.asUintN(bits, value);
  if (wrapped === 0n) return new ConstZero(registerOf(lane));
  const bytes = new Uint8Array(16);
  for (let i = 0; i < 16; i++) bytes[i] = Number((wrapped >> BigInt((i * 8) % bits)) & 0xffn);
  return new ConstData(registerOf(lane), bytes);
}
/** Lanes from numbers wrapped to the lane. */
export function laneConstants(lane: Type, values: readonly bigint[]): Value {
  const bits = bitsOf(lane);
  const bytes = new Uint8Array(16);
  values.forEach((value, i) => {
    for (let b = 0; b < bits / 8; b++)
      bytes[(i * bits) / 8 + b] = Number((BigInt.asUintN(bits, value) >> BigInt(b * 8)) & 0xffn);
  });
  return new ConstData(registerOf(lane), bytes);
}
export const zeroRegister = (type: Type): Value => new ConstZero(type);
const onesRegister = (type: Type): Value => new ConstData(type, new Uint8Array(16).fill(255));

const isZero = (v: Value): boolean => v.valueKind === "zero";
const isOnes = (v: Value): boolean => v.valueKind === "data" && v.bytes.every((b) => b === 255);

/** Bitwise operations on registers of one integer or floating type. */
export function bitAnd(l: Emitter, a: Value, b: Value): Value {
  const type = intForm(a.type);
  const y = as(l, b, type);
  const x = as(l, a, type);
  if (isZero(x) || isOnes(y)) return as(l, x, a.type);
  if (isZero(y) || isOnes(x)) return as(l, y, a.type);
  return as(l, l.bin(Op.And, x, y), a.type);
}
export function bitOr(l: Emitter, a: Value, b: Value): Value {
  const type = intForm(a.type);
  const y = as(l, b, type);
  const x = as(l, a, type);
  if (isZero(x)) return as(l, y, a.type);
  if (isZero(y)) return as(l, x, a.type);
  return as(l, l.bin(Op.Or, x, y), a.type);
}
export function bitXor(l: Emitter, a: Value, b: Value): Value {
  const type = intForm(a.type);
  const x = as(l, a, type);
  const y = as(l, b, type);
  if (isZero(y)) return a;
  if (x.valueKind === "data" && y.valueKind === "data")
    return as(
      l,
      new ConstData(
        type,
        x.bytes.map((byte, i) => byte ^ y.bytes[i]!),
      ),
      a.type,
    );
  return as(l, l.bin(Op.Xor, x, y), a.type);
}
export function bitNot(l: Emitter, a: Value): Value {
  return bitXor(l, a, onesRegister(a.type));
}
/** ~a & b */
export function andNot(l: Emitter, a: Value, b: Value): Value {
  const x = as(l, a, v2i64);
  const y = as(l, b, v2i64);
  if (isZero(x)) return b;
  if (isOnes(x) || isZero(y)) return zeroRegister(b.type);
  return as(l, sse(l, "pandn", v2i64, x, y), b.type);
}
/** Bits of `a` where the mask is set, of `b` elsewhere. */
export function blend(l: Emitter, mask: Value, a: Value, b: Value): Value {
  if (a === b) return a;
  return bitOr(l, bitAnd(l, a, as(l, mask, a.type)), andNot(l, mask, b));
}

/** The integer register type of the same lane width. */
export function intForm(type: Type): Type {
  return type.element.kind === "int" ? type : registerOf(intLane(bitsOf(type.element)));
}

const letters: Readonly<Record<number, string>> = { 8: "b", 16: "w", 32: "d", 64: "q" };
/** Lane suffix of integer instructions. */
export const letterOf = (bits: number): string => letters[bits]!;

/** Shift of every lane by a constant below the lane width; i8 lanes by way of i16. */
export function shiftConstant(l: Emitter, kind: "sll" | "srl" | "sra", v: Value, amount: number): Value {
  const type = v.type;
  const bits = type.element.bits;
  if (amount === 0) return v;
  if (bits === 8) {
    const keep = kind === "sll" ? (0xff << amount) & 0xff : 0xff >> amount;
    const wide = as(l, v, v8i16);
    const moved = as(l, shiftConstant(l, kind === "sll" ? "sll" : "srl", wide, amount), v16i8);
    const logical = bitAnd(l, moved, splatConstant(i8, BigInt(keep)));
    if (kind !== "sra") return logical;
    return signFill(l, logical, splatConstant(i8, BigInt(0x80 >> amount)));
  }
  if (bits === 64 && kind === "sra") {
    if (amount === 63) {
      const signs = sse(l, "psradi", v4i32, as(l, v, v4i32), imm(31));
      return as(l, sse(l, "pshufd", v4i32, signs, imm(0xf5)), type);
    }
    const logical = shiftConstant(l, "srl", v, amount);
    return signFill(l, logical, splatConstant(i64, 1n << BigInt(63 - amount)));
  }
  return sse(l, `p${kind}${letterOf(bits)}i`, type, v, imm(amount));
}

/** Copies the bit that `sign` marks into the bits above it: (v ^ sign) - sign. */
function signFill(l: Emitter, v: Value, sign: Value): Value {
  return l.bin(Op.Sub, bitXor(l, v, sign), sign);
}
