/** What a call does besides giving a result, by what is said of the call and of what it calls. */
import type { AttributeSet } from "../ir/attributes.js";
import { type CallInst, Op } from "../ir/instructions.js";
import { intrinsicOf } from "../ir/intrinsics.js";
import { Memory, type MemoryEffects, mayWrite } from "../ir/memory-effects.js";
import type { Func } from "../ir/module.js";
import { isRemovableCallOf } from "../ir/strict-float.js";

/** The attributes of the function that is called directly; null for others. */
function calleeAttributes(call: CallInst): AttributeSet | null {
  const callee = call.operands[0]!;
  if (callee.valueKind !== "global" || callee.kind !== "function") return null;
  // By another type it is another function.
  return call.data.functionType === callee.valueType ? callee.attributes.fn : null;
}

/** Memory that a call may read and write. */
export function callEffects(call: CallInst): MemoryEffects {
  const intrinsic = intrinsicOf(call.operands[0]!);
  const own = call.data.attributes.fn.int("memory") ?? Memory.Any;
  const callee = calleeAttributes(call)?.int("memory") ?? Memory.Any;
  if (intrinsic !== null && isVolatileTransfer(call, intrinsic.name)) return Memory.Any;
  const effects = own & callee & (intrinsic?.memory ?? Memory.Any);
  // Inputs of bundles may be read, whatever the callee does; what is passed by value is, by the call itself.
  if (call.data.bundles.length > 0) return effects | Memory.Read;
  if ((effects & Memory.ArgumentRead) !== 0) return effects;
  return passesCopies(call) ? effects | Memory.ArgumentRead : effects;
}
function passesCopies({ data, operands }: CallInst): boolean {
  if (anyByValue(data.attributes.parameters)) return true;
  const callee = operands[0]!;
  return (
    callee.valueKind === "global" && callee.kind === "function" && anyByValue(callee.attributes.parameters)
  );
}
function anyByValue(sets: readonly AttributeSet[]): boolean {
  for (let i = 0; i < sets.length; i++) if (sets[i]!.has("byval")) return true;
  return false;
}

/** Copies and fills that are seen from outside, like volatile accesses; those of atomic elements with them. */
export function isVolatileTransfer(call: CallInst, name: string): boolean {
  if (!name.startsWith("mem") || call.data.argumentCount !== 4) return false;
  const last = call.operands[4]!;
  return last.valueKind !== "int" || last.value !== 0n;
}

/** Whether a call comes back, by return or by unwinding. */
export const callReturns = (call: CallInst): boolean =>
  intrinsicOf(call.operands[0]!)?.willReturn === true ||
  call.data.attributes.fn.has("willreturn") ||
  calleeAttributes(call)?.has("willreturn") === true;

/** Whether control leaves a call by return only, if at all. */
export const neverUnwinds = (call: CallInst): boolean =>
  intrinsicOf(call.operands[0]!)?.noUnwind === true ||
  call.data.attributes.fn.has("nounwind") ||
  calleeAttributes(call)?.has("nounwind") === true;

/** Whether memory that was there before a call may be gone after it. */
export const mayFree = (call: CallInst): boolean => {
  const intrinsic = intrinsicOf(call.operands[0]!);
  if (intrinsic !== null) return !intrinsic.noFree;
  if (call.data.attributes.fn.has("nofree") || calleeAttributes(call)?.has("nofree") === true) return false;
  return mayWrite(callEffects(call));
};

/** Whether control does not get after a call. */
export const neverReturns = (call: CallInst): boolean =>
  call.data.tail !== "musttail" &&
  (call.data.attributes.fn.has("noreturn") ||
    (intrinsicOf(call.operands[0]!)?.noReturn ?? calleeAttributes(call)?.has("noreturn") === true));

/** Whether nothing says that a call of a function that is named like a library's may be one of another. */
export function isBuiltinCall({ data }: CallInst, callee: Func, caller: Func): boolean {
  if (data.tail === "musttail" || data.bundles.length > 0) return false;
  const here = data.attributes.fn;
  if (here.has("nobuiltin") || (callee.attributes.fn.has("nobuiltin") && !here.has("builtin"))) return false;
  const { strings } = caller.attributes.fn;
  return !strings.has("no-builtins") && !strings.has(`no-builtin-${callee.name}`);
}

/** Attributes under which a call does more than its memory effects say. */
const more = ["strictfp", "returns_twice", "convergent"];

/** Whether a call may go when nothing uses its result. */
export function isRemovableCall(call: CallInst): boolean {
  if (call.op !== Op.Call || call.data.tail === "musttail" || call.data.bundles.length > 0) return false;
  const intrinsic = intrinsicOf(call.operands[0]!);
  if (intrinsic !== null) return isRemovableCallOf(intrinsic, call);
  const callee = calleeAttributes(call);
  // What most calls fail first.
  if (callee === null || !callReturns(call) || !neverUnwinds(call) || mayWrite(callEffects(call)))
    return false;
  return !more.some((name) => callee.has(name) || call.data.attributes.fn.has(name));
}
