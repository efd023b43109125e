/**
 * Rules of `simplify` on what is neither integer arithmetic nor a comparison: selects, casts, addresses, phis,
 * aggregates, vectors, freezes, floating point, and calls of intrinsics.
 */
import { allOnes, isNonNegative } from "../../analysis/known-bits.js";
import { constantGepOffset } from "../../ir/fold/index.js";
import { type CallInst, Flag, type Inst, type InstWith, Op } from "../../ir/instructions.js";
import { intrinsicOf } from "../../ir/intrinsics.js";
import { i1 } from "../../ir/types.js";
import { ConstFloat, constBool, constInt, isConstant, type Value } from "../../ir/values.js";
import { asInst, type Forms, intOf, invertedOf, isAllOnes, isOne, isPoison, isZero, same } from "./forms.js";
import { bothZero, partOf } from "./integers.js";
import type { SimplifyRule } from "./rule.js";

// Selects.

/** What is chosen by a single bit, unless the condition is known. */
const armOf = (inst: Inst): Value => inst.operands[2]!;
const select = [Op.Select];

const selects: readonly SimplifyRule[] = [
  {
    name: "select-known",
    description: "true ? x : y → x",
    ops: select,
    apply: (inst, condition, a) =>
      condition.valueKind === "int" ? (condition.value !== 0n ? a : armOf(inst)) : null,
  },
  {
    name: "select-same",
    description: "c ? x : x → x",
    ops: select,
    apply: (inst, _, a) => (same(a, armOf(inst)) ? a : null),
  },
  {
    // An arm that may be anything is the other one, unless that may be poison.
    name: "select-undefined",
    description: "c ? x : undef → x, and poison",
    ops: select,
    apply(inst, _, a, forms) {
      const b = armOf(inst);
      if (isPoison(a)) return b;
      if (isPoison(b)) return a;
      if (a.valueKind === "undef" && forms.isWellDefined(b)) return b;
      return b.valueKind === "undef" && forms.isWellDefined(a) ? a : null;
    },
  },
  {
    name: "select-inverted",
    description: "~c ? x : y → c ? y : x",
    ops: select,
    apply(inst, condition, a, forms) {
      const inverted = condition.type.kind === "vector" ? null : invertedOf(condition);
      return inverted === null ? null : forms.select(inst, inverted, armOf(inst), a);
    },
  },
  {
    name: "select-boolean",
    description:
      "c ? true : false → c; c ? x : false → c & x; c ? true : x → c | x; tests of two numbers → one of both",
    ops: select,
    apply: (inst, condition, a, forms) =>
      inst.type === i1 ? selectBoolean(inst, condition, a, armOf(inst), forms) : null,
  },
  {
    name: "select-extended",
    description: "c ? 1 : 0 → zext c; c ? −1 : 0 → sext c",
    ops: select,
    apply(inst, condition, a, forms) {
      const { type } = inst;
      if (type === i1 || type.kind !== "int" || condition.type.kind === "vector") return null;
      if (!isZero(armOf(inst))) return null;
      if (isOne(a)) return forms.cast(Op.ZExt, condition, type);
      return isAllOnes(a) ? forms.cast(Op.SExt, condition, type) : null;
    },
  },
  {
    name: "select-again",
    description: "c ? (c ? x : y) : z → c ? x : z",
    ops: select,
    apply(inst, condition, a, forms) {
      if (condition.type.kind === "vector") return null;
      const b = armOf(inst);
      const left = asInst(a, Op.Select);
      if (left !== null && left.operands[0] === condition)
        return forms.select(inst, condition, left.operands[1]!, b);
      const right = asInst(b, Op.Select);
      return right !== null && right.operands[0] === condition
        ? forms.select(inst, condition, a, right.operands[2]!)
        : null;
    },
  },
  {
    name: "select-of-equal",
    description: "x == y ? x : y → y",
    ops: select,
    apply: (inst, condition, a) =>
      condition.type.kind === "vector" ? null : selectOfEqual(condition, a, armOf(inst)),
  },
];

function selectBoolean(inst: Inst, condition: Value, a: Value, b: Value, forms: Forms): Value | null {
  if (condition.type.kind === "vector") return null;
  if (isOne(a) && isZero(b)) return condition;
  if (isZero(a) && isOne(b)) return forms.not(condition);
  if (a === condition) return forms.select(inst, condition, constBool(true), b);
  if (b === condition) return forms.select(inst, condition, a, constBool(false));
  let test: Value | null = null;
  if (isOne(a)) test = bothZero("ne", condition, b, forms, true);
  else if (isZero(b)) test = bothZero("eq", condition, a, forms, true);
  if (test !== null) return test;
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

const castOps: readonly Op[] = Array.from(
  { length: Op.AddrSpaceCast - Op.Trunc + 1 },
  (_, i) => Op.Trunc + i,
);

const casts: readonly SimplifyRule[] = [
  {
    name: "cast-to-same",
    description: "bitcast x → x, of the same type",
    ops: [Op.BitCast],
    apply: (inst, value) => (value.type === inst.type ? value : null),
  },
  {
    name: "cast-twice",
    description: "trunc (zext x) → x, and likewise for other casts of casts",
    ops: castOps,
    apply: (inst, value, _, forms) =>
      value.valueKind === "inst" && value.op >= Op.Trunc && value.op <= Op.BitCast
        ? castTwice(inst, value, forms)
        : null,
  },
  {
    name: "truncate-part",
    description: "trunc (x | y) → trunc x, and ^, where no bit of y stays",
    ops: [Op.Trunc],
    apply({ type }, value, _, forms) {
      const x = type.kind === "int" ? partOf(value, allOnes(type.bits), forms) : null;
      return x === null ? null : forms.cast(Op.Trunc, x, type);
    },
  },
  {
    name: "extend-positive",
    description: "sext x → zext x, where x is not negative",
    ops: [Op.SExt],
    apply({ type }, value, _, forms) {
      const { bits } = value.type;
      if (type.kind !== "int" || bits > 128 || bits <= 1) return null;
      return isNonNegative(forms.known(value), bits) ? forms.cast(Op.ZExt, value, type, Flag.NonNeg) : null;
    },
  },
];

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

const addresses: readonly SimplifyRule[] = [
  {
    name: "offset-zero",
    description: "p + 0 → p",
    ops: [Op.GetElementPtr],
    apply(inst, base) {
      if (base.type !== inst.type || inst.type.kind !== "ptr") return null;
      for (let i = 1; i < inst.operands.length; i++) if (!isZero(inst.operands[i]!)) return null;
      return base;
    },
  },
  {
    name: "offset-twice",
    description: "(p + m) + n → p + (m + n)",
    ops: [Op.GetElementPtr],
    apply: (inst, base, _, forms) =>
      base.type === inst.type && inst.type.kind === "ptr"
        ? offsetTwice(inst as InstWith<Op.GetElementPtr>, base, forms)
        : null,
  },
];

function offsetTwice(inst: InstWith<Op.GetElementPtr>, base: Value, forms: Forms): Value | null {
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

function onlyIncoming(phi: Inst, forms: Forms): Value | null {
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

function inserted(inst: InstWith<Op.ExtractValue>): Value | null {
  let aggregate = inst.operands[0]!;
  const path = inst.data;
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
function extractFromConstant(inst: InstWith<Op.ExtractValue>, forms: Forms): Value | null {
  const inner = asInst(inst.operands[0]!, Op.InsertValue) as InstWith<Op.InsertValue> | null;
  if (inner === null || inner.data[0] === inst.data[0] || !isConstant(inner.operands[0]!)) return null;
  return forms.folder.operation(Op.ExtractValue, inst.type, [inner.operands[0]], inst.data, 0);
}

/** The insertion into a vector at a place, if the last one into it was there. */
function insertionAt(vector: Value, place: Value): Inst | null {
  const at = intOf(place);
  const inner = asInst(vector, Op.InsertElement);
  if (at === null || inner === null) return null;
  const written = intOf(inner.operands[2]!);
  return written !== null && BigInt.asUintN(32, written.value) === BigInt.asUintN(32, at.value)
    ? inner
    : null;
}

function unshuffled(inst: InstWith<Op.ShuffleVector>): Value | null {
  const [a, b] = inst.operands as readonly [Value, Value];
  if (inst.type !== a.type) return null;
  const { count } = a.type;
  if (inst.data.every((at, i) => at === i)) return a;
  return inst.data.every((at, i) => at === i + count) ? b : null;
}

// Floating point: only what holds for every number, NaN and signed zeros included.

function neutral(inst: Inst, forms: Forms): Value | null {
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

function ofIntrinsic(call: CallInst, forms: Forms): Value | null {
  const intrinsic = intrinsicOf(call.operands[0]!);
  if (intrinsic === null || call.op !== Op.Call) return null;
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

// Constants.

/** The result, where all operands are constants. */
function folded(inst: Inst, forms: Forms): Value | null {
  const { operands } = inst;
  for (let i = 0; i < operands.length; i++) if (!isConstant(operands[i]!)) return null;
  return forms.folder.operation(inst.op, inst.type, operands, inst.data, inst.flags);
}

const range = (first: Op, last: Op): Op[] => Array.from({ length: last - first + 1 }, (_, i) => first + i);

/** What every other rule comes after. */
export const constantRules: readonly SimplifyRule[] = [
  {
    name: "fold",
    description: "an operation on constants → its result",
    ops: [
      ...range(Op.Add, Op.Xor),
      ...range(Op.FNeg, Op.FRem),
      ...castOps,
      Op.ICmp,
      Op.FCmp,
      Op.Select,
      Op.GetElementPtr,
      Op.ExtractValue,
      Op.InsertValue,
      Op.ExtractElement,
      Op.InsertElement,
      Op.ShuffleVector,
    ],
    apply: (inst, _, __, forms) => folded(inst, forms),
  },
  {
    name: "fold-load",
    description: "load of a constant's memory → what is there",
    ops: [Op.Load],
    apply: (inst, a, _, forms) => (isConstant(a) ? forms.folder.inst(inst) : null),
  },
  {
    name: "fold-call",
    description: "a call of an intrinsic with constants → its result",
    ops: [Op.Call],
    apply: (inst, a, _, forms) => (intrinsicOf(a) === null ? null : forms.folder.inst(inst)),
  },
];

/** In the order in which they are asked. */
export const valueRules: readonly SimplifyRule[] = [
  ...selects,
  ...casts,
  ...addresses,
  {
    name: "phi-of-one",
    description: "phi x, x → x, itself and poison left aside",
    ops: [Op.Phi],
    apply: (inst, _, __, forms) => onlyIncoming(inst, forms),
  },
  {
    name: "extract-arithmetic",
    description: "x + 0, x · 0 and x · 1 with overflow → their values, and false",
    ops: [Op.ExtractValue],
    apply(inst, a) {
      const call = asInst(a, Op.Call);
      return call === null
        ? null
        : extractFromArithmetic(call as CallInst, (inst as InstWith<Op.ExtractValue>).data[0]!);
    },
  },
  {
    name: "extract-inserted",
    description: "extractvalue (insertvalue a, x, i), i → x",
    ops: [Op.ExtractValue],
    apply: (inst) => inserted(inst as InstWith<Op.ExtractValue>),
  },
  {
    name: "extract-constant",
    description: "extractvalue (insertvalue c, x, i), k → what is at k in c",
    ops: [Op.ExtractValue],
    apply: (inst, _, __, forms) => extractFromConstant(inst as InstWith<Op.ExtractValue>, forms),
  },
  {
    name: "extract-element",
    description: "extractelement (insertelement v, x, i), i → x",
    ops: [Op.ExtractElement],
    apply: (_, vector, place) => insertionAt(vector, place)?.operands[1] ?? null,
  },
  {
    // Little-endian, as all targets are: the first element has the lowest bits. A bitcast is undef or poison where its
    // number is, as is what is shifted out of it. Wider numbers are several registers, of which each piece is free as it is.
    name: "extract-of-number",
    description: "extractelement (bitcast x to <n x iM>), i → trunc (x >> i·M)",
    ops: [Op.ExtractElement],
    apply(inst, vector, place, forms) {
      const number = asInst(vector, Op.BitCast)?.operands[0];
      if (number === undefined || number.type.kind !== "int" || number.type.bits > 64) return null;
      if (inst.type.kind !== "int" || place.valueKind !== "int") return null;
      const from = place.num * inst.type.bits;
      if (from >= number.type.bits) return null;
      const shifted = from === 0 ? number : forms.binary(Op.LShr, number, constInt(number.type, from));
      return forms.cast(Op.Trunc, shifted, inst.type);
    },
  },
  {
    // Others may use the first: then the second need not wait for it.
    name: "insert-again",
    description: "insertelement (insertelement v, x, i), y, i → insertelement v, y, i",
    ops: [Op.InsertElement],
    apply(inst, vector, element, forms) {
      const first = insertionAt(vector, inst.operands[2]!);
      if (first === null) return null;
      return forms.insertElement(first.operands[0]!, element, inst.operands[2]!);
    },
  },
  {
    name: "shuffle-nothing",
    description: "shufflevector v, w → v, or w, where that is what it is",
    ops: [Op.ShuffleVector],
    apply: (inst) => unshuffled(inst as InstWith<Op.ShuffleVector>),
  },
  {
    name: "freeze-defined",
    description: "freeze x → x, where x is never undef nor poison",
    ops: [Op.Freeze],
    apply: (_, value, __, forms) => (forms.isWellDefined(value) ? value : null),
  },
  {
    name: "float-neutral",
    description: "x + −0.0 → x, x − 0.0, x · 1.0 and x / 1.0 → x; −(−x) → x",
    ops: range(Op.FNeg, Op.FRem),
    apply: (inst, _, __, forms) => neutral(inst, forms),
  },
  {
    name: "intrinsic-neutral",
    description: "expect x → x; umin(x, x) → x; saturating x + 0 → x; abs x → x, where x is not negative",
    ops: [Op.Call],
    apply: (inst, _, __, forms) => ofIntrinsic(inst as CallInst, forms),
  },
];
