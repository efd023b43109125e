/**
 * fold-branches: a branch whose ways all lead to one block becomes unconditional.
 *
 *     br i1 %c, label %a, label %a      →      br label %a
 *     indirectbr ptr %p, [label %a]     →      br label %a
 *
 * Why: selection makes one edge of a branch; of the entries that each phi of the target has, one stays. And what is moved on an edge
 * goes before the only branch to it, which must not read a register then. To go to a block that is not listed is
 * undefined.
 * Linear in blocks and in the phis of targets. Which blocks follow which does not change, only how often.
 */

import { type Block, makeInst, Op } from "../ir/instructions.js";
import { raw } from "../ir/raw.js";
import { dominators, loops } from "../pass/analyses.js";
import type { FunctionPass } from "../pass/pass.js";

const hasOneTarget = ({ terminator: { op, blocks } }: Block): boolean =>
  (op === Op.CondBr || op === Op.IndirectBr) &&
  blocks.length > 0 &&
  blocks.every((target) => target === blocks[0]);

function fold(block: Block): void {
  const { terminator } = block;
  const target = terminator.blocks[0]!;
  const surplus = terminator.blocks.length - 1;
  raw(block).insts.pop();
  block.append(makeInst(Op.Br, terminator.type, [], null, [target]));
  for (const phi of target.insts) {
    if (phi.op !== Op.Phi) break;
    for (let n = surplus; n > 0; n--) {
      const index = phi.blocks.indexOf(block);
      raw(phi).blocks.splice(index, 1);
      raw(phi).operands.splice(index, 1);
    }
  }
}

export const foldBranches: FunctionPass = {
  name: "fold-branches",
  level: "function",
  description: "makes branches with one target unconditional",
  counters: { folded: "branches folded" },
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
