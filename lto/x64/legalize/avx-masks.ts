/** Masks in functions with AVX: as `vectors-masks.ts` has them, but for registers of 256 bits. */
import type { Lowering, Parts } from "../../codegen/legalize/lowering.js";
import { partTypesOf } from "../../codegen/legalize/part-types.js";
import type { Type } from "../../ir/types.js";
import { whileNarrow } from "./avx-narrow.js";
import { isWide, narrowParts, vex, wideOf, wideParts } from "./avx-registers.js";
import { naturalOf, rememberNatural, resizeMask } from "./vectors-masks.js";
import { bitsOf, intLane, registerOf, shapeOf } from "./vectors-shape.js";

/** The fixed form of a mask of type `type` made with lanes of `bits`. */
export function maskFrom(l: Lowering, type: Type, bits: number, registers: Parts): Parts {
  const shape = shapeOf(type);
  const types = partTypesOf(type, l.vectors);
  if (bits === shape.laneBits) return wideAs(l, types, registers);
  const fixed = whileNarrow(l, () =>
    resizeMask(l, shape.count, bits, shape.laneBits, narrowParts(l, registers)),
  );
  const mask = wideParts(l, types, fixed);
  rememberNatural(mask, bits, registers);
  return mask;
}

/** Registers as those of the types, of which they may be halves. */
function wideAs(l: Lowering, types: readonly Type[], registers: Parts): Parts {
  if (registers.length === types.length && registers.every((r, i) => isWide(r.type) === isWide(types[i]!)))
    return registers;
  return wideParts(l, types, narrowParts(l, registers));
}

/**
 * A mask of type `type` with lanes as those of `data`, the registers of a vector with as many elements.
 * @returns integer lanes
 */
export function maskLike(l: Lowering, type: Type, mask: Parts, data: readonly Type[], avx2: boolean): Parts {
  const shape = shapeOf(type);
  const lane = intLane(bitsOf(data[0]!.element));
  const bits = lane.bits;
  const types = data.map((t) => (isWide(t) ? wideOf(lane) : registerOf(lane)));
  const natural = naturalOf(mask);
  if (natural !== undefined && natural.bits === bits) return wideAs(l, types, natural.registers);
  if (bits === shape.laneBits) return wideAs(l, types, mask);
  const [only] = mask;
  const letters: Readonly<Record<number, string>> = { 8: "b", 16: "w", 32: "d", 64: "q" };
  if (
    avx2 &&
    bits > shape.laneBits &&
    mask.length === 1 &&
    types.length === 1 &&
    isWide(types[0]!) &&
    !isWide(only!.type)
  )
    return [vex(l, `Pmovsx${letters[shape.laneBits]}${letters[bits]}`, types[0]!, only!)];
  const resized = whileNarrow(l, () =>
    resizeMask(l, shape.count, shape.laneBits, bits, narrowParts(l, mask)),
  );
  return wideParts(l, types, resized);
}
