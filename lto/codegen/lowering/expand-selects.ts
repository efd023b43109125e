/**
 * expand-selects: selects of values that the target cannot choose between without a branch become branches.
 *
 * A run of selects on one condition becomes a diamond whose join has phis in their place. A select may use the result
 * of an earlier one of the run: then it takes what that one would have on each side. The phis' edges are left
 * for split-edges. A scan of the body for each run.
 */
import { type Block, type Body, type Inst, makeInst, Op } from "../../ir/instructions.js";
import { raw } from "../../ir/raw.js";
import { voidType } from "../../ir/types.js";
import type { Value } from "../../ir/values.js";
import type { FunctionPass } from "../../pass/pass.js";
import { newBlock, replaceUses, splitBefore } from "./blocks.js";
import type { BlockOrder, LoweringContext, LoweringTarget } from "./context.js";

function isExpanded(inst: Inst, target: LoweringTarget): boolean {
  return inst.op === Op.Select && !target.selectsWithoutBranch(inst.type);
}

function expandRun(body: Body, block: Block, start: number, end: number, order: BlockOrder): Block {
  const condition = block.insts[start]!.operands[0]!;
  const selects = block.insts.slice(start, end);
  const join = splitBefore(body, block, end);
  raw(block).insts.length = start;
  const side = newBlock(body);
  order.after(block, side);
  order.after(block, join);
  side.append(makeInst(Op.Br, voidType, [], null, [join]));
  block.append(makeInst(Op.CondBr, voidType, [condition], null, [join, side]));
  const replaced = new Map<Value, [Value, Value]>();
  const phis: Inst[] = [];
  const phiOf = new Map<Value, Inst>();
  for (const select of selects) {
    const a = replaced.get(select.operands[1]!)?.[0] ?? select.operands[1]!;
    const b = replaced.get(select.operands[2]!)?.[1] ?? select.operands[2]!;
    replaced.set(select, [a, b]);
    const phi = makeInst(Op.Phi, select.type, [a, b], null, [block, side], select.flags);
    phi.parent = join;
    phis.push(phi);
    phiOf.set(select, phi);
  }
  raw(join).insts.unshift(...phis);
  replaceUses(body, phiOf);
  return join;
}

/** @returns the number of selects that went */
function expandSelects(body: Body, { target, order, goal }: LoweringContext): number {
  let expanded = 0;
  for (const first of [...body.blocks]) {
    let block = first;
    for (let i = 0; i < block.insts.length; i++) {
      if (!isExpanded(block.insts[i]!, target)) continue;
      const condition = block.insts[i]!.operands[0]!;
      let end = i + 1;
      const follows = (inst: Inst): boolean => isExpanded(inst, target) && inst.operands[0] === condition;
      while (goal !== "none" && follows(block.insts[end]!)) end++;
      expanded += end - i;
      block = expandRun(body, block, i, end, order);
      i = -1;
    }
  }
  return expanded;
}

export const expandSelectsPass: FunctionPass<LoweringContext> = {
  name: "expand-selects",
  level: "function",
  description: "makes branches of selects of values that the target has no conditional move for",
  counters: { expanded: "selects made branches" },
  requires: [],
  preserves: [],
  run(_, context) {
    const expanded = expandSelects(context.rewrite(), context);
    if (expanded > 0) context.count("expanded", expanded);
    return expanded > 0;
  },
};
