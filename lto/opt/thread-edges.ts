/**
 * Edges that decide where control goes on after a block that only branches, and the values that come with them.
 *
 * Proof obligations: the block does nothing besides: it has phis, the comparison, and ends of lifetimes, without which
 * variables live on. On the edge the comparison is decided by constants, or by a pointer that is never null. Phis of what
 * is used below a successor stand there before any edge moves, so that they get what the moved edge brings.
 * Breaks if: an instruction that may stand in such a block does something that has to be done on each path.
 */
import type { DominatorTree } from "../analysis/dominators.js";
import { isNonNull } from "../analysis/value-facts.js";
import { phisOf, predecessors, replaceSuccessor, uniquePredecessor } from "../ir/cfg-edit.js";
import { forEachRecord, recordsIn } from "../ir/debug-records.js";
import type { Editor } from "../ir/editor.js";
import { integerCompare } from "../ir/fold/integers.js";
import { type Block, type BodyView, type Inst, type InstWith, makeInst, Op } from "../ir/instructions.js";
import { intrinsicOf } from "../ir/intrinsics.js";
import type { Func } from "../ir/module.js";
import type { Value } from "../ir/values.js";
import { canRedirect, enteringFrom, hasMovableEdges, passedFrom } from "./simplify-cfg/graph.js";

/** A block that only branches, by a phi of its own. */
export interface Decision {
  readonly block: Block;
  readonly phi: Inst;
  /** Of the phi with a constant; null: by the phi. */
  readonly comparison: InstWith<Op.ICmp> | null;
}

export function decisionOf(block: Block): Decision | null {
  const { terminator, insts } = block;
  if ((terminator.op !== Op.CondBr && terminator.op !== Op.Switch) || block.addressTaken) return null;
  if (insts[0]!.op !== Op.Phi) return null;
  const condition = terminator.operands[0]!;
  if (condition.valueKind !== "inst" || condition.parent !== block) return null;
  const comparison = condition.op === Op.ICmp ? condition : null;
  if (comparison !== null && terminator.op === Op.Switch) return null;
  if (comparison !== null && !isConstant(comparison.operands[1]!)) return null;
  const phi = comparison?.operands[0] ?? condition;
  if (phi.valueKind !== "inst" || phi.op !== Op.Phi || phi.parent !== block) return null;
  for (let i = insts.length - 2; i > 0 && insts[i]!.op !== Op.Phi; i--)
    if (insts[i] !== condition && !isEndOfLifetime(insts[i]!)) return null;
  return { block, phi, comparison };
}

const isConstant = ({ valueKind }: Value): boolean => valueKind === "int" || valueKind === "zero";
const isEndOfLifetime = (inst: Inst): boolean =>
  inst.op === Op.Call && intrinsicOf(inst.operands[0]!)?.name === "lifetime.end";

/** An edge that decides where control goes on. */
interface DecidedEdge {
  readonly from: Block;
  readonly target: Block;
}

export function edgesOf({ block, phi, comparison }: Decision, fn: Func): DecidedEdge[] {
  const edges: DecidedEdge[] = [];
  for (let i = 0; i < phi.operands.length; i++) {
    const from = phi.blocks[i]!;
    if (from === block || !hasMovableEdges(from)) continue;
    const target = targetFor(block, comparison, phi.operands[i]!, fn);
    if (target !== null && target !== block && canRedirect(from, block, target)) edges.push({ from, target });
  }
  return edges;
}

function targetFor({ terminator }: Block, comparison: Inst | null, value: Value, fn: Func): Block | null {
  const holds =
    comparison === null ? constantOf(value) : compared(comparison as InstWith<Op.ICmp>, value, fn);
  if (holds === null) return null;
  if (terminator.op !== Op.Switch) return terminator.blocks[holds === 0n ? 1 : 0]!;
  return terminator.blocks[terminator.data.findIndex((label) => label.value === holds) + 1]!;
}

const constantOf = (value: Value): bigint | null => (value.valueKind === "int" ? value.value : null);

/** 1 or 0, as the comparison of the value would be; null: not known. */
function compared({ data, operands }: InstWith<Op.ICmp>, value: Value, fn: Func): bigint | null {
  const other = operands[1]!;
  if (value.valueKind === "int" && other.valueKind === "int")
    return integerCompare(data, value.type.bits, value.value, other.value) ? 1n : 0n;
  if (other.valueKind !== "zero" || other.type.kind !== "ptr" || (data !== "eq" && data !== "ne"))
    return null;
  const isNull = value.valueKind === "zero" ? true : isNonNull(value, fn) ? false : null;
  return isNull === null ? null : isNull === (data === "eq") ? 1n : 0n;
}

/** Of the blocks, those whose values can all be passed on to their users. */
export function withPassableUses(
  blocks: readonly Block[],
  { blocks: all }: BodyView,
  tree: DominatorTree,
): Block[] {
  const left = new Set(blocks);
  if (left.size === 0) return [];
  const entries = new Map<Block, number>();
  for (const { successors } of all)
    for (const next of successors) entries.set(next, (entries.get(next) ?? 0) + 1);
  for (const { insts } of all)
    for (const user of insts)
      for (let slot = 0; slot < user.operands.length; slot++) {
        const value = user.operands[slot]!;
        if (value.valueKind !== "inst" || !left.has(value.parent!)) continue;
        const block = value.parent!;
        if (!isPassable(block, value, user, slot, tree, (next) => entries.get(next)!)) left.delete(block);
      }
  return blocks.filter((block) => left.has(block));
}

function isPassable(
  block: Block,
  value: Inst,
  user: Inst,
  slot: number,
  tree: DominatorTree,
  entries: (block: Block) => number,
): boolean {
  if (user.parent === block && user.op !== Op.Phi) return true;
  if (value.op !== Op.Phi) return false;
  if (isPassed(block, user, slot)) return true;
  const below = successorAbove(block, user, slot, tree);
  return below !== null && entries(below) === 1;
}

/** The use is what a phi of a successor gets from the block. */
const isPassed = (block: Block, user: Inst, slot: number): boolean =>
  user.op === Op.Phi && user.blocks[slot] === block && block.successors.includes(user.parent!);

/** The successor that every way to the use leads through. */
function successorAbove(block: Block, user: Inst, slot: number, tree: DominatorTree): Block | null {
  const at = user.op === Op.Phi ? user.blocks[slot]! : user.parent!;
  return block.successors.find((next) => !next.addressTaken && tree.dominates(next.id, at.id)) ?? null;
}

/** Lets what is below the block use its values by phis of its successors. */
export function passOn(editor: Editor, block: Block, tree: DominatorTree): void {
  const passed: Passed = new Map();
  for (const value of phisOf(block)) {
    const made = new Map<Block, Inst>();
    passed.set(value, made);
    const uses: (readonly [user: Inst, slot: number])[] = [];
    editor.uses.forEach(value, (user, slot) => {
      if (user.parent !== block || user.op === Op.Phi) uses.push([user, slot]);
    });
    for (const [user, slot] of uses) {
      if (isPassed(block, user, slot)) continue;
      const below = successorAbove(block, user, slot, tree);
      // A use that another block's phi made is none that was looked at.
      if (below === null || uniquePredecessor(editor, below) === null) continue;
      let phi = made.get(below);
      if (phi === undefined) {
        phi = editor.prependPhi(makeInst(Op.Phi, value.type, [value], null, [block]), below);
        made.set(below, phi);
      }
      editor.setOperand(user, slot, phi);
    }
  }
  if (editor.body.hasDebug) passOnRecords(editor, block, tree, passed);
}

/** Phis that a block's values are in below it, by value and by the successor that has them. */
type Passed = Map<Value, ReadonlyMap<Block, Inst>>;

/** What is said of variables by the block's values is said by these phis below it, and at the start of its successors. */
function passOnRecords(editor: Editor, block: Block, tree: DominatorTree, passed: Passed): void {
  const below = block.successors.filter((next) => predecessors(editor, next).every((from) => from === block));
  forEachRecord(editor.body, (record, { parent }) => {
    if (parent === block) return;
    const above = below.find((next) => tree.dominates(next.id, parent!.id));
    if (above === undefined) return;
    for (const value of record.values) {
      const phi = passed.get(value)?.get(above);
      if (phi !== undefined) editor.replaceInRecord(record, value as Inst, phi);
    }
  });
  const own = recordsIn(block).filter(({ isStatement }) => isStatement);
  for (const next of below) {
    const there = own.map((record) => {
      const values = record.values.map((value) =>
        value.valueKind === "inst" && value.parent === block ? passed.get(value)?.get(next) : value,
      );
      return values.some((value) => value === undefined)
        ? record.asUnknown()
        : record.copy(values as Value[]);
    });
    editor.addRecords(next.insts[editor.firstAfterPhis(next)]!, there);
  }
}

/**
 * @param moves called for the branch at the start of each edge before it moves
 * @returns how many edges were led past the block
 */
export function thread(editor: Editor, block: Block, moves?: (end: Inst) => void): number {
  let threaded = 0;
  for (;;) {
    const decision = decisionOf(block);
    // Where a use was made since that is none of a successor's phis, the block's values have to stay as they are.
    if (decision === null || !phisOf(block).every((phi) => isUsedByPhis(editor, block, phi))) return threaded;
    const edge = edgesOf(decision, editor.fn)[0];
    if (edge === undefined) return threaded;
    const { from, target } = edge;
    moves?.(from.terminator);
    replaceSuccessor(editor, from, block, target, (user) =>
      passedFrom(enteringFrom(user, block), block, from),
    );
    threaded++;
  }
}

function isUsedByPhis(editor: Editor, block: Block, phi: Inst): boolean {
  let isSo = true;
  editor.uses.forEach(phi, (user, slot) => {
    if (!isPassed(block, user, slot) && (user.parent !== block || user.op === Op.Phi)) isSo = false;
  });
  return isSo;
}
