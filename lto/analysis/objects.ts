/** Places in objects whose size is known. */
import type { DataLayout } from "../ir/data-layout.js";
import { constantGepOffset, placeOf } from "../ir/fold/addresses.js";
import { type InstWith, Op } from "../ir/instructions.js";
import type { GlobalVariable } from "../ir/module.js";
import type { Value } from "../ir/values.js";

/** What a pointer is computed from by constant offsets. */
export function constantPlace(
  pointer: Value,
  layout: DataLayout,
): { readonly base: Value; readonly offset: number } {
  let base = pointer;
  let offset = 0;
  while (base.valueKind === "inst" && base.op === Op.GetElementPtr) {
    const step = constantOffset(base, layout);
    if (step === null) break;
    offset += step;
    base = base.operands[0]!;
  }
  if (base.valueKind !== "expr") return { base, offset };
  const place = placeOf(layout, base);
  const total = offset + Number(place.offset);
  return place.base === null || !Number.isSafeInteger(total)
    ? { base, offset }
    : { base: place.base, offset: total };
}

/** Bytes that a `getelementptr` adds; null if that is no constant, or a large one. */
export function constantOffset(inst: InstWith<Op.GetElementPtr>, layout: DataLayout): number | null {
  const offset = constantGepOffset(layout, inst.data.elementType, inst.operands);
  return offset !== null && Math.abs(Number(offset)) < 2 ** 31 ? Number(offset) : null;
}

/** Size and alignment of a variable that is there, in bytes; null for anything else. */
export function sizeOfObject(
  value: Value,
  layout: DataLayout,
): { readonly bytes: number; readonly align: number } | null {
  if (value.valueKind === "inst" && value.op === Op.Alloca) {
    const count = value.operands[0]!;
    if (count.valueKind !== "int" || count.num < 1) return null;
    return { bytes: layout.allocSize(value.data.allocatedType) * count.num, align: value.data.align };
  }
  if (value.valueKind !== "global" || value.kind !== "variable" || !isThere(value)) return null;
  return {
    bytes: layout.allocSize(value.valueType),
    align: value.align === 0 ? layout.abiAlign(value.valueType) : value.align,
  };
}
/** Its definition is this one, and ordinary memory. */
const isThere = ({ isLocal, linkage, dsoLocal, isDeclaration, threadLocal }: GlobalVariable): boolean =>
  !isDeclaration && threadLocal === "none" && (isLocal || (linkage === "external" && dsoLocal));
