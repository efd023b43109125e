/** What constants come to: numbers, bytes, or places beside a symbol. Nothing here makes code. */

import type { DataLayout } from "../../ir/data-layout.js";
import { constantGepOffset } from "../../ir/fold/addresses.js";
import { Op } from "../../ir/instructions.js";
import type { GlobalValue } from "../../ir/module.js";
import { ptr } from "../../ir/types.js";
import type { Constant, Value } from "../../ir/values.js";

/** A constant integer's value as a number, when the value is one and fits 53 bits. */
export function constantNumber(value: Value): number | null {
  if (value.valueKind === "int") return Number.isNaN(value.num) ? null : value.num;
  if (value.valueKind === "zero" && (value.type.kind === "ptr" || value.type.kind === "int")) return 0;
  return null;
}

/** Whether values of the type have as many bits as an address. */
const holdsAddress = (layout: DataLayout, { type }: Value): boolean =>
  layout.bitWidth(type) === layout.bitWidth(ptr);

/** A symbol plus offset that a constant reduces to. */
export interface SymbolOffset {
  readonly global: GlobalValue;
  readonly offset: number;
}

/**
 * Reduces a pointer-valued (or i64) constant to a symbol plus a byte offset, through getelementptr, casts
 * and additions of constants. Null when it is something else.
 */
export function symbolOffset(layout: DataLayout, value: Constant): SymbolOffset | null {
  switch (value.valueKind) {
    case "global":
      return { global: value, offset: 0 };
    case "globalref":
      return { global: value.global, offset: 0 };
    case "expr":
      break;
    default:
      return null;
  }
  switch (value.op) {
    case Op.BitCast:
    case Op.PtrToInt:
    case Op.IntToPtr:
    case Op.AddrSpaceCast:
      return holdsAddress(layout, value) ? symbolOffset(layout, value.operands[0]!) : null;
    case Op.GetElementPtr: {
      const base = symbolOffset(layout, value.operands[0]!);
      const offset = constantGepOffset(layout, value.elementType!, value.operands);
      return base !== null && offset !== null ? { global: base.global, offset: base.offset + offset } : null;
    }
    case Op.Add:
    case Op.Sub: {
      const base = symbolOffset(layout, value.operands[0]!);
      const right = value.operands[1]!;
      if (base === null || right.valueKind !== "int" || Number.isNaN(right.num)) return null;
      return { global: base.global, offset: base.offset + (value.op === Op.Add ? right.num : -right.num) };
    }
    default:
      return null;
  }
}

/**
 * Folds an integer or address constant expression without symbols to its value, or null. Covers what
 * remains of pointer arithmetic on null and of casts.
 */
export function foldedInteger(layout: DataLayout, value: Constant): bigint | null {
  switch (value.valueKind) {
    case "int":
      return value.value;
    case "zero":
      return value.type.kind === "ptr" || value.type.kind === "int" ? 0n : null;
    case "blockaddress":
      return value.fn.hasDropped(value.label) ? 1n : null;
    case "expr":
      break;
    default:
      return null;
  }
  const bits = layout.bitWidth(value.type);
  const a = foldedInteger(layout, value.operands[0]!);
  if (a === null) return null;
  const wrap = (n: bigint): bigint => BigInt.asIntN(bits, n);
  switch (value.op) {
    case Op.PtrToInt:
    case Op.IntToPtr:
    case Op.ZExt:
      return wrap(BigInt.asUintN(layout.bitWidth(value.operands[0]!.type), a));
    case Op.BitCast:
    case Op.AddrSpaceCast:
    case Op.Trunc:
    case Op.SExt:
      return wrap(a);
    case Op.GetElementPtr: {
      const offset = constantGepOffset(layout, value.elementType!, value.operands);
      return offset === null ? null : wrap(a + BigInt(offset));
    }
  }
  const second = value.operands[1];
  const b = second === undefined ? null : foldedInteger(layout, second);
  if (b === null) return null;
  switch (value.op) {
    case Op.Add:
      return wrap(a + b);
    case Op.Sub:
      return wrap(a - b);
    case Op.Mul:
      return wrap(a * b);
    case Op.And:
      return wrap(a & b);
    case Op.Or:
      return wrap(a | b);
    case Op.Xor:
      return wrap(a ^ b);
    case Op.Shl:
      return wrap(a << BigInt.asUintN(16, b));
    default:
      return null;
  }
}

/** Little-endian bytes of a scalar or vector constant without symbols; null if it has some. Undef is zero. */
export function constantBytes(layout: DataLayout, value: Constant): Uint8Array | null {
  const size = layout.storeSize(value.type);
  switch (value.valueKind) {
    case "int":
      return integerBytes(value.value, size);
    case "float":
      return integerBytes(value.bits, size);
    case "zero":
    case "undef":
      return new Uint8Array(size);
    case "data":
      return value.bytes;
    case "aggregate": {
      const out = new Uint8Array(size);
      let offset = 0;
      for (const element of value.elements) {
        const bytes = constantBytes(layout, element);
        if (bytes === null) return null;
        out.set(bytes, offset);
        offset += bytes.length;
      }
      return out;
    }
    default: {
      const folded = foldedInteger(layout, value);
      return folded === null ? null : integerBytes(folded, size);
    }
  }
}

function integerBytes(value: bigint, size: number): Uint8Array {
  const out = new Uint8Array(size);
  let rest = BigInt.asUintN(size * 8, value);
  for (let i = 0; i < size; i++) {
    out[i] = Number(rest & 0xffn);
    rest >>= 8n;
  }
  return out;
}
