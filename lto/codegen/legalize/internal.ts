/**
 * Declarations of the functions that legalised code calls without the module having declared them:
 * operations that exist only between legalisation and instruction selection (`tsc.*`), LLVM intrinsics in
 * their legal forms, and run-time library functions.
 *
 * One `Func` per name and type for the life of the process, so selection may compare by identity or name.
 */
import { AttributeList, AttributeSet, noAttributes } from "../../ir/attributes.js";
import type { IntrinsicFacts } from "../../ir/intrinsics/facts.js";
import { internalOperation, isReservedName } from "../../ir/intrinsics.js";
import { Func } from "../../ir/module.js";
import { functionType, i64, structType, type Type } from "../../ir/types.js";

const table = new Map<string, Func>();

/** Attribute that ties an argument to its successors: the number of parts that travel together. */
export const pairAttribute = "tsc.pair";

/**
 * The declaration of an internal operation or legal intrinsic.
 * @param type its function type
 * @param facts of an internal operation that is more than a function of its operands
 */
export function internalIntrinsic(name: string, type: Type, facts?: IntrinsicFacts): Func {
  const first = table.get(name);
  if (first !== undefined && first.valueType === type) return first;
  const key = first === undefined ? name : `${name} ${type.id}`;
  let fn = table.get(key);
  if (fn === undefined) {
    fn = new Func(name, type);
    fn.attributes = nounwind;
    if (!isReservedName(name)) fn.intrinsic = internalOperation(name, facts);
    table.set(key, fn);
  }
  return fn;
}

const nounwind = new AttributeList(
  new AttributeSet(new Map([["nounwind", true]]), new Map()),
  noAttributes,
  [],
);
const libraries = new Map<string, Func>();

/** The declaration of a run-time library function (libgcc, libm, libatomic) that does not unwind. */
export function libraryFunction(name: string, type: Type): Func {
  let fn = libraries.get(name);
  if (fn === undefined || fn.valueType !== type) {
    fn = new Func(name, type);
    fn.attributes = nounwind;
    libraries.set(name, fn);
  }
  return fn;
}

const pair = structType([i64, i64]);
const fourWords = functionType(pair, [i64, i64, i64, i64]);

/** (lo, hi, lo, hi) → {lo, hi}: addition of two 128-bit integers. */
export const add128 = internalIntrinsic("tsc.add128", fourWords);
/** (lo, hi, lo, hi) → {lo, hi}: subtraction of the second 128-bit integer from the first. */
export const sub128 = internalIntrinsic("tsc.sub128", fourWords);
/** (a, b) → {lo, hi}: the full product of two unsigned 64-bit integers. */
export const umulWide = internalIntrinsic("tsc.umul.wide", functionType(pair, [i64, i64]));
/** The same of two signed ones. */
export const smulWide = internalIntrinsic("tsc.smul.wide", functionType(pair, [i64, i64]));
