/**
 * What a plan saves once code has been generated for its function: estimates are good on average over functions, not for
 * two instructions.
 *
 * The function's own bytes are exact then, unwind tables included. They also bound what a piece takes where it is: the same
 * instructions, without return and frame, plus what constants add that are parameters there. What calls do to the
 * code around them stays an estimate.
 */
import type { Value } from "../../ir/values.js";
import type { TrialSize } from "../../pass/pass.js";
import type { ConstantCosts } from "../../target/addresses.js";
import type { OutlinePlan } from "./plan.js";
import type { Sequence } from "./sequence.js";

/** The plan with what the trial says of it. */
export function tried(
  sequence: Sequence,
  starts: Int32Array,
  length: number,
  plan: OutlinePlan,
  { code, tables }: TrialSize,
): OutlinePlan {
  const { parameters, endsThere, jumps, callsInside } = plan;
  const { frames, constants } = sequence.costs;
  const leaves = endsThere || jumps ? 0 : frames.return;
  const inPlace = code - leaves - (callsInside ? frames.adjust : 0);
  let before = 0;
  starts.forEach((start, i) => {
    let most = inPlace;
    for (const { values } of parameters.list) most += bytesInCode(values[i]!, constants);
    before += Math.min(most, sequence.bytes(start, length));
  });
  const body = code + tables;
  return { ...plan, before, after: plan.after - plan.body + body, body, isTried: true };
}

/** Bytes that an operand adds to the instruction that has it, where it is no register. */
function bytesInCode(value: Value, { smallFrom, smallTo, small, large }: ConstantCosts): number {
  switch (value.valueKind) {
    case "inst":
    case "argument":
    case "undef":
      return 0;
    case "int":
      return value.num >= smallFrom && value.num <= smallTo ? small : large;
    default:
      return large;
  }
}
