/**
 * Vector code for functions with AVX: the legaliser's vector target there.
 *
 * Pairs of the baseline's registers are one of 256 bits. What AVX, or AVX2, has an instruction or a short sequence for
 * is done so (`avx-native.ts` and what that uses); everything else as the baseline does it, on halves: while that runs,
 * parts are those of the baseline. Halves are remembered with what they were joined to, so that several such operations
 * in a row take nothing apart; joined values that nobody reads go.
 */
import type { Lowering } from "../../codegen/legalize/lowering.js";
import { alignAt } from "../../codegen/legalize/memory-parts.js";
import { partTypesOf } from "../../codegen/legalize/part-types.js";
import type { Parts, VectorTarget } from "../../codegen/legalize/target.js";
import { Op } from "../../ir/instructions.js";
import type { Func } from "../../ir/module.js";
import type { Type } from "../../ir/types.js";
import type { Value } from "../../ir/values.js";
import { vectorFeatures } from "../isa/vector-features.js";
import { nativeIntrinsic } from "./avx-intrinsics.js";
import { nativeMaskedLoad, nativeMaskedStore } from "./avx-memory.js";
import { whileNarrow } from "./avx-narrow.js";
import { nativeBits, nativeOperation } from "./avx-native.js";
import { bytesOf, isWide, narrowParts, wideOf, wideParts } from "./avx-registers.js";
import { evexTarget } from "./evex.js";
import { sse2Vectors } from "./vectors.js";
import { shapeOf } from "./vectors-shape.js";

/** Runs the baseline's code: its parts for a value of `type`, as ours. */
function narrowly(l: Lowering, type: Type, run: (baseline: VectorTarget) => Parts): Parts {
  const own = l.vectors;
  if (own === sse2Vectors) return run(sse2Vectors);
  const parts = whileNarrow(l, run);
  return wideParts(l, partTypesOf(type, own), parts);
}

function partTypes(type: Type, scalarParts: (type: Type) => readonly Type[]): readonly Type[] {
  const parts = sse2Vectors.partTypes(type, scalarParts);
  const { representation, lane, registers } = shapeOf(type);
  if (representation === "each") return parts;
  const pairs = Math.floor(registers / 2);
  return [...new Array<Type>(pairs).fill(wideOf(lane)), ...parts.slice(2 * pairs)];
}

/** Loads a vector of whole registers. */
function loadWhole(l: Lowering, type: Type, pointer: Value, align: number, flags: number): Parts {
  let at = 0;
  return l.partTypes(type).map((part) => {
    const loaded = l.load(part, l.offset(pointer, at), alignAt(align, at), flags);
    at += bytesOf(part);
    return loaded;
  });
}

/** Memory has all of each register. */
const isWhole = (l: Lowering, type: Type): boolean => {
  const { isExact, registers } = shapeOf(type);
  return isExact && registers >= 2 && l.layout.bitWidth(type) === registers * 128;
};

function makeTarget(avx2: boolean): VectorTarget {
  return {
    registerBytes: 32,
    partTypes,
    argumentForm: (type) => sse2Vectors.argumentForm(type),
    wholeMask: (l, parts) =>
      wideParts(
        l,
        parts.map((p) => p.type),
        whileNarrow(l, (baseline) => baseline.wholeMask(l, narrowParts(l, parts))),
      ),
    isLegal(inst) {
      const isMul = inst.op === Op.Mul;
      if (isWide(inst.type) && !avx2 && (isMul || inst.op === Op.Add || inst.op === Op.Sub)) return false;
      return (isMul && inst.type.element.bits === 32) || sse2Vectors.isLegal(inst);
    },
    lower: (l, inst) =>
      nativeOperation(l, inst, avx2) ?? narrowly(l, inst.type, (baseline) => baseline.lower(l, inst)),
    intrinsic(l, base, inst) {
      const native = nativeIntrinsic(l, base, inst, avx2);
      if (native !== null) return native;
      const parts = whileNarrow(l, (baseline) => baseline.intrinsic(l, base, inst));
      return parts === null ? null : wideParts(l, partTypesOf(inst.type, l.vectors), parts);
    },
    constant: (l, constant) => narrowly(l, constant.type, (baseline) => baseline.constant(l, constant)),
    load(l, type, pointer, align, flags) {
      if (isWhole(l, type)) return loadWhole(l, type, pointer, align, flags);
      return narrowly(l, type, (baseline) => baseline.load(l, type, pointer, align, flags));
    },
    store(l, type, parts, pointer, align, flags) {
      if (!isWhole(l, type))
        return whileNarrow(l, (baseline) =>
          baseline.store(l, type, narrowParts(l, parts), pointer, align, flags),
        );
      let at = 0;
      for (const part of parts) {
        l.store(part, l.offset(pointer, at), alignAt(align, at), flags);
        at += bytesOf(part.type);
      }
    },
    maskedLoad: (l, type, pointer, mask, rest) => nativeMaskedLoad(l, type, pointer, mask, rest, avx2),
    maskedStore: (l, value, pointer, mask) => nativeMaskedStore(l, value, pointer, mask, avx2),
    toBits: (l, type, parts) =>
      nativeBits(l, type, parts) ??
      whileNarrow(l, (baseline) => baseline.toBits(l, type, narrowParts(l, parts))),
    fromBits: (l, type, bits) => narrowly(l, type, (baseline) => baseline.fromBits(l, type, bits)),
    elements: (l, type, parts) =>
      whileNarrow(l, (baseline) => baseline.elements(l, type, narrowParts(l, parts))),
    build: (l, type, elements) => narrowly(l, type, (baseline) => baseline.build(l, type, elements)),
  };
}

const avxVectors = makeTarget(false);
const avx2Vectors = makeTarget(true);

/** With SSE4.1: what AVX has on registers of 128 bits, as selection makes the encodings without VEX of it (`select/vex.ts`). */
const sse4Vectors: VectorTarget = {
  ...sse2Vectors,
  isLegal: (inst) => (inst.op === Op.Mul && inst.type.element.bits === 32) || sse2Vectors.isLegal(inst),
  lower: (l, inst) => nativeOperation(l, inst, false) ?? sse2Vectors.lower(l, inst),
  intrinsic: (l, base, inst) => nativeIntrinsic(l, base, inst, false) ?? sse2Vectors.intrinsic(l, base, inst),
};

const evexVectors = new Map<string, VectorTarget>();

/** What a function has for vectors. */
export function vectorsOf({ attributes }: Func): VectorTarget {
  const features = vectorFeatures(attributes.fn);
  const { sse41, avx, avx2, avx512 } = features;
  if (avx512) {
    const key = JSON.stringify(features);
    let target = evexVectors.get(key);
    if (target === undefined) evexVectors.set(key, (target = evexTarget(features, avx2Vectors)));
    return target;
  }
  return avx2 ? avx2Vectors : avx ? avxVectors : sse41 ? sse4Vectors : sse2Vectors;
}
