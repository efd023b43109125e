/**
 * Sparse conditional constant propagation over one body: which values are constant on the paths that can run.
 *
 * Problem: `x = flag ? 1 : 2` where `flag` is always false, then `if (x == 1) …`: each fact needs the other.
 * Method (Wegman and Zadeck 1991): assume that no block runs and no value is known, and only lower that where the code
 * says so: a block is reached when a branch that is reached can take an edge to it, a value is joined from what
 * flows in along such edges. The solver sweeps the reached blocks once, in reverse postorder. Then it looks again at blocks
 * that use what has got lower since, in that order, too: first those whose phis get less by a back edge. Bodies
 * without loops need no lists of who uses what. (Whole sweeps instead look at instructions 4 to 10 times: Lua, SQLite,
 * gawk.)
 *
 * Calls, memory and arguments are the surroundings' to know: the local pass knows nothing, the interprocedural one
 * much. When they know less they tell (`recheck`, `argumentChanged`), and the body is solved again; what was lowered stays so.
 *
 * What breaks it: a folder that gives a constant which differs from what the instruction computes; surroundings that
 * raise a fact again, or do not tell; a fact that depends on something else than operands, edges, surroundings and what
 * values were compared with (`Conditions.comparedWith`).
 */
import { reversePostOrder } from "../../analysis/cfg.js";
import {
  type Block,
  type BodyView,
  type CallInst,
  type Inst,
  type InstWith,
  Op,
} from "../../ir/instructions.js";
import type { Type } from "../../ir/types.js";
import { type Argument, type Constant, constBool, isConstant, type Value } from "../../ir/values.js";
import { Conditions } from "./conditions.js";
import { type Bounds, compare, factOf, hasIntervals, resultOf, whole } from "./interval.js";
import { boundsOf, isConstantFact, isUndef, join, type Known, lower, unknown, varying } from "./lattice.js";
import { LoopBounds } from "./loop-bounds.js";
import { UserBlocks } from "./user-blocks.js";

/** Of a call: the result may be anything, and whatever else becomes known, nobody wants to be shown the call again. */
export const settled: unique symbol = Symbol("settled");

/** What is known outside of the body. Facts only get lower. */
export interface Surroundings {
  argument(argument: Argument): Known;
  /** Shows a call that is reached. @returns its result */
  call(call: CallInst, known: (value: Value) => Known): Known | typeof settled;
  /** @param pointer something is known of it */
  load(load: InstWith<Op.Load>, pointer: Known): Known;
  /** Shows a store to a global that is reached. */
  store(store: InstWith<Op.Store>, value: Known): void;
  /** Shows what a reached return gives. */
  ret(value: Known): void;
  /** The value of an operation on constants; null: not to be known. */
  fold(inst: Inst, operands: readonly Constant[]): Constant | null;
}

/** Every successor may be taken; none is, as far as is known; the block was not looked at. */
const allSuccessors = -1;
const noSuccessor = -2;
const unseen = -3;
/** Those of a switch that `possible` lists. */
const someSuccessors = -4;

export class ConstantSolver {
  private readonly values: Known[];
  private readonly reached: Uint8Array;
  /** By number of a call: it is settled. */
  private readonly isSettled: Uint8Array;
  /** By block: the number of the only successor that is taken, or one of the above. */
  private readonly taken: Int32Array;
  private readonly order: readonly number[];
  /** By block: where in the order it is. */
  private readonly place: Int32Array;
  /** By block: something that it depends on got lower since it was looked at. */
  private readonly isStale: Uint8Array;
  /** The first place of a stale block at or before the one that is looked at; their number: there is none. */
  private firstStale: number;
  /** Where in the order the solver is; their number: nowhere. */
  private position: number;
  /** All reached blocks have been looked at once. */
  private isSwept = false;
  /** Where edges against the order lead, in the first sweep. */
  private readonly backTargets: number[] = [];
  private users: UserBlocks | null = null;
  private readonly operands: Constant[] = [];
  /** What is known of the first two operands of the operation that is looked at. */
  private first: Known = unknown;
  private second: Known = unknown;
  /** By block: which successors of a switch may be taken, where some are and some are not. */
  private readonly possible = new Map<number, Uint8Array>();
  /** Those of the block that is looked at have become more. */
  private possibleGrew = false;
  private readonly conditions: Conditions | null;
  private readonly counters: LoopBounds | null;
  /** The block that is looked at. */
  private here = 0;
  private readonly raw = (value: Value): Known => this.of(value);
  private readonly known = (value: Value): Known => this.at(value, this.here);

  /**
   * @param body numbered, and not renumbered while the solver is in use
   * @param hasIntervals integers may be intervals: more is known, and it takes longer
   */
  constructor(
    private readonly body: BodyView,
    private readonly instructions: number,
    private readonly around: Surroundings,
    hasIntervals: boolean,
  ) {
    this.conditions = hasIntervals ? new Conditions(body, instructions) : null;
    this.counters = this.conditions === null ? null : new LoopBounds(this.conditions);
    this.values = new Array<Known>(instructions).fill(unknown);
    this.isSettled = new Uint8Array(instructions);
    this.reached = new Uint8Array(body.blocks.length);
    this.taken = new Int32Array(body.blocks.length).fill(unseen);
    this.order = reversePostOrder(body);
    this.place = new Int32Array(body.blocks.length);
    for (let i = 0; i < this.order.length; i++) this.place[this.order[i]!] = i;
    this.isStale = new Uint8Array(body.blocks.length);
    this.firstStale = this.position = this.order.length;
    this.reached[0] = 1;
  }

  /** Lowers facts until they agree with the code and the surroundings. */
  solve(): void {
    const { order } = this;
    if (!this.isSwept) this.sweep();
    while (this.firstStale < order.length) {
      let i = this.firstStale;
      this.firstStale = order.length;
      for (; i < order.length; i++) if (this.isStale[order[i]!] === 1) this.look(i);
    }
    this.position = order.length;
  }

  /** Looks at all blocks that are reached. Phis alone depend on what comes later. */
  private sweep(): void {
    for (let i = 0; i < this.order.length; i++) this.look(i);
    this.position = this.order.length;
    this.isSwept = true;
    for (const b of this.backTargets) {
      // Reached after its turn was over, or with less for its phis.
      if (this.taken[b] === unseen || this.hasStalePhi(this.body.blocks[b]!)) this.recheck(b);
    }
  }
  private look(place: number): void {
    const b = this.order[place]!;
    this.position = place;
    this.isStale[b] = 0;
    if (this.reached[b] === 1) this.evaluateBlock(this.body.blocks[b]!);
  }
  private hasStalePhi(block: Block): boolean {
    for (const inst of block.insts) {
      if (inst.op !== Op.Phi) break;
      const before = this.values[inst.id]!;
      if (before !== varying && this.lowerPhi(inst, before, this.join(inst)) !== before) return true;
    }
    return false;
  }

  /** Something that the block depends on got lower. */
  readonly recheck = (block: number): void => {
    this.isStale[block] = 1;
    const place = this.place[block]!;
    if (place <= this.position && place < this.firstStale) this.firstStale = place;
  };
  /** Less is known of an argument. */
  argumentChanged(argument: Argument): void {
    if (this.body.blocks.length === 1) this.recheck(0);
    else this.recheckUsers(argument);
  }
  /** But for those after a value in its own block. */
  private recheckUsers(value: Inst | Argument): void {
    if (this.body.blocks.length === 1) return;
    this.users ??= new UserBlocks(this.body, this.instructions);
    this.users.visit(value, this.recheck);
    if (this.conditions === null) return;
    for (const other of this.conditions.comparedWith(value)) this.users.visit(other, this.recheck);
  }

  /**
   * Whether another look at all blocks finds what is known; it may lower facts otherwise. For tests: so it should always be
   * once the body is solved.
   */
  isFixpoint(): boolean {
    const values = [...this.values];
    const taken = [...this.taken];
    for (let i = 0; i < this.order.length; i++) this.look(i);
    this.position = this.order.length;
    return (
      this.values.every((known, i) => known === values[i]) && this.taken.every((to, b) => to === taken[b])
    );
  }

  /** Whether the body would change. @param isDead says that a store goes for another reason */
  findsAnything(isDead: (store: Inst) => boolean): boolean {
    for (const block of this.body.blocks) {
      if (!this.isReached(block)) return true;
      const { op, blocks } = block.terminator;
      const only = this.onlySuccessor(block);
      if (only === undefined ? blocks.length > 0 : only !== null && op !== Op.Br) return true;
      if (this.isPartial(block)) return true;
      for (const inst of block.insts) {
        const known = this.values[inst.id]!;
        if ((known !== varying && isConstantFact(known)) || (inst.op === Op.Store && isDead(inst)))
          return true;
      }
    }
    return false;
  }
  isReached(block: Block): boolean {
    return this.reached[block.id] === 1;
  }
  of(value: Value): Known {
    if (value.valueKind === "inst") return this.values[value.id]!;
    if (value.valueKind === "argument") return this.around.argument(value);
    return isConstant(value) ? value : varying;
  }
  /** What is known of a value where a block uses it, or where the edge to another block passes it on. */
  at(value: Value, block: number, to = -1): Known {
    const { conditions } = this;
    if (value.valueKind === "inst") {
      const known = this.values[value.id]!;
      if (known === unknown || conditions === null || !conditions.tests(value)) return known;
      return conditions.refine(value, known, block, to, this.raw);
    }
    if (value.valueKind === "argument") {
      const known = this.around.argument(value);
      return conditions === null ? known : conditions.refine(value, known, block, to, this.raw);
    }
    return isConstant(value) ? value : varying;
  }
  /** Whether a reached block may go to successor `index`. */
  maySucceed(block: Block, index: number): boolean {
    const taken = this.taken[block.id]!;
    if (taken === someSuccessors) return this.possible.get(block.id)![index] === 1;
    return taken === allSuccessors || taken === index;
  }
  /** Some successors of the switch at the end of a reached block are never taken, and several are. */
  isPartial(block: Block): boolean {
    return this.taken[block.id] === someSuccessors;
  }
  /** The only successor that a reached block goes to; null: any; undefined: none, what is before never ends. */
  onlySuccessor(block: Block): Block | null | undefined {
    const taken = this.taken[block.id]!;
    if (taken === allSuccessors || taken === someSuccessors) return null;
    return taken === noSuccessor ? undefined : block.successors[taken]!;
  }

  private evaluateBlock(block: Block): void {
    const { insts } = block;
    this.here = block.id;
    const last = insts.length - 1;
    for (let i = 0; i < last; i++) {
      const inst = insts[i]!;
      const before = this.values[inst.id]!;
      // Calls have surroundings to tell, whatever is known of them.
      if (before === varying && (inst.op !== Op.Call || this.isSettled[inst.id] === 1)) continue;
      const now = this.evaluate(inst);
      if (now === before) continue;
      this.set(inst, before, inst.op === Op.Phi ? this.lowerPhi(inst, before, now) : lower(before, now));
    }
    this.evaluateTerminator(block, block.terminator);
  }

  /** Each round of a loop may add to a phi; counters grow up to their last number. */
  private lowerPhi(phi: Inst, before: Known, now: Known): Known {
    const lowered = lower(before, now, true);
    if (this.counters === null || lowered === before) return lowered;
    if (lowered !== varying && lowered?.valueKind !== "interval") return lowered;
    const bounds = this.counters.of(phi);
    if (bounds === null) return lowered;
    const { least, largest } = boundsOf(lowered) ?? whole(phi.type.bits);
    const from = Math.max(least, bounds.least);
    const to = Math.min(largest, bounds.largest);
    const known = boundsOf(before);
    if (known !== null && known.least === from && known.largest === to && known.values === null)
      return before;
    return factOf(phi.type, from, to) ?? varying;
  }

  private set(inst: Inst, before: Known, now: Known): void {
    if (now === before) return;
    this.values[inst.id] = now;
    if (this.isSwept) this.recheckUsers(inst);
  }

  private evaluateTerminator(block: Block, inst: Inst): void {
    let taken = allSuccessors;
    this.possibleGrew = false;
    switch (inst.op) {
      case Op.Ret:
        if (inst.operands.length > 0) this.around.ret(this.known(inst.operands[0]!));
        break;
      case Op.CondBr:
      case Op.Switch:
        taken = this.decide(inst);
        break;
      case Op.Invoke:
      case Op.CallBr:
        if (this.isSettled[inst.id] === 0) {
          const before = this.values[inst.id]!;
          this.set(inst, before, lower(before, this.show(inst)));
        }
        break;
    }
    const before = this.taken[block.id]!;
    if (before === allSuccessors) taken = allSuccessors;
    else if (before >= 0 || before === someSuccessors)
      taken = taken === before && taken !== someSuccessors ? taken : this.both(inst, before, taken);
    if (taken === before && !this.possibleGrew) return;
    this.taken[block.id] = taken;
    const { successors } = block;
    if (taken >= 0) this.reach(successors[taken]!);
    else if (taken !== noSuccessor)
      for (let i = 0; i < successors.length; i++)
        if (taken === allSuccessors || this.possible.get(block.id)![i] === 1) this.reach(successors[i]!);
  }
  /** An edge from the block that is looked at may be taken. */
  private reach({ id, insts }: Block): void {
    if (!this.isSwept) {
      if (this.place[id]! <= this.position) this.backTargets.push(id);
    } else if (this.reached[id] === 0 || insts[0]!.op === Op.Phi) this.recheck(id);
    this.reached[id] = 1;
  }

  /** Shows a call. @returns its result */
  private show(call: CallInst): Known {
    const result = this.around.call(call, this.known);
    if (result !== settled) return result;
    this.isSettled[call.id] = 1;
    return varying;
  }

  /** The successor that a branch takes. */
  private decide(inst: Inst): number {
    const condition = this.known(inst.operands[0]!);
    if (condition === unknown) return noSuccessor;
    if (condition === varying) return allSuccessors;
    if (condition.valueKind === "interval")
      return inst.op === Op.Switch ? this.decideSwitch(inst, condition) : allSuccessors;
    if (condition.valueKind !== "int") return allSuccessors;
    if (inst.op === Op.CondBr) return condition.value === 0n ? 1 : 0;
    if (inst.op !== Op.Switch) return allSuccessors;
    const at = inst.data.findIndex((label) => label.value === condition.value);
    return at + 1;
  }

  private decideSwitch(inst: InstWith<Op.Switch>, { least, largest, values }: Bounds): number {
    const labels = inst.data;
    let possible = 0;
    let counted = 0;
    let last = 0;
    const isPossible = (num: number): boolean =>
      Number.isNaN(num) || (values === null ? least <= num && num <= largest : values.includes(num));
    for (let i = 0; i < labels.length; i++) {
      const { num } = labels[i]!;
      if (!isPossible(num)) continue;
      possible++;
      if (!Number.isNaN(num)) counted++;
      last = i + 1;
    }
    // Labels are different numbers: as many as there are values leave none over.
    const hasDefault = counted < (values?.length ?? largest - least + 1);
    if (hasDefault && possible === labels.length) return allSuccessors;
    if (possible === 0) return 0;
    if (possible === 1 && !hasDefault) return last;
    if (hasDefault) this.allow(inst, 0);
    for (let i = 0; i < labels.length; i++) if (isPossible(labels[i]!.num)) this.allow(inst, i + 1);
    return someSuccessors;
  }
  private allow(inst: Inst, successor: number): void {
    const { id } = inst.parent!;
    let flags = this.possible.get(id);
    if (flags === undefined) this.possible.set(id, (flags = new Uint8Array(inst.blocks.length)));
    if (flags[successor] === 1) return;
    flags[successor] = 1;
    this.possibleGrew = true;
  }
  /** What is taken by one or the other of two decisions. */
  private both(inst: Inst, before: number, now: number): number {
    if (now === allSuccessors || inst.op !== Op.Switch) return allSuccessors;
    if (now === noSuccessor) return before;
    if (before >= 0) this.allow(inst, before);
    if (now >= 0) this.allow(inst, now);
    return someSuccessors;
  }

  private join(phi: Inst): Known {
    const block = phi.parent!;
    let all: Known = unknown;
    let anyUndef = false;
    for (let i = 0; i < phi.operands.length && all !== varying; i++) {
      const from = phi.blocks[i]!;
      if (!this.isTaken(from, block)) continue;
      const passed = this.at(phi.operands[i]!, from.id, block.id);
      anyUndef ||= isUndef(passed);
      all = join(all, passed);
    }
    return this.stays(all, anyUndef);
  }
  /** An interval is of values that are the same for all uses. */
  private stays(known: Known, anyUndef: boolean): Known {
    if (known === unknown || known === varying || known.valueKind !== "interval") return known;
    return anyUndef || this.conditions === null ? varying : known;
  }
  private isTaken(from: Block, to: Block): boolean {
    const taken = this.taken[from.id]!;
    if (taken >= 0) return from.successors[taken] === to;
    if (taken !== someSuccessors) return taken === allSuccessors;
    const flags = this.possible.get(from.id)!;
    return from.successors.some((successor, i) => successor === to && flags[i] === 1);
  }

  private evaluate(inst: Inst): Known {
    switch (inst.op) {
      case Op.Phi:
        return this.join(inst);
      case Op.Call:
        return this.show(inst);
      case Op.Load: {
        const pointer = this.of(inst.operands[0]!);
        return pointer === varying ? varying : this.around.load(inst, pointer);
      }
      case Op.Store:
        if (inst.operands[1]!.valueKind === "global")
          this.around.store(inst, this.at(inst.operands[0]!, this.here));
        return unknown;
      case Op.Select:
        return this.select(inst);
      case Op.Freeze:
        return frozen(this.known(inst.operands[0]!));
      default:
        return isFoldable(inst.op) ? this.fold(inst) : varying;
    }
  }

  private select(inst: Inst): Known {
    const condition = this.known(inst.operands[0]!);
    if (condition === unknown) return unknown;
    const ifTrue = this.known(inst.operands[1]!);
    const ifFalse = this.known(inst.operands[2]!);
    if (condition !== varying && condition.valueKind === "int")
      return condition.value === 0n ? ifFalse : ifTrue;
    return this.stays(join(ifTrue, ifFalse), isUndef(ifTrue) || isUndef(ifFalse));
  }

  private fold(inst: Inst): Known {
    const { operands, here } = this;
    operands.length = 0;
    let anyVarying = false;
    const given = inst.operands;
    for (let i = 0; i < given.length; i++) {
      const known = this.at(given[i]!, here);
      if (known === unknown) return unknown;
      if (i === 0) this.first = known;
      else if (i === 1) this.second = known;
      if (known === varying || !isConstantFact(known)) anyVarying = true;
      else operands.push(known);
    }
    if (anyVarying) return this.conditions === null ? varying : this.bound(inst);
    return this.around.fold(inst, operands) ?? varying;
  }

  /** What bounds of its operands, `first` and `second`, say of an instruction. */
  private bound(inst: Inst): Known {
    const { operands, op, type } = inst;
    if (op === Op.ICmp ? !hasIntervals(operands[0]!.type) : !hasIntervals(type) || !isBounded(op))
      return varying;
    const from = operands[0]!.type;
    const a = boundsIn(operands[0]!.type, this.first);
    const b = operands.length > 1 ? boundsIn(operands[1]!.type, this.second) : a;
    if (a === null || b === null) return varying;
    if (op !== Op.ICmp) return resultOf(inst, a, b, from.bits) ?? varying;
    const decided = compare(inst.data, a, b, from.bits);
    return decided === null ? varying : constBool(decided);
  }
}

/** @returns null for what may be another value for each use */
function boundsIn(type: Type, known: Known): Bounds | null {
  if (!hasIntervals(type)) return null;
  if (known === varying) return whole(type.bits);
  if (known === unknown || known.valueKind === "undef") return null;
  return boundsOf(known) ?? whole(type.bits);
}

const isBounded = (op: Op): boolean =>
  (op >= Op.Add && op <= Op.Xor) || op === Op.ZExt || op === Op.SExt || op === Op.Trunc;

/** A frozen constant is itself; what is undefined becomes some value, which nobody knows. */
function frozen(known: Known): Known {
  if (known === unknown) return unknown;
  if (!isConstantFact(known)) return varying;
  switch (known.valueKind) {
    case "int":
    case "float":
    case "zero":
    case "global":
    case "data":
      return known;
    default:
      return varying;
  }
}

/** Operations whose results depend on nothing but their operands. */
const isFoldable = (op: Op): boolean =>
  (op >= Op.FNeg && op <= Op.Xor) ||
  (op >= Op.GetElementPtr && op <= Op.FCmp) ||
  op === Op.ExtractElement ||
  op === Op.InsertElement ||
  op === Op.ShuffleVector ||
  op === Op.ExtractValue ||
  op === Op.InsertValue;
