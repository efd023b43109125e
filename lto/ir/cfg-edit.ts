/**
 * Changes of a body's control flow that keep phis and use lists right.
 *
 * A phi has one entry for each edge into its block, so a predecessor that branches twice to one block has two entries
 * there, with equal values. Everything here keeps that; what a new edge passes to phis is the caller's to say.
 *
 * Edges and predecessors are found by the use lists of blocks: the cost is that of what changes, plus the phis of the
 * blocks at both ends. What breaks it: blocks with an address (`Block.addressTaken`) have entries that no edge shows.
 */
import { recordsIn } from "./debug-records.js";
import type { Editor } from "./editor.js";
import { Block, type Inst, makeInst, Op } from "./instructions.js";
import { raw } from "./raw.js";
import { voidType } from "./types.js";
import { type Constant, ConstUndef, type Value } from "./values.js";

/** Phis of a block, as a copy that stays when they change. */
export function phisOf(block: Block): Inst[] {
  const phis: Inst[] = [];
  for (const inst of block.insts) {
    if (inst.parent !== block) continue;
    if (inst.op !== Op.Phi) break;
    phis.push(inst);
  }
  return phis;
}

/** The block at the start of each edge into `block`; one with several edges is there several times. */
export const incomingEdges = (editor: Editor, block: Block): Block[] =>
  editor.users(block).map((terminator) => terminator.parent!);
/** Each predecessor once. */
export const predecessors = (editor: Editor, block: Block): Block[] => [
  ...new Set(incomingEdges(editor, block)),
];
/** The only predecessor, whatever the number of its edges; null if there are none or several. */
export function uniquePredecessor(editor: Editor, block: Block): Block | null {
  const first = editor.uses.first(block);
  if (first === null) return null;
  let only = true;
  editor.uses.forEach(block, (user) => {
    if (user !== first) only = false;
  });
  return only ? first.parent : null;
}

/** Removes the entry of one edge from `from` from the phis of `block`. The phis stay, even without entries. */
export function removePhiEntry(editor: Editor, block: Block, from: Block): void {
  for (const phi of phisOf(block)) {
    const at = phi.blocks.indexOf(from);
    if (at >= 0) editor.removeIncoming(phi, at);
  }
}
/** Lets all entries of `block`'s phis that come from `from` come from `to`. Good without use lists as well. */
export function renamePhiEntries(block: Block, from: Block, to: Block): void {
  for (const inst of block.insts) {
    if (inst.op !== Op.Phi) break;
    const { blocks } = raw(inst);
    for (let i = 0; i < blocks.length; i++) if (blocks[i] === from) blocks[i] = to;
  }
}
/** Replaces phis that have one entry by its value; one that only passes on itself is poison. */
export function foldSingleEntryPhis(editor: Editor, block: Block): void {
  for (const phi of phisOf(block)) {
    if (phi.operands.length !== 1) continue;
    const value = phi.operands[0]!;
    editor.replace(phi, value === phi ? new ConstUndef(phi.type, true) : value);
  }
}

/**
 * Puts another terminator at the end of a block. Phis lose the entries of edges that are gone.
 * @param passed what a new edge passes to a phi; where a target with phis had no edge from this block before
 */
export function replaceTerminator<I extends Inst>(
  editor: Editor,
  block: Block,
  terminator: I,
  passed?: (phi: Inst) => Value,
): I {
  const before = block.insts.length > 0 ? [...block.terminator.blocks] : [];
  if (block.insts.length > 0) editor.erase(block.terminator);
  editor.append(terminator, block);
  for (const target of terminator.blocks) {
    const at = before.indexOf(target);
    if (at >= 0) before.splice(at, 1);
    else addPhiEntry(editor, target, block, passed);
  }
  for (const target of before) removePhiEntry(editor, target, block);
  return terminator;
}

function addPhiEntry(editor: Editor, target: Block, from: Block, passed?: (phi: Inst) => Value): void {
  for (const phi of phisOf(target)) {
    const known = phi.blocks.indexOf(from);
    const value = known >= 0 ? phi.operands[known]! : passed?.(phi);
    if (value === undefined) throw new Error(`@${editor.fn.name}: an edge passes nothing to a phi`);
    editor.addIncoming(phi, value, from);
  }
}

/**
 * A way leads past a block, and past what is said there of variables. What is said elsewhere of the block's values is not
 * known any more where they may not have been computed.
 */
function passBy(editor: Editor, block: Block, to: Block): void {
  const own = recordsIn(block);
  editor.forgetAt(to, own);
  const inside = new Set(own);
  for (const inst of block.insts)
    for (const record of editor.recordsOf(inst)) if (!inside.has(record)) record.forget();
}

/** Lets edge `index` out of a block lead elsewhere, without a word to phis, which are the caller's affair. */
export function redirectEdge(editor: Editor, { terminator }: Block, index: number, to: Block): void {
  editor.uses.replaceSuccessor(terminator, index, terminator.blocks[index]!, to);
  raw(terminator).blocks[index] = to;
}

/** Makes successor `index` of a block's terminator another block. @param passed see `replaceTerminator` */
export function setSuccessor(
  editor: Editor,
  block: Block,
  index: number,
  to: Block,
  passed?: (phi: Inst) => Value,
): void {
  const from = block.terminator.blocks[index]!;
  if (from === to) return;
  if (editor.body.hasDebug) passBy(editor, from, to);
  addPhiEntry(editor, to, block, passed);
  redirectEdge(editor, block, index, to);
  removePhiEntry(editor, from, block);
}

/** Makes all edges from a block to `from` lead to `to`. */
export function replaceSuccessor(
  editor: Editor,
  block: Block,
  from: Block,
  to: Block,
  passed?: (phi: Inst) => Value,
): void {
  const { length } = block.terminator.blocks;
  for (let i = 0; i < length; i++)
    if (block.terminator.blocks[i] === from) setSuccessor(editor, block, i, to, passed);
}

/** A branch to one block. */
export const jumpTo = (target: Block): Inst => makeInst(Op.Br, voidType, [], null, [target]);

/** Moves `at` and what follows into a new block right after, to which the block then branches. */
export function splitBlock(editor: Editor, at: Inst): Block {
  const block = at.parent!;
  const rest = editor.addBlock(new Block(), block);
  editor.moveTail(block, editor.positionOf(at), rest);
  for (const target of new Set(rest.successors)) renamePhiEntries(target, block, rest);
  editor.append(jumpTo(rest), block);
  return rest;
}

/** Gives an edge a block of its own, after its start. */
export function splitEdge(editor: Editor, from: Block, index: number): Block {
  const to = from.terminator.blocks[index]!;
  const middle = editor.addBlock(new Block(), from);
  editor.append(jumpTo(to), middle);
  redirectEdge(editor, from, index, middle);
  for (const phi of phisOf(to)) {
    const at = phi.blocks.indexOf(from);
    if (at >= 0) editor.setIncomingBlock(phi, at, middle);
  }
  return middle;
}

/**
 * Appends a block to its only predecessor, if that does nothing but branch there; the block is gone then.
 * @returns whether it was done
 */
export function mergeIntoPredecessor(editor: Editor, block: Block): boolean {
  const before = uniquePredecessor(editor, block);
  if (before === null || before === block || before.terminator.op !== Op.Br) return false;
  if (block.addressTaken || block === editor.body.blocks[0]) return false;
  foldSingleEntryPhis(editor, block);
  editor.erase(before.terminator);
  for (const target of new Set(block.successors)) renamePhiEntries(target, block, before);
  editor.moveTail(block, 0, before);
  removeBlocks(editor, [block]);
  return true;
}

/**
 * Removes blocks that no block that stays branches to. Phis that stay lose their entries; whatever else that stays
 * uses their values (it is unreachable too) gets poison. Linear in what goes plus the blocks of the body: remove many
 * at once.
 */
export function removeBlocks(editor: Editor, blocks: Iterable<Block>): void {
  const gone = new Set(blocks);
  for (const block of gone) {
    if (block.insts.length === 0) continue;
    for (const target of block.successors) if (!gone.has(target)) removePhiEntry(editor, target, block);
  }
  for (const block of gone)
    for (const from of editor.users(block))
      if (!gone.has(from.parent!))
        throw new Error(`@${editor.fn.name}: a block with predecessors is removed`);
  editor.dropBlocks((block) => gone.has(block));
}

/** Ends a block before `at`, which is never reached: what follows goes, with its edges. */
export function endUnreachable(editor: Editor, at: Inst): void {
  const block = at.parent!;
  const from = editor.positionOf(at);
  for (const target of block.successors) removePhiEntry(editor, target, block);
  const tail = block.insts.slice(from).reverse();
  for (const inst of tail) {
    if (inst.type.kind !== "void") editor.replaceAllUses(inst, poisonOf(inst));
    editor.erase(inst);
  }
  editor.append(makeInst(Op.Unreachable, voidType, [], null), block);
}
const poisonOf = (inst: Inst): Constant => new ConstUndef(inst.type, true);
