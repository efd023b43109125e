/**
 * What strict floating point asks of an operation (LLVM Language Reference, "Constrained Floating-Point Intrinsics").
 *
 * An operation may depend on the rounding mode that holds where it stands, and may raise IEEE flags that the program
 * looks at. Both are state outside of memory, so such operations keep their places among each other, and among calls and
 * assembly that read or change that state. In the IR they are the intrinsics `experimental.constrained.*`, in legal code
 * internal operations (`codegen/legalize/strict-operations.ts`); what passes have to know is in the facts of either, and
 * here, as far as it depends on the metadata operands of a call.
 *
 * Breaks if: an operation that is strict becomes a plain instruction, of which everybody knows that it may go and move.
 */
import type { CallInst } from "./instructions.js";
import type { Intrinsic } from "./intrinsics.js";

export const enum Strictness {
  /** Rounds to nearest, and nobody looks at flags: a plain instruction. */
  None,
  /** Keeps its place, since the rounding mode matters there or a trap is not to come early; may go when unused. */
  Place,
  /** Raises flags that somebody looks at: stays, used or not. */
  Flags,
}

/** Of a call of a constrained intrinsic. Without metadata that says less: all of it. */
export function strictnessOf(call: CallInst): Strictness {
  let mode = true;
  let flags = Strictness.Flags;
  let namesMode = false;
  for (let i = 1; i <= call.data.argumentCount; i++) {
    const operand = call.operands[i]!;
    if (operand.valueKind !== "metadata" || operand.text === null) continue;
    if (operand.text.startsWith("round.")) {
      namesMode = true;
      mode = operand.text !== "round.tonearest";
    } else if (operand.text === "fpexcept.maytrap") flags = Strictness.Place;
    else if (operand.text === "fpexcept.ignore") flags = Strictness.None;
  }
  if (flags !== Strictness.None) return flags;
  return mode && namesMode ? Strictness.Place : Strictness.None;
}

/** Whether a call of the intrinsic may go when nothing uses its result. */
export const isRemovableCallOf = (intrinsic: Intrinsic, call: CallInst): boolean =>
  intrinsic.removable || (intrinsic.constrained && strictnessOf(call) !== Strictness.Flags);
