/**
 * Masks in functions with AVX-512: the bits of a mask as an integer, beside its lanes.
 *
 * A value of type <n x i1> has the fixed form that it has with AVX, lanes in vector registers. What makes it with AVX-512 gives
 * bits, and what takes it there wants bits: they are remembered beside the lanes, which go where nobody reads them.
 */
import { intResize } from "../../codegen/legalize/integers.js";
import type { Lowering, Parts } from "../../codegen/legalize/lowering.js";
import { partTypesOf } from "../../codegen/legalize/part-types.js";
import type { VectorTarget } from "../../codegen/legalize/target.js";
import type { Type } from "../../ir/types.js";
import type { Value } from "../../ir/values.js";
import { halveParts, widestParts } from "./avx-registers.js";
import { wordType } from "./evex-assembly.js";

/** By the first register of the fixed form. Values are unique objects, so entries die with their function. */
const words = new WeakMap<Value, Value>();

/** The remembered bits; what is above them is undefined. */
export const knownWord = (mask: Parts): Value | undefined => words.get(mask[0]!);

/** What runs sees parts of at most 256 bits. */
export function whileHalved<T>(l: Lowering, avx: VectorTarget, run: (avx: VectorTarget) => T): T {
  const { vectors, narrowed } = l;
  l.vectors = avx;
  l.narrowed = (parts) => halveParts(l, parts);
  try {
    return run(avx);
  } finally {
    l.vectors = vectors;
    l.narrowed = narrowed;
  }
}

/** A value of `type` by code for AVX2. */
export function byHalves(
  l: Lowering,
  avx: VectorTarget,
  type: Type,
  run: (avx: VectorTarget) => Parts,
): Parts {
  const own = l.vectors;
  if (own === avx) return run(avx);
  const parts = whileHalved(l, avx, run);
  return widestParts(l, partTypesOf(type, own), parts);
}

/** The mask of type `type` with these bits, of as many lanes up to 64. */
export function maskOfWord(l: Lowering, avx: VectorTarget, type: Type, word: Value): Parts {
  const mask = byHalves(l, avx, type, (narrow) => narrow.fromBits(l, type, [word]));
  if (mask[0]!.valueKind === "inst") words.set(mask[0]!, word);
  return mask;
}

/** The bits of a mask of at most 64 lanes; what is above them is undefined. */
export function wordOf(l: Lowering, avx: VectorTarget, type: Type, mask: Parts): Value {
  const known = knownWord(mask);
  if (known !== undefined) return known;
  const bits = whileHalved(l, avx, (narrow) => narrow.toBits(l, type, halveParts(l, mask)));
  const { count } = type;
  return intResize(l, count, wordType(count).bits, bits, false)[0]!;
}
