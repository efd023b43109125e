/**
 * fold-branches: a conditional branch whose both ways lead to one block becomes unconditional.
 *
 *     br i1 %c, label %a, label %a      →      br label %a
 *
 * Why: selection makes one edge of a branch; of the two entries that each phi of the target has, one goes.
 * Linear in blocks and in the phis of targets. Which blocks follow which does not change, only how often.
 */

import { type Block, makeInst, Op } from "../ir/instructions.js";
import { raw } from "../ir/raw.js";
import { dominators, loops } from "../pass/analyses.js";
import type { FunctionPass } from "../pass/pass.js";

const hasOneTarget = ({ terminator: { op, blocks } }: Block): boolean =>
  op === Op.CondBr && blocks[0] === blocks[1];

function fold(block: Block): void {
  const { terminator } = block;
  const target = terminator.blocks[0]!;
  raw(block).insts.pop();
  block.append(makeInst(Op.Br, terminator.type, [], null, [target]));
  for (const phi of target.insts) {
    if (phi.op !== Op.Phi) break;
    const index = phi.blocks.indexOf(block);
    raw(phi).blocks.splice(index, 1);
    raw(phi).operands.splice(index, 1);
  }
}

export const foldBranches: FunctionPass = {
  name: "fold-branches",
  level: "function",
  description: "makes conditional branches with one target unconditional",
  counters: { folded: "conditional branches folded" },
  requires: [],
  preserves: [dominators, loops],
  run(_, context) {
    const folded = context.view().blocks.filter(hasOneTarget);
    if (folded.length === 0) return false;
    context.rewrite();
    for (const block of folded) fold(block);
    context.count("folded", folded.length);
    return true;
  },
};
