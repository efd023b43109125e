/** What passes share on values that loops count on with. */
import type { DominatorTree } from "../../analysis/dominators.js";
import { type Inst, Op } from "../../ir/instructions.js";
import type { Value } from "../../ir/values.js";

/** Whether an entry of a phi comes by an edge back to the head of the loop that it is in. */
export const isBack = (phi: Inst, entry: number, tree: DominatorTree): boolean =>
  tree.dominates(phi.parent!.id, phi.blocks[entry]!.id);

/** What all edges back to the head of its loop give a phi, if the phi is the first operand of that; else null. */
export function sumOfRounds(phi: Inst, tree: DominatorTree): Inst | null {
  let sum: Value | null = null;
  for (let i = 0; i < phi.operands.length; i++) {
    if (!isBack(phi, i, tree)) continue;
    if (sum !== null && sum !== phi.operands[i]) return null;
    sum = phi.operands[i]!;
  }
  return sum?.valueKind === "inst" && sum.operands[0] === phi ? sum : null;
}

/** The constant that a sum adds, or as the index of an address; null: there is none. */
export function addedConstant({ op, operands }: Inst): number | null {
  const constant = operands[1]!;
  if (constant.valueKind !== "int") return null;
  const signed = Number(BigInt.asIntN(constant.type.bits, constant.value));
  return op === Op.Sub ? -signed : signed;
}
