/**
 * What of its loop's time an instruction takes.
 *
 * A program's time is that of few loops, and nobody knows before which; but in whichever it is, an instruction more costs by
 * what else a round executes. So where code is small that runs as often, time is dear, and as there is little code in small
 * loops, few bytes are at stake.
 * Linear in blocks times loop depth.
 */
import type { LoopNest } from "./loop-nest.js";

/** Instructions that a call counts for: those of what it calls are not looked at. */
export const callWork = 20;

/**
 * By block: the share of the time of the innermost loop around it that one instruction more in the block is; 0 outside of
 * loops.
 * @param frequencies of blocks, for one execution of their function
 * @param work instructions in each block, calls as `callWork`
 */
export function loopShares(nest: LoopNest, frequencies: Float64Array, work: Float64Array): Float64Array {
  const ofLoop = new Float64Array(work.length);
  for (let b = 0; b < work.length; b++)
    for (let h = nest.header[b]!; h >= 0; h = nest.outer[h]!) ofLoop[h]! += work[b]! * frequencies[b]!;
  return frequencies.map((frequency, b) => {
    const header = nest.header[b]!;
    return header < 0 ? 0 : frequency / Math.max(ofLoop[header]!, frequency);
  });
}
