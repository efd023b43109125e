/**
 * What may move into a function of its own, whatever it would gain.
 *
 * Moved are straight pieces of blocks; regions.ts says when branches and phis between them move, too. What speaks of the frame
 * or the function it is in stays: allocas, phis and terminators else, invokes and landing pads always, variable arguments, tokens, `swifterror`, markers of lifetimes,
 * addresses in the frame, calls that return twice, must be tail calls, must not be merged or duplicated, or are
 * convergent, assembly, operand bundles. Volatile and atomic accesses move as they are.
 *
 * Functions agree with each other if their attributes do, but for promises about their bodies.
 *
 * Breaks if: an operation, or an attribute, means another thing in another frame and is missing here.
 */
import { keepsItsCode } from "../../analysis/made-functions.js";
import type { AttributeSet } from "../../ir/attributes.js";
import { type CallInst, type Inst, isCall, isTerminator, Op, opNames } from "../../ir/instructions.js";
import { type Intrinsic, intrinsicOf } from "../../ir/intrinsics.js";
import type { Func, Module } from "../../ir/module.js";
import type { Value } from "../../ir/values.js";

/** Attributes of functions whose code stays theirs. */
const fixedKinds = [
  "naked",
  "optnone",
  "nooutline",
  "presplitcoroutine",
  "returns_twice",
  "strictfp",
  "hot",
  "sanitize_address",
  "sanitize_thread",
  "sanitize_memory",
  "sanitize_hwaddress",
  "sanitize_memtag",
  "safestack",
  "shadowcallstack",
];
/** Whether code of a function may move out of it. */
export function isOutlinedFrom(fn: Func, module: Module): boolean {
  const { attributes, gc, section, prologue } = fn;
  return (
    fn.linkage !== "available_externally" &&
    gc === "" &&
    section === "" &&
    prologue === null &&
    !module.pinned.has(fn) &&
    !fixedKinds.some((kind) => attributes.fn.has(kind)) &&
    !keepsItsCode(fn)
  );
}

/** They give addresses in the frame of the function that they are in. */
const framePointers = new Set(["returnaddress", "frameaddress", "addressofreturnaddress", "sponentry"]);
/** Their results depend on the function that they are in: its type table, and what it shows of its pointers. */
const ofFunction = new Set(["eh.typeid.for", "objectsize", "is.constant"]);

/** Passing them needs an instruction of the caller. */
const fixedParameters = new Set([
  "inalloca",
  "preallocated",
  "swifterror",
  "swiftself",
  "swiftasync",
  "nest",
]);
/** Calls that stay where they are. */
const fixedCalls = new Set(["returns_twice", "nomerge", "noduplicate", "convergent", "strictfp"]);

/** Sets of attributes are small, most of them empty. */
function hasFixed({ kinds }: AttributeSet, fixed: ReadonlySet<string>): boolean {
  if (kinds.size === 0) return false;
  for (const kind of kinds.keys()) if (fixed.has(kind)) return true;
  return false;
}

/**
 * Whether code of the function may have an address in its frame from it: such a frame has to be there while calls are under
 * way. The area of registers that variable arguments are saved in is in the frame, wherever the list is.
 */
export function showsFrame(inst: Inst): boolean {
  if (inst.op === Op.Alloca) return true;
  const intrinsic = isCall(inst) ? intrinsicOf(inst.operands[0]!) : null;
  return intrinsic !== null && (intrinsic.name === "va_start" || framePointers.has(intrinsic.name));
}

/** Whether arguments of the function are copies in a frame, which it has addresses of. */
export const takesCopies = ({ args, attributes }: Func): boolean =>
  args.some((_, i) => attributes.parameter(i).has("byval"));

/** Whether operations of a kind move: never, calls if they may, others if their operands may. */
export const enum Motion {
  Plain,
  Call,
  Never,
}
const lastOp = Math.max(...Object.keys(opNames).map(Number));
/** By operation; a table, since every instruction of the program is asked about. */
export const motions = Uint8Array.from({ length: lastOp + 1 }, (_, op: Op) => {
  if (isTerminator(op)) return Motion.Never;
  switch (op) {
    case Op.Phi:
    case Op.Alloca:
    case Op.VAArg:
    case Op.LandingPad:
    case Op.Fence:
      return Motion.Never;
    default:
      return op === Op.Call ? Motion.Call : Motion.Plain;
  }
});

/**
 * Whether an address is that of something local to a group of sections. Only members of the group mention it: another file's
 * group may take its place.
 */
export function isOfGroup(address: Value): boolean {
  let base = address;
  while (base.valueKind === "expr") base = base.operands[0]!;
  return base.valueKind === "global" && base.comdat !== null && base.isLocal;
}

/** Whether what has the operand may move. */
export function mayMoveWith(value: Value): boolean {
  const { valueKind } = value;
  if (valueKind === "global" || valueKind === "expr") return !isOfGroup(value);
  return !(
    valueKind === "blockaddress" ||
    valueKind === "metadata" ||
    valueKind === "asm" ||
    valueKind === "none"
  );
}

export function mayMove(inst: Inst): boolean {
  const motion = motions[inst.op];
  if (motion === Motion.Never || !inst.operands.every(mayMoveWith)) return false;
  return motion === Motion.Plain || callMayMove(inst as CallInst, intrinsicOf(inst.operands[0]!));
}

/** Whether a call may move, whose operands may. @param intrinsic what it calls */
export function callMayMove(call: CallInst, intrinsic: Intrinsic | null): boolean {
  const { tail, attributes, bundles, argumentCount } = call.data;
  // Only calls have tokens as results.
  if (call.type.kind === "token") return false;
  if (tail === "musttail" || tail === "notail" || bundles.length > 0) return false;
  const callee = call.operands[0]!;
  if (hasFixed(attributes.fn, fixedCalls)) return false;
  if (
    callee.valueKind === "global" &&
    callee.kind === "function" &&
    hasFixed(callee.attributes.fn, fixedCalls)
  )
    return false;
  for (let i = 0; i < argumentCount; i++)
    if (hasFixed(attributes.parameter(i), fixedParameters)) return false;
  if (intrinsic === null) return true;
  if (intrinsic.origin !== "known" || intrinsic.returnsTwice || intrinsic.noDuplicate || intrinsic.convergent)
    return false;
  if (framePointers.has(intrinsic.name) || ofFunction.has(intrinsic.name)) return false;
  // A function of its operands; what reads or writes the machine's state says so in its memory effects.
  return intrinsic.pure || /^mem(?:cpy|move|set)$/.test(intrinsic.name);
}
