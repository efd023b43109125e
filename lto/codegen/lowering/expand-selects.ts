/**
 * expand-selects: selects of values that the target cannot choose between without a branch become branches.
 *
 * A run of selects on one condition becomes a diamond whose join has phis in their place. A select may use the result
 * of an earlier one of the run: then it takes what that one would have on each side. The phis' edges are left
 * for split-edges. What only one side of the run needs is computed on that side. A scan of the body for each run.
 *
 * Moving is right because the operations have no effects, do not trap and read no memory, and nothing else uses them.
 */
import { type Block, type Body, type Inst, makeInst, Op } from "../../ir/instructions.js";
import { raw } from "../../ir/raw.js";
import { voidType } from "../../ir/types.js";
import type { Value } from "../../ir/values.js";
import type { FunctionPass } from "../../pass/pass.js";
import { countUses, newBlock, replaceUses, splitBefore } from "./blocks.js";
import type { LoweringContext, LoweringTarget } from "./context.js";

function isExpanded(inst: Inst, target: LoweringTarget): boolean {
  return inst.op === Op.Select && !target.selectsWithoutBranch(inst);
}

/** Without effects, cheap, and the same wherever it is computed. */
function canMove({ op }: Inst): boolean {
  return (
    (op >= Op.FNeg && op <= Op.Xor && !isDivision(op)) ||
    op === Op.GetElementPtr ||
    (op >= Op.Trunc && op <= Op.AddrSpaceCast)
  );
}

/** May trap, or is a call. */
const isDivision = (op: Op): boolean => (op >= Op.UDiv && op <= Op.SRem) || op === Op.FRem;

/** What stands before the selects in their block and only serves a value that one side of them takes. */
class Arms {
  private readonly moved = new Set<Inst>();

  constructor(
    private readonly block: Block,
    private readonly uses: ReadonlyMap<Inst, number>,
  ) {}

  /** Takes out of the block what only the values need. @returns it, in order */
  take(values: Iterable<Value>): Inst[] {
    this.moved.clear();
    for (const value of values) this.visit(value);
    const taken = this.block.insts.filter((inst) => this.moved.has(inst));
    if (taken.length > 0) raw(this.block).insts = this.block.insts.filter((inst) => !this.moved.has(inst));
    return taken;
  }

  private visit(value: Value): void {
    if (value.valueKind !== "inst" || value.parent !== this.block || this.uses.get(value) !== 1) return;
    if (!canMove(value)) return;
    this.moved.add(value);
    for (const operand of value.operands) this.visit(operand);
  }
}

function expandRun(
  body: Body,
  block: Block,
  start: number,
  end: number,
  { order, goal }: LoweringContext,
  uses: ReadonlyMap<Inst, number> | null,
): Block {
  const condition = block.insts[start]!.operands[0]!;
  const selects = block.insts.slice(start, end);
  const join = splitBefore(body, block, end);
  raw(block).insts.length = start;
  const arms = uses === null ? null : new Arms(block, uses);
  const ifFalse = arms?.take(selects.map((select) => select.operands[2]!)) ?? [];
  // For size one side alone: the other one would have to jump.
  const ifTrue =
    ifFalse.length === 0 || goal === "speed"
      ? (arms?.take(selects.map((select) => select.operands[1]!)) ?? [])
      : [];
  const side = (insts: readonly Inst[]): Block => {
    const made = newBlock(body);
    order.after(block, made);
    for (const inst of insts) made.append(inst);
    made.append(makeInst(Op.Br, voidType, [], null, [join]));
    return made;
  };
  const right = ifTrue.length === 0 || ifFalse.length > 0 ? side(ifFalse) : block;
  const left = ifTrue.length > 0 ? side(ifTrue) : block;
  order.after(block, join);
  const target = (from: Block): Block => (from === block ? join : from);
  block.append(makeInst(Op.CondBr, voidType, [condition], null, [target(left), target(right)]));
  const replaced = new Map<Value, [Value, Value]>();
  const phis: Inst[] = [];
  const phiOf = new Map<Value, Inst>();
  for (const select of selects) {
    const a = replaced.get(select.operands[1]!)?.[0] ?? select.operands[1]!;
    const b = replaced.get(select.operands[2]!)?.[1] ?? select.operands[2]!;
    replaced.set(select, [a, b]);
    const phi = makeInst(Op.Phi, select.type, [a, b], null, [left, right], select.flags);
    phi.parent = join;
    phis.push(phi);
    phiOf.set(select, phi);
  }
  raw(join).insts.unshift(...phis);
  replaceUses(body, phiOf);
  return join;
}

/** @returns the number of selects that went */
function expandSelects(body: Body, context: LoweringContext): number {
  const { target, goal } = context;
  let expanded = 0;
  let uses: ReadonlyMap<Inst, number> | null = null;
  for (const first of [...body.blocks]) {
    let block = first;
    for (let i = 0; i < block.insts.length; i++) {
      if (!isExpanded(block.insts[i]!, target)) continue;
      const condition = block.insts[i]!.operands[0]!;
      let end = i + 1;
      const follows = (inst: Inst): boolean => isExpanded(inst, target) && inst.operands[0] === condition;
      while (goal !== "none" && follows(block.insts[end]!)) end++;
      expanded += end - i;
      // Selects become phis of the same operands, so that it stays true.
      if (goal !== "none") uses ??= countUses(body);
      block = expandRun(body, block, i, end, context, uses);
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
