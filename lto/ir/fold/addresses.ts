/**
 * Addresses as constants: a global plus bytes, or a plain number.
 *
 * The canonical form of an address inside of a global is `getelementptr i8, @g, i64 n`, without indices of zero; that
 * of a number is `inttoptr`, or null. What is folded holds at every link: comparisons of different globals only where
 * neither can be replaced, merged with another one or empty (LLVM: `areGlobalsPotentiallyEqual`).
 */
import type { DataLayout } from "../data-layout.js";
import { type CastOp, Flag, type IntPredicate, Op } from "../instructions.js";
import type { GlobalValue } from "../module.js";
import { i8, intType, type Type } from "../types.js";
import {
  type Constant,
  ConstExpr,
  ConstZero,
  constBool,
  constInt,
  droppedAddress,
  type Value,
} from "../values.js";
import { integerCompare } from "./integers.js";
import { isPoison, isUndef, poisonOf, undefOf } from "./scalars.js";

/** `base` plus `offset` bytes; no base: a number. */
export interface Place {
  readonly base: Constant | null;
  readonly offset: bigint;
  /** Flags that hold for the whole way from the base: `InBounds`, `Nusw`, `Nuw`. */
  readonly flags: number;
}
const everyFlag = Flag.InBounds | Flag.Nusw | Flag.Nuw;

/**
 * Byte offset of a getelementptr all of whose indices are integer constants; null otherwise. Safe as a number:
 * null as well where it is not.
 * @param operands base and indices
 */
export function constantGepOffset(
  layout: DataLayout,
  elementType: Type,
  operands: readonly { readonly valueKind: string }[],
): number | null {
  let type = elementType;
  let offset = 0;
  for (let i = 1; i < operands.length; i++) {
    const index = operands[i]! as Constant;
    const n = index.valueKind === "int" ? index.num : index.valueKind === "zero" ? 0 : Number.NaN;
    if (Number.isNaN(n)) return null;
    if (i === 1) offset += n * layout.allocSize(type);
    else if (type.kind === "struct") {
      offset += layout.structLayout(type).offsets[n]!;
      type = type.elements[n]!;
    } else {
      type = type.element;
      offset += n * layout.allocSize(type);
    }
  }
  return offset;
}

/** What a getelementptr adds: bytes that are known, and multiples of bytes by indices that are not. */
export interface GepSteps {
  readonly bytes: number;
  readonly scales: readonly { readonly index: Value; readonly bytes: number }[];
}

/** @param operands base and indices */
export function gepSteps(layout: DataLayout, elementType: Type, operands: readonly Value[]): GepSteps {
  let type = elementType;
  let bytes = 0;
  const scales: { index: Value; bytes: number }[] = [];
  for (let i = 1; i < operands.length; i++) {
    const index = operands[i]!;
    const n = index.valueKind === "int" ? index.num : index.valueKind === "zero" ? 0 : Number.NaN;
    if (i > 1 && type.kind === "struct") {
      bytes += layout.structLayout(type).offsets[n]!;
      type = type.elements[n]!;
      continue;
    }
    if (i > 1) type = type.element;
    const size = layout.allocSize(type);
    if (Number.isNaN(n)) scales.push({ index, bytes: size });
    else bytes += n * size;
  }
  return { bytes, scales };
}

/** What an address constant is; what cannot be taken apart is its own base. */
export function placeOf(layout: DataLayout, address: Constant): Place {
  switch (address.valueKind) {
    case "zero":
      return { base: null, offset: 0n, flags: everyFlag };
    case "blockaddress":
      return droppedAddress(address) === null
        ? { base: address, offset: 0n, flags: everyFlag }
        : { base: null, offset: 1n, flags: everyFlag };
    case "expr":
      break;
    default:
      return { base: address, offset: 0n, flags: everyFlag };
  }
  const { op, operands } = address;
  const first = operands[0]!;
  const width = layout.bitWidth(address.type);
  if (op === Op.IntToPtr && first.valueKind === "int")
    return {
      base: null,
      offset: BigInt.asUintN(Math.min(first.type.bits, width), first.value),
      flags: everyFlag,
    };
  if (op === Op.GetElementPtr && address.type.kind === "ptr") {
    const offset = constantGepOffset(layout, address.elementType!, operands);
    if (offset !== null && Number.isSafeInteger(offset))
      return moved(layout, placeOf(layout, first), BigInt(offset), address.flags, address.type);
  }
  return { base: address, offset: 0n, flags: everyFlag };
}

function moved(layout: DataLayout, place: Place, by: bigint, flags: number, type: Type): Place {
  const own = (flags & Flag.InBounds) !== 0 ? flags | Flag.Nusw : flags;
  // As `GEPNoWrapFlags::intersectForOffsetAdd`: sums of offsets of both signs say nothing without nuw.
  let both = place.flags & own & everyFlag;
  if ((both & (Flag.InBounds | Flag.Nuw)) === 0) both &= ~Flag.Nusw;
  return { base: place.base, offset: BigInt.asIntN(layout.bitWidth(type), place.offset + by), flags: both };
}

/** The canonical constant of a place. */
function addressAt(layout: DataLayout, place: Place, type: Type): Constant {
  const { base, offset } = place;
  const index = intType(layout.bitWidth(type));
  if (base === null) {
    if (offset === 0n) return new ConstZero(type);
    return new ConstExpr(type, Op.IntToPtr, [constInt(index, offset)]);
  }
  if (offset === 0n) return base;
  const flags = (place.flags & Flag.InBounds) !== 0 ? place.flags & ~Flag.Nusw : place.flags;
  return new ConstExpr(type, Op.GetElementPtr, [base, constInt(index, offset)], flags, i8);
}

/** A getelementptr on a constant, in canonical form. */
export function foldGep(
  layout: DataLayout,
  type: Type,
  elementType: Type,
  operands: readonly Constant[],
  flags: number,
): Constant | null {
  if (operands.some(isPoison)) return poisonOf(type);
  const [base] = operands;
  if (type.kind !== "ptr" || base!.type !== type) return null;
  if (isUndef(base!)) return undefOf(type);
  const offset = constantGepOffset(layout, elementType, operands);
  if (offset === null || !Number.isSafeInteger(offset)) return null;
  return addressAt(layout, moved(layout, placeOf(layout, base!), BigInt(offset), flags, type), type);
}

/** Casts between addresses and numbers. */
export function foldAddressCast(layout: DataLayout, op: CastOp, c: Constant, to: Type): Constant | null {
  if (op === Op.IntToPtr && to.kind === "ptr") {
    const width = layout.bitWidth(to);
    if (c.valueKind === "int")
      return addressAt(
        layout,
        { base: null, offset: BigInt.asUintN(Math.min(c.type.bits, width), c.value), flags: 0 },
        to,
      );
    const isRoundTrip =
      c.valueKind === "expr" && c.op === Op.PtrToInt && c.type.bits === width && c.operands[0]!.type === to;
    return isRoundTrip ? c.operands[0]! : null;
  }
  if (op === Op.PtrToInt && c.type.kind === "ptr") {
    const place = placeOf(layout, c);
    const width = layout.bitWidth(c.type);
    if (place.base === null) return constInt(to, BigInt.asUintN(width, place.offset));
    return to.bits === width ? new ConstExpr(to, Op.PtrToInt, [addressAt(layout, place, c.type)]) : null;
  }
  return null;
}

/** The difference of two addresses as numbers, where they lie in one object. */
export function foldAddressDifference(layout: DataLayout, a: Constant, b: Constant): Constant | null {
  const [p, q] = [addressOf(layout, a), addressOf(layout, b)];
  if (p === null || q === null || p.base === null || p.base !== q.base) return null;
  return constInt(a.type, p.offset - q.offset);
}
/** What a full-width `ptrtoint` is of. */
function addressOf(layout: DataLayout, c: Constant): Place | null {
  if (c.valueKind !== "expr" || c.op !== Op.PtrToInt) return null;
  const [pointer] = c.operands;
  return layout.bitWidth(pointer!.type) === c.type.bits ? placeOf(layout, pointer!) : null;
}

/** Comparison of two addresses, or of two full-width `ptrtoint`s. */
export function foldAddressCompare(
  layout: DataLayout,
  predicate: IntPredicate,
  a: Constant,
  b: Constant,
): Constant | null {
  const isPointer = a.type.kind === "ptr";
  const p = isPointer ? placeOf(layout, a) : addressOf(layout, a);
  const q = isPointer ? placeOf(layout, b) : addressOf(layout, b);
  if (p === null || q === null) return null;
  const equality = predicate === "eq" || predicate === "ne";
  if (p.base === q.base) {
    const width = isPointer ? layout.bitWidth(a.type) : a.type.bits;
    if (p.base === null || equality)
      return constBool(integerCompare(predicate, width, signedAt(width, p), signedAt(width, q)));
    // Inside of an object offsets are in the order of addresses.
    if ((p.flags & q.flags & Flag.InBounds) === 0 || predicate[0] === "s") return null;
    const order = `s${predicate.slice(1)}` as IntPredicate;
    return constBool(integerCompare(order, width, p.offset, q.offset));
  }
  if (!equality || !differ(layout, p, q)) return null;
  return constBool(predicate === "ne");
}
const signedAt = (width: number, place: Place): bigint => BigInt.asIntN(width, place.offset);

function differ(layout: DataLayout, p: Place, q: Place): boolean {
  if (p.base === null || q.base === null) {
    const [number, other] = p.base === null ? [p, q] : [q, p];
    return number.offset === 0n && isNeverNull(other);
  }
  if (p.offset !== 0n || q.offset !== 0n) return false;
  return hasOwnAddress(layout, p.base) && hasOwnAddress(layout, q.base);
}

function isNeverNull({ base, offset, flags }: Place): boolean {
  if (offset !== 0n && (flags & Flag.InBounds) === 0) return false;
  if (base!.valueKind === "blockaddress") return true;
  if (base!.valueKind !== "global") return false;
  const global = base as GlobalValue;
  return (
    global.linkage !== "extern_weak" &&
    global.type.addressSpace === 0 &&
    (global.kind === "function" || global.kind === "variable")
  );
}

/** No other global can have its address. */
function hasOwnAddress(layout: DataLayout, base: Constant): boolean {
  if (base.valueKind !== "global" || base.threadLocal !== "none" || base.unnamedAddr === "global")
    return false;
  if (isReplaceable(base)) return false;
  if (base.kind === "function") return true;
  return base.kind === "variable" && base.valueType.kind !== "void" && layout.allocSize(base.valueType) > 0;
}

/** What another definition may stand in for (LLVM: interposable linkage). */
export const isReplaceable = ({ linkage }: GlobalValue): boolean =>
  linkage === "weak" || linkage === "linkonce" || linkage === "common" || linkage === "extern_weak";
