/**
 * index-pointers: pointers that a loop walks beside a counter become addresses that the counter indexes.
 *
 *     loop: %i = phi i32 [ 0, … ], [ %i1, %loop ]            loop: %k = phi i64 [ 0, … ], [ %k1, %loop ]
 *           %p = phi ptr [ %a, … ], [ %p1, %loop ]                 %x = load float, (gep float, %a, %k)
 *           %x = load float, %p                       →            …
 *           …                                                      %k1 = add i64 %k, 1
 *           %p1 = gep float, %p, 1                                 %i1 = trunc i64 %k1 to i32
 *           %i1 = add i32 %i, 1
 *
 * Why: each pointer is an addition a round. Addressing multiplies an index by up to 8 and adds it for nothing, or for a byte;
 * the pointer's start takes the register that the pointer had.
 *
 * Method: phis of a head with one edge in, that all edges back give the same sum of them and a constant. A pointer goes with a
 * counter that divides its step, if all that uses it are loads and stores in the loop, at constant distances. Where the counter
 * starts is taken from where the pointer does: a constant in addressing, an index as what it was added to, another value in
 * front of the loop. Counters of 32 bits become ones of 64. For size, where that takes no bytes that time is not worth. Linear
 * in uses.
 *
 * Proof obligations: both phis take one step on each edge back, and none otherwise, so the pointer is its start and the
 * multiple of what the counter has counted, modulo 2^64 (`late-increments` and all here claim nothing of steps). The lower
 * bits of a wider counter are what the narrow one is; all of it is the extension where the narrow one does not wrap, and is
 * poison, which anything may stand for, where it does. Accesses stay where they are.
 * Breaks if: something between here and selection takes addresses for more than their numbers.
 */

import type { DominatorTree } from "../../analysis/dominators.js";
import { type Executions, executionsAt, executionsOf } from "../../analysis/executions.js";
import { timeBytes } from "../../analysis/heat.js";
import type { LoopNest } from "../../analysis/loop-nest.js";
import { callWork } from "../../analysis/loop-shares.js";
import type { DataLayout } from "../../ir/data-layout.js";
import { type DebugRecord, forEachRecord, passRecords } from "../../ir/debug-records.js";
import { salvage } from "../../ir/debug-salvage.js";
import { type Block, type Body, Flag, type Inst, makeInst, Op } from "../../ir/instructions.js";
import { constantStep } from "../../ir/move-pointers.js";
import { raw } from "../../ir/raw.js";
import { i8, i32, i64, intType, ptr, type Type } from "../../ir/types.js";
import { constI64, isConstant, type Value } from "../../ir/values.js";
import { cfg, dominators, loops } from "../../pass/analyses.js";
import type { FunctionPass } from "../../pass/pass.js";
import { type AddressCosts, distanceBytes } from "../../target/addresses.js";
import { Uses } from "./blocks.js";
import type { LoweringContext } from "./context.js";
import { addedConstant, isBack, sumOfRounds } from "./loop-sums.js";

/** For speed: more accesses than that are not made longer for one addition. */
const mostAccesses = 6;
/** Distances beyond are not followed; there is room for what selection adds. */
const farthest = 2 ** 30;
export const indexPointers: FunctionPass<LoweringContext> = {
  name: "index-pointers",
  level: "function",
  description: "lets counters of loops index what pointers beside them walk through",
  counters: { indexed: "pointers that became indexed addresses", widened: "counters made 64 bits wide" },
  requires: [cfg, dominators, loops],
  preserves: [cfg, dominators, loops],
  run(_, context) {
    const nest = context.ofBody(loops, context.view());
    if (!nest.header.some((header) => header >= 0)) return false;
    const body = context.rewrite();
    const pointers = new Pointers(body, nest, context.ofBody(dominators, body), context);
    for (const block of body.blocks) if (nest.header[block.id] === block.id) pointers.inLoop(block);
    if (pointers.indexed === 0) return false;
    pointers.finish();
    context.count("indexed", pointers.indexed);
    context.count("widened", pointers.widened);
    return true;
  },
};

/** A phi of a head that takes the same step in each round. */
interface Walk {
  readonly phi: Inst;
  readonly sum: Inst;
  readonly start: Value;
  /** The one block that enters the loop. */
  readonly entry: Block;
  /** Bytes, or what is counted. */
  readonly step: number;
}

/** A load or store, and how many bytes after the pointer. */
interface Access {
  readonly inst: Inst;
  readonly position: number;
  readonly distance: number;
}

type Extension = Op.SExt | Op.ZExt;

/** What the index is added to. */
interface Start {
  readonly base: Value;
  /** Bytes beside that. */
  readonly distance: number;
  /** The base is the pointer's start, from which the index's has to be taken. */
  readonly isBefore: boolean;
  /** How the index's start was extended for the base. */
  readonly extension: Extension | null;
}
/** A pointer as a counter's multiple. */
interface Indexed extends Start {
  readonly pointer: Walk;
  readonly scale: number;
  readonly accesses: readonly Access[];
  /** Addresses that only accesses used. */
  readonly addresses: readonly Inst[];
}

class Pointers {
  indexed = 0;
  widened = 0;
  /** Made when first asked for: most bodies have no pointers beside counters. */
  private known: Uses | null = null;
  private readonly gone = new Set<Inst>();
  /** What records say instead of what is gone, step by step. */
  private readonly spoken: (readonly [of: Inst, as: Inst])[] = [];
  private readonly layout: DataLayout;
  private readonly isForSpeed: boolean;
  private executions: Executions | null = null;

  constructor(
    private readonly body: Body,
    private readonly nest: LoopNest,
    private readonly tree: DominatorTree,
    private readonly context: LoweringContext,
  ) {
    this.layout = context.layout;
    this.isForSpeed = context.goal === "speed";
  }

  private get uses(): Uses {
    return (this.known ??= new Uses(this.body));
  }

  inLoop(head: Block): void {
    const counters: Walk[] = [];
    const walks: Walk[] = [];
    for (const phi of head.insts) {
      if (phi.op !== Op.Phi) break;
      if (phi.type !== ptr && phi.type !== i64 && phi.type !== i32) continue;
      const walk = this.walkOf(phi);
      if (walk !== null) (phi.type === ptr ? walks : counters).push(walk);
    }
    if (counters.length === 0 || walks.length === 0) return;
    // A counter that is wide costs nothing more.
    counters.sort((a, b) => b.phi.type.bits - a.phi.type.bits);
    let left = walks;
    for (const counter of counters) {
      const taken = this.with(counter, left);
      left = left.filter((walk) => !taken.has(walk));
    }
  }

  private walkOf(phi: Inst): Walk | null {
    const sum = sumOfRounds(phi, this.tree);
    const entries = phi.blocks.flatMap((_, i) => (isBack(phi, i, this.tree) ? [] : [i]));
    if (sum === null || entries.length !== 1) return null;
    const start = phi.operands[entries[0]!]!;
    const entry = phi.blocks[entries[0]!]!;
    const step = phi.type === ptr ? constantStep(this.layout, sum) : countOf(sum);
    return step === null || step === 0 || Math.abs(step) > farthest ? null : { phi, sum, start, entry, step };
  }

  /** Makes those pointers addresses that the counter indexes that can be, if that is worth it. */
  private with(counter: Walk, walks: readonly Walk[]): Set<Walk> {
    const head = counter.phi.parent!;
    let extension: Extension | null = null;
    const found: Indexed[] = [];
    let saved = 0;
    for (const pointer of walks) {
      const scale = pointer.step / counter.step;
      if (!this.context.target.isScale(scale)) continue;
      const from = startOf(pointer, counter, scale, this.layout);
      if (from === null || (from.extension !== null && extension !== null && from.extension !== extension))
        continue;
      const accesses: Access[] = [];
      const addresses: Inst[] = [];
      const isOnlyAccessed =
        this.collect(pointer, pointer.phi, 0, accesses, addresses) &&
        this.collect(pointer, pointer.sum, pointer.step, accesses, addresses);
      if (!isOnlyAccessed) continue;
      const bytes = bytesSaved(pointer, accesses, from, this.context.costs.addresses);
      const isWorth = this.isForSpeed ? accesses.length <= mostAccesses : bytes + this.timeBytes(head) >= 0;
      if (!isWorth) continue;
      extension = from.extension ?? extension;
      saved += bytes;
      found.push({ ...from, pointer, scale, accesses, addresses });
    }
    if (found.length === 0) return new Set();
    const isWide = counter.phi.type === i64;
    if (!isWide) saved -= bytesOfWidth;
    if (found.some(({ isBefore }) => isBefore)) saved -= bytesOfNegative;
    if (!this.isForSpeed && saved + found.length * this.timeBytes(head) < 0) return new Set();
    const index = isWide ? counter : this.widen(counter, extension);
    const entry = counter.entry.terminator;
    const bases = new Map<Value, Value>();
    let negative: Inst | null = null;
    for (const indexed of found) {
      let base = bases.get(indexed.base);
      if (base === undefined) bases.set(indexed.base, (base = this.opaque(indexed.base, counter.entry)));
      if (indexed.isBefore) {
        negative ??= this.insert(entry, makeInst(Op.Sub, i64, [constI64(0), index.start], null));
        const elementType = elementOfSize(indexed.scale);
        base = this.insert(entry, makeInst(Op.GetElementPtr, ptr, [base, negative], { elementType }));
      }
      this.rewrite(indexed, base, index.phi);
    }
    return new Set(found.map(({ pointer }) => pointer));
  }

  /** Bytes that code for size may take for an instruction less in each round. */
  private timeBytes({ id }: Block): number {
    const { sizeTime } = this.context;
    if (sizeTime === 0) return 0;
    this.executions ??= executionsOf(this.body, () => callWork);
    const { frequency, times, share } = executionsAt(this.executions, id);
    return timeBytes(sizeTime, { heat: frequency, times, share }, 1);
  }

  private isInLoop(block: Block, head: Block): boolean {
    let header = this.nest.header[block.id]!;
    while (header >= 0 && header !== head.id) header = this.nest.outer[header]!;
    return header === head.id;
  }

  /** Loads and stores at a value, which is so far from the pointer. @returns whether nothing else uses it */
  private collect(
    pointer: Walk,
    value: Inst,
    distance: number,
    accesses: Access[],
    addresses: Inst[],
  ): boolean {
    return this.uses.of(value).every(({ user, position, block }) => {
      if (user === pointer.phi || user === pointer.sum) return true;
      if (!this.isInLoop(block, pointer.phi.parent!)) return false;
      if ((user.op === Op.Load && position === 0) || (user.op === Op.Store && position === 1)) {
        accesses.push({ inst: user, position, distance });
        return true;
      }
      const step = position === 0 ? constantStep(this.layout, user) : null;
      if (step === null || Math.abs(distance + step) > farthest) return false;
      addresses.push(user);
      return this.collect(pointer, user, distance + step, accesses, addresses);
    });
  }

  private rewrite(
    { pointer, scale, distance, isBefore, accesses, addresses }: Indexed,
    base: Value,
    index: Inst,
  ): void {
    const elementType = elementOfSize(scale);
    for (const { inst, position, distance: beside } of accesses) {
      let address = this.insert(inst, makeInst(Op.GetElementPtr, ptr, [base, index], { elementType }));
      const bytes = distance + beside;
      if (bytes !== 0)
        address = this.insert(
          inst,
          makeInst(Op.GetElementPtr, ptr, [address, constI64(bytes)], { elementType: i8 }),
        );
      raw(inst).operands[position] = address;
    }
    for (const address of [...addresses].reverse()) this.remove(address, address);
    this.remove(pointer.sum, pointer.sum);
    const start = makeInst(Op.GetElementPtr, ptr, [base, index], { elementType }) as Inst;
    const walked = makeInst(Op.GetElementPtr, ptr, [start, constI64(distance)], { elementType: i8 }) as Inst;
    this.remove(pointer.phi, distance === 0 ? start : walked);
    this.spoken.push([walked, walked], [start, start]);
    this.indexed++;
    const first = pointer.start;
    if (isBefore || base === first || first.valueKind !== "inst") return;
    if (this.uses.of(first).every(({ user }) => this.gone.has(user))) this.remove(first, first);
  }

  /** Makes a counter 64 bits wide. @returns it */
  private widen(counter: Walk, extension: Extension | null): Walk {
    const { phi, sum, entry } = counter;
    const op = extension ?? extensionOf(sum);
    const number = startNumber(counter, op);
    const start =
      number === null
        ? this.insert(entry.terminator, makeInst(op, i64, [counter.start], null))
        : constI64(number);
    const wide = makeInst(Op.Phi, i64, [], null, []) as Inst;
    wide.parent = phi.parent;
    const next = this.insert(sum, makeInst(Op.Add, i64, [wide, constI64(counter.step)], null));
    raw(wide).operands = phi.blocks.map((block) => (block === entry ? start : next));
    raw(wide).blocks = [...phi.blocks];
    this.uses.note(wide, phi.parent!);
    const insts = raw(phi.parent!).insts;
    insts.splice(insts.indexOf(phi), 0, wide);
    const first = insts.find((inst) => inst.op !== Op.Phi)!;
    const isSame = (user: Inst): boolean => isExtended(user, counter, op);
    this.replaceNarrow(phi, sum, wide, first, isSame);
    this.replaceNarrow(sum, phi, next, sum, isSame);
    for (const inst of [sum, phi]) {
      const narrow = makeInst(Op.Trunc, i32, [inst === phi ? wide : next], null) as Inst;
      this.remove(inst, narrow);
      this.spoken.push([narrow, narrow]);
    }
    this.widened++;
    return { ...counter, phi: wide, sum: next, start };
  }

  /** Lets all but `other` use the lower half of a wide value, or all of it where they extend. */
  private replaceNarrow(
    inst: Inst,
    other: Inst,
    wide: Inst,
    before: Inst,
    isSame: (user: Inst) => boolean,
  ): void {
    let narrow: Inst | null = null;
    for (const { user, position } of this.uses.of(inst)) {
      if (user === other || this.gone.has(user)) continue;
      if (isSame(user)) {
        for (const use of this.uses.of(user)) raw(use.user).operands[use.position] = wide;
        this.remove(user, wide);
        continue;
      }
      narrow ??= this.insert(before, makeInst(Op.Trunc, i32, [wide], null));
      raw(user).operands[position] = narrow;
    }
  }

  private insert(before: Inst, made: unknown): Inst {
    const inst = made as Inst;
    const block = before.parent!;
    inst.parent = block;
    inst.origin = before.origin;
    const { insts } = raw(block);
    insts.splice(insts.indexOf(before), 0, inst);
    this.uses.note(inst, block);
    return inst;
  }
  /** A constant in a register: selection would make it anew for each access. */
  private opaque(base: Value, entry: Block): Value {
    return isConstant(base) ? this.insert(entry.terminator, makeInst(Op.Freeze, ptr, [base], null)) : base;
  }

  private remove(inst: Inst, as: Inst): void {
    this.gone.add(inst);
    this.spoken.push([inst, as]);
  }

  /** Takes out what is gone, and what is said of it. */
  finish(): void {
    forEachRecord(this.body, (record) => this.speak(record));
    for (const block of this.body.blocks) {
      const { insts } = block;
      if (!insts.some((inst) => this.gone.has(inst))) continue;
      insts.forEach((inst, i) => {
        if (this.gone.has(inst)) passRecords(inst, insts[i + 1]!);
      });
      raw(block).insts = insts.filter((inst) => !this.gone.has(inst));
    }
  }
  private speak(record: DebugRecord): void {
    for (const [of, as] of this.spoken) {
      if (!record.values.includes(of)) continue;
      if (of === as) salvage(record, of);
      else record.values = record.values.map((value) => (value === of ? as : value));
    }
  }
}

/** What an index of so many bytes counts. */
const elementOfSize = (bytes: number): Type => intType(8 * bytes);

/** Bytes of a counter's addition that is 64 bits wide. */
const bytesOfWidth = 1;
/** Bytes of a copy, or an extension, and of its negation. */
const bytesOfNegative = 6;

/** Bytes of the addition that goes, less those that accesses take for an index, and for a distance where they had none. */
function bytesSaved(
  { step }: Walk,
  accesses: readonly Access[],
  { distance, isBefore }: Start,
  costs: AddressCosts,
): number {
  const size = Math.abs(step);
  let bytes = size === 1 ? 3 : 3 + distanceBytes(costs, size);
  // An addition of three instead of a copy.
  if (isBefore) bytes -= 1;
  for (const { distance: before } of accesses) {
    const after = before + distance;
    bytes -= 1 + distanceBytes(costs, after) - distanceBytes(costs, before);
  }
  return bytes;
}
/** What a counter's sum adds; null: it is no such sum. */
const countOf = (sum: Inst): number | null =>
  sum.op === Op.Add || sum.op === Op.Sub ? addedConstant(sum) : null;

/** How a counter of 32 bits is best extended, where its start does not say. */
const extensionOf = ({ flags }: Inst): Extension =>
  (flags & Flag.Nsw) === 0 && (flags & Flag.Nuw) !== 0 ? Op.ZExt : Op.SExt;

/** A constant start as the extension makes it. */
function startNumber({ start, phi: { type } }: Walk, extension: Extension): bigint | null {
  if (start.valueKind !== "int") return null;
  return extension === Op.SExt
    ? BigInt.asIntN(type.bits, start.value)
    : BigInt.asUintN(type.bits, start.value);
}

/** What a pointer is added to where the index is the counter; null: it is too far. */
function startOf(pointer: Walk, counter: Walk, scale: number, layout: DataLayout): Start | null {
  const { start } = pointer;
  const isWide = counter.phi.type === i64;
  const number = startNumber(counter, isWide ? Op.SExt : extensionOf(counter.sum));
  if (number !== null) {
    const distance = -scale * Number(number);
    return Math.abs(distance) > farthest ? null : { base: start, distance, isBefore: false, extension: null };
  }
  const before: Start = { base: start, distance: 0, isBefore: true, extension: null };
  if (start.valueKind !== "inst" || start.op !== Op.GetElementPtr || start.operands.length !== 2)
    return before;
  const [base, index] = start.operands as readonly [Value, Value];
  if (base.type !== ptr || layout.allocSize(start.data.elementType) !== scale) return before;
  const whole: Start = { base, distance: 0, isBefore: false, extension: null };
  if (isWide) return index === counter.start ? whole : before;
  if (index.valueKind !== "inst" || (index.op !== Op.SExt && index.op !== Op.ZExt)) return before;
  return index.operands[0] === counter.start ? { ...whole, extension: index.op } : before;
}

/** Whether an instruction extends a counter, or its sum, to what the wide one is. */
function isExtended(user: Inst, { sum, start, step }: Walk, extension: Extension): boolean {
  if (user.type !== i64 || (user.op !== Op.SExt && user.op !== Op.ZExt)) return false;
  if (extension === Op.SExt) {
    const isSigned = user.op === Op.SExt || (user.flags & Flag.NonNeg) !== 0;
    if (isSigned) return (sum.flags & Flag.Nsw) !== 0;
    // Both extensions are the same of what starts there, and is only added to.
    if (start.valueKind !== "int" || start.num < 0) return false;
  } else if (user.op === Op.SExt) return false;
  // Subtraction of what is more does not wrap where the sum would.
  const isUp = sum.op === Op.Add ? step > 0 : step < 0;
  return isUp && (sum.flags & Flag.Nuw) !== 0;
}
