/**
 * Loops that are left in several ways, for those who copy them.
 *
 * Problem: what the loop computes is used behind it as what the round in which it was left computed. With one way out that
 * is the last round; with several it depends on the way.
 *
 * Method: the loop is closed first: what is used outside is passed on by phis of the blocks to which control leaves it, so
 * that a round that is copied adds its entries there. Linear in the loop and the uses of its values.
 *
 * Proof obligations: only a block that all edges enter from the loop, and that dominates the use, gets a phi; the value
 * dominates that block, as both dominate the use and control comes into the loop by its header alone.
 */
import type { DominatorTree } from "../../analysis/dominators.js";
import { incomingEdges, phisOf } from "../../ir/cfg-edit.js";
import { recordsIn } from "../../ir/debug-records.js";
import type { Editor } from "../../ir/editor.js";
import { type Block, type Inst, makeInst, Op } from "../../ir/instructions.js";
import type { Value } from "../../ir/values.js";
import { type ExitEdge, exitEdges, type Loop } from "../loops/loop.js";

/**
 * Lets values of a loop be used outside by phis alone, at the end of edges out of it.
 * @param tree whose numbers the blocks have
 * @returns false where that cannot be; nothing is changed then
 */
export function closeLoop(editor: Editor, loop: Loop, tree: DominatorTree): boolean {
  const inside = new Set(loop.blocks);
  const edges = exitEdges(loop);
  const targets = [...new Set(edges.map(({ to }) => to))].filter((to) =>
    incomingEdges(editor, to).every((block) => inside.has(block)),
  );
  const found: (readonly [value: Inst, target: Block, user: Inst, slot: number])[] = [];
  let isClosable = true;
  for (const { insts } of loop.blocks)
    for (const inst of insts)
      editor.uses.forEach(inst, (user, slot) => {
        const block = user.op === Op.Phi ? user.blocks[slot]! : user.parent!;
        if (inside.has(block)) return;
        const target = targets.find((to) => tree.dominates(to.id, block.id));
        if (target === undefined || inst.type.kind === "token") isClosable = false;
        else found.push([inst, target, user, slot]);
      });
  if (!isClosable) return false;
  const made = new Map<Block, Map<Inst, Inst>>();
  for (const [value, target, user, slot] of found) {
    let phis = made.get(target);
    if (phis === undefined) made.set(target, (phis = new Map()));
    let phi = phis.get(value);
    if (phi === undefined) {
      const from = edges.filter(({ to }) => to === target).map((edge) => edge.from);
      const values = from.map((): Value => value);
      phi = editor.prependPhi(makeInst(Op.Phi, value.type, values, null, from), target);
      phis.set(value, phi);
    }
    editor.setOperand(user, slot, phi);
  }
  if (editor.body.hasDebug) forgetOutside(editor, loop);
  return true;
}

/** What is said outside of values of the loop is not known: it is of the round in which control left. */
function forgetOutside(editor: Editor, { blocks }: Loop): void {
  const own = new Set(blocks.flatMap(recordsIn));
  for (const { insts } of blocks)
    for (const inst of insts)
      for (const record of [...editor.recordsOf(inst)]) if (!own.has(record)) record.forget();
}

/** What a phi behind the loop gets by an edge. */
type Entry = readonly [phi: Inst, value: Value, from: Block];

/** What phis get by edges of the first round. */
export function earlyEntries(early: readonly ExitEdge[]): readonly Entry[] {
  const entries: Entry[] = [];
  for (const target of new Set(early.map(({ to }) => to))) {
    const sources = new Set(early.filter(({ to }) => to === target).map(({ from }) => from));
    for (const phi of phisOf(target))
      for (let i = 0; i < phi.operands.length; i++)
        if (sources.has(phi.blocks[i]!)) entries.push([phi, phi.operands[i]!, phi.blocks[i]!]);
  }
  return entries;
}

/** Lets a copied round pass on to phis what the first one does. */
export function addRound(
  editor: Editor,
  entries: readonly Entry[],
  inRound: (value: Value) => Value,
  blockInRound: (block: Block) => Block,
): void {
  for (const [phi, value, from] of entries) editor.addIncoming(phi, inRound(value), blockInRound(from));
}
