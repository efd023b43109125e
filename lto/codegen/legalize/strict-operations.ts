/**
 * Floating-point operations of legal code that keep their places: calls `tsc.strict.NAME`, which stay for the flags that
 * they raise, and `tsc.placed.NAME`, which may go when unused. Their operands and results are those of the instruction of
 * that name. `fcmps` is a comparison that raises the invalid flag for quiet NaNs too.
 */
import { type FloatPredicate, Op } from "../../ir/instructions.js";
import { onState, underState } from "../../ir/intrinsics/facts.js";
import type { Func } from "../../ir/module.js";
import { Strictness } from "../../ir/strict-float.js";
import { functionType, type Type } from "../../ir/types.js";
import type { Value } from "../../ir/values.js";
import { internalIntrinsic } from "./internal.js";

/** By name, what the operation is but for its place. Square roots are no instructions. */
export const strictInstructions = {
  fadd: Op.FAdd,
  fsub: Op.FSub,
  fmul: Op.FMul,
  fdiv: Op.FDiv,
  fpext: Op.FPExt,
  fptrunc: Op.FPTrunc,
  fptosi: Op.FPToSI,
  fptoui: Op.FPToUI,
  sitofp: Op.SIToFP,
  uitofp: Op.UIToFP,
} as const;
export type StrictName =
  | keyof typeof strictInstructions
  | "sqrt"
  | `fcmp.${FloatPredicate}`
  | `fcmps.${FloatPredicate}`;

const names = new Map<Op, StrictName>(
  Object.entries(strictInstructions).map(([name, op]) => [op, name as StrictName]),
);
/** The strict form of an instruction; undefined for those that have none since they neither round nor raise flags. */
export const strictNameOf = (op: Op): StrictName | undefined => names.get(op);

/** What the names of such operations begin with. */
export const strictPrefixes = ["tsc.strict.", "tsc.placed."] as const;

/** The declaration of a strict operation. */
export function strictOperation(
  name: StrictName,
  strictness: Strictness,
  result: Type,
  args: readonly Value[],
): Func {
  const stays = strictness === Strictness.Flags;
  const type = functionType(
    result,
    args.map((a) => a.type),
  );
  return internalIntrinsic(
    (stays ? strictPrefixes[0] : strictPrefixes[1]) + name,
    type,
    stays ? onState : underState,
  );
}
