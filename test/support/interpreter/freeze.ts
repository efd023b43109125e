/** `freeze`: any value for poison, but one. */
import type { Type } from "../../../lto/ir/types.js";
import { bitWidth } from "./bits.js";
import type { Val } from "./interpreter.js";
import { Undefined } from "./scalar-ops.js";

/** @param bits of poison, as many as are wanted; null: no result would be right */
export function frozen(value: Val, type: Type, bits: bigint | null): Val {
  if (Array.isArray(value))
    return value.map((v, i) => frozen(v, type.kind === "struct" ? type.elements[i]! : type.element, bits));
  if (value !== null) return value;
  if (bits === null) throw new Undefined("freeze of poison has no one result");
  return BigInt.asUintN(bitWidth(type), bits);
}
