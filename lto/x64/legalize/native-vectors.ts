/**
 * Which vectors native code passes otherwise than code generation does.
 *
 * LLVM passes vectors in registers as wide as the function's own features allow: from AVX on what is wider than 128 bits
 * travels in ymm registers, with AVX-512 in zmm registers, and so it does here (checked with llc 22 on all element types and
 * counts). Counts that no ABI of C has, such as 9 floats, are taken to differ though some features pass them element by element. Processors that nobody knows may have
 * any of it: what is wider than 128 bits differs.
 */

import type { NativeBoundary } from "../../codegen/target.js";
import type { AttributeSet } from "../../ir/attributes.js";
import type { Type } from "../../ir/types.js";
import { vectorFeatures } from "../isa/vector-features.js";
import { type Shape, shapeOf } from "./vectors-shape.js";

/** Features that AVX is part of; clang spells out all that a processor has, other compilers only what was asked for. */
const impliesAvx = /^\+(avx.*|fma4?|f16c|xop|vaes|vpclmulqdq|sha512|sm[34])$/;
/** Processors without AVX, for functions that say no more. */
const withoutAvx = new RegExp(
  "^(|generic|x86-64|x86-64-v2|i[3456]86|pentium.*|prescott|yonah|nocona|core2|penryn|nehalem|corei7|westmere|atom|" +
    "bonnell|silvermont|slm|goldmont.*|tremont|k6.*|k8.*|opteron.*|athlon.*|amdfam10|barcelona|btver1|winchip.*|" +
    "c3.*|geode|lakemont)$",
);

/** Whether code of a function with these attributes has vector registers of more than 128 bits. */
function hasWideVectors({ strings }: AttributeSet): boolean {
  let has = !withoutAvx.test(strings.get("target-cpu") ?? "");
  for (const word of (strings.get("target-features") ?? "").split(","))
    if (impliesAvx.test(word)) has = true;
    else if (word === "-avx") has = false;
  return has;
}

/** The first vector in a type, which may be an aggregate, for which `differs` holds; null: there is none. */
function vectorIn(type: Type, differs: (shape: Shape) => boolean): Type | null {
  switch (type.kind) {
    case "vector": {
      const shape = shapeOf(type);
      return shape.representation !== "each" && differs(shape) ? type : null;
    }
    case "array":
      return type.count === 0 ? null : vectorIn(type.element, differs);
    case "struct":
      for (const element of type.elements) {
        const found = vectorIn(element, differs);
        if (found !== null) return found;
      }
      return null;
    default:
      return null;
  }
}

const isWide = ({ count, laneBits }: Shape): boolean => count * laneBits > 128;
/** Between functions with AVX and AVX-512, which both have the narrower registers. */
const isWidest = ({ count, laneBits }: Shape): boolean => count * laneBits > 256;
const isPowerOfTwo = (count: number): boolean => (count & (count - 1)) === 0;
const isOdd = (shape: Shape): boolean => isWide(shape) && !isPowerOfTwo(shape.count);
/** Without AVX-512BW LLVM passes masks of 64 lanes one by one. */
const isOddOrMask = (shape: Shape): boolean =>
  isOdd(shape) || (shape.representation === "mask" && shape.count > 32);

export const nativeVectors: NativeBoundary = {
  differing(attributes) {
    if (!hasWideVectors(attributes)) return null;
    const { avx, bw } = vectorFeatures(attributes);
    const differs = !avx ? isWide : bw ? isOdd : isOddOrMask;
    return (type) => vectorIn(type, differs);
  },
  convention(attributes) {
    const { avx, avx512 } = vectorFeatures(attributes);
    return avx512 ? 2 : avx ? 1 : 0;
  },
  disputed: (type, one, other) => vectorIn(type, Math.min(one, other) === 0 ? isWide : isWidest),
};
