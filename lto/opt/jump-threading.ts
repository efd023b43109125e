/**
 * jump-threading: where control comes from decides where it goes on, though what came with it is used behind.
 *
 *     join: %code = phi i32 [ 0, %good ], [ 7, %bad ]                 good: br label %next
 *           %list = phi ptr [ %made, %good ], [ null, %bad ]          bad:  br label %failed
 *           switch i32 %code, label %next [ i32 7, %failed ]     →    next:   … %made
 *     next:   … %list                                                 failed: …
 *     failed: …
 *
 * Why: a function that tells by its result whether it failed is inlined, and its caller looks at the result. What the
 * function has made is then one value where all went well, not that or nothing.
 *
 * Method: `simplify-cfg` leads such edges past blocks whose phis only phis behind them use. Here what is used otherwise is
 * passed on by phis first: each use has to be below one of the block's successors, which no other edge enters. A look at
 * the ends of blocks finds candidates, which are rare; for these the body is walked once for uses. Linear.
 *
 * Proof obligations: those of `thread-edges.ts`. Heads of loops stay: a loop would have two (`loop-rotate`).
 */
import type { DominatorTree } from "../analysis/dominators.js";
import { phisOf } from "../ir/cfg-edit.js";
import type { Block } from "../ir/instructions.js";
import { dominators } from "../pass/analyses.js";
import type { FunctionPass } from "../pass/pass.js";
import { forgetLoop } from "./simplify-cfg/graph.js";
import { decisionOf, edgesOf, passOn, thread, withPassableUses } from "./thread-edges.js";
import { removeUnreached } from "./unreachable-blocks.js";

export const jumpThreading: FunctionPass = {
  name: "jump-threading",
  level: "function",
  description: "leads edges past blocks whose branch they decide, and passes on what came with them",
  counters: { threaded: "edges led past a block" },
  requires: [dominators],
  preserves: [],
  run(fn, context) {
    if (fn.attributes.fn.has("naked")) return false;
    const view = context.view();
    const found = view.blocks.filter((block) => decisionOf(block) !== null);
    const decided = found.filter((block) => edgesOf(decisionOf(block)!, fn).length > 0);
    if (decided.length === 0) return false;
    const tree = context.ofBody(dominators, view);
    const mostPhis = context.goal === "speed" ? Number.POSITIVE_INFINITY : mostPhisForSize;
    const isJoin = (block: Block): boolean =>
      block !== view.blocks[0] && phisOf(block).length <= mostPhis && !isHead(block, tree);
    const joins = withPassableUses(decided.filter(isJoin), view, tree);
    if (joins.length === 0) return false;
    const editor = fn.edit();
    for (const block of joins) passOn(editor, block, tree);
    let threaded = 0;
    for (const block of joins) threaded += thread(editor, block, forgetLoop);
    removeUnreached(editor);
    context.count("threaded", threaded);
    return true;
  },
};

/** More are copied at two places where they were at one: bzip2's decoder, with twenty, becomes 5% larger. */
const mostPhisForSize = 4;

/** Some edge comes back to the block. */
const isHead = (block: Block, tree: DominatorTree): boolean =>
  phisOf(block)[0]!.blocks.some((from) => tree.dominates(block.id, from.id));
