/** How often blocks of final code run, and what of their loops' time an instruction is. Linear in the code times loop depth. */
import { loopNest } from "../../analysis/loop-nest.js";
import { loopShares } from "../../analysis/loop-shares.js";
import type { PackedFunction } from "../pack/format.js";
import { isCallAt, packedShape, skipInstruction } from "../pack/walk.js";

/** By block position. */
export interface Executions {
  /** `MBlock.frequency` */
  readonly frequencies: Float64Array;
  /** `loopShares` */
  readonly shares: Float64Array;
}

/** Instructions that the call at a place of a function's words executes. */
export type WorkOfCall = (words: Int32Array, at: number) => number;

export function executionsOf(packed: PackedFunction, workOfCall: WorkOfCall): Executions {
  const { frequencies, successors, entries } = packedShape(packed);
  const nest = loopNest(successors, entries);
  const work = workIn(packed, frequencies.length, workOfCall);
  return { frequencies, shares: loopShares(nest, frequencies, work) };
}

function workIn({ words, blocks }: PackedFunction, count: number, workOfCall: WorkOfCall): Float64Array {
  const work = new Float64Array(count);
  let at = blocks;
  for (let b = 0; b < count; b++)
    for (let n = words[at++]!; n > 0; n--) {
      work[b]! += isCallAt(words, at) ? workOfCall(words, at) : 1;
      at = skipInstruction(words, at);
    }
  return work;
}
