/**
 * Legalisation: one function's IR to the types and operations that instruction selection takes.
 *
 * A function that is legal as it stands costs one scan. Otherwise the body is rewritten in place (see driver.ts). What
 * expansions leave unused stays.
 */
import type { AttributeSet } from "../../ir/attributes.js";
import type { DataLayout } from "../../ir/data-layout.js";
import type { Body } from "../../ir/instructions.js";
import type { Func } from "../../ir/module.js";
import { type Type, voidType } from "../../ir/types.js";
import type { Argument } from "../../ir/values.js";
import { legalSignature } from "./calls.js";
import { needsRewriting, rewriteBody } from "./driver.js";
import { Lowering } from "./lowering.js";
import type { LegalizerTarget, RoomOf } from "./target.js";

export { abiTypes } from "./abi-parts.js";
export { resultsFit } from "./calls.js";
export { checkLegal } from "./check.js";
export type { ResultRoom, RoomOf } from "./target.js";

export interface LegalArgument {
  /** Of legal type; `index` is its place in the legal signature. */
  readonly argument: Argument;
  /** Those of the original parameter; `pairAttribute` on the first word of an i128. */
  readonly attributes: AttributeSet;
}
export interface LegalFunction {
  readonly fn: Func;
  /** In ABI order, a hidden result pointer first. */
  readonly args: readonly LegalArgument[];
  /** Types of the operands of every `ret`. */
  readonly resultTypes: readonly Type[];
  readonly body: Body;
  /** The result goes through a hidden first argument that the source does not have. */
  readonly sretDemoted: boolean;
  /** The body, or what it returns, is not as it was. */
  readonly isRewritten: boolean;
  /** Of the widest vectors that are legal. */
  readonly registerBytes: 16 | 32 | 64;
}

/**
 * Legalises a function without unreachable code, consuming its body.
 * @param roomOf how many results the function and those it calls return in registers
 * @param body taken from the function
 * @throws UnsupportedError naming the construct and the function
 */
export function legalizeFunction(
  fn: Func,
  layout: DataLayout,
  target: LegalizerTarget,
  roomOf: RoomOf,
  body: Body = fn.take(),
): LegalFunction {
  const vectors = target.vectorsOf(fn);
  const signature = legalSignature(fn, vectors, roomOf(fn), (type) => layout.abiAlign(type));
  const rewrites = signature.passed !== null || needsRewriting(body, { vectors });
  if (rewrites) {
    const l = new Lowering(fn, body, layout, target, roomOf, body.renumber());
    l.resultPointer = signature.resultPointer;
    rewriteBody(l, signature.passed);
  }
  return {
    fn,
    args: signature.args,
    resultTypes: signature.resultTypes,
    body,
    sretDemoted: signature.resultPointer !== null,
    // What never returns may have no instruction that says so.
    registerBytes: vectors.registerBytes,
    isRewritten: rewrites || !isResult(fn.valueType.result, signature.resultTypes),
  };
}

const isResult = (type: Type, legal: readonly Type[]): boolean =>
  type === voidType ? legal.length === 0 : legal.length === 1 && legal[0] === type;
