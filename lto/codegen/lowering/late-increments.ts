/**
 * late-increments: what a loop counts by is counted on once nothing needs the old count any more, so that both are one register.
 *
 *     loop: %p = phi ptr [ %start, … ], [ %q, %loop ]        loop: %p = phi ptr [ %start, … ], [ %q, %loop ]
 *           %q = gep i8, %p, 2                                     %a = load i8, %p
 *           %a = load i8, %p                           →           %b = load i8, (gep i8, %p, 1)
 *           %b = load i8, (gep i8, %p, 1)                          …
 *           br …                                                   %q = gep i8, %p, 2
 *                                                                  br …
 *
 * Why: compilers leave the sum where it was found; where the old value is needed after it, the two are in different registers,
 * and each round ends with a copy. Addresses that were made of the sum are made of the old value and a constant,
 * which addressing adds for nothing, or for a byte in code for size.
 *
 * Method: for each phi of a head of a loop that all edges back give the same sum of it and a constant. The sum moves to the
 * block that all its uses have in common on the way to the entry, in front of the first use there or of the comparison at the
 * end, if the old value is not needed after that, and is needed after where the sum is now. Linear in instructions and uses,
 * times the blocks of a loop for each sum that may move.
 *
 * Proof obligations: the sum has no effect and does not trap, so it may be computed later; the new place is below the old one
 * and above all uses. An address with the sum as its index is the same modulo 2^64 with the old value and a multiple of the
 * constant, without what the original promises of not wrapping.
 * Breaks if: a use is taken for one that comes before the new place, or an index is extended, which the sum might wrap under.
 */
import { estimatedFrequencies } from "../../analysis/branch-probability.js";
import { predecessorLists } from "../../analysis/cfg.js";
import type { DominatorTree } from "../../analysis/dominators.js";
import type { LoopNest } from "../../analysis/loop-nest.js";
import type { DataLayout } from "../../ir/data-layout.js";
import { type Block, type Body, type Inst, type InstWith, makeInst, Op } from "../../ir/instructions.js";
import { raw } from "../../ir/raw.js";
import { i8, type Type } from "../../ir/types.js";
import { constI64, type Value } from "../../ir/values.js";
import { cfg, dominators, loops } from "../../pass/analyses.js";
import type { FunctionPass } from "../../pass/pass.js";
import { type Use, Uses } from "./blocks.js";
import type { LoweringContext } from "./context.js";
import { addedConstant, sumOfRounds } from "./loop-sums.js";

/** More addresses are not made anew for one sum. */
const mostAddresses = 8;
/** Addresses of addresses that are followed. */
const deepest = 4;
/** What an instruction has room for as a distance, with some for what is there already. */
const farthest = 2 ** 30;
/** What a byte has room for, with the same. */
const mostOfByte = 64;
/** The new place may run this much more often, by estimates that differ in the last bits. */
const tolerance = 1.001;

export const lateIncrements: FunctionPass<LoweringContext> = {
  name: "late-increments",
  level: "function",
  description: "counts on in loops where the old count is not needed any more",
  counters: { moved: "sums moved", addresses: "addresses made of old counts" },
  requires: [cfg, dominators, loops],
  preserves: [cfg, dominators, loops],
  run(_, context) {
    const nest = context.ofBody(loops, context.view());
    if (!nest.header.some((header) => header >= 0)) return false;
    const body = context.rewrite();
    const successors = context.ofBody(cfg, body);
    const increments = new Increments(
      body,
      successors,
      nest,
      context.ofBody(dominators, body),
      context.layout,
    );
    const isForSpeed = context.goal === "speed";
    for (const block of body.blocks)
      if (nest.header[block.id] === block.id)
        for (const phi of block.insts) {
          if (phi.op !== Op.Phi) break;
          increments.look(phi, isForSpeed);
        }
    context.count("moved", increments.moved);
    context.count("addresses", increments.addresses);
    return increments.moved > 0;
  },
};

/** In front of an instruction of a block. */
interface Place {
  readonly block: Block;
  readonly before: Inst;
}

class Increments {
  moved = 0;
  addresses = 0;
  private readonly uses: Uses;
  private readonly frequencies: Float64Array;
  private readonly predecessors: readonly (readonly number[])[];

  constructor(
    private readonly body: Body,
    private readonly successors: readonly (readonly number[])[],
    nest: LoopNest,
    private readonly tree: DominatorTree,
    private readonly layout: DataLayout,
  ) {
    this.predecessors = predecessorLists(successors);
    this.frequencies = estimatedFrequencies(body.blocks, successors, nest);
    this.uses = new Uses(body);
  }

  look(phi: Inst, isForSpeed: boolean): void {
    const sum = this.incrementOf(phi);
    // Where nothing needs the old value any more, both are one register already.
    if (sum === null || !this.isNeededAfter(phi, sum, this.placeAfter(sum), phi.parent!)) return;
    if (this.moveTo(phi, sum, [])) return;
    const most = isForSpeed ? farthest : mostOfByte;
    const addresses = this.uses
      .of(sum)
      .filter(({ user, position }) => Math.abs(this.distance(phi, sum, user, position) ?? Infinity) <= most);
    if (addresses.length > 0 && addresses.length <= mostAddresses) this.moveTo(phi, sum, addresses);
  }

  /** What all edges back to the head of its loop give the phi, if that is the phi and a constant. */
  private incrementOf(phi: Inst): Inst | null {
    const sum = sumOfRounds(phi, this.tree);
    if (sum === null || sum.operands[1]?.valueKind !== "int") return null;
    const { op } = sum;
    if (op !== Op.Add && op !== Op.Sub && !(op === Op.GetElementPtr && sum.operands.length === 2))
      return null;
    return sum.type.kind === "vector" ? null : sum;
  }

  private placeAfter(sum: Inst): Place {
    const block = sum.parent!;
    return { block, before: block.insts[block.insts.indexOf(sum) + 1]! };
  }

  /** @param addresses uses that are to be made of the phi. @returns whether it could be done */
  private moveTo(phi: Inst, sum: Inst, addresses: readonly Use[]): boolean {
    const others = this.uses.of(sum).filter((use) => !addresses.includes(use));
    const isRight = (place: Place | null): place is Place =>
      place !== null &&
      !this.isNeededAfter(phi, sum, place, phi.parent!) &&
      !this.anyAfter(addresses, place, phi.parent!);
    // With code on the edge back the loop would end in a jump more.
    const ahead = this.placeFor(sum, others, true);
    const place = isRight(ahead) ? ahead : this.placeFor(sum, others, false);
    if (!isRight(place)) return false;
    for (const use of addresses) this.makeOf(phi, sum, use);
    const { insts } = raw(sum.parent!);
    insts.splice(insts.indexOf(sum), 1);
    raw(place.block).insts.splice(place.block.insts.indexOf(place.before), 0, sum);
    sum.parent = place.block;
    this.uses.set(sum, others);
    this.moved++;
    this.addresses += addresses.length;
    return true;
  }

  /**
   * As late as the uses allow; null: where it is now, or more often.
   * @param isAhead in front of a branch whose edge leads to the use, not on the edge
   */
  private placeFor(sum: Inst, uses: readonly Use[], isAhead: boolean): Place | null {
    const { idom } = this.tree;
    let at = -1;
    for (const { block } of uses) {
      let other = (isAhead ? this.startOf(block) : block).id;
      if (at < 0) at = other;
      while (!this.tree.dominates(at, other)) at = idom[at]!;
      while (!this.tree.dominates(at, other)) other = idom[other]!;
    }
    if (at < 0) return null;
    const own = sum.parent!;
    const block = this.body.blocks[at]!;
    if (this.frequencies[at]! > this.frequencies[own.id]! * tolerance) return null;
    const { insts } = block;
    let index = insts.length - 1;
    // A comparison at the end stays beside the branch that it is part of.
    const condition = block.terminator.operands[0];
    const last = insts[index - 1];
    if (last !== undefined && last === condition && last.op !== Op.Phi) index--;
    for (const use of uses)
      if (use.block === block && use.user.op !== Op.Phi) index = Math.min(index, insts.indexOf(use.user));
    if (block === own && index <= insts.indexOf(sum) + 1) return null;
    return { block, before: insts[index]! };
  }

  /** Of an edge that has a block for itself, the start; other blocks as they are. */
  private startOf(block: Block): Block {
    if (block.insts.length > 1) return block;
    const before = this.predecessors[block.id]!;
    return before.length === 1 ? this.body.blocks[before[0]!]! : block;
  }

  /** Whether something but the sum needs the old value, or what addresses make of it, from a place on. */
  private isNeededAfter(value: Inst, sum: Inst, place: Place, head: Block, depth = 0): boolean {
    const uses = this.uses.of(value).filter(({ user }) => user !== sum);
    if (this.anyAfter(uses, place, head)) return true;
    return uses.some(
      ({ user }) =>
        user.op === Op.GetElementPtr &&
        (depth === deepest || this.isNeededAfter(user, sum, place, head, depth + 1)),
    );
  }

  /** Whether control gets from a place to a use before it comes to the head of the loop again. */
  private anyAfter(uses: readonly Use[], { block, before }: Place, head: Block): boolean {
    const index = block.insts.indexOf(before);
    let reached: Set<number> | null = null;
    return uses.some((use) => {
      if (use.block === block && (use.user.op === Op.Phi || block.insts.indexOf(use.user) >= index))
        return true;
      reached ??= this.reachedFrom(block, head);
      return reached.has(use.block.id);
    });
  }

  private reachedFrom(from: Block, head: Block): Set<number> {
    const seen = new Set<number>();
    const work = [...this.successors[from.id]!];
    for (let b = work.pop(); b !== undefined; b = work.pop()) {
      if (b === head.id || seen.has(b)) continue;
      seen.add(b);
      work.push(...this.successors[b]!);
    }
    return seen;
  }

  /** Bytes that an address moves on for each one of a value that is its pointer, or its index; null: it is neither. */
  private strideOf(user: Inst, position: number, value: Inst): number | null {
    const isPointer = value.type.kind === "ptr";
    if (user.op === Op.GetElementPtr && user.operands.length === 2 && user.type.kind === "ptr") {
      if (position === 0) return isPointer && user.operands[1]!.valueKind === "int" ? 1 : null;
      const isWhole = value.type.kind === "int" && value.type.bits === 64;
      return isWhole ? this.layout.allocSize(user.data.elementType) : null;
    }
    const isAccess = (user.op === Op.Load && position === 0) || (user.op === Op.Store && position === 1);
    return isAccess && isPointer ? 1 : null;
  }

  /** Makes an address of the old value, and a constant. */
  private makeOf(phi: Inst, sum: Inst, { user, position, block }: Use): void {
    const insert = (base: Value, index: Value, elementType: Type): Inst => {
      const address = makeInst(Op.GetElementPtr, base.type, [base, index], { elementType }) as Inst;
      address.parent = block;
      raw(block).insts.splice(block.insts.indexOf(user), 0, address);
      this.uses.note(address, block);
      return address;
    };
    if (user.op !== Op.GetElementPtr) {
      raw(user).operands[position] = insert(phi, constI64(this.distance(phi, sum, user, position)!), i8);
      this.uses.note(user, block);
      return;
    }
    const [base, index] = user.operands as readonly [Value, Value];
    const early =
      position === 1 ? insert(base, phi, user.data.elementType) : insert(phi, index, user.data.elementType);
    const late = insert(early, constI64(this.distance(phi, sum, user, position)!), i8);
    for (const use of this.uses.of(user)) raw(use.user).operands[use.position] = late;
    this.uses.set(late, this.uses.of(user));
    this.uses.forget(user);
    raw(block).insts.splice(block.insts.indexOf(user), 1);
  }

  /** Bytes between the address that an operand is part of and what it would be with the old value; null: there is none, or it is too far. */
  private distance(phi: Inst, sum: Inst, user: Inst, position: number): number | null {
    const step = addedConstant(sum);
    const stride = this.strideOf(user, position, phi);
    if (step === null || Math.abs(step) > farthest || stride === null) return null;
    const unit =
      sum.op === Op.GetElementPtr
        ? this.layout.allocSize((sum as InstWith<Op.GetElementPtr>).data.elementType)
        : 1;
    const bytes = step * unit * stride;
    return Math.abs(bytes) < farthest ? bytes : null;
  }
}
