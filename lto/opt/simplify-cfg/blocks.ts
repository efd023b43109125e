/** Rules of `simplify-cfg` on blocks as wholes: those that continue their only predecessors, and those that do nothing. */
import { foldSingleEntryPhis, renamePhiEntries, replaceSuccessor } from "../../ir/cfg-edit.js";
import { type Block, Op } from "../../ir/instructions.js";
import { canRedirect, type Graph, hasMovableEdges, isPinned, onlyIncoming, type Plan } from "./graph.js";

/** A block after the only one that leads to it, which leads nowhere else, becomes its continuation. */
export function mergeBlocks(block: Block, graph: Graph): Plan | null {
  const before = onlyIncoming(block, graph);
  if (before === null || before === block || before.terminator.op !== Op.Br || isPinned(block, graph))
    return null;
  return ({ editor, kill }) => {
    foldSingleEntryPhis(editor, block);
    editor.erase(before.terminator);
    for (const target of new Set(block.successors)) renamePhiEntries(target, block, before);
    editor.moveTail(block, 0, before);
    kill(block);
  };
}

/** Phis of a block that has one way in are what comes that way. */
export function foldPhis(block: Block, graph: Graph): Plan | null {
  if (block.insts[0]!.op !== Op.Phi || onlyIncoming(block, graph) === null || block.addressTaken) return null;
  return ({ editor }) => foldSingleEntryPhis(editor, block);
}

/**
 * Edges to a block that does nothing but branch on lead to its target. Where that has phis, blocks before it are
 * where copies go, and where many ways to a loop's head meet: they stay, unless they have one edge, from a block that
 * branches to the target as well and passes the same.
 */
export function forwardEmpty(block: Block, graph: Graph): Plan | null {
  const { terminator, insts } = block;
  if (insts.length > 1 || terminator.op !== Op.Br || isPinned(block, graph)) return null;
  const target = terminator.blocks[0]!;
  if (target === block) return null;
  const edges = graph.incoming(block);
  if (edges.length === 0) return null;
  if (target.insts[0]!.op === Op.Phi && (edges.length > 1 || !edges[0]!.successors.includes(target)))
    return null;
  const from = new Set(edges);
  for (const edge of from) if (!hasMovableEdges(edge) || !canRedirect(edge, block, target)) return null;
  return ({ editor, kill }) => {
    for (const edge of from) replaceSuccessor(editor, edge, block, target);
    kill(block);
  };
}
