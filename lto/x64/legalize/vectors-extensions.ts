/** Instructions on 16 bytes beyond the baseline, from SSSE3 to SSE4.2, which functions with AVX have, too. */
import type { Lowering } from "../../codegen/legalize/lowering.js";
import { type VectorFeatures, vectorFeatures } from "../isa/vector-features.js";

/** What the function that is being lowered may use. */
export const extensionsOf = (l: Lowering): VectorFeatures => vectorFeatures(l.fn.attributes.fn);
