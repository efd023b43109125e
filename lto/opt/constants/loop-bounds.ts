/**
 * Bounds of counters of loops that are left when a counter is equal to a constant, which says nothing of all other numbers.
 *
 *     header:  %i = phi i32 [ 0, %before ], [ %next, %latch ]
 *     …        %next = add i32 %i, 4
 *     latch:   %done = icmp eq i32 %next, 100
 *              br i1 %done, label %after, label %header              %i is in [0, 96]
 *
 * Proof obligations: the counter starts at a constant `a` and changes by a constant `s` from round to round, for which there is
 * one way back. Every way through a round takes an edge where the counter, plus a constant, is not the limit. So after a
 * round in which it is the limit none follows; and if `a + m·s` is that for some `m` that is not negative, without wrapping, the
 * counter is between `a` and `a + m·s`.
 * Breaks if: a way back goes past the comparison. The edge leads to a block that dominates the end of the way back, and that
 * nothing else leads to; or it is the way back itself.
 */
import { onlyPredecessors } from "../../analysis/cfg.js";
import { type DominatorTree, dominatorTree } from "../../analysis/dominators.js";
import { type Block, type BodyView, type Inst, Op } from "../../ir/instructions.js";
import type { Value } from "../../ir/values.js";
import { type Bounds, hasIntervals, largestOf, leastOf } from "./interval.js";

/** Of a body with numbered blocks that stays as it is. */
export class LoopBounds {
  private tree: DominatorTree | null = null;
  private only: readonly (Block | null)[] | null = null;
  private readonly known = new Map<Inst, Bounds | null>();

  constructor(private readonly body: BodyView) {}

  /** @returns what a phi is between; null: it is no such counter */
  of(phi: Inst): Bounds | null {
    let bounds = this.known.get(phi);
    if (bounds === undefined) this.known.set(phi, (bounds = this.find(phi)));
    return bounds;
  }

  private find(phi: Inst): Bounds | null {
    const { operands, blocks, type } = phi;
    const header = phi.parent!;
    if (operands.length !== 2 || !hasIntervals(type)) return null;
    const back = plusOf(operands[0]!, phi) !== null ? 0 : 1;
    const step = plusOf(operands[back]!, phi);
    const start = exact(operands[1 - back]!);
    if (step === null || step === 0 || start === null) return null;
    const tree = (this.tree ??= dominatorTree(this.body));
    const latch = blocks[back]!;
    // What comes in from before the loop is the start.
    if (!tree.dominates(header.id, latch.id) || tree.dominates(header.id, blocks[1 - back]!.id)) return null;
    for (let at = latch.id; ; at = tree.idom[at]!) {
      const last = this.lastAt(this.body.blocks[at]!, phi, latch, tree);
      if (last !== null && leastOf(type.bits) <= last && last <= largestOf(type.bits)) {
        const rounds = (last - start) / step;
        if (rounds >= 0 && Number.isInteger(rounds))
          return { least: Math.min(start, last), largest: Math.max(start, last), values: null };
      }
      if (at === header.id) return null;
    }
  }

  /** What the counter is in a round that the branch at the end of a block lets nothing follow; null: no such branch. */
  private lastAt(block: Block, phi: Inst, latch: Block, tree: DominatorTree): number | null {
    const { terminator } = block;
    if (terminator.op !== Op.CondBr) return null;
    const [condition] = terminator.operands as readonly [Value];
    if (condition.valueKind !== "inst" || condition.op !== Op.ICmp) return null;
    const { data: predicate, operands } = condition;
    if (predicate !== "eq" && predicate !== "ne") return null;
    const plus = plusOf(operands[0]!, phi);
    const limit = exact(operands[1]!);
    if (plus === null || limit === null) return null;
    const [unequal, equal] = (
      predicate === "ne" ? terminator.blocks : [...terminator.blocks].reverse()
    ) as readonly [Block, Block];
    if (unequal === equal) return null;
    const only = (this.only ??= onlyPredecessors(this.body.blocks));
    const isWayBack = block === latch && unequal === phi.parent && equal !== phi.parent;
    if (!isWayBack && !(only[unequal.id] === block && tree.dominates(unequal.id, latch.id))) return null;
    return limit - plus;
  }
}

/** A constant as a number that is exact. */
const exact = (value: Value): number | null =>
  value.valueKind === "int" && Number.isSafeInteger(value.num) ? value.num : null;

/** What is added to the counter; null: the value is something else. */
function plusOf(value: Value, phi: Inst): number | null {
  if (value === phi) return 0;
  if (value.valueKind !== "inst" || value.op !== Op.Add || value.operands[0] !== phi) return null;
  return exact(value.operands[1]!);
}
