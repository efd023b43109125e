/** Loads from constant variables: what lies at a constant offset of an initialiser. */
import type { DataLayout } from "../data-layout.js";
import type { GlobalVariable } from "../module.js";
import type { Type } from "../types.js";
import { type Constant, ConstUndef, zeroOf } from "../values.js";
import { isReplaceable, placeOf } from "./addresses.js";
import { elementOf, memberCount, memberTypeAt, withMember } from "./aggregates.js";
import { foldBitCast, fromBytes, memberOffset, readBytes } from "./bits.js";

/** Whether the variable's contents are those of its initialiser, always and for every reader. */
export const hasFixedContents = (variable: GlobalVariable): boolean =>
  variable.isConstant &&
  variable.initializer !== null &&
  !variable.externallyInitialized &&
  !isReplaceable(variable);

/**
 * What a load of `type` from a constant address gives, or null where that is not known. Whether the load may be folded
 * at all (volatile, atomic) is the caller's to say.
 */
export function foldLoad(layout: DataLayout, type: Type, address: Constant): Constant | null {
  const { base, offset } = placeOf(layout, address);
  if (base?.valueKind !== "global" || base.kind !== "variable") return null;
  return foldLoadAt(layout, type, base, Number(offset));
}
/** The same of a load `offset` bytes into a variable. */
export const foldLoadAt = (
  layout: DataLayout,
  type: Type,
  variable: GlobalVariable,
  offset: number,
): Constant | null =>
  hasFixedContents(variable) ? valueAt(layout, variable.initializer!, offset, type) : null;

/** A constant of an aggregate type with another value `offset` bytes into it; null where no member is just there. */
export function withValueAt(
  layout: DataLayout,
  whole: Constant,
  offset: number,
  value: Constant,
): Constant | null {
  if (offset === 0 && whole.type === value.type) return value;
  if (!whole.type.isAggregate) return null;
  const index = indexAt(layout, whole.type, offset, layout.storeSize(value.type));
  const member = index < 0 ? null : elementOf(whole, index);
  if (member === null) return null;
  const at = offset - memberOffset(layout, whole.type, index)!;
  const replaced = withValueAt(layout, member, at, value);
  return replaced === null ? null : withMember(whole, [index], replaced);
}

/** The value of `type` that lies `offset` bytes into a constant; outside of it undefined. */
export function valueAt(layout: DataLayout, whole: Constant, offset: number, type: Type): Constant | null {
  const size = layout.storeSize(type);
  const available = layout.allocSize(whole.type);
  if (offset < 0 || offset + size > available)
    // A read past the end is undefined behaviour; one that begins inside is too rare to care.
    return offset >= available || offset + size <= 0 ? new ConstUndef(type, true) : null;
  const member = memberAt(layout, whole, offset, type, size);
  if (member !== null) {
    if (member.type === type) return member;
    if (member.valueKind === "undef" && layout.storeSize(member.type) >= size)
      return new ConstUndef(type, member.poison);
    if (member.valueKind === "zero" || type.isAggregate)
      return member.valueKind === "zero" ? zeroOf(type) : null;
    if (layout.bitWidth(member.type) === layout.bitWidth(type) && !type.isAggregate) {
      const cast = member.type.isAggregate ? null : foldBitCast(member, type);
      if (cast !== null) return cast;
    }
  }
  const bytes = new Uint8Array(size);
  return readBytes(layout, whole, offset, bytes) ? fromBytes(layout, type, bytes) : null;
}

/** The smallest member that covers the bytes, if it begins with them (or is undefined or zero throughout). */
function memberAt(
  layout: DataLayout,
  whole: Constant,
  offset: number,
  type: Type,
  size: number,
): Constant | null {
  let member = whole;
  let at = offset;
  for (;;) {
    if (at === 0 && member.type === type) return member;
    if (member.valueKind === "undef" || member.valueKind === "zero") return member;
    if (!member.type.isAggregate) return at === 0 ? member : null;
    const index = indexAt(layout, member.type, at, size);
    if (index < 0) return null;
    at -= memberOffset(layout, member.type, index)!;
    const next = elementOf(member, index);
    if (next === null) return null;
    member = next;
  }
}

/** The member of an aggregate that covers bytes [at, at + size), or -1. */
function indexAt(layout: DataLayout, type: Type, at: number, size: number): number {
  const count = memberCount(type);
  if (type.kind === "array") {
    const step = layout.allocSize(type.element);
    const index = step === 0 ? count : Math.floor(at / step);
    return index < count && at + size <= (index + 1) * step ? index : -1;
  }
  for (let i = 0; i < count; i++) {
    const offset = memberOffset(layout, type, i)!;
    if (offset <= at && at + size <= offset + layout.storeSize(memberTypeAt(type, i))) return i;
  }
  return -1;
}
