/**
 * Conversions and roots of SSE write the low lane of their result and leave the others: they wait for whoever wrote the register
 * last, though nobody looks at those lanes. For speed the register is zeroed in front of them, as clang does it: that waits for
 * nothing. A source that is the same register is waited for anyway. (With AVX the other lanes are an operand: `vex-code.ts`.)
 *
 * The zeroing is part of the instruction (`lanesZeroed`): by itself it would seem to be dead.
 * Source: Intel's optimization manual, 3.5.1.7; Intel SDM volume 2.
 */
import type { MFunction, MInst } from "../../codegen/mir.js";
import { lanesZeroed, X } from "../isa/ops.js";

const partial: ReadonlySet<number> = new Set([
  X.Cvtsi2ss,
  X.Cvtsi2sd,
  X.Cvtss2sd,
  X.Cvtsd2ss,
  X.Sqrtss,
  X.Sqrtsd,
  X.Rcpss,
  X.Rsqrtss,
]);

const waits = ({ op, defs, uses, mem }: MInst): boolean =>
  partial.has(op) && (mem !== null || uses[0]!.loc !== defs[0]!.loc);

/** Marks such instructions of final code. */
export function breakPartialWrites(mf: MFunction): void {
  if (mf.goal !== "speed") return;
  for (const { insts } of mf.blocks) for (const inst of insts) if (waits(inst)) inst.marks = lanesZeroed;
}
