/**
 * Conventions that selection does not have: refused of definitions as of calls, since a caller and a callee that
 * disagree are a miscompile nobody sees. Numbers: llvm/IR/CallingConv.h; on x86-64 those of other machines and the
 * 32-bit ones mean the platform's.
 */
import { AskedConvention } from "../../codegen/asked-conventions.js";
import type { AttributeList } from "../../ir/attributes.js";
import type { Func } from "../../ir/module.js";
import type { Type } from "../../ir/types.js";
import { keptBeyond } from "../frame/convention.js";

const platformConventions = new Set([0, 8, 9, 14, 15, 18, 21, 64, 65, 67, 68, 70, 78, 79]);
const names: Readonly<Record<number, string>> = {
  10: "ghccc",
  13: "anyregcc",
  16: "swiftcc",
  17: "cxx_fast_tlscc",
  20: "swifttailcc",
  80: "x86_vectorcallcc",
  83: "x86_intrcc (interrupt)",
  92: "x86_regcallcc",
};

/** Attributes of parameters that travel in registers, or memory, of their own. */
const parameterAttributes = ["swiftself", "swiftasync", "swifterror", "inalloca", "preallocated"];
/** Attributes of functions that change which registers a call preserves. */
const registerAttributes = ["no_caller_saved_registers", "no_callee_saved_registers"];

/** What about a definition's or call's convention cannot be done, in words; null when there is nothing. */
export function unsupportedConvention(convention: number, attributes: AttributeList): string | null {
  if (!platformConventions.has(convention)) {
    const name = names[convention];
    return `calling convention ${convention}${name === undefined ? "" : `, ${name}`}`;
  }
  for (const set of attributes.parameters)
    for (const name of parameterAttributes) if (set.has(name)) return `parameter attribute ${name}`;
  return null;
}

/** What about a definition of a convention that was asked for cannot be done, in words; null when there is nothing. */
export function unsupportedDefinition(fn: Func, results: readonly Type[]): string | null {
  const asked = fn.callingConvention;
  const { PreserveNone, Microsoft } = AskedConvention;
  // Who unwinds finds only what is pushed.
  if (keptBeyond(asked).length > 0 && !fn.isLocal && !fn.attributes.fn.has("nounwind"))
    return "an ms_abi, preserve_mostcc or preserve_allcc function that may unwind";
  if (asked === PreserveNone && fn.valueType.isVarArg)
    return "a preserve_nonecc function with variable arguments";
  return asked === Microsoft ? microsoftResult(results) : null;
}

/** Callees would take them off the stack. @param stackBytes of the arguments */
export const tailArguments = (asked: number, stackBytes: number): string | null =>
  asked === AskedConvention.Tail && stackBytes > 0 ? "tailcc with arguments on the stack" : null;

/** Of a call or a definition. */
export const microsoftResult = (types: readonly Type[]): string | null =>
  types.length > 1 || types.some(({ kind }) => kind === "x86_fp80")
    ? "an ms_abi function with a wide result"
    : null;

/** The attribute of a definition, or of a function that is called, that asks for other registers to be saved. */
export const unsupportedSaves = ({ fn }: AttributeList): string | null =>
  registerAttributes.find((name) => fn.string(name) !== undefined) ?? null;
