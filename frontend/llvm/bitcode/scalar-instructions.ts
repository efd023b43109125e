/** Instructions that compute without touching memory. The record layouts are given at each function. */

import {
  binaryOps,
  castOps,
  firstIntPredicate,
  floatPredicates,
  intPredicates,
} from "../../../formats/bitcode/codes.js";
import { UnsupportedError } from "../../../lto/ir/errors.js";
import { Flag, type Inst, makeInst, Op } from "../../../lto/ir/instructions.js";
import { i1, type Type, vectorType } from "../../../lto/ir/types.js";
import { type Constant, isConstant, type Value } from "../../../lto/ir/values.js";
import { binaryFlags, castFlags, fastMathFlags } from "./flags.js";
import type { FunctionReader } from "./function.js";
import { checkBinary, checkCast, typeAt } from "./type-rules.js";

/** [a, b, operator, flags?] */
export function readBinary(r: FunctionReader): Inst {
  const a = r.pair();
  const b = r.value(a.type);
  const op = binaryOps[r.take()]?.[a.type.scalar.isFloat ? 1 : 0];
  if (op === undefined || op === null) throw r.malformed("binary operator");
  checkBinary(op, a.type, b.type);
  const flags = r.left > 0 ? binaryFlags(op, r.take()) : 0;
  // The op is one of those without data.
  return makeInst(op as Op.Add, a.type, [a, b], null, [], flags);
}

/** [value, operator, flags?] */
export function readUnary(r: FunctionReader): Inst {
  const value = r.pair();
  if (r.take() !== 0) throw new UnsupportedError("unary operator other than fneg");
  if (!value.type.scalar.isFloat) throw r.malformed("fneg");
  return makeInst(Op.FNeg, value.type, [value], null, [], r.left > 0 ? fastMathFlags(r.take()) : 0);
}

/** [value, type, operator, flags?] */
export function readCast(r: FunctionReader): Inst {
  const value = r.pair();
  const type = r.type();
  const number = r.take();
  const op = castOps[number];
  if (op === undefined) throw new UnsupportedError(`cast ${number}`);
  checkCast(op, value.type, type);
  return makeInst(op, type, [value], null, [], r.left > 0 ? castFlags(op, r.take()) : 0);
}

const boolLike = (type: Type): Type => (type.isVector ? vectorType(type.count, i1) : i1);

/** [a, b, predicate, flags?]; the flag of an integer comparison is samesign. */
export function readCompare(r: FunctionReader): Inst {
  const a = r.pair();
  const b = r.value(a.type);
  const number = r.take();
  const bits = r.left > 0 ? r.take() : 0;
  if (a.type.scalar.isFloat) {
    const predicate = floatPredicates[number];
    if (predicate === undefined) throw r.malformed("predicate of a comparison");
    return makeInst(Op.FCmp, boolLike(a.type), [a, b], predicate, [], fastMathFlags(bits));
  }
  const predicate = intPredicates[number - firstIntPredicate];
  const { kind } = a.type.scalar;
  if (predicate === undefined || (kind !== "int" && kind !== "ptr")) throw r.malformed("comparison");
  return makeInst(Op.ICmp, boolLike(a.type), [a, b], predicate, [], (bits & 1) !== 0 ? Flag.SameSign : 0);
}

/** [if true, if false, condition, fast-math flags?] */
export function readSelect(r: FunctionReader): Inst {
  const a = r.sizedPair();
  const b = r.value(a.type);
  const condition = r.pair();
  const type = condition.type;
  if (!type.scalar.isInt(1) || (type.isVector && (!a.type.isVector || a.type.count !== type.count)))
    throw r.malformed("condition of a select");
  const flags = r.left > 0 ? fastMathFlags(r.take()) : 0;
  return makeInst(Op.Select, a.type, [condition, a, b], null, [], flags);
}

/** [if true, if false, condition], the form without vectors. */
export function readOldSelect(r: FunctionReader): Inst {
  const a = r.sizedPair();
  const b = r.value(a.type);
  return makeInst(Op.Select, a.type, [r.value(i1), a, b], null);
}

/** [value] */
export function readFreeze(r: FunctionReader): Inst {
  const value = r.sizedPair();
  return makeInst(Op.Freeze, value.type, [value], null);
}

/** [list type, list, result type] */
export function readVAArg(r: FunctionReader): Inst {
  const listType = r.type();
  if (listType.kind !== "ptr") throw r.malformed("va_arg");
  const list = r.value(listType);
  return makeInst(Op.VAArg, r.sizedType(), [list], null);
}

function path(r: FunctionReader): number[] {
  const indices: number[] = [];
  while (r.left > 0) indices.push(r.take());
  if (indices.length === 0) throw r.malformed("aggregate access without an index");
  return indices;
}

/** [aggregate, index…] */
export function readExtractValue(r: FunctionReader): Inst {
  const aggregate = r.pair();
  const indices = path(r);
  return makeInst(Op.ExtractValue, typeAt(aggregate.type, indices), [aggregate], indices);
}

/** [aggregate, element, index…] */
export function readInsertValue(r: FunctionReader): Inst {
  const aggregate = r.pair();
  const element = r.pair();
  const indices = path(r);
  if (typeAt(aggregate.type, indices) !== element.type) throw r.malformed("element of an insertvalue");
  return makeInst(Op.InsertValue, aggregate.type, [aggregate, element], indices);
}

function vector(r: FunctionReader): Value {
  const value = r.pair();
  if (!value.type.isVector) throw r.malformed("operand that should be a vector");
  return value;
}

function laneIndex(r: FunctionReader): Value {
  const index = r.pair();
  if (!index.type.isInt()) throw r.malformed("index into a vector");
  return index;
}

/** [vector, index] */
export function readExtractElement(r: FunctionReader): Inst {
  const value = vector(r);
  return makeInst(Op.ExtractElement, value.type.element, [value, laneIndex(r)], null);
}

/** [vector, element, index] */
export function readInsertElement(r: FunctionReader): Inst {
  const value = vector(r);
  const element = r.value(value.type.element);
  return makeInst(Op.InsertElement, value.type, [value, element, laneIndex(r)], null);
}

/** [a, b, mask]; the mask is a constant vector of lane numbers. */
export function readShuffleVector(r: FunctionReader): Inst {
  const a = vector(r);
  const b = r.value(a.type);
  const constant = r.pair();
  if (!isConstant(constant)) throw r.malformed("mask of a shufflevector");
  const mask = maskOf(constant, r);
  if (mask.top >= 2 * a.type.count) throw r.malformed("mask of a shufflevector");
  return makeInst(Op.ShuffleVector, vectorType(mask.lanes.length, a.type.element), [a, b], mask.lanes);
}

interface Mask {
  readonly lanes: readonly number[];
  /** Largest lane number. */
  readonly top: number;
}
/** One array for all uses of a constant. */
const masks = new WeakMap<Constant, Mask>();
const uniformMasks = new Map<Type, readonly [zero: Mask, undef: Mask]>();

function maskOf(constant: Constant, r: FunctionReader): Mask {
  const { type } = constant;
  if (!type.isVector || !type.element.isInt(32)) throw r.malformed("mask of a shufflevector");
  if (constant.valueKind === "zero" || constant.valueKind === "undef") {
    let both = uniformMasks.get(type);
    if (both === undefined) {
      const uniform = (lane: number): Mask => ({
        lanes: new Array<number>(type.count).fill(lane),
        top: lane,
      });
      uniformMasks.set(type, (both = [uniform(0), uniform(-1)]));
    }
    return both[constant.valueKind === "zero" ? 0 : 1];
  }
  let mask = masks.get(constant);
  if (mask === undefined) {
    const lanes = lanesOf(constant, r);
    let top = -1;
    for (const lane of lanes) top = Math.max(top, lane);
    masks.set(constant, (mask = { lanes, top }));
  }
  return mask;
}

function lanesOf(constant: Constant, r: FunctionReader): number[] {
  if (constant.valueKind === "data") {
    const { bytes } = constant;
    const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    const lanes: number[] = [];
    for (let at = 0; at < bytes.length; at += 4) lanes.push(view.getUint32(at, true));
    return lanes;
  }
  if (constant.valueKind !== "aggregate") throw r.malformed("mask of a shufflevector");
  return constant.elements.map((element) => {
    if (element.valueKind === "undef") return -1;
    if (element.valueKind === "int" && element.num >= 0) return element.num;
    throw r.malformed("mask of a shufflevector");
  });
}
