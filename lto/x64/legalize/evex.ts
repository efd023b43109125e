/**
 * Vector code for functions with AVX-512: the legaliser's vector target there.
 *
 * Four of the baseline's registers are one of 512 bits. What AVX-512 has an instruction or a short sequence for is done so
 * (`evex-native.ts` and what that uses); everything else as AVX2 does it, on halves, and what that leaves on quarters.
 */

import type { Lowering } from "../../codegen/legalize/lowering.js";
import { alignAt } from "../../codegen/legalize/memory-parts.js";
import { partTypesOf } from "../../codegen/legalize/part-types.js";
import type { Parts, VectorTarget } from "../../codegen/legalize/target.js";
import { Op } from "../../ir/instructions.js";
import type { Type } from "../../ir/types.js";
import type { VectorFeatures } from "../isa/vector-features.js";
import { bytesOf, halveParts, isWidest, widestOf, widestParts } from "./avx-registers.js";
import { wordType } from "./evex-assembly.js";
import { nativeEvexIntrinsic } from "./evex-intrinsics.js";
import { byHalves, knownWord, maskOfWord, whileHalved, wordOf } from "./evex-masks.js";
import { evexCompressStore, evexExpandLoad, evexMaskedLoad, evexMaskedStore } from "./evex-memory.js";
import { nativeEvexOperation } from "./evex-native.js";
import type { Evex } from "./evex-parts.js";
import { shapeOf } from "./vectors-shape.js";

/** Memory has all of each register. */
const isWholeInMemory = (type: Type, bitWidth: number): boolean => {
  const { isExact, registers } = shapeOf(type);
  return isExact && registers >= 4 && bitWidth === registers * 128;
};

/** A mask whose bits are all of an integer. */
const isWordInMemory = (type: Type): boolean =>
  type.kind === "vector" && shapeOf(type).representation === "mask" && [8, 16, 32, 64].includes(type.count);

/** @param avx what code for AVX2 is made with */
export function evexTarget(features: VectorFeatures, avx: VectorTarget): VectorTarget {
  const evex: Evex = { features, avx };
  return {
    registerBytes: 64,
    partTypes(type, scalarParts) {
      const parts = avx.partTypes(type, scalarParts);
      const { representation, lane, registers } = shapeOf(type);
      if (representation === "each") return parts;
      const fours = Math.floor(registers / 4);
      return [...new Array<Type>(fours).fill(widestOf(lane)), ...parts.slice(2 * fours)];
    },
    argumentForm: (type) => avx.argumentForm(type),
    wholeMask(l, parts) {
      const types = parts.map((p) => p.type);
      if (!types.some(isWidest)) return avx.wholeMask(l, parts);
      const whole = whileHalved(l, avx, (narrow) => narrow.wholeMask(l, halveParts(l, parts)));
      return widestParts(l, types, whole);
    },
    isLegal(inst) {
      if (!isWidest(inst.type)) return avx.isLegal(inst);
      const { element } = inst.type;
      switch (inst.op) {
        case Op.Add:
        case Op.Sub:
          return features.bw || element.bits >= 32;
        case Op.Mul:
          return element.bits === 32 || (element.bits === 16 && features.bw);
        default:
          return avx.isLegal(inst);
      }
    },
    lower: (l, inst) =>
      nativeEvexOperation(l, inst, evex) ?? byHalves(l, avx, inst.type, (narrow) => narrow.lower(l, inst)),
    intrinsic(l, base, inst) {
      const native = nativeEvexIntrinsic(l, base, inst, evex);
      if (native !== null) return native;
      const parts = whileHalved(l, avx, (narrow) => narrow.intrinsic(l, base, inst));
      return parts === null ? null : widestParts(l, partTypesOf(inst.type, l.vectors), parts);
    },
    constant: (l, constant) => byHalves(l, avx, constant.type, (narrow) => narrow.constant(l, constant)),
    load(l, type, pointer, align, flags) {
      if (isWordInMemory(type))
        return maskOfWord(l, avx, type, l.load(wordType(type.count), pointer, align, flags));
      if (!isWholeInMemory(type, l.layout.bitWidth(type)))
        return byHalves(l, avx, type, (narrow) => narrow.load(l, type, pointer, align, flags));
      let at = 0;
      return l.partTypes(type).map((part) => {
        const loaded = l.load(part, l.offset(pointer, at), alignAt(align, at), flags);
        at += bytesOf(part);
        return loaded;
      });
    },
    store(l, type, parts, pointer, align, flags) {
      if (isWordInMemory(type)) {
        l.store(wordOf(l, avx, type, parts), pointer, align, flags);
        return;
      }
      if (!isWholeInMemory(type, l.layout.bitWidth(type)))
        return whileHalved(l, avx, (narrow) =>
          narrow.store(l, type, halveParts(l, parts), pointer, align, flags),
        );
      let at = 0;
      for (const part of parts) {
        l.store(part, l.offset(pointer, at), alignAt(align, at), flags);
        at += bytesOf(part.type);
      }
    },
    maskedLoad: (l, type, pointer, mask, rest) =>
      evexMaskedLoad(l, type, pointer, mask, rest, evex) ??
      halvedOrNull(l, type, (narrow) => narrow.maskedLoad!(l, type, pointer, mask, rest)),
    maskedStore: (l, value, pointer, mask) =>
      evexMaskedStore(l, value, pointer, mask, evex) ||
      whileHalved(l, avx, (narrow) => narrow.maskedStore!(l, value, pointer, mask)),
    expandLoad: (l, type, pointer, mask, rest) => evexExpandLoad(l, type, pointer, mask, rest, evex),
    compressStore: (l, value, pointer, mask) => evexCompressStore(l, value, pointer, mask, evex),
    toBits(l, type, parts) {
      const word = shapeOf(type).representation === "mask" ? knownWord(parts) : undefined;
      if (word !== undefined) return [word];
      return whileHalved(l, avx, (narrow) => narrow.toBits(l, type, halveParts(l, parts)));
    },
    fromBits(l, type, bits) {
      if (shapeOf(type).representation === "mask" && type.count <= 64)
        return maskOfWord(l, avx, type, bits[0]!);
      return byHalves(l, avx, type, (narrow) => narrow.fromBits(l, type, bits));
    },
    elements: (l, type, parts) =>
      whileHalved(l, avx, (narrow) => narrow.elements(l, type, halveParts(l, parts))),
    build: (l, type, elements) => byHalves(l, avx, type, (narrow) => narrow.build(l, type, elements)),
  };

  function halvedOrNull(l: Lowering, type: Type, run: (narrow: VectorTarget) => Parts | null): Parts | null {
    const parts = whileHalved(l, avx, run);
    return parts === null ? null : widestParts(l, partTypesOf(type, l.vectors), parts);
  }
}
