/**
 * Writes what constant propagation found into the body: constants for values, jumps for decided branches, nothing
 * where no path leads, and cheaper operations where operands are not negative. Linear in the body.
 */
import { endUnreachable, jumpTo, removeBlocks, replaceTerminator } from "../../ir/cfg-edit.js";
import type { Editor } from "../../ir/editor.js";
import {
  type Block,
  type BodyView,
  Flag,
  type Inst,
  type InstWith,
  isCall,
  isTerminator,
  makeInst,
  Op,
} from "../../ir/instructions.js";
import { voidType } from "../../ir/types.js";
import type { Value } from "../../ir/values.js";
import { boundsOf, isConstantFact } from "./lattice.js";
import type { ConstantSolver } from "./solver.js";

export interface Rewritten {
  readonly values: number;
  readonly branches: number;
  readonly blocks: number;
  /** Operations that became cheaper. */
  readonly operations: number;
}

/**
 * @param solver solved, for the body of the editor, whose numbers are those the solver was made with
 * @param relaxed as `findRelaxed` found it
 */
export function rewriteConstants(
  editor: Editor,
  solver: ConstantSolver,
  relaxed: ReadonlyMap<number, Op>,
): Rewritten {
  let values = 0;
  let branches = 0;
  let operations = 0;
  const { blocks } = editor.body;
  const unreached = blocks.filter((block) => !solver.isReached(block));
  // Before anything changes: the solver knows instructions by their numbers.
  const relaxable = blocks.flatMap(({ insts }) => insts.filter(({ id }) => relaxed.has(id)));
  for (const block of blocks)
    if (solver.isReached(block))
      for (const inst of block.insts)
        if (isReplaceable(inst)) values += replaceByConstant(editor, solver, inst);
  for (const inst of relaxable)
    if (inst.parent !== null) operations += relax(editor, inst, relaxed.get(inst.id)!);
  for (const block of blocks) {
    if (!solver.isReached(block)) continue;
    const { terminator } = block;
    if (terminator.op === Op.Switch && solver.isPartial(block)) {
      branches += prune(editor, solver, terminator);
      continue;
    }
    const only = solver.onlySuccessor(block);
    if (only === undefined && terminator.blocks.length > 0) {
      endUnreachable(editor, terminator);
      branches++;
    } else if (only != null && (terminator.op === Op.CondBr || terminator.op === Op.Switch)) {
      replaceTerminator(editor, block, jumpTo(only));
      branches++;
    }
  }
  return { values, branches, blocks: removeUnreached(editor, unreached), operations };
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

/** Leaves out labels that never occur; where one of them always does, the commonest target needs none. */
function prune(editor: Editor, solver: ConstantSolver, inst: InstWith<Op.Switch>): number {
  const block = inst.parent!;
  const taken: number[] = [];
  for (let i = 1; i < inst.blocks.length; i++) if (solver.maySucceed(block, i)) taken.push(i);
  let otherwise = inst.blocks[0]!;
  if (!solver.maySucceed(block, 0)) {
    const edges = new Map<Block, number>();
    for (const i of taken) edges.set(inst.blocks[i]!, (edges.get(inst.blocks[i]!) ?? 0) + 1);
    for (const [target, count] of edges) if (count > (edges.get(otherwise) ?? 0)) otherwise = target;
  }
  const kept = taken.filter((i) => inst.blocks[i] !== otherwise);
  if (kept.length === 0) {
    replaceTerminator(editor, block, jumpTo(otherwise));
    return 1;
  }
  const labels = kept.map((i) => inst.data[i - 1]!);
  const targets = [otherwise, ...kept.map((i) => inst.blocks[i]!)];
  replaceTerminator(editor, block, makeInst(Op.Switch, voidType, [inst.operands[0]!], labels, targets));
  return 1;
}

/** By number of an instruction: the operation that it can become. */
export function findRelaxed(body: BodyView, solver: ConstantSolver): ReadonlyMap<number, Op> {
  const found = new Map<number, Op>();
  for (const block of body.blocks) {
    if (!solver.isReached(block)) continue;
    for (const inst of block.insts) {
      const op = relaxedOp(inst, solver);
      if (op !== null) found.set(inst.id, op);
    }
  }
  return found;
}

/** Signed operations whose operands are not negative, where the unsigned one is never dearer; masks of what they keep. */
function relaxedOp(inst: Inst, solver: ConstantSolver): Op | null {
  switch (inst.op) {
    case Op.SExt:
      return isNotNegative(inst, 0, solver) ? Op.ZExt : null;
    case Op.AShr:
      return isNotNegative(inst, 0, solver) ? Op.LShr : null;
    case Op.SDiv:
    case Op.SRem:
      return isNotNegative(inst, 0, solver) && isNotNegative(inst, 1, solver)
        ? inst.op === Op.SDiv
          ? Op.UDiv
          : Op.URem
        : null;
    case Op.And:
      return isMaskOfAll(inst, solver) ? Op.And : null;
    default:
      return null;
  }
}
function isNotNegative(inst: Inst, slot: number, solver: ConstantSolver): boolean {
  const bounds = boundsOf(solver.at(inst.operands[slot]!, inst.parent!.id));
  return bounds !== null && bounds.least >= 0;
}
function isMaskOfAll(inst: Inst, solver: ConstantSolver): boolean {
  const mask = inst.operands[1]!;
  // A logarithm is rounded: that of 2^49 - 1 is 49.
  if (mask.valueKind !== "int" || !(mask.num > 0) || (mask.value & (mask.value + 1n)) !== 0n) return false;
  const bounds = boundsOf(solver.at(inst.operands[0]!, inst.parent!.id));
  return bounds !== null && bounds.least >= 0 && bounds.largest <= mask.num;
}

function relax(editor: Editor, inst: Inst, op: Op): number {
  if (op === Op.And) {
    editor.replace(inst, inst.operands[0]!);
    return 1;
  }
  const operands: Value[] = [...inst.operands];
  // What holds of operands that are not negative need not hold where they are poison: no new promise.
  const made = makeInst(op, inst.type, operands, null, [], inst.flags & Flag.Exact);
  editor.insertBefore(made, inst);
  editor.replace(inst, made);
  return 1;
}
