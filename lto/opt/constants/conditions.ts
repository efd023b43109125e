/**
 * What branches say of integers: after the edge on which `x < 10` is true x is less than 10.
 *
 *     br i1 (icmp ult i32 %x, 10), label %yes, label %no      yes: %x in [0, 9]
 *     switch i32 %x, label %other [ i32 1, label %one … ]     one: %x is 1
 *
 * Method: one look at the branches of a body. A comparison tells of both its operands, of what an operand was extended
 * from, and of what a constant was added to. It holds in all blocks that the edge's target dominates, if no other
 * edge leads there, and for what a phi gets by this edge. Values that no branch tests cost a look at a flag.
 *
 * Proof obligations: a branch on poison or undef is undefined behaviour, so that after it the compared values are
 * none, and what was compared holds of them. An edge is one of two to different blocks.
 * Breaks if: control enters a block by a way that is no edge (blocks with addresses have no conditions of their own).
 */
import { type DominatorTree, dominatorTree } from "../../analysis/dominators.js";
import {
  type Block,
  type BodyView,
  type Inst,
  type IntPredicate,
  inversePredicate,
  Op,
  swappedPredicate,
} from "../../ir/instructions.js";
import type { Argument, Value } from "../../ir/values.js";
import { type Bounds, factOf, hasIntervals, largestOf, leastOf, narrowed, whole } from "./interval.js";
import { boundsOf, type Known, unknown, varying } from "./lattice.js";

/** A comparison that holds somewhere. */
interface Condition {
  readonly edge: Edge;
  readonly predicate: IntPredicate;
  readonly other: Value;
  /** What was compared is the value (null), an extension of it, or it and a constant. */
  readonly through: Inst | null;
}
interface Edge {
  readonly from: number;
  readonly to: number;
  /** All that `to` dominates knows, since nothing else leads there. */
  readonly isAlone: boolean;
}

type Subject = Inst | Argument;

/** More than so many conditions on one value are not kept. */
const mostConditions = 12;
const mostLabels = 6;
const deepest = 3;
const none: readonly Subject[] = [];

export class Conditions {
  private tree: DominatorTree | null = null;
  private readonly ofInst = new Map<Inst, Condition[]>();
  private readonly ofArgument = new Map<Argument, Condition[]>();
  private readonly isTested: Uint8Array;
  private compared: Map<Value, Subject[]> | null = null;

  constructor(
    private readonly body: BodyView,
    instructions: number,
  ) {
    this.isTested = new Uint8Array(instructions);
    const edges = new Uint32Array(body.blocks.length);
    for (const { successors } of body.blocks) for (const next of successors) edges[next.id]!++;
    for (const block of body.blocks) {
      const { terminator } = block;
      if (terminator.op === Op.CondBr) {
        const [yes, no] = terminator.blocks as readonly [Block, Block];
        if (yes === no) continue;
        const condition = terminator.operands[0]!;
        if (condition.valueKind !== "inst") continue;
        this.assume(condition, true, { from: block.id, to: yes.id, isAlone: isAlone(yes, edges) }, 0);
        this.assume(condition, false, { from: block.id, to: no.id, isAlone: isAlone(no, edges) }, 0);
      } else if (terminator.op === Op.Switch) {
        const { operands, data: labels, blocks } = terminator;
        const [otherwise] = blocks as readonly [Block];
        const value = operands[0]!;
        for (let i = 0; i < labels.length; i++) {
          const to = blocks[i + 1]!;
          if (blocks.indexOf(to) === i + 1 && blocks.lastIndexOf(to) === i + 1)
            this.record(value, "eq", labels[i]!, { from: block.id, to: to.id, isAlone: isAlone(to, edges) });
          if (labels.length <= mostLabels && blocks.lastIndexOf(otherwise) === 0) {
            const edge = { from: block.id, to: otherwise.id, isAlone: isAlone(otherwise, edges) };
            this.record(value, "ne", labels[i]!, edge);
          }
        }
      }
    }
  }

  private assume(condition: Value, truth: boolean, edge: Edge, depth: number): void {
    if (condition.valueKind !== "inst" || depth > deepest) return;
    const [a, b, c] = condition.operands as readonly [Value, Value, Value];
    switch (condition.op) {
      case Op.ICmp: {
        if (!hasIntervals(a.type)) return;
        const predicate = truth ? condition.data : inversePredicate[condition.data];
        this.record(a, predicate, b, edge);
        this.record(b, swappedPredicate[predicate], a, edge);
        return;
      }
      case Op.And:
      case Op.Or:
        if (truth !== (condition.op === Op.And)) return;
        this.assume(a, truth, edge, depth + 1);
        this.assume(b, truth, edge, depth + 1);
        return;
      case Op.Xor:
        if (b.valueKind === "int" && b.value === -1n) this.assume(a, !truth, edge, depth + 1);
        return;
      case Op.Select:
        // `a && b`, `a || b`.
        if (truth && c.valueKind === "int" && c.value === 0n) {
          this.assume(a, true, edge, depth + 1);
          this.assume(b, true, edge, depth + 1);
        } else if (!truth && b.valueKind === "int" && b.value === -1n) {
          this.assume(a, false, edge, depth + 1);
          this.assume(c, false, edge, depth + 1);
        }
        return;
      default:
    }
  }

  private record(value: Value, predicate: IntPredicate, other: Value, edge: Edge): void {
    this.add(value, edge, predicate, other, null);
    if (value.valueKind !== "inst") return;
    const { op, operands } = value;
    if (op === Op.ZExt || op === Op.SExt || (op === Op.Add && operands[1]!.valueKind === "int"))
      this.add(operands[0]!, edge, predicate, other, value);
  }
  private add(value: Value, edge: Edge, predicate: IntPredicate, other: Value, through: Inst | null): void {
    const { valueKind } = value;
    if ((valueKind !== "inst" && valueKind !== "argument") || !hasIntervals(value.type)) return;
    const condition: Condition = { edge, predicate, other, through };
    if (valueKind === "argument") push(this.ofArgument, value, condition);
    else {
      this.isTested[value.id] = 1;
      push(this.ofInst, value, condition);
    }
  }
  /** Values of which a branch tells something by this one, somewhere. */
  comparedWith(value: Value): readonly Subject[] {
    this.compared ??= this.findCompared();
    return this.compared.get(value) ?? none;
  }
  private findCompared(): Map<Value, Subject[]> {
    const compared = new Map<Value, Subject[]>();
    for (const conditions of [this.ofInst, this.ofArgument])
      for (const [subject, list] of conditions)
        for (const { other } of list) {
          if (other.valueKind !== "inst" && other.valueKind !== "argument") continue;
          const subjects = compared.get(other);
          if (subjects === undefined) compared.set(other, [subject]);
          else if (!subjects.includes(subject)) subjects.push(subject);
        }
    return compared;
  }

  /** Whether a branch tells anything of an instruction's result, somewhere. */
  tests({ id }: Inst): boolean {
    return this.isTested[id] === 1;
  }

  /**
   * What is known of a value where a block uses it, or where an edge passes it on.
   * @param known what is known of it everywhere
   * @param to the edge's other end; -1: none
   */
  refine(value: Subject, known: Known, block: number, to: number, of: (value: Value) => Known): Known {
    let list: Condition[] | undefined;
    if (value.valueKind === "inst") {
      if (this.isTested[value.id] === 0) return known;
      list = this.ofInst.get(value);
    } else list = this.ofArgument.get(value);
    if (list === undefined || known === unknown) return known;
    if (known !== varying && known.valueKind !== "interval") return known;
    const { type } = value;
    let bounds: Bounds = known === varying ? whole(type.bits) : known;
    let isNarrower = false;
    for (const condition of list) {
      if (!this.holds(condition.edge, block, to)) continue;
      const next = narrow(bounds, condition, type.bits, of);
      // Control cannot get here, as far as is known.
      if (next === null) return unknown;
      if (next !== bounds) isNarrower = true;
      bounds = next;
    }
    return isNarrower ? (factOf(type, bounds.least, bounds.largest, bounds.values) ?? known) : known;
  }

  /** Numbers that an instruction's result is not where an edge is taken, by comparisons of it, or of it and a constant. */
  unequal(inst: Inst, block: number, to: number): number[] {
    return (this.ofInst.get(inst) ?? []).flatMap(({ edge, predicate, other, through }) => {
      if (predicate !== "ne" || (through !== null && through.op !== Op.Add)) return [];
      if (!this.holds(edge, block, to)) return [];
      const limit = exactOf(other);
      const plus = through === null ? 0 : exactOf(through.operands[1]!);
      return limit === null || plus === null ? [] : [limit - plus];
    });
  }

  get dominators(): DominatorTree {
    return (this.tree ??= dominatorTree(this.body));
  }
  /** @param to where the block goes on to; -1: nowhere yet */
  private holds({ from, to: target, isAlone }: Edge, block: number, to: number): boolean {
    return (from === block && target === to) || (isAlone && this.dominators.dominates(target, block));
  }
}

/** A constant as a number that is exact. */
export const exactOf = (value: Value): number | null =>
  value.valueKind === "int" && Number.isSafeInteger(value.num) ? value.num : null;

const isAlone = (block: Block, edges: Uint32Array): boolean =>
  edges[block.id] === 1 && !block.addressTaken && block.id !== 0;

function push<K>(map: Map<K, Condition[]>, key: K, condition: Condition): void {
  const list = map.get(key);
  if (list === undefined) map.set(key, [condition]);
  else if (list.length < mostConditions) list.push(condition);
}

function narrow(
  bounds: Bounds,
  { predicate, other, through }: Condition,
  bits: number,
  of: (value: Value) => Known,
): Bounds | null {
  const fact = of(other);
  if (fact === unknown) return bounds;
  const limit = boundsOf(fact) ?? whole(other.type.bits);
  if (through === null) return narrowed(bounds, predicate, limit);
  // What the compared value is, then what the value itself is.
  const wide = through.type.bits;
  switch (through.op) {
    case Op.ZExt: {
      const compared = narrowed(
        { least: 0, largest: bits > 52 ? Infinity : 2 ** bits - 1, values: null },
        predicate,
        limit,
      );
      if (compared === null || compared.largest > largestOf(bits)) return compared === null ? null : bounds;
      return intersection(bounds, compared);
    }
    case Op.SExt: {
      const compared = narrowed(whole(bits), predicate, limit);
      return compared === null ? null : intersection(bounds, compared);
    }
    default: {
      const added = boundsOf(of(through.operands[1]!));
      const compared = narrowed(whole(wide), predicate, limit);
      if (added === null) return bounds;
      if (compared === null) return null;
      const least = compared.least - added.least;
      const largest = compared.largest - added.least;
      if (!isExact(least) || !isExact(largest) || least < leastOf(bits) || largest > largestOf(bits))
        return bounds;
      return intersection(bounds, { least, largest, values: null });
    }
  }
}
const isExact = (bound: number): boolean => Number.isSafeInteger(bound);

function intersection(a: Bounds, b: Bounds): Bounds | null {
  const least = Math.max(a.least, b.least);
  const largest = Math.min(a.largest, b.largest);
  if (least > largest) return null;
  if (a.values !== null) {
    const values = a.values.filter((value) => least <= value && value <= largest);
    return values.length === 0 ? null : { least: values[0]!, largest: values.at(-1)!, values };
  }
  return { least, largest, values: null };
}
