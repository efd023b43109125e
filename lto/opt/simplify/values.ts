/**
 * Rules of `simplify` on what is neither integer arithmetic nor a comparison: selects, casts, addresses, phis,
 * aggregates, vectors, freezes, floating point, and calls of intrinsics.
 */
import { isNonNegative } from "../../analysis/known-bits.js";
import { constantGepOffset } from "../../ir/fold/index.js";
import { type CallInst, Flag, type Inst, type InstWith, Op } from "../../ir/instructions.js";
import { intrinsicOf } from "../../ir/intrinsics.js";
import { i1 } from "../../ir/types.js";
import { ConstFloat, constBool, isConstant, type Value } from "../../ir/values.js";
import { asInst, type Forms, intOf, invertedOf, isAllOnes, isOne, isPoison, isZero, same } from "./forms.js";

// Selects.

export function simplifySelect(inst: Inst, forms: Forms): Value | null {
  const [condition, a, b] = inst.operands as readonly [Value, Value, Value];
  if (condition.valueKind === "int") return condition.value !== 0n ? a : b;
  if (same(a, b)) return a;
  if (isPoison(a)) return b;
  if (isPoison(b)) return a;
  // An arm that may be anything is the other one, unless that may be poison.
  if (a.valueKind === "undef" && forms.isWellDefined(b)) return b;
  if (b.valueKind === "undef" && forms.isWellDefined(a)) return a;
  if (condition.type.kind === "vector") return null;
  const inverted = invertedOf(condition);
  if (inverted !== null) return forms.select(inst, inverted, b, a);
  if (inst.type === i1) {
    const boolean = selectBoolean(inst, condition, a, b, forms);
    if (boolean !== null) return boolean;
  } else if (inst.type.kind === "int") {
    if (isZero(b) && isOne(a)) return forms.cast(Op.ZExt, condition, inst.type);
    if (isZero(b) && isAllOnes(a)) return forms.cast(Op.SExt, condition, inst.type);
  }
  // The same condition again.
  const left = asInst(a, Op.Select);
  if (left !== null && left.operands[0] === condition)
    return forms.select(inst, condition, left.operands[1]!, b);
  const right = asInst(b, Op.Select);
  if (right !== null && right.operands[0] === condition)
    return forms.select(inst, condition, a, right.operands[2]!);
  return selectOfEqual(condition, a, b);
}

function selectBoolean(inst: Inst, condition: Value, a: Value, b: Value, forms: Forms): Value | null {
  if (isOne(a) && isZero(b)) return condition;
  if (isZero(a) && isOne(b)) return forms.not(condition);
  if (a === condition) return forms.select(inst, condition, constBool(true), b);
  if (b === condition) return forms.select(inst, condition, a, constBool(false));
  // Where the second part is never poison, both can be computed.
  if (isOne(a) && forms.isWellDefined(b)) return forms.binary(Op.Or, condition, b);
  if (isZero(b) && forms.isWellDefined(a)) return forms.binary(Op.And, condition, a);
  return null;
}

/** `x == y ? x : y` is y; integers only, since equal pointers may belong to different objects. */
function selectOfEqual(condition: Value, a: Value, b: Value): Value | null {
  const compare = asInst(condition, Op.ICmp) as InstWith<Op.ICmp> | null;
  if (compare === null || (compare.data !== "eq" && compare.data !== "ne")) return null;
  const [x, y] = compare.operands as readonly [Value, Value];
  if (x.type.kind !== "int") return null;
  if (!((same(x, a) && same(y, b)) || (same(x, b) && same(y, a)))) return null;
  return compare.data === "eq" ? b : a;
}

// Casts.

export function simplifyCast(inst: Inst, forms: Forms): Value | null {
  const value = inst.operands[0]!;
  const { type, op } = inst;
  if (op === Op.BitCast && value.type === type) return value;
  const inner = value.valueKind === "inst" && value.op >= Op.Trunc && value.op <= Op.BitCast ? value : null;
  if (inner !== null) {
    const merged = castTwice(inst, inner, forms);
    if (merged !== null) return merged;
  }
  if (op === Op.SExt && type.kind === "int" && value.type.bits <= 128 && value.type.bits > 1)
    if (isNonNegative(forms.known(value), value.type.bits))
      return forms.cast(Op.ZExt, value, type, Flag.NonNeg);
  return null;
}

function castTwice(inst: Inst, inner: Inst, forms: Forms): Value | null {
  const { type, op } = inst;
  const x = inner.operands[0]!;
  const from = x.type.scalar.bits;
  const to = type.scalar.bits;
  switch (op) {
    case Op.Trunc:
      if (inner.op === Op.Trunc) return forms.cast(Op.Trunc, x, type);
      if (inner.op !== Op.ZExt && inner.op !== Op.SExt) return null;
      if (from === to) return x;
      return forms.cast(to < from ? Op.Trunc : inner.op, x, type);
    case Op.ZExt:
      if (inner.op === Op.ZExt) return forms.cast(Op.ZExt, x, type, inner.flags & Flag.NonNeg);
      if (inner.op !== Op.Trunc || x.type !== type || type.kind !== "int" || to > 128) return null;
      return upperZeros(x, inner.type.bits, to, forms) ? x : null;
    case Op.SExt:
      if (inner.op === Op.SExt) return forms.cast(Op.SExt, x, type);
      return inner.op === Op.ZExt ? forms.cast(Op.ZExt, x, type) : null;
    case Op.BitCast:
      if (inner.op !== Op.BitCast) return null;
      return x.type === type ? x : forms.cast(Op.BitCast, x, type);
    case Op.FPTrunc:
      return inner.op === Op.FPExt && x.type === type && forms.isIeee ? x : null;
    case Op.PtrToInt:
      return inner.op === Op.IntToPtr && x.type === type && isWhole(x, inner, forms) ? x : null;
    case Op.IntToPtr:
      return inner.op === Op.PtrToInt && x.type === type && isWhole(inner, inst, forms) ? x : null;
    default:
      return null;
  }
}

/** Whether all bits from `low` on are zero. */
function upperZeros(value: Value, low: number, bits: number, forms: Forms): boolean {
  const upper = ((1n << BigInt(bits)) - 1n) ^ ((1n << BigInt(low)) - 1n);
  return (forms.known(value).zero & upper) === upper;
}

/** An integer has as many bits as the pointer. */
const isWhole = (integer: Value, pointer: Value, { layout }: Forms): boolean =>
  integer.type.kind === "int" &&
  pointer.type.kind === "ptr" &&
  pointer.type.addressSpace === 0 &&
  integer.type.bits === layout.bitWidth(pointer.type);

// Addresses.

export function simplifyGep(inst: InstWith<Op.GetElementPtr>, forms: Forms): Value | null {
  const base = inst.operands[0]!;
  if (base.type !== inst.type || inst.type.kind !== "ptr") return null;
  let zeros = true;
  for (let i = 1; i < inst.operands.length && zeros; i++) zeros = isZero(inst.operands[i]!);
  if (zeros) return base;
  const { layout } = forms;
  const inner = forms.onlyUse(base);
  if (inner === null || inner.op !== Op.GetElementPtr || inner.operands[0]!.type !== inst.type) return null;
  const outerOffset = constantGepOffset(layout, inst.data.elementType, inst.operands);
  if (outerOffset === null || !Number.isSafeInteger(outerOffset)) return null;
  const innerOffset = constantGepOffset(layout, inner.data.elementType, inner.operands);
  if (innerOffset === null || !Number.isSafeInteger(innerOffset)) return null;
  let flags = inst.flags & inner.flags;
  // Without a bound on both, offsets of both signs may leave the object and come back.
  if ((flags & (Flag.InBounds | Flag.Nuw)) === 0) flags = 0;
  return forms.byteOffset(inner.operands[0]!, BigInt(innerOffset) + BigInt(outerOffset), flags);
}

// Phis.

export function simplifyPhi(phi: Inst, forms: Forms): Value | null {
  let only: Value | null = null;
  let isPartial = false;
  for (const value of phi.operands) {
    if (value === phi || (only !== null && same(only, value))) continue;
    if (isPoison(value)) {
      isPartial = true;
      continue;
    }
    if (only !== null) return null;
    only = value;
  }
  if (only === null) return null;
  if (isConstant(only)) {
    // What stands for a constant expression may trap or be poison where another edge was taken.
    return isPartial && only.valueKind === "expr" ? null : only;
  }
  if (only.valueKind === "argument") return only;
  if (only.valueKind !== "inst") return null;
  // It is there at the end of all predecessors; that it is there for the phi itself follows unless code is unreachable.
  if (only.parent === phi.parent) return null;
  return isPartial && !isInEntry(only, forms) ? null : only;
}

const isInEntry = (inst: Inst, { entry }: Forms): boolean =>
  inst.op !== Op.Invoke && inst.op !== Op.CallBr && inst.parent === entry;

// Aggregates and vectors.

export function simplifyExtractValue(inst: InstWith<Op.ExtractValue>): Value | null {
  let aggregate = inst.operands[0]!;
  const path = inst.data;
  const call = asInst(aggregate, Op.Call);
  if (call !== null) return extractFromArithmetic(call as CallInst, path[0]!);
  for (let i = 0; i < 16; i++) {
    const inner = asInst(aggregate, Op.InsertValue) as InstWith<Op.InsertValue> | null;
    if (inner === null) return null;
    const common = Math.min(path.length, inner.data.length);
    let differs = false;
    for (let k = 0; k < common; k++) if (path[k] !== inner.data[k]) differs = true;
    if (!differs) return path.length === inner.data.length ? inner.operands[1]! : null;
    aggregate = inner.operands[0]!;
  }
  return null;
}

/** Sums with zero, and products with zero and one, never overflow. */
function extractFromArithmetic(call: CallInst, index: number): Value | null {
  const name = intrinsicOf(call.operands[0]!)?.name;
  if (name === undefined || !name.endsWith(".with.overflow")) return null;
  const [, a, b] = call.operands as readonly [Value, Value, Value];
  if (a.type.kind !== "int") return null;
  // A sum of two known numbers is folded elsewhere.
  const isProduct = name === "umul.with.overflow" || name === "smul.with.overflow";
  const isSum = name === "uadd.with.overflow" || name === "sadd.with.overflow";
  const [value, neutral] = isConstant(a) && (isProduct || isSum) ? [b, a] : [a, b];
  if (isProduct && isZero(neutral)) return index === 0 ? neutral : constBool(false);
  // The one bit that is one is minus one as a signed number.
  if (isProduct ? a.type.bits === 1 || !isOne(neutral) : !isZero(neutral)) return null;
  return index === 0 ? value : constBool(false);
}

/** A part of a constant below a chain of insertions elsewhere. */
export function extractFromConstant(inst: InstWith<Op.ExtractValue>, forms: Forms): Value | null {
  const inner = asInst(inst.operands[0]!, Op.InsertValue) as InstWith<Op.InsertValue> | null;
  if (inner === null || inner.data[0] === inst.data[0] || !isConstant(inner.operands[0]!)) return null;
  return forms.folder.operation(Op.ExtractValue, inst.type, [inner.operands[0]], inst.data, 0);
}

export function simplifyExtractElement(inst: Inst): Value | null {
  const at = intOf(inst.operands[1]!);
  const inner = asInst(inst.operands[0]!, Op.InsertElement);
  if (at === null || inner === null) return null;
  const written = intOf(inner.operands[2]!);
  return written !== null && BigInt.asUintN(32, written.value) === BigInt.asUintN(32, at.value)
    ? inner.operands[1]!
    : null;
}

export function simplifyShuffle(inst: InstWith<Op.ShuffleVector>): Value | null {
  const [a, b] = inst.operands as readonly [Value, Value];
  if (inst.type !== a.type) return null;
  const { count } = a.type;
  if (inst.data.every((at, i) => at === i)) return a;
  return inst.data.every((at, i) => at === i + count) ? b : null;
}

// Floating point: only what holds for every number, NaN and signed zeros included.

export function simplifyFloat(inst: Inst, forms: Forms): Value | null {
  if (!forms.isIeee) return null;
  const [a, b] = inst.operands as readonly [Value, Value | undefined];
  switch (inst.op) {
    case Op.FNeg:
      return asInst(a, Op.FNeg)?.operands[0] ?? null;
    case Op.FAdd:
      return isFloat(b!, -0) ? a : null;
    case Op.FSub:
      return isFloat(b!, 0) ? a : null;
    case Op.FMul:
    case Op.FDiv:
      return isFloat(b!, 1) ? a : null;
    default:
      return null;
  }
}

const view = new DataView(new ArrayBuffer(8));
function isFloat(value: Value, number: number): boolean {
  if (!(value instanceof ConstFloat)) return false;
  if (value.type.kind === "double") {
    view.setFloat64(0, number);
    return value.bits === view.getBigUint64(0);
  }
  if (value.type.kind !== "float") return false;
  view.setFloat32(0, number);
  return value.bits === BigInt(view.getUint32(0));
}

// Calls of intrinsics.

export function simplifyCall(call: CallInst, forms: Forms): Value | null {
  const intrinsic = intrinsicOf(call.operands[0]!);
  if (intrinsic === null || call.op !== Op.Call) return null;
  const folded = forms.folder.inst(call);
  if (folded !== null) return folded;
  const a = call.operands[1];
  const b = call.operands[2];
  switch (intrinsic.name) {
    case "expect":
    case "expect.with.probability":
      return a!;
    case "umin":
    case "umax":
    case "smin":
    case "smax":
      return same(a!, b!) ? a! : null;
    case "uadd.sat":
    case "sadd.sat":
    case "usub.sat":
    case "ssub.sat":
    case "ushl.sat":
    case "sshl.sat":
      return isZero(b!) ? a! : null;
    case "fshl":
    case "fshr": {
      if (!isZero(call.operands[3]!)) return null;
      return intrinsic.name === "fshl" ? a! : b!;
    }
    case "abs":
      return call.type.kind === "int" &&
        call.type.bits <= 128 &&
        isNonNegative(forms.known(a!), call.type.bits)
        ? a!
        : null;
    default:
      return null;
  }
}
