/** Lowering by the baseline's code inside of a function with wider registers. */
import type { Lowering } from "../../codegen/legalize/lowering.js";
import type { VectorTarget } from "../../codegen/legalize/target.js";
import { narrowParts } from "./avx-registers.js";
import { sse2Vectors } from "./vectors.js";

/** What runs sees parts as the baseline has them. */
export function whileNarrow<T>(l: Lowering, run: (baseline: VectorTarget) => T): T {
  const { vectors, narrowed } = l;
  l.vectors = sse2Vectors;
  l.narrowed = (parts) => narrowParts(l, parts);
  try {
    return run(sse2Vectors);
  } finally {
    l.vectors = vectors;
    l.narrowed = narrowed;
  }
}
