/** Sizes of operations, and which constants fit an instruction. */
import type { DataLayout } from "../../ir/data-layout.js";
import type { Type } from "../../ir/types.js";
import type { Value } from "../../ir/values.js";

/** Size in bytes of the machine operation for a value of `type`: 1, 2, 4, 8, 16 (or 10). */
export function operationSize(layout: DataLayout, type: Type): number {
  if (type.kind === "int") return type.bits <= 8 ? 1 : type.bits / 8;
  return layout.storeSize(type);
}

/** A constant integer's value as a number, when the value is one and fits 53 bits. */
export function constantNumber(value: Value): number | null {
  if (value.valueKind === "int") return Number.isNaN(value.num) ? null : value.num;
  if (value.valueKind === "zero" && (value.type.kind === "ptr" || value.type.kind === "int")) return 0;
  return null;
}

/** Fits a sign-extended 32-bit immediate. */
export const fitsImm32 = (n: number): boolean => n >= -2147483648 && n <= 2147483647;
export const fitsImm8 = (n: number): boolean => n >= -128 && n <= 127;
