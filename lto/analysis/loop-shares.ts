/**
 * What of its loop's time an instruction takes.
 *
 * A program's time is that of few loops, and nobody knows before which; but in whichever it is, an instruction more costs by
 * what else a round executes. So where code is small that runs as often, time is dear, and as there is little code in small
 * loops, few bytes are at stake.
 * Linear in blocks times loop depth.
 */
import type { LoopNest } from "./loop-nest.js";

/** Instructions that a call counts for where nobody knows what it calls, or how much that executes. */
export const callWork = 20;
/** Instructions that a call executes besides its arguments' and the body's: itself, a return, and what saves or moves for it. */
export const bareCall = 3;

/**
 * What a share of a body is worth that is in no loop: it may be in one of a caller's, or recursion. With 3, loaded bytes of 34
 * programs at -Oz are 1.0009 of what they are with 0, and three programs of the LLVM test suite (siod, an interpreter, Obsequi,
 * yacr2) take about 0.9 of the time; with 1 0.9999, and between 0.92 and 0.98 (least of five in turn).
 */
const callerWorth = 3;

/**
 * By block: the share of the time of the innermost loop around it that one instruction more in the block is, or of the
 * whole body's outside of loops.
 * @param frequencies of blocks, for one execution of their function
 * @param work instructions in each block, calls as what they execute
 */
export function loopShares(nest: LoopNest, frequencies: Float64Array, work: Float64Array): Float64Array {
  const ofLoop = new Float64Array(work.length);
  let ofBody = 0;
  for (let b = 0; b < work.length; b++) {
    const executed = work[b]! * frequencies[b]!;
    ofBody += executed;
    for (let h = nest.header[b]!; h >= 0; h = nest.outer[h]!) ofLoop[h]! += executed;
  }
  return frequencies.map((frequency, b) => {
    const header = nest.header[b]!;
    if (header >= 0) return frequency / Math.max(ofLoop[header]!, frequency);
    return (callerWorth * frequency) / Math.max(ofBody, frequency);
  });
}
