/**
 * For speed: in which block the constants that a block wants in registers are made.
 *
 * That is the block in front of the largest loop around it without calls: there a register is free for the constant, or the
 * allocator makes it anew where there is none. A loop that can be entered elsewhere than by its header, or by several
 * blocks, has no such block. Linear in edges times how deep loops are nested.
 */
import type { LoopNest } from "../../analysis/loop-nest.js";
import { type Block, isCall } from "../../ir/instructions.js";
import { intrinsicOf } from "../../ir/intrinsics.js";

const isTrueCall = (block: Block): boolean =>
  block.insts.some((inst) => {
    // Assembly says which registers it takes.
    if (!isCall(inst) || inst.operands[0]!.valueKind === "asm") return false;
    const intrinsic = intrinsicOf(inst.operands[0]!);
    return intrinsic === null || intrinsic.name.startsWith("mem");
  });

/** What is not known of a loop yet, and what has no home. */
const unknown = -1;
const none = -2;

/** @returns by `Block.id`, the id of the block where constants are made; its own outside such loops */
export function constantHomes(blocks: readonly Block[], { header, outer, depth }: LoopNest): Int32Array {
  /** By header: the only block outside that leads there. */
  const entry = new Int32Array(blocks.length).fill(unknown);
  const outward = (loop: number): number => outer[loop]!;
  const loopsOf = function* (block: number): Generator<number> {
    for (let loop = header[block]!; loop >= 0; loop = outward(loop)) yield loop;
  };
  const contains = (loop: number, block: number): boolean => {
    for (const around of loopsOf(block)) if (around === loop) return true;
    return false;
  };
  for (const block of blocks) {
    if (header[block.id]! >= 0 && isTrueCall(block)) for (const loop of loopsOf(block.id)) entry[loop] = none;
    if (header[block.id]! >= 0 && block.addressTaken)
      for (const loop of loopsOf(block.id)) entry[loop] = none;
    for (const { id } of block.successors)
      for (const loop of loopsOf(id)) {
        if (depth[id]! <= depth[block.id]! && contains(loop, block.id)) break;
        if (contains(loop, block.id)) continue;
        entry[loop] = id === loop && (entry[loop] === unknown || entry[loop] === block.id) ? block.id : none;
      }
  }
  return Int32Array.from(blocks, ({ id }) => {
    let home = id;
    for (const loop of loopsOf(id)) {
      if (entry[loop]! < 0) break;
      home = entry[loop]!;
    }
    return home;
  });
}
