/**
 * Whether two accesses of one body can touch the same bytes, and what calls can do to a place.
 *
 * Told apart are: disjoint offsets into one object; different objects (variables, allocations of the body, `byval` copies,
 * `noalias` parameters and results); objects whose addresses go nowhere and pointers that come from elsewhere; accesses
 * whose types exclude each other. Each answer takes constant time, but for type tags and the arguments
 * of a call.
 *
 * Two bases that are one SSA value are one address only while that value is the same: who compares across a loop's back
 * edge has to stop where the value is computed.
 */
import { hasFixedContents } from "../../ir/fold/load.js";
import { tbaaMayAlias } from "../../ir/hints/tbaa.js";
import { type CallInst, type Inst, Op } from "../../ir/instructions.js";
import { intrinsicOf } from "../../ir/intrinsics.js";
import { Memory, mayWrite } from "../../ir/memory-effects.js";
import type { Func } from "../../ir/module.js";
import { isConstant, type Value } from "../../ir/values.js";
import {
  Access,
  type MemoryOperation,
  type MemoryOperations,
  type Place,
  saysOfParameter,
} from "./operations.js";

/** Bits that writes of memory other than arguments' have in `MemoryEffects`, and reads. */
const otherWrite = Memory.Write & ~Memory.Inaccessible & ~Memory.Argument;
const otherRead = Memory.Read & ~Memory.Inaccessible & ~Memory.Argument;

/** An object that only what the body computes from it points to, unless its address gets away. */
function isOwn(base: Value, fn: Func): boolean {
  if (base.valueKind === "argument") {
    const attributes = fn.attributes.parameter(base.index);
    return attributes.has("byval") || attributes.has("noalias");
  }
  if (base.valueKind !== "inst") return false;
  if (base.op === Op.Alloca) return true;
  return (base.op === Op.Call || base.op === Op.Invoke) && isNoAliasCall(base);
}
function isNoAliasCall(call: CallInst): boolean {
  if (call.data.attributes.result.has("noalias")) return true;
  const callee = call.operands[0]!;
  return (
    callee.valueKind === "global" &&
    callee.kind === "function" &&
    call.data.functionType === callee.valueType &&
    callee.attributes.result.has("noalias")
  );
}

/** Memory that is gone when the function ends: its frame's. */
export const isFrameOwn = ({ base }: Place, { fn }: MemoryOperations): boolean =>
  base.valueKind === "argument"
    ? fn.attributes.parameter(base.index).has("byval")
    : base.valueKind === "inst" && base.op === Op.Alloca;

/** Whether two different bases can be, or point into, one object. */
function mayShareObject(a: Value, b: Value, memory: MemoryOperations): boolean {
  const { fn } = memory;
  const aOwn = isOwn(a, fn);
  const bOwn = isOwn(b, fn);
  if (aOwn && bOwn) return false;
  if (aOwn || bOwn) {
    const own = aOwn ? a : b;
    const other = aOwn ? b : a;
    if (other.valueKind === "argument") return false;
    if (other.valueKind === "global" && (other.kind === "variable" || other.kind === "function"))
      return false;
    return memory.mayBeKnown(own);
  }
  if (a.valueKind === "global" && b.valueKind === "global" && a.kind === "variable" && b.kind === "variable")
    // What others define may be one object by two names.
    return a.isDeclaration && b.isDeclaration;
  return true;
}

/** Whether two places can have bytes in common. */
function mayOverlap(a: Place, b: Place, memory: MemoryOperations): boolean {
  // Comparisons with NaN are false.
  if (a.anchor !== b.anchor) return a.base === b.base || mayShareObject(a.base, b.base, memory);
  return !(a.offset + a.size <= b.offset || b.offset + b.size <= a.offset);
}
/** Whether all of `inner` lies in `outer`, for sure. */
export const covers = (outer: Place, inner: Place): boolean =>
  outer.anchor === inner.anchor &&
  outer.offset <= inner.offset &&
  inner.offset + inner.size <= outer.offset + outer.size;
/** Whether two places are the same bytes, for sure. */
export const isSamePlace = (a: Place, b: Place): boolean =>
  a.anchor === b.anchor && a.offset === b.offset && a.size === b.size;

/** Whether the types of two accesses let them touch one place. Alias scopes would say so of one round of a loop only. */
const typesMayAlias = (a: Inst, b: Inst): boolean =>
  a.hints === null || b.hints === null || tbaaMayAlias(a.hints.tbaa, b.hints.tbaa);

const isConstantPlace = ({ base }: Place): boolean =>
  base.valueKind === "global" && base.kind === "variable" && hasFixedContents(base);

/**
 * Whether an operation may change what `access`, a load or store, touches.
 *
 * @param byTypes a store of another type changes nothing that the access may touch. So it is for loads; a store may give
 *   the place its type back
 */
export function mayModify(
  operation: MemoryOperation,
  access: MemoryOperation,
  memory: MemoryOperations,
  byTypes: boolean,
): boolean {
  switch (operation.access) {
    case Access.Load:
      return false;
    case Access.Store:
      return (
        mayOverlap(operation, access, memory) && !(byTypes && !typesMayAlias(operation.inst, access.inst))
      );
    case Access.Fill:
    case Access.Copy:
    case Access.Mark:
      return mayOverlap(operation, access, memory);
    case Access.Barrier:
      return mayBarrierTouch(operation, access, memory);
    default:
      if (!mayWrite(operation.effects) || isConstantPlace(access)) return false;
      return mayCallTouch(operation, access, memory, otherWrite, Memory.ArgumentWrite);
  }
}

/** Whether an operation may look at a place that a store writes. */
export function mayRead(
  operation: MemoryOperation,
  place: MemoryOperation,
  memory: MemoryOperations,
): boolean {
  switch (operation.access) {
    case Access.Load:
      return mayOverlap(operation, place, memory) && typesMayAlias(operation.inst, place.inst);
    case Access.Store:
    case Access.Fill:
    case Access.Mark:
      return false;
    case Access.Copy:
      return mayOverlap(memory.placeBehind(operation.inst.operands[2]!, operation.size), place, memory);
    case Access.Barrier:
      return mayBarrierTouch(operation, place, memory);
    default:
      return mayCallTouch(operation, place, memory, otherRead, Memory.ArgumentRead);
  }
}

/** Other threads take part: only what is the body's own stays as it is. */
function mayBarrierTouch(operation: MemoryOperation, place: Place, memory: MemoryOperations): boolean {
  if (!isOwn(place.base, memory.fn) || memory.mayBeKnown(place.base)) return true;
  // Own base: itself where nothing is known of what it touches.
  return operation.base === operation.inst || mayOverlap(operation, place, memory);
}

function mayCallTouch(
  { inst, effects }: MemoryOperation,
  place: Place,
  memory: MemoryOperations,
  other: number,
  argument: number,
): boolean {
  const call = inst as CallInst;
  const { base } = place;
  const isHidden = isOwn(base, memory.fn) && !memory.mayBeKnown(base);
  if ((effects & other) !== 0 && !isHidden) return true;
  const goesBack = intrinsicOf(call.operands[0]!) === null;
  // Bundles read what they are given.
  for (let i = 1; i < call.operands.length; i++) {
    const operand = call.operands[i]!;
    const { kind } = operand.type.scalar;
    if (kind !== "ptr") {
      if (operand.type.isAggregate && !isConstant(operand)) return true;
      continue;
    }
    if (operand.type.kind !== "ptr") return true;
    if (i <= call.data.argumentCount && !mayTouchArgument(call, i - 1, effects, argument)) continue;
    const behind = memory.placeBehind(operand);
    // A function gets at all of an object, by an address inside of it: at what comes before that, too.
    if (goesBack && behind.anchor === place.anchor) return true;
    if (mayOverlap(behind, place, memory)) return true;
  }
  return false;
}

/** Whether a call does that to what one of its arguments points to. */
export function mayTouchArgument(call: CallInst, index: number, effects: number, argument: number): boolean {
  // The caller makes the copy.
  if (saysOfParameter(call, index, "byval")) return argument === Memory.ArgumentRead;
  if ((effects & argument) === 0 && (effects & ~Memory.Inaccessible & ~Memory.Argument) === 0) return false;
  if (saysOfParameter(call, index, "readnone")) return false;
  const intrinsic = intrinsicOf(call.operands[0]!);
  const isWrite = argument === Memory.ArgumentWrite;
  if (saysOfParameter(call, index, isWrite ? "readonly" : "writeonly")) return false;
  const only = isWrite ? (intrinsic?.readOnly ?? 0) : (intrinsic?.writeOnly ?? 0);
  return ((only >>> index) & 1) === 0;
}
