/**
 * Which vectors native code passes otherwise than code generation does.
 *
 * LLVM passes vectors in registers as wide as the function's own features allow: from AVX on what is wider than 128 bits
 * travels in ymm or zmm registers, on the stack where arguments are variable. Here it always travels in pairs of xmm
 * registers, or in as many as it takes, as with SSE2 alone. Checked with llc 22 on all element types and counts; counts
 * that no ABI of C has, such as 9 floats, are taken to differ though some features pass them element by element.
 */
import type { AttributeSet } from "../../ir/attributes.js";
import type { Type } from "../../ir/types.js";
import { shapeOf } from "./vectors-shape.js";

/** Features that AVX is part of; clang spells out all that a processor has, other compilers only what was asked for. */
const impliesAvx = /^\+(avx.*|fma4?|f16c|xop|vaes|vpclmulqdq|sha512|sm[34])$/;
/** Processors without AVX, for functions that say no more. */
const withoutAvx = new RegExp(
  "^(|generic|x86-64|x86-64-v2|i[3456]86|pentium.*|prescott|yonah|nocona|core2|penryn|nehalem|corei7|westmere|atom|" +
    "bonnell|silvermont|slm|goldmont.*|tremont|k6.*|k8.*|opteron.*|athlon.*|amdfam10|barcelona|btver1|winchip.*|" +
    "c3.*|geode|lakemont)$",
);

/** Whether code of a function with these attributes has vector registers of more than 128 bits. */
export function hasWideVectors({ strings }: AttributeSet): boolean {
  let has = !withoutAvx.test(strings.get("target-cpu") ?? "");
  for (const word of (strings.get("target-features") ?? "").split(","))
    if (impliesAvx.test(word)) has = true;
    else if (word === "-avx") has = false;
  return has;
}

/** The first vector in a type, which may be an aggregate, that is wider than an xmm register; null: there is none. */
export function wideVector(type: Type): Type | null {
  switch (type.kind) {
    case "vector": {
      const { representation, count, laneBits } = shapeOf(type);
      return representation !== "each" && count * laneBits > 128 ? type : null;
    }
    case "array":
      return type.count === 0 ? null : wideVector(type.element);
    case "struct":
      for (const element of type.elements) {
        const found = wideVector(element);
        if (found !== null) return found;
      }
      return null;
    default:
      return null;
  }
}
