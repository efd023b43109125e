/**
 * loop-rotate: a loop whose condition holds when it is entered is entered behind the condition, which becomes its end.
 *
 *     entry: br label %head                                    entry: br label %body
 *     head:  %i = phi i32 [ 0, %entry ], [ %j, %body ]         body:  %k = phi i32 [ 0, %entry ], [ %i, %head ]
 *            %c = icmp ne i32 %i, 61                     →            …  %j = add i32 %k, 1  br label %head
 *            br i1 %c, label %body, label %end                 head:  %i = phi i32 [ %j, %body ]
 *     body:  …  %j = add i32 %i, 1  br label %head                    %c = icmp ne i32 %i, 61
 *                                                                     br i1 %c, label %body, label %end
 *
 * Why: compilers for size leave loops as they are written, since others need a copy of the condition. These need none, and
 * have a jump less at their entry, and at the end of each round where layout finds no better place for the condition.
 *
 * Method: `thread-edges.ts` on the edges that enter a loop, if they all are decided and lead to one block of it. Linear.
 *
 * Why here: after passes that find bounds of counters from the condition above their uses.
 *
 * Proof obligations: those of `thread-edges.ts`. The loop has one head after it: all that entered by the old head goes to
 * the same block, which only the old head led to, and which dominates an end of the loop; no edge back is led elsewhere.
 * What was asked of the loop (`llvm.loop`) is asked at its new end, if it was at each old one: of cycles by the others
 * nobody said that they end. Edges that move come from where no new head leads to: what their branches say of loops holds.
 */
import type { DominatorTree } from "../analysis/dominators.js";
import { phisOf } from "../ir/cfg-edit.js";
import { type LoopHints, makeHints, noHints, noLoopHints, withHints } from "../ir/hints.js";
import type { Block, Inst } from "../ir/instructions.js";
import type { Func } from "../ir/module.js";
import { dominators } from "../pass/analyses.js";
import type { FunctionPass } from "../pass/pass.js";
import { forgetLoop } from "./simplify-cfg/graph.js";
import { type Decision, decisionOf, edgesOf, passOn, thread, withPassableUses } from "./thread-edges.js";

export const loopRotate: FunctionPass = {
  name: "loop-rotate",
  level: "function",
  description: "enters loops behind conditions that hold then",
  counters: { rotated: "loops" },
  requires: [dominators],
  preserves: [],
  run(fn, context) {
    if (fn.attributes.fn.has("naked") || fn.attributes.fn.has("presplitcoroutine")) return false;
    const view = context.view();
    const decided = view.blocks.flatMap((block, b) => {
      const decision = b === 0 ? null : decisionOf(block);
      return decision !== null && edgesOf(decision, fn).length > 0 ? [decision] : [];
    });
    if (decided.length === 0) return false;
    const tree = context.ofBody(dominators, view);
    const entries = new Int32Array(view.blocks.length);
    for (const { successors } of view.blocks) for (const next of successors) entries[next.id]!++;
    const found = decided.filter((decision) => isRotatable(decision, fn, tree, entries));
    const heads = withPassableUses(
      found.map(({ block }) => block),
      view,
      tree,
    );
    if (heads.length === 0) return false;
    const editor = fn.edit();
    for (const head of heads) passOn(editor, head, tree);
    for (const head of heads) {
      const ends = phisOf(head)[0]!.blocks.filter((from) => tree.dominates(head.id, from.id));
      if (thread(editor, head) === 0) continue;
      moveLoopHint(
        ends.map(({ terminator }) => terminator),
        head.terminator,
      );
      context.count("rotated");
    }
    return true;
  },
};

/**
 * A loop whose condition is known to hold when it is entered: it can be entered behind its head, and ends with what was
 * its start. What control enters it by is decided, nothing else is, and all of it leads to the same block of the loop, which
 * only the head leads to.
 */
function isRotatable(decision: Decision, fn: Func, tree: DominatorTree, edgesInto: Int32Array): boolean {
  const { block, phi } = decision;
  const edges = edgesOf(decision, fn);
  const target = edges[0]?.target;
  if (target === undefined || edges.some((edge) => edge.target !== target)) return false;
  const isBack = (from: Block): boolean => tree.dominates(block.id, from.id);
  const entries = phi.blocks.filter((from) => !isBack(from));
  if (edges.length !== entries.length || edges.some(({ from }) => isBack(from))) return false;
  return (
    !target.addressTaken &&
    // If it is the head of a loop inside, both would have the same.
    edgesInto[target.id] === 1 &&
    phi.blocks.some((from) => isBack(from) && tree.dominates(target.id, from.id))
  );
}

/** What was asked of a loop at its old ends is asked at its new one, if all of them say so. */
function moveLoopHint(ends: readonly Inst[], end: Inst): void {
  const loop = agreed(ends.map(({ hints }) => hints?.loop ?? null));
  for (const old of ends) forgetLoop(old);
  if (loop === null) return;
  end.hints = end.hints === null ? makeHints({ ...noHints, loop }) : withHints(end.hints, { loop });
}
function agreed(said: readonly (LoopHints | null)[]): LoopHints | null {
  const loops = said.filter((loop) => loop !== null);
  const [first] = loops;
  if (first === undefined || loops.length < said.length) return null;
  const names = Object.keys(noLoopHints) as (keyof LoopHints)[];
  return loops.every((loop) => names.every((name) => loop[name] === first[name]))
    ? first
    : { ...noLoopHints, mustProgress: loops.every(({ mustProgress }) => mustProgress) };
}
