/**
 * Facts about single values, by short walks along operands: that a value is never poison or undef, that a pointer is
 * never null. Each is a claim that holds wherever the value exists; `false` says nothing.
 *
 * Breaks if: an operation that may make poison of good operands (flags, shifts too far, …) counts as harmless.
 */
import { HintFlag } from "../ir/hints.js";
import { Flag, type Inst, isCall, Op } from "../ir/instructions.js";
import { intrinsicOf } from "../ir/intrinsics.js";
import type { Func } from "../ir/module.js";
import type { Constant, Value } from "../ir/values.js";

const deepest = 4;

/** Whether a value is neither poison nor undef, nor has such parts. */
export function isWellDefined(value: Value, fn: Func, depth = 0): boolean {
  switch (value.valueKind) {
    case "inst":
      return isInstWellDefined(value, fn, depth);
    case "argument":
      return fn.attributes.parameter(value.index).has("noundef");
    case "asm":
    case "metadata":
      return false;
    default:
      return isConstantWellDefined(value);
  }
}

function isConstantWellDefined(value: Constant): boolean {
  switch (value.valueKind) {
    case "int":
    case "float":
    case "zero":
    case "data":
    case "global":
      return true;
    case "aggregate":
      return value.elements.every(isConstantWellDefined);
    default:
      return false;
  }
}

const poisonFlags =
  Flag.Nuw | Flag.Nsw | Flag.Exact | Flag.Disjoint | Flag.NonNeg | Flag.SameSign | Flag.InBounds | Flag.Nusw;
const mathFlags = Flag.NoNaNs | Flag.NoInfs;

function isInstWellDefined(inst: Inst, fn: Func, depth: number): boolean {
  const { op } = inst;
  if (op === Op.Freeze || op === Op.Alloca) return true;
  if (op === Op.Load) return inst.hints?.has(HintFlag.NoUndef) ?? false;
  if (isCall(inst)) {
    if (inst.data.attributes.result.has("noundef")) return true;
    const callee = inst.operands[0]!;
    return (
      callee.valueKind === "global" && callee.kind === "function" && callee.attributes.result.has("noundef")
    );
  }
  if (depth >= deepest || (inst.flags & (poisonFlags | mathFlags)) !== 0) return false;
  switch (op) {
    case Op.Shl:
    case Op.LShr:
    case Op.AShr: {
      const by = inst.operands[1]!;
      if (by.valueKind !== "int" || BigInt.asUintN(64, by.value) >= BigInt(by.type.bits)) return false;
      return isWellDefined(inst.operands[0]!, fn, depth + 1);
    }
    case Op.Add:
    case Op.Sub:
    case Op.Mul:
    case Op.And:
    case Op.Or:
    case Op.Xor:
    case Op.ICmp:
    case Op.Trunc:
    case Op.ZExt:
    case Op.SExt:
    case Op.Select:
    case Op.GetElementPtr:
    case Op.PtrToInt:
      return inst.operands.every((operand) => isWellDefined(operand, fn, depth + 1));
    default:
      return false;
  }
}

/** Whether null is an address like others in some address space of a function. */
export const isNullValid = (fn: Func, addressSpace: number): boolean =>
  addressSpace !== 0 || fn.attributes.fn.has("null_pointer_is_valid");

/** Whether a pointer, where it is not poison, is not null. */
export function isNonNull(value: Value, fn: Func, depth = 0): boolean {
  if (value.type.kind !== "ptr" || isNullValid(fn, value.type.addressSpace)) return false;
  switch (value.valueKind) {
    case "global":
      // Weak references that nobody defines are null; an alias may lead to one.
      return (
        (value.kind === "variable" || value.kind === "function") &&
        value.linkage !== "extern_weak" &&
        (value.isLocal || !value.isDeclaration) &&
        value.threadLocal === "none"
      );
    case "argument": {
      const attributes = fn.attributes.parameter(value.index);
      return (
        attributes.has("nonnull") || attributes.has("byval") || attributes.has("sret") || hasBytes(attributes)
      );
    }
    case "inst":
      break;
    default:
      return false;
  }
  switch (value.op) {
    case Op.Alloca:
      return true;
    case Op.Load:
      return value.hints?.has(HintFlag.NonNull) === true || (value.hints?.dereferenceable ?? 0) > 0;
    case Op.GetElementPtr:
      return (
        (value.flags & Flag.InBounds) !== 0 && depth < deepest && isNonNull(value.operands[0]!, fn, depth + 1)
      );
    case Op.Select:
      return (
        depth < deepest &&
        isNonNull(value.operands[1]!, fn, depth + 1) &&
        isNonNull(value.operands[2]!, fn, depth + 1)
      );
    case Op.Call:
    case Op.Invoke: {
      const callee = value.operands[0]!;
      if (intrinsicOf(callee) !== null) return false;
      const { result } = value.data.attributes;
      if (result.has("nonnull") || hasBytes(result)) return true;
      if (callee.valueKind !== "global" || callee.kind !== "function") return false;
      return callee.attributes.result.has("nonnull") || hasBytes(callee.attributes.result);
    }
    default:
      return false;
  }
}
const hasBytes = (attributes: { int(name: string): number | undefined }): boolean =>
  (attributes.int("dereferenceable") ?? 0) > 0;
