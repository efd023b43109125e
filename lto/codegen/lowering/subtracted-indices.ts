/**
 * subtracted-indices: indices that are a constant minus a value become the negated value plus the constant.
 *
 *     %i0 = sub i64 0, %lag                        %n = sub i64 0, %lag
 *     %i1 = sub i64 1, %lag                   →    %i1 = add i64 %n, 1         ; part of the address
 *     %p1 = getelementptr i16, ptr %d, i64 %i1     %p1 = getelementptr i16, ptr %d, i64 %i1
 *
 * Why: addressing adds constants and cannot subtract registers. A sum's constant goes into the displacement, and one negation
 * serves all indices of a block; otherwise each takes a constant into a register and subtracts.
 *
 * Method: subtractions from constants of which all uses are indices in the same block; one negation a block and value. Linear.
 *
 * Proof obligations: 64 bits, so that addresses are the same modulo 2^64, whatever wraps; the flags of the subtraction, which say
 * what the two operations do not keep, go, those of a negation that is there already, too. The negation stands where the first subtraction stood, so its operand is there.
 */
import { type Block, type BodyView, type Inst, makeInst, Op } from "../../ir/instructions.js";
import { raw } from "../../ir/raw.js";
import { i64 } from "../../ir/types.js";
import { constI64, isConstant, type Value } from "../../ir/values.js";
import { cfg, dominators, loops } from "../../pass/analyses.js";
import type { FunctionPass } from "../../pass/pass.js";
import { replaceUses } from "./blocks.js";
import type { LoweringContext } from "./context.js";

function constantLessValue({ op, type, operands }: Inst): { constant: number; value: Value } | null {
  if (op !== Op.Sub || type !== i64) return null;
  const [a, value] = operands as readonly [Value, Value];
  const constant = a.valueKind === "int" ? a.num : a.valueKind === "zero" ? 0 : Number.NaN;
  // Without a place in a displacement the constant is no cheaper beside a negation.
  return Math.abs(constant) <= 0x7fffffff && !isConstant(value) ? { constant, value } : null;
}

/** Subtractions from constants other than zero whose uses are all indices in their own block. */
function differencesAsIndices({ blocks }: BodyView): Set<Inst> {
  const found = new Set<Inst>();
  for (const { insts } of blocks)
    for (const inst of insts) if ((constantLessValue(inst)?.constant ?? 0) !== 0) found.add(inst);
  if (found.size === 0) return found;
  for (const block of blocks)
    for (const inst of block.insts)
      for (const [i, operand] of inst.operands.entries()) {
        const isIndex = inst.op === Op.GetElementPtr && i > 0;
        if (operand.valueKind === "inst" && (!isIndex || operand.parent !== block)) found.delete(operand);
      }
  return found;
}

/** @param replaced gets what stands for the subtractions of the block */
function rewrite(block: Block, indices: ReadonlySet<Inst>, replaced: Map<Value, Value>): void {
  const negations = new Map<Value, Value>();
  const out: Inst[] = [];
  const emit = (op: Op.Add | Op.Sub, a: Value, b: Value): Value => {
    const inst = makeInst(op, i64, [a, b], null);
    inst.parent = block;
    out.push(inst);
    return inst;
  };
  for (const inst of block.insts) {
    const parts = constantLessValue(inst);
    if (parts !== null && indices.has(inst)) {
      const { constant, value } = parts;
      if (!negations.has(value)) negations.set(value, emit(Op.Sub, constI64(0), value));
      replaced.set(inst, emit(Op.Add, negations.get(value)!, constI64(constant)));
      continue;
    }
    const isFirst = parts?.constant === 0 && !negations.has(parts.value);
    if (isFirst && inst.flags !== 0) {
      negations.set(parts.value, emit(Op.Sub, constI64(0), parts.value));
      replaced.set(inst, negations.get(parts.value)!);
      continue;
    }
    if (isFirst) negations.set(parts.value, inst);
    out.push(inst);
  }
  raw(block).insts = out;
}

export const subtractedIndices: FunctionPass<LoweringContext> = {
  name: "subtracted-indices",
  level: "function",
  description: "makes indices that are constants minus values sums, which addresses hold",
  counters: { sums: "indices that became sums" },
  requires: [],
  preserves: [cfg, dominators, loops],
  run(_, context) {
    const indices = differencesAsIndices(context.view());
    if (indices.size === 0) return false;
    const replaced = new Map<Value, Value>();
    const body = context.rewrite();
    for (const block of new Set([...indices].map(({ parent }) => parent!))) rewrite(block, indices, replaced);
    replaceUses(body, replaced);
    context.count("sums", indices.size);
    return true;
  },
};
