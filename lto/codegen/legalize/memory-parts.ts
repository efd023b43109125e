/**
 * Plain loads and stores of values of any type, part by part.
 *
 * They touch exactly the bytes of the original: an integer of w bits occupies ceil(w/8) bytes, little endian, its
 * padding bits stored as zero. Aggregates go member by member; padding between members is not accessed.
 */
import { Op } from "../../ir/instructions.js";
import { i1, i8, i64, intType, type Type } from "../../ir/types.js";
import type { Value } from "../../ir/values.js";
import { promotedInt } from "./emitter.js";
import { extendedParts } from "./extension.js";
import { isLegalType } from "./legal-types.js";
import type { Lowering, Parts } from "./lowering.js";
import { memberTypes } from "./part-types.js";

/** Alignment of `base`+`offset` when `base` is aligned to `align`, in bytes. */
export function alignAt(align: number, offset: number): number {
  return offset === 0 ? align : Math.min(align, offset & -offset);
}

/** Loads a value of any type. @param align of `pointer`, in bytes */
export function loadParts(l: Lowering, type: Type, pointer: Value, align: number, flags = 0): Parts {
  if (type === i1) return [l.cast(Op.Trunc, l.load(i8, pointer, align, flags), i1)];
  if (isLegalType(type, l.vectors)) return [l.load(type, pointer, align, flags)];
  switch (type.kind) {
    case "int":
      return loadInt(l, type.bits, pointer, align, flags);
    case "vector":
      return l.vectors.load(l, type, pointer, align, flags);
    case "array":
    case "struct": {
      const members = memberTypes(type);
      const parts: Value[] = [];
      for (let i = 0; i < members.length; i++) {
        const offset = l.layout.elementOffset(type, i);
        const at = alignAt(align, offset);
        for (const part of loadParts(l, members[i]!, l.offset(pointer, offset), at, flags)) parts.push(part);
      }
      return parts;
    }
    default:
      throw l.unsupported(`load of ${type}`);
  }
}

/** Stores a value of any type. @param align of `pointer`, in bytes */
export function storeParts(
  l: Lowering,
  type: Type,
  parts: Parts,
  pointer: Value,
  align: number,
  flags = 0,
): void {
  if (type === i1) {
    l.store(l.cast(Op.ZExt, parts[0]!, i8), pointer, align, flags);
    return;
  }
  if (isLegalType(type, l.vectors)) {
    l.store(parts[0]!, pointer, align, flags);
    return;
  }
  switch (type.kind) {
    case "int":
      storeInt(l, type.bits, parts, pointer, align, flags);
      return;
    case "vector":
      l.vectors.store(l, type, parts, pointer, align, flags);
      return;
    case "array":
    case "struct": {
      const members = memberTypes(type);
      let next = 0;
      for (let i = 0; i < members.length; i++) {
        const count = l.partTypes(members[i]!).length;
        const offset = l.layout.elementOffset(type, i);
        const member = parts.slice(next, next + count);
        storeParts(l, members[i]!, member, l.offset(pointer, offset), alignAt(align, offset), flags);
        next += count;
      }
      return;
    }
    default:
      throw l.unsupported(`store of ${type}`);
  }
}

/** Sizes in bytes of the accesses that cover `bytes` ≤ 8 bytes. */
function pieces(bytes: number): number[] {
  const sizes: number[] = [];
  for (let size = 8; size >= 1; size /= 2) if (bytes & size) sizes.push(size);
  return sizes;
}

function loadInt(l: Lowering, width: number, pointer: Value, align: number, flags: number): Parts {
  const bytes = Math.ceil(width / 8);
  const words: Value[] = [];
  for (let at = 0; at < bytes; at += 8) {
    const size = Math.min(8, bytes - at);
    const type = width <= 64 ? promotedInt(width) : i64;
    let word: Value | null = null;
    let done = 0;
    for (const piece of pieces(size)) {
      const offset = at + done;
      const loaded = l.load(intType(piece * 8), l.offset(pointer, offset), alignAt(align, offset), flags);
      const shifted = l.shl(l.cast(Op.ZExt, loaded, type), done * 8);
      word = word === null ? shifted : l.or(word, shifted);
      done += piece;
    }
    words.push(word!);
  }
  // Stores leave padding bits zero, so the bits above the width are known.
  if (words.length === 1) l.knownBits.set(words[0]!, width);
  return words;
}

function storeInt(
  l: Lowering,
  width: number,
  parts: Parts,
  pointer: Value,
  align: number,
  flags: number,
): void {
  const bytes = Math.ceil(width / 8);
  // Bits between the width and the next byte are written as zero.
  const source = width % 8 === 0 ? parts : extendedParts(l, parts, width, false);
  for (let at = 0; at < bytes; at += 8) {
    const word = source[at / 8]!;
    let done = 0;
    for (const piece of pieces(Math.min(8, bytes - at))) {
      const offset = at + done;
      const bits = l.cast(Op.Trunc, l.lshr(word, done * 8), intType(piece * 8));
      l.store(bits, l.offset(pointer, offset), alignAt(align, offset), flags);
      done += piece;
    }
  }
}
