/**
 * Refusal of values that native code takes or returns in registers that code generation does not use, and of those that two
 * functions of the program, of unequal features, would look for in different registers.
 *
 * Inside of the program both sides of a call are mostly compiled alike, so it does not matter which registers those are. It
 * does where a side may be native: a call of what has no definition here, or through a pointer that may lead out of the
 * program; a function that unknown code may enter; and variable arguments, which are read from where the platform has
 * them. Linear in the bodies of functions whose features have such registers, or of all where some have and some have not.
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

/** What of a type is passed differently. */
type Differing = (type: Type) => Type | null;

/**
 * What cannot be done, once a function; the errors name functions, not yet files.
 * @param open 1, by number: unknown code may enter the function. Calls through pointers say what they can reach.
 */
export function nativeBoundaryRefusals(
  module: Module,
  open: Uint8Array,
  boundary: NativeBoundary,
): UnsupportedError[] {
  const errors: UnsupportedError[] = [];
  const functions = definedFunctions(module);
  const known = new Map<AttributeSet, Differing | null>();
  const conventions = new Map<AttributeSet, number>();
  for (const { attributes } of functions) {
    if (conventions.has(attributes.fn)) continue;
    known.set(attributes.fn, boundary.differing(attributes.fn));
    conventions.set(attributes.fn, boundary.convention(attributes.fn));
  }
  const isMixed = new Set(conventions.values()).size > 1;
  functions.forEach((fn, number) => {
    const differing = known.get(fn.attributes.fn)!;
    if (differing === null && !isMixed) return;
    const construct =
      (differing === null ? null : refused(fn, open[number] === 1, differing)) ??
      (isMixed ? disputedCall(fn, boundary) : null);
    module.pool.rest(fn);
    if (construct === null) return;
    const error = new UnsupportedError(construct, `function '${fn.name}'`);
    error.fn = fn.name;
    errors.push(error);
  });
  return errors;
}

/** A call of a function of the program that has other features, and other registers for what is passed. */
function disputedCall(fn: Func, { convention, disputed }: NativeBoundary): string | null {
  const own = convention(fn.attributes.fn);
  for (const { insts } of fn.view().blocks)
    for (const inst of insts) {
      if (!isCall(inst)) continue;
      const callee = inst.operands[0]!;
      if (callee.valueKind === "asm" || intrinsicOf(callee) !== null) continue;
      const target = directTarget(callee);
      for (const member of target === null ? (inst.hints?.callees?.members ?? []) : [target]) {
        const other = convention(member.attributes.fn);
        if (member.isDeclaration || other === own) continue;
        const type = inSignature(inst.data.functionType, (t) => disputed(t, own, other));
        if (type !== null) return `${type}, in a call of '${member.name}', which has other vector registers`;
      }
    }
  return null;
}

/** The function that a value is, by way of aliases. */
function directTarget(callee: Value): Func | null {
  let target = callee;
  while (target.valueKind === "global" && target.kind === "alias") target = target.aliasee;
  return target.valueKind === "global" && target.kind === "function" ? target : null;
}

function refused(fn: Func, isOpen: boolean, differing: Differing): string | null {
  const own = isOpen ? inSignature(fn.valueType, differing) : null;
  if (own !== null) return `${own}, of a function that native code may call`;
  for (const { insts } of fn.view().blocks)
    for (const inst of insts) {
      const found = isCall(inst) ? inCall(inst, differing) : null;
      if (found !== null) return found;
    }
  return null;
}

function inCall(call: CallInst, differing: Differing): string | null {
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

function inSignature({ result, parameters }: Type, differing: Differing): string | null {
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
