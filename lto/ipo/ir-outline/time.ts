/**
 * What the time is worth that outlined code takes: where it stood a function is called, which takes its inputs from where they
 * are put, and hands results back. Bytes that it saves have to be more than that.
 */
import type { BlockTimes } from "../../analysis/function-times.js";
import type { OutlinePlan } from "./plan.js";
import type { Sequence } from "./sequence.js";

/** The call, and the return. */
const transfers = 2;

/** Bytes for the time of all places, of the heat that each has. */
export function bytesForTime(
  { insts, places, placeAt }: Sequence,
  starts: Int32Array,
  { parameters, outputs }: OutlinePlan,
  times: BlockTimes,
): number {
  const instructions = transfers + parameters.list.length + outputs.length;
  let bytes = 0;
  for (const start of starts)
    bytes += times.bytes(places[placeAt[start]!]!.fn, insts[start]!.parent!, instructions);
  return bytes;
}
