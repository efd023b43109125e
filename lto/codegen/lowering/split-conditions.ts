/**
 * split-conditions: a branch on two conditions at once becomes two branches, for speed.
 *
 * Why: a condition that only a branch reads costs a comparison and a jump; as a value it costs setting and combining as
 * well, and the second one is computed although the first has decided.
 * Method: `br (and a, b), T, F` goes on `br a, M, F` with `M: br b, T, F`, and alike for `or` and the selects that stand for
 * both. What only b needs moves to M: comparisons, what computes their operands, and loads over which nothing writes.
 * Proof obligations: M runs only where the whole condition depends on b, so poison in b harms nowhere else; where a is
 * poison the branch was undefined before. Moved instructions have one use and no effect. Phis of F get M's edge.
 * A use count of the body where there is such a branch; linear.
 */
import { type Block, type Body, type Inst, isPlainAccess, makeInst, Op } from "../../ir/instructions.js";
import { raw } from "../../ir/raw.js";
import { i1, voidType } from "../../ir/types.js";
import type { Value } from "../../ir/values.js";
import type { FunctionPass } from "../../pass/pass.js";
import { countUses, newBlock } from "./blocks.js";
import type { BlockOrder, LoweringContext } from "./context.js";

/** A condition of two: `all`: both have to hold, else one of them. */
interface Pair {
  readonly first: Value;
  readonly second: Value;
  readonly all: boolean;
}

const isBit = (value: Value, bit: bigint): boolean => value.valueKind === "int" && (value.value & 1n) === bit;

function pairOf(condition: Value): Pair | null {
  if (condition.valueKind !== "inst" || condition.type !== i1) return null;
  const [a, b, c] = condition.operands;
  switch (condition.op) {
    case Op.And:
    case Op.Or:
      return { first: a!, second: b!, all: condition.op === Op.And };
    case Op.Select:
      if (isBit(c!, 0n)) return { first: a!, second: b!, all: true };
      return isBit(b!, 1n) ? { first: a!, second: c!, all: false } : null;
    default:
      return null;
  }
}

/** Operations that may move down in their block, as long as nothing but their one user needs them. */
const movable = new Set([
  Op.ICmp,
  Op.FCmp,
  Op.And,
  Op.Or,
  Op.Xor,
  Op.Add,
  Op.Sub,
  Op.Shl,
  Op.LShr,
  Op.AShr,
  Op.Trunc,
  Op.ZExt,
  Op.SExt,
  Op.GetElementPtr,
]);
const mostMoved = 6;

const isPlainLoad = (inst: Inst): boolean => inst.op === Op.Load && isPlainAccess(inst);

/** Nothing after index `from` of the block writes memory, or may not go on. */
function isQuiet({ insts }: Block, from: number): boolean {
  for (let i = from + 1; i < insts.length - 1; i++) {
    const { op } = insts[i]!;
    if (!movable.has(op) && op !== Op.Load && op !== Op.Select && op !== Op.Phi) return false;
  }
  return true;
}

/** What would move along with the condition, in the block's order; null if it would not move itself. */
function moved(condition: Value, block: Block, uses: ReadonlyMap<Inst, number>): Inst[] | null {
  const found = new Set<Inst>();
  const work: Value[] = [condition];
  for (let value = work.pop(); value !== undefined && found.size < mostMoved; value = work.pop()) {
    if (value.valueKind !== "inst" || value.parent !== block || uses.get(value) !== 1) continue;
    const moves = movable.has(value.op) || (isPlainLoad(value) && isQuiet(block, block.insts.indexOf(value)));
    if (!moves) continue;
    found.add(value);
    work.push(...value.operands);
  }
  const root = condition as Inst;
  if (!found.has(root) || (root.op !== Op.ICmp && root.op !== Op.FCmp)) return null;
  return block.insts.filter((inst) => found.has(inst));
}

/** @returns whether the block's branch was split; then there may be more to split in it */
function splitCondition(
  body: Body,
  block: Block,
  uses: ReadonlyMap<Inst, number>,
  order: BlockOrder,
): boolean {
  const { terminator } = block;
  if (terminator.op !== Op.CondBr || terminator.blocks[0] === terminator.blocks[1]) return false;
  const condition = terminator.operands[0]!;
  const pair = pairOf(condition);
  if (pair === null || condition.valueKind !== "inst") return false;
  if (condition.parent !== block || uses.get(condition) !== 1 || pair.first === pair.second) return false;
  const insts = moved(pair.second, block, uses);
  if (insts === null) return false;
  const [yes, no] = terminator.blocks as [Block, Block];
  const middle = newBlock(body);
  order.after(block, middle);
  raw(block).insts = block.insts.filter(
    (inst) => inst !== condition && inst !== terminator && !insts.includes(inst),
  );
  for (const inst of insts) middle.append(inst);
  middle.append(makeInst(Op.CondBr, voidType, [pair.second], null, [yes, no]));
  block.append(makeInst(Op.CondBr, voidType, [pair.first], null, pair.all ? [middle, no] : [yes, middle]));
  // One target is after both branches now, the other after the second.
  for (const [target, both] of [
    [yes, !pair.all],
    [no, pair.all],
  ] as const)
    for (const phi of target.insts) {
      if (phi.op !== Op.Phi) break;
      const at = phi.blocks.indexOf(block);
      if (both) {
        raw(phi).blocks = [...phi.blocks, middle];
        raw(phi).operands = [...phi.operands, phi.operands[at]!];
      } else raw(phi).blocks = phi.blocks.map((from) => (from === block ? middle : from));
    }
  return true;
}

function splitConditions(body: Body, order: BlockOrder): number {
  if (
    !body.blocks.some(({ terminator: { op, operands } }) => op === Op.CondBr && pairOf(operands[0]!) !== null)
  )
    return 0;
  const uses = countUses(body);
  let split = 0;
  for (const block of [...body.blocks]) while (splitCondition(body, block, uses, order)) split++;
  return split;
}

export const splitConditionsPass: FunctionPass<LoweringContext> = {
  name: "split-conditions",
  level: "function",
  description: "makes two branches of a branch on two conditions, for speed",
  counters: { split: "conditions split" },
  requires: [],
  preserves: [],
  run(_, context) {
    if (context.goal !== "speed") return false;
    const split = splitConditions(context.rewrite(), context.order);
    if (split > 0) context.count("split", split);
    return split > 0;
  },
};
