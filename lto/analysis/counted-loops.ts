/**
 * What constants say of loops that are run through more often than estimates assume (`branch-flow.ts`): how much hotter the
 * blocks in them are. Linear in blocks times loop depth, and some rounds of each counted loop.
 */
import { type Block, Op } from "../ir/instructions.js";
import { isInLoop } from "./branch-flow.js";
import type { LoopNest } from "./loop-nest.js";
import { tripCount } from "./trip-count.js";

/** Executions that estimates assume of a loop. */
const estimated = 8;
/** More rounds are not counted: what runs so often is as hot as anything. */
const mostRounds = 64;

/**
 * By numbered block, how many times as often it runs as is estimated: 1 or more.
 * @returns null where nothing is known to run more often
 */
export function countedLoops(blocks: readonly Block[], nest: LoopNest): Float64Array | null {
  let byHeader: Map<number, number> | null = null;
  for (let b = 0; b < blocks.length; b++) {
    const header = nest.header[b]!;
    if (header < 0) continue;
    const rounds = roundsOf(blocks, nest, b, header);
    if (rounds === null) continue;
    byHeader ??= new Map();
    // What leaves first.
    byHeader.set(header, Math.min(byHeader.get(header) ?? mostRounds, rounds));
  }
  if (byHeader === null) return null;
  const times = new Float64Array(blocks.length).fill(1);
  for (let b = 0; b < blocks.length; b++)
    for (let h = nest.header[b]!; h >= 0; h = nest.outer[h]!)
      times[b]! *= Math.max((byHeader.get(h) ?? estimated) / estimated, 1);
  return times;
}

/** Rounds of the block's innermost loop until its branch leaves it; null: it does not, or nobody knows. */
function roundsOf(blocks: readonly Block[], nest: LoopNest, b: number, header: number): number | null {
  const from = blocks[b]!;
  if (from.terminator.op !== Op.CondBr) return null;
  const stays = from.terminator.blocks.map(({ id }) => isInLoop(nest, id, header));
  if (stays[0] === stays[1]) return null;
  const isBack = ({ id }: Block): boolean => isInLoop(nest, id, header);
  return tripCount(blocks[header]!, isBack, { from, index: stays[0] === true ? 1 : 0 }, mostRounds);
}
