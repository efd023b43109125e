/** How often a loop is run through, where constants say so. */
import { integerCompare } from "../ir/fold/integers.js";
import { type Block, Flag, type Inst, type IntPredicate, Op } from "../ir/instructions.js";
import type { Value } from "../ir/values.js";

/** A counter of a loop: `start`, and more by `step` each round. */
interface Counter {
  readonly phi: Inst;
  readonly bits: number;
  readonly start: bigint;
  readonly step: bigint;
}

/** A sum with a constant, as its other operand and the constant; the value itself plus 0. */
function sumOf(value: Value): { readonly base: Value; readonly plus: bigint } {
  if (value.valueKind === "inst") {
    const [a, b] = value.operands as readonly [Value, Value | undefined];
    const isSum = value.op === Op.Add || (value.op === Op.Or && (value.flags & Flag.Disjoint) !== 0);
    if (isSum && b!.valueKind === "int") return { base: a, plus: b!.value };
  }
  return { base: value, plus: 0n };
}

function counterOf(value: Value, header: Block, isBack: (block: Block) => boolean): Counter | null {
  if (value.valueKind !== "inst" || value.op !== Op.Phi || value.parent !== header) return null;
  if (value.type.kind !== "int" || value.type.bits > 64 || value.operands.length !== 2) return null;
  const back = isBack(value.blocks[0]!) ? 0 : 1;
  if (!isBack(value.blocks[back]!) || isBack(value.blocks[1 - back]!)) return null;
  const start = value.operands[1 - back]!;
  const { base, plus } = sumOf(value.operands[back]!);
  if (base !== value || start.valueKind !== "int") return null;
  return { phi: value, bits: value.type.bits, start: start.value, step: plus };
}

/**
 * The rounds of a loop that control leaves at one block alone, through which each round leads: 1 for one whose branch back
 * is never taken. A counter that must not wrap and does is poison, and the branch by it undefined.
 * @param isBack a block that leads to the header is in the loop
 * @param from the block that control leaves at, by successor `index`
 * @param most rounds that are counted
 * @returns null where that is not known, infinity for more than are counted
 */
export function tripCount(
  header: Block,
  isBack: (block: Block) => boolean,
  { from, index }: { readonly from: Block; readonly index: number },
  most: number,
): number | null {
  const { terminator } = from;
  if (terminator.op !== Op.CondBr) return null;
  const condition = terminator.operands[0]!;
  const staysIf = index === 1;
  if (condition.valueKind === "int") return (condition.value !== 0n) === staysIf ? null : 1;
  if (condition.valueKind !== "inst" || condition.op !== Op.ICmp) return null;
  const [left, right] = condition.operands as readonly [Value, Value];
  if (right.valueKind !== "int") return null;
  const { base, plus } = sumOf(left);
  const counter = counterOf(base, header, isBack);
  if (counter === null) return null;
  const { bits, start, step } = counter;
  for (let round = 1n; round <= most; round++) {
    const value = BigInt.asIntN(bits, start + (round - 1n) * step + plus);
    if (integerCompare(condition.data as IntPredicate, bits, value, right.value) !== staysIf)
      return Number(round);
  }
  return Number.POSITIVE_INFINITY;
}
