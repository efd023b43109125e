/**
 * Writes what constant propagation found into the body: constants for values, jumps for decided branches, and nothing
 * where no path leads. Linear in the body.
 */
import { endUnreachable, jumpTo, removeBlocks, replaceTerminator } from "../../ir/cfg-edit.js";
import type { Editor } from "../../ir/editor.js";
import { type Block, type Inst, isCall, isTerminator, Op } from "../../ir/instructions.js";
import { isConstantFact } from "./lattice.js";
import type { ConstantSolver } from "./solver.js";

export interface Rewritten {
  readonly values: number;
  readonly branches: number;
  readonly blocks: number;
}

/** @param solver solved, for the body of the editor, whose numbers are those the solver was made with */
export function rewriteConstants(editor: Editor, solver: ConstantSolver): Rewritten {
  let values = 0;
  let branches = 0;
  const { blocks } = editor.body;
  const unreached = blocks.filter((block) => !solver.isReached(block));
  for (const block of blocks)
    if (solver.isReached(block))
      for (const inst of block.insts)
        if (isReplaceable(inst)) values += replaceByConstant(editor, solver, inst);
  for (const block of blocks) {
    if (!solver.isReached(block)) continue;
    const { terminator } = block;
    const only = solver.onlySuccessor(block);
    if (only === undefined && terminator.blocks.length > 0) {
      endUnreachable(editor, terminator);
      branches++;
    } else if (only != null && (terminator.op === Op.CondBr || terminator.op === Op.Switch)) {
      replaceTerminator(editor, block, jumpTo(only));
      branches++;
    }
  }
  return { values, branches, blocks: removeUnreached(editor, unreached) };
}

/** Whether a constant can stand wherever the result is used. */
function isReplaceable(inst: Inst): boolean {
  if (inst.type.kind === "void" || inst.type.kind === "token") return false;
  // A call that must be a jump is followed by a return of its own result.
  return !isCall(inst) || inst.data.tail !== "musttail";
}

function replaceByConstant(editor: Editor, solver: ConstantSolver, inst: Inst): number {
  const known = solver.of(inst);
  if (!isConstantFact(known) || !editor.hasUses(inst)) return 0;
  editor.replaceAllUses(inst, known);
  // What only computed it goes; what does more stays, and dce decides.
  if (!isCall(inst) && !isTerminator(inst.op) && inst.op !== Op.Load) editor.erase(inst);
  return 1;
}

/** Blocks that jumps to addresses may mean stay, empty. */
function removeUnreached(editor: Editor, unreached: readonly Block[]): number {
  if (unreached.length === 0) return 0;
  const kept = unreached.filter((block) => block.addressTaken);
  for (const block of kept) if (block.insts.length > 0) endUnreachable(editor, block.insts[0]!);
  removeBlocks(
    editor,
    unreached.filter((block) => !block.addressTaken),
  );
  return unreached.length - kept.length;
}
