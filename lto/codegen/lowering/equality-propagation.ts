/**
 * equality-propagation: where a value was just compared with a constant, it stands for the constant, for size.
 *
 *     switch i32 %n, label %other [ i32 100, label %hundred ]
 *     hundred: call void @f(i32 100)        →      call void @f(i32 %n)
 *
 * Why: a register that holds the value is copied in two bytes or none, and a constant takes up to five. Optimisers of
 * single files do the opposite, so that constants fold; here all is folded.
 * Method: what an edge says of a value holds in the block after it, if no other edge leads there, and in those that only
 * this one leads to, as long as nothing is called on the way: across a call the value would need a register that calls
 * preserve. Arguments of calls, results, and what phis take on an edge are replaced. Stores hold constants in themselves; a
 * register kept for one costs more elsewhere (bzip2: 174 bytes). Linear in edges, and in instructions of blocks near such edges.
 *
 * Right because: where control has passed the edge the value equals the constant, bit for bit: the types are the same.
 * Of an undefined value the branch would have been undefined. The value dominates the comparison, hence the edge
 * and all blocks after it.
 * Breaks if: a constant is taken that has to stay one (parameters of intrinsics), or a value that selection would have
 * folded into the comparison and now loads for itself (values with no other use are left alone).
 */
import { onlyPredecessors } from "../../analysis/cfg.js";
import { type Block, calleeOf, type Inst, Op } from "../../ir/instructions.js";
import { intrinsicOf } from "../../ir/intrinsics.js";
import { raw } from "../../ir/raw.js";
import { i32, i64 } from "../../ir/types.js";
import type { ConstInt, Value } from "../../ir/values.js";
import { cfg, dominators, loops, useCounts } from "../../pass/analyses.js";
import type { FunctionPass } from "../../pass/pass.js";
import type { LoweringContext } from "./context.js";

/** So many blocks after an edge are looked at. */
const mostBlocks = 16;

/** Where control comes from `from` to `to`, the value is the constant. */
interface Equality {
  readonly value: Value;
  readonly constant: ConstInt;
}

/** Zero is made in the two bytes that a copy takes, other small values are not worth less. */
const isCheap = ({ num }: ConstInt): boolean => num === 0;

/** What holds because control came from a block that leads to `to` once. */
function saidByEdge({ terminator }: Block, to: Block): Equality | null {
  const condition = terminator.operands[0];
  let value: Value | undefined;
  let constant: Value | undefined;
  if (terminator.op === Op.Switch) {
    value = condition;
    constant = terminator.data[terminator.blocks.indexOf(to) - 1];
  } else if (terminator.op === Op.CondBr && condition?.valueKind === "inst" && condition.op === Op.ICmp) {
    const equalWhere = condition.data === "eq" ? 0 : condition.data === "ne" ? 1 : -1;
    if (terminator.blocks[equalWhere] === to) [value, constant] = condition.operands;
  }
  if (value === undefined || constant?.valueKind !== "int" || isCheap(constant)) return null;
  return value.type === i32 || value.type === i64 ? { value, constant } : null;
}

/** Whether a register holds the value even if only the comparison needs it. */
function isHeld(value: Value, uses: Int32Array): boolean {
  if (value.valueKind !== "inst") return value.valueKind === "argument";
  return value.op === Op.Phi || value.op === Op.Call || uses[value.id]! > 1;
}

/** @returns how many constants the value has replaced in the block, and whether it is of use after it */
function replaceIn(block: Block, { value, constant }: Equality): { replaced: number; goesOn: boolean } {
  let replaced = 0;
  const replace = (user: Inst, position: number): void => {
    const operand = user.operands[position]!;
    if (operand.valueKind !== "int" || operand.type !== constant.type || operand.value !== constant.value)
      return;
    raw(user).operands[position] = value;
    replaced++;
  };
  for (const inst of block.insts) {
    if (inst.op === Op.Call || inst.op === Op.Invoke) {
      const callee = calleeOf(inst);
      if (intrinsicOf(callee) !== null) continue;
      if (callee.valueKind !== "asm") for (let i = 1; i <= inst.data.argumentCount; i++) replace(inst, i);
      return { replaced, goesOn: false };
    }
    if (inst.op === Op.Ret) for (let i = 0; i < inst.operands.length; i++) replace(inst, i);
  }
  for (const next of block.successors)
    for (const phi of next.insts) {
      if (phi.op !== Op.Phi) break;
      for (let i = 0; i < phi.blocks.length; i++) if (phi.blocks[i] === block) replace(phi, i);
    }
  return { replaced, goesOn: true };
}

export const equalityPropagation: FunctionPass<LoweringContext> = {
  name: "equality-propagation",
  level: "function",
  description: "passes on values that equal constants in place of these, for size",
  counters: { replaced: "constants that a register holds" },
  requires: [useCounts],
  preserves: [cfg, dominators, loops],
  run(_, context) {
    if (context.goal !== "size" && context.goal !== "minsize") return false;
    const body = context.rewrite();
    body.renumber();
    const only = onlyPredecessors(body.blocks);
    let replaced = 0;
    for (const block of body.blocks) {
      const from = only[block.id]!;
      const equality = from === null ? null : saidByEdge(from, block);
      if (equality === null || !isHeld(equality.value, context.ofBody(useCounts, body))) continue;
      const work = [block];
      for (let k = 0; k < work.length && k < mostBlocks; k++) {
        const at = work[k]!;
        const done = replaceIn(at, equality);
        replaced += done.replaced;
        if (done.goesOn) work.push(...at.successors.filter((next) => only[next.id] === at));
      }
    }
    if (replaced > 0) context.count("replaced", replaced);
    return replaced > 0;
  },
};
