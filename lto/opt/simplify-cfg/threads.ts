/** Rules of `simplify-cfg` on branches that are decided by where control comes from. */
import { jumpTo, replaceSuccessor, replaceTerminator } from "../../ir/cfg-edit.js";
import { integerCompare } from "../../ir/fold/integers.js";
import { type Block, type Inst, type InstWith, Op } from "../../ir/instructions.js";
import type { Value } from "../../ir/values.js";
import {
  canRedirect,
  enteringFrom,
  forgetLoop,
  type Graph,
  hasMovableEdges,
  isPinned,
  onlyIncoming,
  type Plan,
  passedFrom,
} from "./graph.js";

const longestChain = 8;

/** The same condition was decided on the only way here. */
export function repeatedCondition(block: Block, graph: Graph): Plan | null {
  const { terminator } = block;
  if (terminator.op !== Op.CondBr) return null;
  const condition = terminator.operands[0]!;
  let at = block;
  for (let i = 0; i < longestChain; i++) {
    const before = at.addressTaken ? null : onlyIncoming(at, graph);
    if (before === null || before === block) return null;
    const { op, operands, blocks } = before.terminator;
    if (op === Op.CondBr && operands[0] === condition) {
      const target = terminator.blocks[blocks[0] === at ? 0 : 1]!;
      return ({ editor }) => void replaceTerminator(editor, block, jumpTo(target));
    }
    at = before;
  }
  return null;
}

/**
 * A block that only branches on a phi: edges on which the phi is constant go to where that leads.
 *
 *     b: %p = phi i1 [ true, %x ], [ %c, %y ]          x goes to t at once
 *        br i1 %p, label %t, label %f
 */
export function threadConstants(block: Block, graph: Graph): Plan | null {
  const { terminator, insts } = block;
  if ((terminator.op !== Op.CondBr && terminator.op !== Op.Switch) || isPinned(block, graph)) return null;
  if (insts[0]!.op !== Op.Phi) return null;
  const condition = terminator.operands[0]!;
  if (condition.valueKind !== "inst" || condition.parent !== block) return null;
  let count = insts.length - 1;
  let phi: Inst = condition;
  if (condition.op === Op.ICmp) {
    const compared = condition.operands[0]!;
    if (
      condition.operands[1]!.valueKind !== "int" ||
      compared.valueKind !== "inst" ||
      graph.uses(condition) !== 1
    )
      return null;
    phi = compared;
    count--;
    if (insts[count] !== condition) return null;
  }
  if (phi.op !== Op.Phi || phi.parent !== block) return null;
  for (let i = 0; i < count; i++) if (insts[i]!.op !== Op.Phi) return null;
  for (let i = 0; i < phi.operands.length; i++) {
    const value = phi.operands[i]!;
    if (value.valueKind !== "int") continue;
    const from = phi.blocks[i]!;
    const target = targetFor(terminator, condition, value.value);
    if (target === block || from === block || !hasMovableEdges(from)) continue;
    if (!canRedirect(from, block, target)) continue;
    if (!isUsedHereOnly(block, count, condition, graph)) return null;
    return ({ editor }) => {
      forgetLoop(from.terminator);
      replaceSuccessor(editor, from, block, target, (user) =>
        passedFrom(enteringFrom(user, block), block, from),
      );
    };
  }
  return null;
}

function targetFor(terminator: Inst, condition: Inst, value: bigint): Block {
  if (terminator.op === Op.Switch) {
    const at = terminator.data.findIndex((label) => label.value === value);
    return terminator.blocks[at + 1]!;
  }
  let isTrue = value !== 0n;
  if (condition.op === Op.ICmp) {
    const { data, operands } = condition as InstWith<Op.ICmp>;
    const other = operands[1] as Value & { readonly value: bigint };
    isTrue = integerCompare(data, other.type.bits, value, other.value);
  }
  return terminator.blocks[isTrue ? 0 : 1]!;
}

/** Whether phis are used by the block's end and by phis that it leads to, and nowhere else. */
function isUsedHereOnly(block: Block, count: number, condition: Inst, graph: Graph): boolean {
  const { insts, terminator } = block;
  const targets = new Set(block.successors);
  for (let i = 0; i < count; i++) {
    const phi = insts[i]!;
    let seen = terminator.operands[0] === phi ? 1 : 0;
    if (condition !== phi && condition.operands[0] === phi && condition.op === Op.ICmp) seen++;
    for (const target of targets)
      for (const user of target.insts) {
        if (user.op !== Op.Phi) break;
        for (let k = 0; k < user.operands.length; k++)
          if (user.blocks[k] === block && user.operands[k] === phi) seen++;
      }
    if (seen !== graph.uses(phi)) return false;
  }
  return true;
}
