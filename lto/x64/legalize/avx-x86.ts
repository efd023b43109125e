/** The machine's own intrinsics from SSE3 to AVX2, FMA and F16C, onto instructions (Intel Intrinsics Guide). */
import type { Lowering, Parts } from "../../codegen/legalize/lowering.js";
import type { CallInst } from "../../ir/instructions.js";
import type { Value } from "../../ir/values.js";

/** The parts of a call; null: it is none of these. @param name after `x86.` */
export function avxMachineIntrinsic(
  _l: Lowering,
  _name: string,
  _inst: CallInst,
  _args: readonly Value[],
): Parts | null {
  return null;
}
