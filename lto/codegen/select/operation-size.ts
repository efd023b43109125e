/** How many bytes operations work on. */
import type { DataLayout } from "../../ir/data-layout.js";
import type { Type } from "../../ir/types.js";

/** Size in bytes of the machine operation for a value of `type`: 1, 2, 4, 8, 16 (or 10). */
export function operationSize(layout: DataLayout, type: Type): number {
  if (type.kind === "int") return type.bits <= 8 ? 1 : type.bits / 8;
  return layout.storeSize(type);
}
