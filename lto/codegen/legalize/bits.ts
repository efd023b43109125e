/**
 * Values as the bits of one integer of the same width, for bitcasts between types with different parts.
 *
 * Only x86_fp80 has to go through memory.
 */
import { Op } from "../../ir/instructions.js";
import { fp80Type, fp128Type, i16, i32, i64, intType, type Type, vectorType } from "../../ir/types.js";
import { isLegalBitCast } from "./legality.js";
import type { Lowering, Parts } from "./lowering.js";
import { loadParts, storeParts } from "./memory-parts.js";

const twoWords = vectorType(2, i64);

/** The bits of a value as parts of an integer of `layout.bitWidth(type)` bits. */
export function toBits(l: Lowering, type: Type, parts: Parts): Parts {
  switch (type.kind) {
    case "int":
      return parts;
    case "ptr":
      return [l.cast(Op.PtrToInt, parts[0]!, i64)];
    case "half":
    case "bfloat":
      return [l.cast(Op.BitCast, parts[0]!, i16)];
    case "float":
      return [l.cast(Op.BitCast, parts[0]!, i32)];
    case "double":
      return [l.cast(Op.BitCast, parts[0]!, i64)];
    case "fp128":
      return l.vectors.toBits(l, twoWords, [l.cast(Op.BitCast, parts[0]!, twoWords)]);
    case "x86_fp80": {
      const slot = l.scratchSlot(fp80Type, 16);
      l.store(parts[0]!, slot, 16);
      return loadParts(l, intType(80), slot, 16);
    }
    case "vector":
      return l.vectors.toBits(l, type, parts);
    default:
      throw l.unsupported(`bitcast of ${type}`);
  }
}

export function fromBits(l: Lowering, type: Type, bits: Parts): Parts {
  switch (type.kind) {
    case "int":
      return bits;
    case "ptr":
      return [l.cast(Op.IntToPtr, bits[0]!, type)];
    case "half":
    case "bfloat":
    case "float":
    case "double":
      return [l.cast(Op.BitCast, bits[0]!, type)];
    case "fp128":
      return [l.cast(Op.BitCast, l.vectors.fromBits(l, twoWords, bits)[0]!, fp128Type)];
    case "x86_fp80": {
      const slot = l.scratchSlot(fp80Type, 16);
      storeParts(l, intType(80), bits, slot, 16);
      return [l.load(fp80Type, slot, 16)];
    }
    case "vector":
      return l.vectors.fromBits(l, type, bits);
    default:
      throw l.unsupported(`bitcast to ${type}`);
  }
}

/** bitcast between any types of one size. */
export function bitCast(l: Lowering, from: Type, to: Type, parts: Parts): Parts {
  if (from === to || (from.kind === "ptr" && to.kind === "ptr")) return parts;
  if (isLegalBitCast(from, to, l.vectors)) return [l.cast(Op.BitCast, parts[0]!, to)];
  return fromBits(l, to, toBits(l, from, parts));
}
