/** Lanes of vectors: taking out, putting in, building, constants, and variable indices through memory. */
import { elementOf } from "../../codegen/legalize/constants.js";
import { intResize } from "../../codegen/legalize/integers.js";
import type { Lowering, Parts } from "../../codegen/legalize/lowering.js";
import { Op } from "../../ir/instructions.js";
import { arrayType, doubleType, floatType, i1, i8, i16, i32, i64, type Type } from "../../ir/types.js";
import {
  type Constant,
  ConstData,
  type ConstFloat,
  ConstUndef,
  constI64,
  constInt,
  isConstant,
  type Value,
  zeroOf,
} from "../../ir/values.js";
import { extensionsOf } from "./vectors-extensions.js";
import { splatScalar } from "./vectors-facts.js";
import { bitsOf, type Shape, shapeOf } from "./vectors-shape.js";
import { shuffle, splatLane, splatWord } from "./vectors-shuffle.js";
import {
  as,
  bitAnd,
  bitOr,
  blend,
  imm,
  laneConstants,
  sse,
  sse2,
  v2f64,
  v2i64,
  v4f32,
  v4i32,
  v8i16,
  v16i8,
} from "./vectors-sse.js";

/** A lane of a register as a scalar of the lane type. */
export function extractLane(l: Lowering, register: Value, lane: number): Value {
  const type = register.type;
  const element = type.element;
  if (register.valueKind === "data" || register.valueKind === "zero") return elementOf(register, lane);
  if (register.valueKind === "undef") return new ConstUndef(element, false);
  switch (element.kind) {
    case "float":
      return sse(l, "ss.from", floatType, lane === 0 ? register : splatLane(l, register, lane));
    case "double":
      return sse(l, "sd.from", doubleType, lane === 0 ? register : splatLane(l, register, lane));
    default:
      break;
  }
  const extracted = lane > 0 && element.bits !== 16 && extensionsOf(l).sse41;
  if (extracted) {
    const word = element.bits === 64 ? i64 : i32;
    const name = { 8: "pextrb", 32: "pextrd", 64: "pextrq" }[element.bits]!;
    return l.cast(Op.Trunc, sse(l, name, word, register, imm(lane)), element);
  }
  switch (element.bits) {
    case 64:
      return sse(l, "movq.from", i64, lane === 0 ? register : splatLane(l, register, lane));
    case 32:
      return sse(l, "movd.from", i32, lane === 0 ? register : splatLane(l, register, lane));
    case 16:
      return l.cast(Op.Trunc, sse(l, "pextrw", i32, register, imm(lane)), i16);
    default: {
      if (lane === 0) return l.cast(Op.Trunc, sse(l, "movd.from", i32, as(l, register, v4i32)), i8);
      const word = sse(l, "pextrw", i32, as(l, register, v8i16), imm(lane >> 1));
      return l.cast(Op.Trunc, lane % 2 === 1 ? l.lshr(word, 8) : word, i8);
    }
  }
}

/** A scalar of the lane type in lane 0; the other lanes are undefined. */
export function toRegister(l: Lowering, value: Value, registerType: Type): Value {
  const element = registerType.element;
  if (value.valueKind === "undef") return new ConstUndef(registerType, value.poison);
  if (value.valueKind === "int" || value.valueKind === "float")
    return laneConstants(element, [value.valueKind === "int" ? value.value : value.bits]);
  switch (element.kind) {
    case "float":
      return sse(l, "ss.to", v4f32, value);
    case "double":
      return sse(l, "sd.to", v2f64, value);
    default:
      if (element.bits === 64) return sse(l, "movq.to", v2i64, value);
      return as(l, sse(l, "movd.to", v4i32, l.cast(Op.ZExt, value, i32)), registerType);
  }
}

/**
 * The amount by which all lanes are shifted, in the low 64 bits of a register.
 * @param amounts lanes that are all the same @param first the register that has the first of them
 */
export function shiftCount(l: Lowering, amounts: Value, first: Value): Value {
  const { bits } = first.type.element;
  const scalar = splatScalar(amounts);
  if (scalar !== null && scalar.type.bits === bits) {
    const lane = l.value(scalar);
    if (bits === 64) return toRegister(l, lane, v2i64);
    // Moved there from a general register, it has zeros above.
    return as(l, toRegister(l, bits === 32 ? lane : l.cast(Op.ZExt, lane, i32), v4i32), v2i64);
  }
  const low = as(l, first, v2i64);
  return bits === 64 ? low : bitAnd(l, low, laneConstants(i64, [(1n << BigInt(bits)) - 1n]));
}

/** A scalar in every lane. */
export function splat(l: Lowering, value: Value, registerType: Type): Value {
  const lane = toRegister(l, value, registerType);
  if (lane.valueKind === "data") {
    const element = elementOf(lane, 0);
    const bits = element.valueKind === "int" ? element.value : (element as ConstFloat).bits;
    return laneConstants(registerType.element, new Array<bigint>(registerType.count).fill(bits));
  }
  if (lane.valueKind === "undef") return lane;
  if (registerType.element.bits === 8) {
    const v = as(l, lane, v16i8);
    return as(l, splatWord(l, as(l, sse(l, "punpcklbw", v16i8, v, v), v8i16), 0), registerType);
  }
  return splatLane(l, lane, 0);
}

/** The register with one lane replaced. */
export function insertLane(l: Lowering, register: Value, value: Value, lane: number): Value {
  const type = register.type;
  const element = type.element;
  if (register.valueKind === "undef" && lane === 0) return toRegister(l, value, type);
  if (value.valueKind === "undef") return register;
  if (element.isInt(16)) return sse(l, "pinsrw", v8i16, register, l.cast(Op.ZExt, value, i32), imm(lane));
  if (isInsertable(l, register, value)) return insertGeneral(l, register, value, lane);
  const single = toRegister(l, value, type);
  if (element.isInt(8)) {
    const chosen: bigint[] = new Array<bigint>(16).fill(0n);
    chosen[lane] = -1n;
    const mask = laneConstants(i8, chosen);
    if (single.valueKind === "data") return blend(l, mask, splat(l, value, type), register);
    const moved =
      lane === 0 ? single : as(l, sse(l, "pslldq", v2i64, as(l, single, v2i64), imm(lane)), v16i8);
    const kept = bitAnd(
      l,
      register,
      laneConstants(
        i8,
        chosen.map((c) => ~c),
      ),
    );
    return bitOr(l, kept, moved);
  }
  const n = type.count;
  return shuffle(
    l,
    register,
    single,
    Array.from({ length: n }, (_, i) => (i === lane ? n : i)),
  );
}

/** Whether an integer goes to its lane by an instruction of SSE4.1. */
const isInsertable = (l: Lowering, register: Value, value: Value): boolean =>
  value.type.kind === "int" &&
  value.valueKind !== "int" &&
  register.valueKind !== "undef" &&
  extensionsOf(l).sse41;

/** An integer of 8, 32 or 64 bits from a general register put in a lane. */
function insertGeneral(l: Lowering, register: Value, value: Value, lane: number): Value {
  const { bits } = value.type;
  const name = { 8: "pinsrb", 32: "pinsrd", 64: "pinsrq" }[bits]!;
  return sse(l, name, register.type, register, bits === 8 ? l.cast(Op.ZExt, value, i32) : value, imm(lane));
}

/** An element's parts as a scalar of the lane type. */
function toLane(l: Lowering, shape: Shape, parts: Parts): Value {
  const v = parts[0]!;
  switch (shape.element.kind) {
    case "ptr":
      return l.cast(Op.PtrToInt, v, i64);
    case "half":
    case "bfloat":
      return l.cast(Op.BitCast, v, i16);
    default:
      return shape.representation === "mask" ? l.cast(Op.SExt, v, shape.lane) : v;
  }
}
/** A scalar of the lane type as the element's parts. */
export function fromLane(l: Lowering, shape: Shape, lane: Value): Parts {
  switch (shape.element.kind) {
    case "ptr":
      return [l.cast(Op.IntToPtr, lane, shape.element)];
    case "half":
    case "bfloat":
      return [l.cast(Op.BitCast, lane, shape.element)];
    default:
      return [shape.representation === "mask" ? l.cast(Op.Trunc, lane, i1) : lane];
  }
}

/** Parts of one element. */
function elementAt(l: Lowering, type: Type, parts: Parts, index: number): Parts {
  const shape = shapeOf(type);
  if (shape.representation === "each") {
    const size = parts.length / type.count;
    return parts.slice(index * size, (index + 1) * size);
  }
  const register = parts[Math.floor(index / shape.perRegister)]!;
  return fromLane(l, shape, extractLane(l, register, index % shape.perRegister));
}

export function elements(l: Lowering, type: Type, parts: Parts): Parts[] {
  return Array.from({ length: type.count }, (_, i) => elementAt(l, type, parts, i));
}

/** A vector from its elements. */
export function build(l: Lowering, type: Type, all: readonly Parts[]): Parts {
  const shape = shapeOf(type);
  if (shape.representation === "each") return all.flat();
  const registers: Value[] = [];
  for (let r = 0; r < shape.registers; r++) {
    const lanes: Value[] = [];
    for (let i = 0; i < shape.perRegister; i++) {
      const element = all[r * shape.perRegister + i];
      lanes.push(element === undefined ? new ConstUndef(shape.lane, false) : toLane(l, shape, element));
    }
    registers.push(buildRegister(l, shape.register, lanes));
  }
  return registers;
}

/** A register from scalars of its lane type. */
function buildRegister(l: Lowering, type: Type, lanes: readonly Value[]): Value {
  const defined = lanes.filter((v) => v.valueKind !== "undef");
  if (defined.length === 0) return new ConstUndef(type, false);
  const isLiteral = (v: Value): boolean => v.valueKind === "int" || v.valueKind === "float";
  const variable = defined.filter((v) => !isLiteral(v));
  if (variable.length === 0) return literalRegister(type, lanes);
  if (defined.length > 1 && defined.every((v) => v === defined[0])) return splat(l, defined[0]!, type);
  if (
    variable.length < defined.length &&
    variable.length <= 2 &&
    (type.element.bits !== 8 || extensionsOf(l).sse41)
  ) {
    let register: Value = literalRegister(
      type,
      lanes.map((v) => (isLiteral(v) ? v : zeroOf(type.element))),
    );
    lanes.forEach((v, i) => {
      if (v.valueKind !== "undef" && !isLiteral(v)) register = insertLane(l, register, v, i);
    });
    return register;
  }
  return bitsOf(type.element) === 8 ? buildBytes(l, lanes) : mergeLanes(l, type, lanes);
}

function literalRegister(type: Type, lanes: readonly Value[]): Value {
  const values = lanes.map((v) => (v.valueKind === "int" ? v.value : v.valueKind === "float" ? v.bits : 0n));
  if (values.every((v) => v === 0n)) return zeroOf(type);
  return laneConstants(type.element, values);
}

/** Byte pairs joined in general registers, then words put in place. */
function buildBytes(l: Lowering, lanes: readonly Value[]): Value {
  if (extensionsOf(l).sse41) return insertAll(l, v16i8, lanes);
  const words: Value[] = [];
  for (let i = 0; i < 16; i += 2) {
    const low = lanes[i]!;
    const high = lanes[i + 1]!;
    if (low.valueKind === "undef" && high.valueKind === "undef") words.push(new ConstUndef(i16, false));
    else {
      const wideLow = low.valueKind === "undef" ? constInt(i16, 0) : l.cast(Op.ZExt, low, i16);
      const wideHigh = high.valueKind === "undef" ? constInt(i16, 0) : l.cast(Op.ZExt, high, i16);
      words.push(l.or(wideLow, l.shl(wideHigh, 8)));
    }
  }
  return as(l, buildRegister(l, v8i16, words), v16i8);
}

/** Integers of 8, 32 or 64 bits one after the other. */
function insertAll(l: Lowering, type: Type, lanes: readonly Value[]): Value {
  let register: Value = new ConstUndef(type, false);
  lanes.forEach((lane, i) => {
    if (lane.valueKind === "undef") return;
    register =
      register.valueKind === "undef" && i === 0
        ? toRegister(l, lane, type)
        : insertLane(l, register.valueKind === "undef" ? zeroOf(type) : register, lane, i);
  });
  return register;
}

/** Pairwise interleaving of single-lane registers; words by insertion. */
function mergeLanes(l: Lowering, type: Type, lanes: readonly Value[]): Value {
  if (type === v8i16) {
    let register: Value = new ConstUndef(type, false);
    const firstAt = lanes.findIndex((v) => v.valueKind !== "undef");
    lanes.forEach((v, i) => {
      if (v.valueKind === "undef") return;
      if (i === firstAt && i === 0) register = toRegister(l, v, type);
      else {
        const base = register.valueKind === "undef" ? zeroOf(type) : register;
        register = sse(l, "pinsrw", v8i16, base, l.cast(Op.ZExt, v, i32), imm(i));
      }
    });
    return register;
  }
  if (!type.element.isFloat && extensionsOf(l).sse41) return insertAll(l, type, lanes);
  const registers = lanes.map((v) => toRegister(l, v, type));
  const isUndef = (v: Value): boolean => v.valueKind === "undef";
  const isFloat = type.element.isFloat;
  const pair = (a: Value, b: Value): Value => {
    if (isUndef(b)) return a;
    return isUndef(a)
      ? splatLane(l, b, 0)
      : sse2(l, isFloat ? "unpcklps" : "punpckldq", isFloat ? v4f32 : v4i32, a, b);
  };
  const join = (a: Value, b: Value): Value => {
    if (isUndef(b)) return a;
    const wide = isFloat ? v2f64 : v2i64;
    return as(l, sse2(l, isFloat ? "unpcklpd" : "punpcklqdq", wide, isUndef(a) ? b : a, b), type);
  };
  if (type.count === 2) return join(registers[0]!, registers[1]!);
  return join(pair(registers[0]!, registers[1]!), pair(registers[2]!, registers[3]!));
}

/** Parts of a constant vector; computed here where it holds addresses. */
export function constantVector(l: Lowering, c: Constant): Parts {
  const type = c.type;
  const shape = shapeOf(type);
  const count = type.count;
  if (shape.isExact && c.valueKind === "data") return registersOfBytes(shape, c.bytes);
  const all: Parts[] = [];
  for (let i = 0; i < count; i++) all.push(l.parts(elementOf(c, i)));
  return build(l, type, all);
}

function registersOfBytes(shape: Shape, bytes: Uint8Array): Parts {
  const registers: Value[] = [];
  for (let at = 0; at < bytes.length; at += 16) {
    const own = new Uint8Array(16);
    own.set(bytes.subarray(at, at + 16));
    registers.push(new ConstData(shape.register, own));
  }
  return registers;
}

/** A variable index bounded to the vector, as i64: an index past the end only makes the result poison. */
function boundedIndex(l: Lowering, index: Value, count: number): Value {
  const wide = intResize(l, index.type.bits, 64, l.parts(index), false)[0]!;
  if ((count & (count - 1)) === 0) return l.and(wide, constI64(count - 1));
  return l.select(l.icmp("ult", wide, constI64(count)), wide, constI64(count - 1));
}

function spill(l: Lowering, registers: Parts): Value {
  const type = registers[0]!.type;
  const slot = l.scratchSlot(arrayType(registers.length, type), 16);
  registers.forEach((r, i) => {
    l.store(r, l.offset(slot, i * 16), 16);
  });
  return slot;
}

/** extractelement */
export function extractElement(l: Lowering, vector: Value, index: Value): Parts {
  const type = vector.type;
  const parts = l.parts(vector);
  if (index.valueKind === "int") {
    const at = Number(BigInt.asUintN(index.type.bits, index.value));
    if (at < type.count) return elementAt(l, type, parts, at);
    return l.partTypes(type.element).map((t) => new ConstUndef(t, true));
  }
  const shape = shapeOf(type);
  const at = boundedIndex(l, index, type.count);
  if (shape.representation === "each") {
    const size = parts.length / type.count;
    let result = parts.slice(0, size);
    for (let i = 1; i < type.count; i++) {
      const isHere = l.icmp("eq", at, constI64(i));
      result = result.map((p, k) => l.select(isHere, parts[i * size + k]!, p));
    }
    return result;
  }
  const slot = spill(l, parts);
  const size = shape.laneBits / 8;
  const lane = l.load(shape.lane, l.offsetBy(slot, l.bin(Op.Mul, at, constI64(size))), size);
  return fromLane(l, shape, lane);
}

/**
 * The lanes of one register of what a chain of insertions makes: to build that at once takes less than lane after lane. What only
 * the chain's end needed is dead then. Null if a lane is neither put in nor known, or none was put in before.
 * @param first the register's first lane
 */
function lanesPutIn(l: Lowering, shape: Shape, end: Value, first: number): Value[] | null {
  const lanes: (Value | undefined)[] = new Array<undefined>(shape.perRegister).fill(undefined);
  const { count } = end.type;
  let value = end;
  let variable = 0;
  for (let steps = 0; value.valueKind === "inst" && value.op === Op.InsertElement; steps++) {
    const [before, element, index] = value.operands as readonly [Value, Value, Value];
    if (index.valueKind !== "int" || steps === 2 * count) return null;
    const at = Number(BigInt.asUintN(index.type.bits, index.value));
    if (at >= count) return null;
    if (at >= first && lanes[at - first] === undefined && at < first + shape.perRegister) {
      const lane = toLane(l, shape, l.parts(element));
      if (!isConstant(lane)) variable++;
      lanes[at - first] = lane;
    }
    value = before;
  }
  if (variable === 0) return null;
  const isKnown = isConstant(value) && value.valueKind !== "expr";
  for (let i = 0; i < lanes.length; i++) {
    if (lanes[i] !== undefined) continue;
    if (first + i >= count || value.valueKind === "undef") lanes[i] = new ConstUndef(shape.lane, false);
    else if (isKnown) lanes[i] = toLane(l, shape, l.parts(elementOf(value as Constant, first + i)));
    else return null;
  }
  return lanes as Value[];
}

/** insertelement */
export function insertElement(l: Lowering, vector: Value, element: Value, index: Value): Parts {
  const type = vector.type;
  const parts = l.parts(vector);
  const shape = shapeOf(type);
  const value = l.parts(element);
  if (index.valueKind === "int") {
    const at = Number(BigInt.asUintN(index.type.bits, index.value));
    if (at >= type.count) return l.partTypes(type).map((t) => new ConstUndef(t, true));
    const out = [...parts];
    if (shape.representation === "each") {
      const size = parts.length / type.count;
      out.splice(at * size, size, ...value);
      return out;
    }
    const r = Math.floor(at / shape.perRegister);
    const lanes = lanesPutIn(l, shape, vector, r * shape.perRegister);
    const lane = at % shape.perRegister;
    if (lanes === null) out[r] = insertLane(l, parts[r]!, toLane(l, shape, value), lane);
    else out[r] = buildRegister(l, shape.register, lanes.with(lane, toLane(l, shape, value)));
    return out;
  }
  const at = boundedIndex(l, index, type.count);
  if (shape.representation === "each") {
    const size = parts.length / type.count;
    return parts.map((p, k) =>
      l.select(l.icmp("eq", at, constI64(Math.floor(k / size))), value[k % size]!, p),
    );
  }
  const slot = spill(l, parts);
  const size = shape.laneBits / 8;
  l.store(toLane(l, shape, value), l.offsetBy(slot, l.bin(Op.Mul, at, constI64(size))), size);
  return parts.map((p, i) => l.load(p.type, l.offset(slot, i * 16), 16));
}
