/**
 * split-edges: every edge from a block with several successors to a block with phis gets a block of its own. So does
 * every edge on which an invoke returns, unless nothing else leads to its target: what completes the call stands there.
 *
 * Why: then the values of phis are passed only on edges out of a block with a single successor, whose end has room for
 * the moves. Edges of indirect branches cannot be split; demote-phis has left no phis after them.
 * Linear in edges and phis.
 */
import { type Block, type Body, makeInst, Op } from "../../ir/instructions.js";
import { raw } from "../../ir/raw.js";
import { voidType } from "../../ir/types.js";
import type { FunctionPass } from "../../pass/pass.js";
import { newBlock } from "./blocks.js";
import type { BlockOrder, LoweringContext } from "./context.js";

/** Blocks that an invoke returns to and that something else leads to as well. */
function sharedReturns({ blocks }: Body): Set<Block> {
  const shared = new Set<Block>();
  if (!blocks.some(({ terminator }) => terminator.op === Op.Invoke)) return shared;
  const entered = new Set<Block>();
  for (const block of blocks) {
    if (block.addressTaken) shared.add(block);
    for (const next of new Set(block.successors)) {
      if (entered.has(next)) shared.add(next);
      entered.add(next);
    }
  }
  return shared;
}

/** @returns the number of blocks made */
function splitEdgesOf(body: Body, block: Block, shared: ReadonlySet<Block>, order: BlockOrder): number {
  const { terminator } = block;
  if (terminator.op === Op.Br || terminator.op === Op.IndirectBr) return 0;
  const distinct = new Set(terminator.blocks);
  if (distinct.size === 1 && terminator.op !== Op.Switch && terminator.op !== Op.Invoke) return 0;
  let split = 0;
  for (const target of distinct) {
    const phi = target.insts[0]!;
    const returns = terminator.op === Op.Invoke && target === terminator.blocks[0];
    const joins = phi.op === Op.Phi && (phi.operands.length > 1 || terminator.op === Op.Invoke);
    if (!joins && !(returns && shared.has(target))) continue;
    splitEdge(body, block, target, order);
    split++;
  }
  return split;
}

/** Puts a block between two, for whatever leads from one to the other. */
export function splitEdge(body: Body, block: Block, target: Block, order: BlockOrder): void {
  const { terminator } = block;
  const middle = newBlock(body);
  order.after(block, middle);
  middle.append(makeInst(Op.Br, voidType, [], null, [target]));
  raw(terminator).blocks = terminator.blocks.map((b) => (b === target ? middle : b));
  replaceIncoming(target, block, middle);
}

/** The phis of `target` get one entry from `to` for those that they had from `from`. */
function replaceIncoming(target: Block, from: Block, to: Block): void {
  for (const phi of target.insts) {
    if (phi.op !== Op.Phi) break;
    const keep = phi.blocks.indexOf(from);
    for (let i = phi.blocks.length - 1; i > keep; i--)
      if (phi.blocks[i] === from) {
        raw(phi).blocks.splice(i, 1);
        raw(phi).operands.splice(i, 1);
      }
    raw(phi).blocks[keep] = to;
  }
}

export const splitEdges: FunctionPass<LoweringContext> = {
  name: "split-edges",
  level: "function",
  description: "gives each edge from a branching block to a block with phis a block of its own",
  counters: { split: "edges split" },
  requires: [],
  preserves: [],
  run(_, context) {
    const body = context.rewrite();
    const shared = sharedReturns(body);
    let split = 0;
    for (const block of [...body.blocks]) split += splitEdgesOf(body, block, shared, context.order);
    if (split > 0) context.count("split", split);
    return split > 0;
  },
};
