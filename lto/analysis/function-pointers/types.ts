/** Which types can hold addresses, and how arrays repeat. Answers are kept by type, since every operand asks. */
import type { DataLayout } from "../../ir/data-layout.js";
import type { Type } from "../../ir/types.js";

const answers: number[] = [];

/** A pointer of the ordinary kind: one word. */
export const isPointer = (type: Type): boolean => type.kind === "ptr";

/** A pointer, or an aggregate or vector that contains one. */
export function mayHoldPointer(type: Type): boolean {
  const known = answers[type.id];
  if (known !== undefined) return known === 1;
  let holds = type.kind === "ptr";
  if (type.isAggregate || type.isVector) holds = type.elements.some(mayHoldPointer);
  answers[type.id] = Number(holds);
  return holds;
}

/** Sizes by type, as often as every access asks for them. */
export class TypeSizes {
  private readonly allocSizes: number[] = [];
  private readonly storeSizes: number[] = [];
  constructor(readonly layout: DataLayout) {}

  /** Distance of array elements. */
  allocSize(type: Type): number {
    return (this.allocSizes[type.id] ??= this.layout.allocSize(type));
  }
  /** Bytes that a store writes. */
  storeSize(type: Type): number {
    return (this.storeSizes[type.id] ??= this.layout.storeSize(type));
  }
}

/** Bytes of the innermost elements of an array that are no arrays; 0 for other types. */
export function arrayStride(layout: DataLayout, type: Type): number {
  if (type.kind !== "array") return 0;
  let element = type;
  while (element.kind === "array") element = element.element;
  return layout.allocSize(element);
}
