/** cmpxchg16b: of functions whose target features have it (Intel SDM volume 2, "CMPXCHG8B/CMPXCHG16B"). */
import type { Lowering, Parts } from "../../codegen/legalize/lowering.js";
import { Op } from "../../ir/instructions.js";
import { i1, i8, i64, structType } from "../../ir/types.js";
import type { Value } from "../../ir/values.js";
import { assembly } from "./assembly.js";

export const hasPairExchange = ({ fn }: Lowering): boolean =>
  fn.attributes.fn.string("target-features")?.split(",").includes("+cx16") ?? false;

/** What was at the address is in rdx:rax, the replacement comes in rcx:rbx. */
export function exchangePair(
  l: Lowering,
  pointer: Value,
  expected: Parts,
  replacement: Parts,
): readonly [Parts, Value] | null {
  if (!hasPairExchange(l)) return null;
  const made = assembly(
    l,
    "lock cmpxchg16b ($3)",
    "={ax},={dx},={@cce},r,{bx},{cx},0,1,~{memory},~{cc}",
    structType([i64, i64, i8]),
    [pointer, replacement[0]!, replacement[1]!, expected[0]!, expected[1]!],
  );
  return [[l.extract(made, 0), l.extract(made, 1)], l.cast(Op.Trunc, l.extract(made, 2), i1)];
}
