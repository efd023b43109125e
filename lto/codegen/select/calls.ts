/** What a call says of itself, whatever machine it is for: its arguments and convention, and what may not be called. */
import { InputError } from "../../ir/errors.js";
import type { CallInst } from "../../ir/instructions.js";
import type { GlobalValue } from "../../ir/module.js";
import { returnsTwice } from "../../ir/returns-twice.js";
import type { Value } from "../../ir/values.js";
import { type CallInfo, unlistedCall } from "../mir.js";
import type { Convention } from "../target.js";
import type { AbiArgument } from "./function-abi.js";
import type { FunctionSelection } from "./function-selection.js";

export const abiArguments = (call: CallInst, values: readonly Value[]): AbiArgument[] =>
  values.map((v, i) => ({ type: v.type, attributes: call.data.attributes.parameter(i) }));

/** The function that is called, as far as that is known. */
export function knownCallee(call: CallInst): GlobalValue | null {
  const callee = call.operands[0]!;
  return callee.valueKind === "global" ? callee : null;
}

export const conventionOf = (s: FunctionSelection, call: CallInst): Convention =>
  s.askedConvention(s.options.conventionOf(knownCallee(call)), call.data.callingConvention);

const noBundles: ReadonlySet<string> = new Set(["funclet", "deopt", "gc-transition", "ptrauth"]);

/** @throws UnsupportedError, or InputError where the author wants no such call */
export function refuseCall(s: FunctionSelection, call: CallInst): void {
  for (const { tag } of call.data.bundles) if (noBundles.has(tag)) s.unsupported(`operand bundle '${tag}'`);
  refuseForbidden(s, call.operands[0]!);
}

/** A function whose author wants no call of it to remain, or to be told (attributes `error` and `warning` of C). */
function refuseForbidden({ mf, options }: FunctionSelection, callee: Value): void {
  if (callee.valueKind !== "global" || callee.kind !== "function") return;
  const { name, attributes } = callee;
  const warning = attributes.fn.string("dontcall-warn");
  if (warning !== undefined)
    options.warn?.(`function '${mf.name}' calls '${name}', declared with attribute warning: ${warning}`);
  const text = attributes.fn.string("dontcall-error");
  if (text === undefined) return;
  throw new InputError(`function '${mf.name}' calls '${name}', declared with attribute error: ${text}`);
}

const calleeSetOf = ({ data }: CallInst, callee: GlobalValue | null): number =>
  data.calleeSet ?? (callee === null ? unlistedCall : -1);

/** Of a call that stays in the function's frame. */
export function callInfo(s: FunctionSelection, call: CallInst): CallInfo {
  const callee = knownCallee(call);
  const own = call.data.attributes.fn;
  const declared = callee?.kind === "function" ? callee.attributes.fn : null;
  return {
    kind: "call",
    callee,
    calleeSet: calleeSetOf(call, callee),
    noReturn: own.has("noreturn") || (declared?.has("noreturn") ?? false),
    returnsTwice: returnsTwice(call),
    unwind: s.unwindBlock(call),
    // What leaves a function that says it never unwinds is undefined.
    noUnwind: s.abi.nounwind || own.has("nounwind") || (declared?.has("nounwind") ?? false),
    pushed: 0,
    hasStored: false,
  };
}

/** Of one that takes the place of a return: what it calls comes back to the caller of this function. */
export function tailCallInfo(call: CallInst): CallInfo {
  const callee = knownCallee(call);
  return {
    kind: "call",
    callee,
    calleeSet: calleeSetOf(call, callee),
    noReturn: false,
    returnsTwice: false,
    unwind: null,
    noUnwind: false,
    pushed: 0,
    hasStored: false,
  };
}

/** Number of the type that a call through a pointer asks for; null if it asks for none. */
export function calleeType({ operands, data }: CallInst): number | null {
  let at = 1 + data.argumentCount;
  for (const { tag, inputs } of data.bundles) {
    const type = operands[at];
    if (tag === "kcfi" && type?.valueKind === "int") return type.num | 0;
    at += inputs;
  }
  return null;
}

/** Whether the target of the call has to be checked. */
export const isChecked = (call: CallInst): boolean =>
  call.operands[0]!.valueKind !== "global" && calleeType(call) !== null;
