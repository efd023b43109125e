/**
 * Bounds of counters of loops that are left when a counter is equal to a constant, which says nothing of all other numbers.
 *
 *     header:  %i = phi i32 [ 0, %before ], [ %next, %latch ]
 *     …        %next = add i32 %i, 4
 *     latch:   %done = icmp eq i32 %next, 100
 *              br i1 %done, label %after, label %header              %i is in [0, 96]
 *
 * Proof obligations: the counter starts at a constant `a` and changes by a constant `s` from round to round, for which there is
 * one way back. There, conditions say, the counter is not some number: every round that another follows came by a branch that
 * found that out in this round, since the header dominates what compares its phi. So if the number is `a + m·s` for some `m`
 * that is not negative, without wrapping, no round follows that one, and the counter is between `a` and `a + m·s`.
 * Breaks if: a condition holds on the way back that is of another round's counter.
 */
import type { Inst } from "../../ir/instructions.js";
import { Op } from "../../ir/instructions.js";
import type { Value } from "../../ir/values.js";
import { type Conditions, exactOf } from "./conditions.js";
import { type Bounds, hasIntervals, largestOf, leastOf } from "./interval.js";

/** Of the body that the conditions are of. */
export class LoopBounds {
  private readonly known = new Map<Inst, Bounds | null>();

  constructor(private readonly conditions: Conditions) {}

  /** @returns what a phi is between; null: it is no such counter */
  of(phi: Inst): Bounds | null {
    let bounds = this.known.get(phi);
    if (bounds === undefined) this.known.set(phi, (bounds = this.find(phi)));
    return bounds;
  }

  private find(phi: Inst): Bounds | null {
    const { operands, blocks, type } = phi;
    const header = phi.parent!.id;
    if (operands.length !== 2 || !hasIntervals(type)) return null;
    const back = stepOf(operands[0]!, phi) !== null ? 0 : 1;
    const step = stepOf(operands[back]!, phi);
    const start = exactOf(operands[1 - back]!);
    if (step === null || step === 0 || start === null) return null;
    const latch = blocks[back]!.id;
    const tree = this.conditions.dominators;
    // What comes in from before the loop is the start.
    if (!tree.dominates(header, latch) || tree.dominates(header, blocks[1 - back]!.id)) return null;
    for (const last of this.conditions.unequal(phi, latch, header)) {
      const rounds = (last - start) / step;
      if (last < leastOf(type.bits) || last > largestOf(type.bits)) continue;
      if (rounds >= 0 && Number.isInteger(rounds))
        return { least: Math.min(start, last), largest: Math.max(start, last), values: null };
    }
    return null;
  }
}

/** What a counter is changed by; null: the value is something else. */
function stepOf(value: Value, phi: Inst): number | null {
  if (value.valueKind !== "inst" || value.op !== Op.Add || value.operands[0] !== phi) return null;
  return exactOf(value.operands[1]!);
}
