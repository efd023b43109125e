/**
 * What time is worth in the blocks of a machine function for size, by which accesses to memory are weighed (analysis/heat.ts).
 *
 * Functions are compiled one by one, and how often others enter this one is not known here: it counts as entered once, so that
 * only its loops have a time. Calls count as what is estimated where nobody knows the callee.
 * Linear in the code, times loop depth.
 */
import { timeBytes } from "../../analysis/heat.js";
import { callWork, loopShares } from "../../analysis/loop-shares.js";
import type { MBlock, MFunction } from "../mir.js";
import { shapeOf } from "./block-frequency.js";

/** Bytes that an instruction in each block is worth which is executed less. */
export function blockTimes(fn: MFunction, sizeTime: number): (block: MBlock) => number {
  const { blocks } = fn;
  if (sizeTime === 0) return () => 0;
  const { nest } = shapeOf(fn);
  if (nest.header.every((header) => header < 0)) return () => 0;
  const frequencies = Float64Array.from(blocks, ({ frequency }) => frequency);
  const work = Float64Array.from(blocks, ({ insts }) => {
    let sum = 0;
    for (const { extra } of insts) sum += extra?.kind === "call" ? callWork : 1;
    return sum;
  });
  const shares = loopShares(nest, frequencies, work);
  const timeAt = (heat: number, b: number): number =>
    nest.header[b]! < 0 ? 0 : timeBytes(sizeTime, { heat, times: 1, share: shares[b]! }, 1);
  const times = new Map(blocks.map((block, b) => [block, timeAt(block.frequency, b)]));
  return (block) => times.get(block)!;
}
