/** What the passes before instruction selection have to know of x86-64. */
import type { LoweringTarget } from "../codegen/lowering/context.js";
import { resultRoom } from "./frame/convention.js";
import { pairConstraints, storeAsmOutput } from "./legalize/assembly.js";
import { vectorsOf } from "./legalize/avx.js";
import { multiplyAdd } from "./legalize/avx-intrinsics.js";
import { convertHalf } from "./legalize/half.js";
import { maskAssembly } from "./legalize/mask-assembly.js";
import { exchangePair, hasPairExchange } from "./legalize/pair-exchange.js";
import { roundingMode, roundToInteger, setRoundingMode } from "./legalize/rounding.js";
import { lowerVAArg } from "./legalize/va-arg.js";
import { needsLoop } from "./select/atomics.js";
import { transfersInline } from "./select/memory.js";
import { minMaxOf } from "./select/min-max.js";

export const x64Lowering: LoweringTarget = {
  vectorsOf,
  vaArg: lowerVAArg,
  pairConstraints,
  convertHalf,
  maskAssembly,
  hasPairExchange,
  exchangePair,
  multiplyAdd,
  roundingMode,
  roundToInteger,
  setRoundingMode,
  resultRoom,
  isScale: (stride) => stride === 1 || stride === 2 || stride === 4 || stride === 8,
  // cmov has general registers only.
  selectsWithoutBranch: (select) =>
    select.type.kind === "int" || select.type.kind === "ptr" || minMaxOf(select) !== null,
  needsLoop,
  storeAsmOutput,
  transfersInline,
};
