/**
 * What forbids to inline a call, whatever it would gain.
 *
 * Three questions, from cheap to dear: does the call fit the callee, do the two functions agree on what attributes
 * change about code, and is there something in the callee's body that means another thing in another frame. The last
 * is answered once for each body.
 *
 * Attributes, after LLVM's rules (Attributes.td, `CompatRule`, `MergeRule`; X86TargetTransformInfo):
 *   must be equal     sanitizers, strict floating point, what becomes of denormals, stack protection switched off
 *   callee's subset   features of the target, functions that are not to be taken for the library's
 *   not in callee     null is an address, unless the caller has it too
 *   taken over        `takeOverAttributes`
 *
 * Breaks if: an attribute that changes what code means is missing here.
 */
import { AttributeList, AttributeSet } from "../../ir/attributes.js";
import { jumpsToAddresses } from "../../ir/clone.js";
import { type BodyView, type CallInst, isCall, Op } from "../../ir/instructions.js";
import { intrinsicOf } from "../../ir/intrinsics.js";
import type { Func, Module } from "../../ir/module.js";
import { landingPadOf } from "./exceptions.js";

/** Of attributes of functions: caller and callee have them, with one value, or none has. */
const equalKinds = [
  "sanitize_address",
  "sanitize_thread",
  "sanitize_memory",
  "sanitize_hwaddress",
  "sanitize_memtag",
  "sanitize_realtime",
  "sanitize_realtime_blocking",
  "sanitize_type",
  "sanitize_numerical_stability",
  "sanitize_alloc_token",
  "safestack",
  "shadowcallstack",
  "strictfp",
  "nossp",
  "nosanitize_bounds",
  "nosanitize_coverage",
];
const equalStrings = [
  "denormal-fp-math",
  "denormal-fp-math-f32",
  "use-sample-profile",
  "sign-return-address",
  "branch-protection",
  "zero-call-used-regs",
  "target-abi",
  "use-soft-float",
  "split-stack",
];
/** Profilers hear of every call of such a function. */
const instrumented = ["instrument-function-entry", "instrument-function-exit"];
/** A callee with one of these stays what it is. */
const fixedKinds = [
  "noinline",
  "optnone",
  "naked",
  "returns_twice",
  "presplitcoroutine",
  "coro_only_destroy_when_complete",
];
/** Parameters with these cannot be replaced by values. */
const fixedParameters = ["inalloca", "preallocated", "swifterror", "swiftasync"];
/** Intrinsics that speak of the frame they are in, or of what was done for the function as a whole. */
const framed =
  /^(?:vastart|localescape|localrecover|frameaddress|returnaddress|addressofreturnaddress|sponentry|icall\.branch|eh\.(?:sjlj|unwind|dwarf|return|recover)|coro\.|experimental\.(?:deopt|guard|gc|patch|stackmap|convergence)|gc|swift|call\.preallocated|seh\.|eh\.exceptioncode|init\.trampoline)/;

/** What a body says about being inlined. */
export interface BodyObstacles {
  /** Why it never can be; null: nothing. */
  readonly never: string | null;
  /** Why only calls that have to be inlined can be. */
  readonly unlessForced: string | null;
}
const free: BodyObstacles = { never: null, unlessForced: null };

/** Looks for what means another thing in another function. */
export function bodyObstacles(fn: Func, body: BodyView): BodyObstacles {
  if (jumpsToAddresses(body.blocks)) return never("jumps to addresses of blocks");
  let unlessForced: string | null = null;
  for (const block of body.blocks) {
    if (block.addressTaken) return never("the address of a block is taken");
    for (const inst of block.insts) {
      const { op } = inst;
      if (op === Op.VAArg || inst.type.kind === "token") return never("uses variable arguments or tokens");
      if (op === Op.Alloca && (inst.data.swifterror || inst.data.inalloca))
        return never("has an argument slot");
      if (!isCall(inst)) continue;
      const callee = inst.operands[0]!;
      const { attributes } = inst.data;
      if (callee === fn) return never("calls itself");
      if (attributes.fn.has("returns_twice")) return never("calls a function that returns twice");
      if (inst.data.tail === "musttail") unlessForced ??= "has a call that must be a tail call";
      if (inst.data.bundles.length > 0 && inst.data.bundles.some(({ tag }) => tag !== "align"))
        unlessForced ??= "has calls with operand bundles";
      if (callee.valueKind !== "global" || callee.kind !== "function") continue;
      if (callee.attributes.fn.has("returns_twice")) return never("calls a function that returns twice");
      if (attributes.fn.has("noduplicate") || callee.attributes.fn.has("noduplicate"))
        return never("has a call that must not be duplicated");
      const intrinsic = intrinsicOf(callee);
      if (intrinsic === null) continue;
      if (intrinsic.returnsTwice || intrinsic.noDuplicate) return never(`calls llvm.${intrinsic.name}`);
      if (framed.test(intrinsic.name)) {
        if (!/^(?:frame|return)address$/.test(intrinsic.name)) return never(`calls llvm.${intrinsic.name}`);
        unlessForced ??= `calls llvm.${intrinsic.name}`;
      }
    }
  }
  return unlessForced === null ? free : { never: null, unlessForced };
}
const never = (reason: string): BodyObstacles => ({ never: reason, unlessForced: null });

/** Whether the definition that runs is the one at hand. */
export function isExact(fn: Func, module: Module): boolean {
  if (fn.isDeclaration) return false;
  switch (fn.linkage) {
    case "internal":
    case "private":
    case "linkonce_odr":
    case "weak_odr":
    case "available_externally":
      return true;
    case "external":
      return fn.dsoLocal || module.flag("SemanticInterposition") !== 1;
    default:
      return false;
  }
}

/** Why a call of a function does not even look like one of it: the part of `callObstacle` that is cheap. */
export function misfit(caller: Func, { op, data }: CallInst, callee: Func): string | null {
  if (caller === callee) return "a call by itself";
  if (op === Op.CallBr) return "a callbr";
  if (data.functionType !== callee.valueType) return "the call has another type";
  if (data.callingConvention !== callee.callingConvention) return "the call has another convention";
  if (callee.valueType.isVarArg) return "takes variable arguments";
  return null;
}

/** Why a call of a function does not fit it; null: nothing is in the way. */
export function callObstacle(caller: Func, call: CallInst, callee: Func): string | null {
  const { data } = call;
  const why = misfit(caller, call, callee);
  if (why !== null) return why;
  if (data.bundles.length > 0) return "the call has operand bundles";
  if (data.attributes.fn.has("noinline")) return "the call is not to be inlined";
  if (data.attributes.fn.has("returns_twice")) return "the call returns twice";
  for (let i = 0; i < callee.args.length; i++) {
    const passed = data.attributes.parameter(i);
    const taken = callee.attributes.parameter(i);
    if (passed.type("byval") !== taken.type("byval"))
      return "the call passes a copy, or the callee takes one";
    for (const kind of fixedParameters)
      if (passed.has(kind) || taken.has(kind)) return `a parameter is ${kind}`;
  }
  // In unreachable code.
  if (call.operands.includes(call)) return "the call passes its own result";
  if (call.op === Op.Invoke && landingPadOf(call) === null) return "the call has no landing pad";
  return null;
}

/** Why the body of one function cannot be part of the other. @param forced the callee is to be inlined always */
export function functionObstacle(caller: Func, callee: Func, forced: boolean): string | null {
  const ours = caller.attributes.fn;
  const theirs = callee.attributes.fn;
  for (const kind of fixedKinds)
    if (theirs.has(kind) && !(forced && kind === "noinline")) return `the callee is ${kind}`;
  for (const key of instrumented) if (theirs.string(key) !== undefined) return "the callee is instrumented";
  if (ours.has("naked") || ours.has("presplitcoroutine")) return "the caller has to stay as it is";
  if (ours.has("optnone") && !forced) return "the caller is not to be optimised";
  if (theirs.has("null_pointer_is_valid") && !ours.has("null_pointer_is_valid"))
    return "null is an address in the callee";
  for (const kind of equalKinds) if (ours.has(kind) !== theirs.has(kind)) return `one of the two is ${kind}`;
  for (const key of equalStrings)
    if ((ours.string(key) ?? "") !== (theirs.string(key) ?? "")) return `the two differ in ${key}`;
  if (caller.gc !== callee.gc && callee.gc !== "") return "the two have other garbage collectors";
  if (callee.personality !== null && caller.personality !== null && caller.personality !== callee.personality)
    return "the two have other personalities";
  return featureObstacle(ours, theirs) ?? builtinObstacle(ours, theirs);
}

/** Features that processors of the baseline have are in every function's list, so lists can be compared. */
function featureObstacle(ours: AttributeSet, theirs: AttributeSet): string | null {
  const wanted = theirs.string("target-features") ?? "";
  const present = ours.string("target-features") ?? "";
  const cpu = theirs.string("target-cpu") ?? "";
  if (wanted === present && cpu === (ours.string("target-cpu") ?? "")) return null;
  const known = new Set(present.split(","));
  for (const feature of wanted.split(","))
    if (feature.startsWith("+") && !known.has(feature)) return `the callee needs the feature ${feature}`;
  if (cpu !== (ours.string("target-cpu") ?? "") && !baseline.has(cpu)) return `the callee is for ${cpu}`;
  return null;
}
const baseline = new Set(["", "generic"]);

/** What is taken for a library function in the caller has to be one in the callee too. */
function builtinObstacle(ours: AttributeSet, theirs: AttributeSet): string | null {
  for (const [key] of theirs.strings)
    if (
      key.startsWith("no-builtin") &&
      ours.string(key) === undefined &&
      ours.string("no-builtins") === undefined
    )
      return `the callee has ${key}`;
  return null;
}

/** Attributes that the caller has from now on, or no longer, since it contains the callee's code. */
export function takeOverAttributes(caller: Func, callee: Func): void {
  caller.personality ??= callee.personality;
  const ours = caller.attributes.fn;
  const theirs = callee.attributes.fn;
  const kinds = new Map(ours.kinds);
  const strings = new Map(ours.strings);
  // A loop without effects may only be taken to end where both say so.
  if (!theirs.has("mustprogress")) kinds.delete("mustprogress");
  for (const kind of ["noimplicitfloat", "speculative_load_hardening", "noredzone"])
    if (theirs.has(kind)) kinds.set(kind, true);
  const protection = Math.max(
    protectors.findIndex((k) => ours.has(k)),
    protectors.findIndex((k) => theirs.has(k)),
  );
  if (protection >= 0) {
    for (const kind of protectors) kinds.delete(kind);
    kinds.set(protectors[protection]!, true);
  }
  for (const key of either) {
    const value = theirs.string(key);
    if (value !== undefined && ours.string(key) === undefined) strings.set(key, value);
  }
  for (const key of both)
    if (ours.string(key) === "true" && theirs.string(key) !== "true") strings.delete(key);
  const width = theirs.string("min-legal-vector-width");
  if (width === undefined) strings.delete("min-legal-vector-width");
  else if (Number(width) > Number(ours.string("min-legal-vector-width") ?? Infinity))
    strings.set("min-legal-vector-width", width);
  if (sameEntries(kinds, ours.kinds) && sameEntries(strings, ours.strings)) return;
  const { result, parameters } = caller.attributes;
  caller.attributes = new AttributeList(new AttributeSet(kinds, strings), result, parameters);
}
/** From weak to strong. */
const protectors = ["ssp", "sspstrong", "sspreq"];
const either = ["no-jump-tables", "profile-sample-accurate", "probe-stack", "stack-probe-size"];
const both = [
  "less-precise-fpmad",
  "no-infs-fp-math",
  "no-nans-fp-math",
  "no-signed-zeros-fp-math",
  "approx-func-fp-math",
  "unsafe-fp-math",
];

function sameEntries<V>(a: ReadonlyMap<string, V>, b: ReadonlyMap<string, V>): boolean {
  if (a.size !== b.size) return false;
  for (const [key, value] of a) if (b.get(key) !== value) return false;
  return true;
}
