/**
 * unreachable-blocks: removes the blocks that no path from the entry reaches.
 *
 * Why: what is unreachable may be anything (a value may be used before its definition there), so passes that follow
 * would have to look out for it at every step. Code generation relies on it.
 *
 * Method: one search over successors; phis of blocks that stay lose the edges from those that do not. A block whose
 * address is taken keeps its label, before a lone `unreachable`. Linear in blocks, edges and phis.
 * Breaks if: control may enter a block without an edge that shows it. An address alone is no such way: an indirect
 * branch lists all its destinations.
 */

import { endUnreachable, removeBlocks } from "../ir/cfg-edit.js";
import { dropRecords } from "../ir/debug-reconcile.js";
import type { Editor } from "../ir/editor.js";
import { type Block, makeInst, Op } from "../ir/instructions.js";
import { raw } from "../ir/raw.js";
import { voidType } from "../ir/types.js";
import type { FunctionPass } from "../pass/pass.js";

/** 1 for the blocks that a path from the entry reaches. Numbers the blocks. */
function reachedBlocks(blocks: readonly Block[]): Uint8Array {
  for (let b = 0; b < blocks.length; b++) blocks[b]!.id = b;
  const reached = new Uint8Array(blocks.length);
  const work: Block[] = [blocks[0]!];
  reached[0] = 1;
  for (let block = work.pop(); block !== undefined; block = work.pop()) {
    const { successors } = block;
    for (let i = 0; i < successors.length; i++) {
      const next = successors[i]!;
      if (reached[next.id] === 1) continue;
      reached[next.id] = 1;
      work.push(next);
    }
  }
  return reached;
}

function dropEdges(block: Block, reached: Uint8Array): void {
  for (const phi of block.insts) {
    if (phi.op !== Op.Phi) break;
    if (phi.blocks.every((from) => reached[from.id] === 1)) continue;
    raw(phi).operands = phi.operands.filter((_, i) => reached[phi.blocks[i]!.id] === 1);
    raw(phi).blocks = phi.blocks.filter((from) => reached[from.id] === 1);
  }
}

/** Nothing is left of it but the label. */
const isLabel = ({ addressTaken, insts }: Block): boolean =>
  addressTaken && insts.length === 1 && insts[0]!.op === Op.Unreachable;

/** Blocks that no path reaches, but for labels that are nothing else. Numbers the blocks. */
export function unreachedBlocks(blocks: readonly Block[]): Block[] {
  const reached = reachedBlocks(blocks);
  return blocks.filter((block) => reached[block.id] === 0 && !isLabel(block));
}

/** Removes them from a body that is edited. */
export function removeUnreached(editor: Editor): void {
  const unreached = unreachedBlocks(editor.body.blocks);
  if (unreached.length === 0) return;
  for (const block of unreached) if (block.addressTaken) endUnreachable(editor, block.insts[0]!);
  removeBlocks(
    editor,
    unreached.filter((block) => !block.addressTaken),
  );
}

export const unreachableBlocks: FunctionPass = {
  name: "unreachable-blocks",
  level: "function",
  description: "removes the blocks that no path from the entry reaches",
  counters: { removed: "unreachable blocks removed" },
  requires: [],
  preserves: [],
  run(_, context) {
    const { blocks } = context.view();
    const reached = reachedBlocks(blocks);
    let removed = 0;
    for (const block of blocks) if (reached[block.id] === 0 && !isLabel(block)) removed++;
    if (removed === 0) return false;
    const body = context.rewrite();
    for (const block of body.blocks)
      if (reached[block.id] === 1) dropEdges(block, reached);
      else if (!isLabel(block)) {
        dropRecords(block);
        raw(block).insts = [];
        block.append(makeInst(Op.Unreachable, voidType, [], null));
      }
    body.blocks = body.blocks.filter((block) => reached[block.id] === 1 || block.addressTaken);
    context.count("removed", removed);
    return true;
  },
};
