/**
 * Refusal of values that native code takes or returns in registers that code generation does not use.
 *
 * Inside of the program both sides of a call are compiled alike, so it does not matter which registers those are. It
 * does where a side may be native: a call of what has no definition here, or through a pointer that may lead out of the
 * program; a function that unknown code may enter; and variable arguments, which are read from where the platform has
 * them. Linear in the bodies of functions whose features have such registers; others are not looked at.
 */
import type { AttributeSet } from "../../ir/attributes.js";
import { UnsupportedError } from "../../ir/errors.js";
import { type CallInst, callArguments, isCall } from "../../ir/instructions.js";
import { intrinsicOf } from "../../ir/intrinsics.js";
import type { Func, Module } from "../../ir/module.js";
import type { Type } from "../../ir/types.js";
import type { Value } from "../../ir/values.js";
import type { NativeBoundary } from "../target.js";
import { definedFunctions } from "./numbering.js";

/**
 * What cannot be done, once a function; the errors name functions, not yet files.
 * @param open 1, by number: unknown code may enter the function. Calls through pointers say what they can reach.
 */
export function nativeBoundaryRefusals(
  module: Module,
  open: Uint8Array,
  { differs, type: differing }: NativeBoundary,
): UnsupportedError[] {
  const errors: UnsupportedError[] = [];
  const known = new Map<AttributeSet, boolean>();
  definedFunctions(module).forEach((fn, number) => {
    const set = fn.attributes.fn;
    const mayDiffer = known.get(set) ?? differs(set);
    known.set(set, mayDiffer);
    if (!mayDiffer) return;
    const construct = refused(fn, open[number] === 1, differing);
    module.pool.rest(fn);
    if (construct === null) return;
    const error = new UnsupportedError(construct, `function '${fn.name}'`);
    error.fn = fn.name;
    errors.push(error);
  });
  return errors;
}

function refused(fn: Func, isOpen: boolean, differing: NativeBoundary["type"]): string | null {
  const own = isOpen ? inSignature(fn.valueType, differing) : null;
  if (own !== null) return `${own}, of a function that native code may call`;
  for (const { insts } of fn.view().blocks)
    for (const inst of insts) {
      const found = isCall(inst) ? inCall(inst, differing) : null;
      if (found !== null) return found;
    }
  return null;
}

function inCall(call: CallInst, differing: NativeBoundary["type"]): string | null {
  const callee = call.operands[0]!;
  if (callee.valueKind === "asm" || intrinsicOf(callee) !== null) return null;
  const { functionType } = call.data;
  for (const value of callArguments(call).slice(functionType.parameters.length)) {
    const type = differing(value.type);
    if (type !== null) return `variable argument of type ${type}`;
  }
  const type = inSignature(functionType, differing);
  if (type === null || !mayBeNative(callee, call)) return null;
  const name = callee.valueKind === "global" ? `'${callee.name}'` : "a pointer";
  return `${type}, in a call of ${name}, which may be native code`;
}

function inSignature({ result, parameters }: Type, differing: NativeBoundary["type"]): string | null {
  const type = differing(result);
  if (type !== null) return `result of type ${type}`;
  for (const parameter of parameters) {
    const found = differing(parameter);
    if (found !== null) return `argument of type ${found}`;
  }
  return null;
}

/** Definitions that others may replace are open themselves. */
function mayBeNative(callee: Value, call: CallInst): boolean {
  let target = callee;
  while (target.valueKind === "global" && target.kind === "alias") target = target.aliasee;
  if (target.valueKind === "global")
    return target.kind !== "function" || target.isDeclaration || target.linkage === "available_externally";
  return call.hints?.callees?.open !== false;
}
