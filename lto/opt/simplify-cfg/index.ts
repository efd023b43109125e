/**
 * simplify-cfg: fewer blocks, branches and edges for the same paths.
 *
 * Why: constants that came through calls decide branches; inlining and other passes leave blocks that only jump.
 *
 * Method: rules (a file a topic) look at a block and say what could be done with it. The body is first only looked at;
 * with the first rule that finds something it gets use lists, and its blocks are swept, each until no rule finds more,
 * as long as a sweep changes anything. After each sweep what control does not reach goes. A rule costs what it looks at:
 * the block, its edges, phis on both sides; rare are more than three sweeps, and there is a limit.
 *
 * Rules make code smaller but for one trade: a select for a branch (`selects.ts`). Nothing is duplicated.
 *
 * Proof obligations: a branch on poison or undef is undefined behaviour, so is getting to `unreachable`; edges only
 * move where phis after them get the same values, and only such of plain branches (those of `invoke`, `callbr` and
 * `indirectbr` stay, and blocks with addresses are neither merged nor skipped); code goes only before
 * `unreachable` where control would have got there and nobody sees it.
 * Breaks if: a call that may return or not counts as one that goes on.
 */
import { removePhiEntry } from "../../ir/cfg-edit.js";
import { recordsIn } from "../../ir/debug-records.js";
import type { Editor } from "../../ir/editor.js";
import type { Block } from "../../ir/instructions.js";
import type { Origins } from "../../ir/origins.js";
import { useCounts } from "../../pass/analyses.js";
import type { FunctionPass } from "../../pass/pass.js";
import { removeUnreached, unreachedBlocks } from "../unreachable-blocks.js";
import { foldPhis, forwardEmpty, mergeBlocks } from "./blocks.js";
import { type Edit, EditedGraph, type Graph, type Plan, type Rule, ViewedGraph } from "./graph.js";
import { ReadableMemory } from "./readable.js";
import { makeSelects } from "./selects.js";
import { decideTerminator, endDeadCode } from "./terminators.js";
import { repeatedCondition, threadConstants } from "./threads.js";

const rules: readonly Rule[] = [
  endDeadCode,
  decideTerminator,
  mergeBlocks,
  foldPhis,
  repeatedCondition,
  threadConstants,
  forwardEmpty,
  makeSelects,
];

export const simplifyCfg: FunctionPass = {
  name: "simplify-cfg",
  level: "function",
  description: "decides and merges branches, removes blocks that do nothing or are never reached",
  counters: { rewritten: "rules applied", removed: "blocks removed" },
  requires: [useCounts],
  preserves: [],
  run(fn, context) {
    if (fn.attributes.fn.has("naked")) return false;
    const view = context.view();
    const memory = new ReadableMemory(fn, context.layout);
    if (unreachedBlocks(view.blocks).length === 0) {
      const seen = new ViewedGraph(fn, context.goal, view, () => context.ofBody(useCounts, view), memory);
      if (!view.blocks.some((block) => planFor(block, seen) !== null)) return false;
    }
    const before = view.blocks.length;
    const editor = fn.edit();
    const rewritten = new Sweeper(
      editor,
      new EditedGraph(fn, context.goal, editor, memory),
      context.origins,
    ).run();
    context.count("rewritten", rewritten);
    context.count("removed", before - editor.body.blocks.length);
    return true;
  },
};

function planFor(block: Block, graph: Graph): Plan | null {
  for (let i = 0; i < rules.length; i++) {
    const plan = rules[i]!(block, graph);
    if (plan !== null) return plan;
  }
  return null;
}

const mostSweeps = 16;
/** A limit for rules that follow each other around an endless loop. */
const mostPlansEach = 64;

class Sweeper implements Edit {
  private readonly dead = new Set<Block>();

  constructor(
    readonly editor: Editor,
    private readonly graph: Graph,
    readonly origins: Origins | null,
  ) {}

  readonly kill = (block: Block): void => {
    const { editor } = this;
    if (block.insts.length > 0) {
      const { terminator } = block;
      // Control no longer comes by what is said in the block.
      if (editor.body.hasDebug) {
        const records = recordsIn(block);
        for (const target of terminator.blocks) editor.forgetAt(target, records);
      }
      for (const target of terminator.blocks) removePhiEntry(editor, target, block);
      if (terminator.blocks.length > 0) editor.erase(terminator);
    }
    this.dead.add(block);
  };

  /** @returns how many rules were applied */
  run(): number {
    let applied = 0;
    this.removeUnreached();
    for (let sweep = 0; sweep < mostSweeps; sweep++) {
      const before = applied;
      for (const block of [...this.editor.body.blocks])
        for (let i = 0; i < mostPlansEach && !this.dead.has(block); i++) {
          this.editor.sweep();
          const plan = planFor(block, this.graph);
          if (plan === null) break;
          plan(this);
          applied++;
        }
      if (applied === before) break;
      this.removeUnreached();
    }
    return applied;
  }

  private removeUnreached(): void {
    const { editor, dead } = this;
    if (dead.size > 0) editor.dropBlocks((block) => dead.has(block));
    dead.clear();
    editor.sweep();
    removeUnreached(editor);
  }
}
