/** Operands of inline assembly that are vectors of bits: integers, where the target has registers for masks. */
import { intType, structType, type Type } from "../../ir/types.js";
import type { Value } from "../../ir/values.js";
import { abiTypes, fromAbi } from "./abi-parts.js";
import { fromBits, toBits } from "./bits.js";
import type { Lowering, Parts } from "./lowering.js";

/** A vector of as many bits as a register holds. */
export const isMaskType = (type: Type): boolean =>
  type.kind === "vector" && type.element.isInt(1) && [8, 16, 32, 64].includes(type.count);

const asInteger = (type: Type): Type => (isMaskType(type) ? intType(type.count) : type);

const membersOf = (type: Type): readonly Type[] =>
  type.kind === "void" ? [] : type.kind === "struct" ? type.elements : [type];

/** How many lanes each operand of assembly has that is a mask, results first; 0: it is none. null: none is. */
export function maskLanes(result: Type, args: readonly Type[]): number[] | null {
  const types = [...membersOf(result), ...args];
  return types.some(isMaskType) ? types.map((type) => (isMaskType(type) ? type.count : 0)) : null;
}

/** The result of assembly with integers in place of masks. */
export const withIntegers = (result: Type): Type =>
  result.kind === "struct" && result.elements.some(isMaskType)
    ? structType(result.elements.map(asInteger))
    : asInteger(result);

export const maskAsInteger = (l: Lowering, value: Value): Parts => toBits(l, value.type, l.parts(value));

/** Parts of a result that has masks. @param made the parts that assembly returns */
export function withMasks(l: Lowering, result: Type, made: Parts): Parts {
  let at = 0;
  return membersOf(result).flatMap((member) => {
    const type = asInteger(member);
    const count = abiTypes(type, l.vectors).length;
    const parts = fromAbi(l, type, made.slice(at, at + count));
    at += count;
    return isMaskType(member) ? fromBits(l, member, parts) : parts;
  });
}
