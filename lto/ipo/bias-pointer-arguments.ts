/**
 * bias-pointer-arguments: pointers are passed to the middle of what callees access through them, for size.
 *
 *     static int f(struct state *s) { return s->far; }      f(s)
 *     static int f(char *c) { return ((struct state *)(c - 127))->far; }      f((char *)s + 127)
 *
 * Why: the same as in bias-pointers (codegen/lowering), which moves pointers inside of functions. Where a structure is
 * handed down from function to function, all can take the same center: then nobody computes it but who begins, and
 * what needs the pointer itself is rare.
 *
 * Method: a look at each body adds up what is done with each pointer parameter of local functions and who passes what to
 * whom. Parameters that are passed on to each other form groups, each with the center that is cheapest in all. Then, a few
 * times, each parameter takes the center that is cheapest where its neighbours are as they are. Linear in the bodies.
 *
 * Proof obligations:
 *  - the parameter is seen by nobody but the body and its calls: the function is local, its address is not taken, all calls
 *    have its type and convention, and nothing else fixes what is passed (`byval`, `sret`, `returned` and the like);
 *  - what attributes say of the pointer does not hold of the center (alignment, dereferenceable bytes, not null): gone, at
 *    the parameter and at calls. What memory is reached through it is the same;
 *  - addresses of constants that the linker may merge are not moved in the object file: where a sum of symbol and distance
 *    points to something else, merging would go by that.
 */

import {
  arrives,
  bytesFrom,
  candidatesTried,
  Distances,
  mostFrequent,
  PointerUses,
  possibleCenters,
  settingBytes,
  settingFrom,
} from "../analysis/pointer-distances.js";
import { AttributeList, type AttributeSet } from "../ir/attributes.js";
import type { DataLayout } from "../ir/data-layout.js";
import { DebugReconciliation } from "../ir/debug-reconcile.js";
import { forEachRecord } from "../ir/debug-records.js";
import { adding, speakOf } from "../ir/debug-salvage.js";
import { foldGep, placeOf } from "../ir/fold/addresses.js";
import { type CallInst, type Inst, isCall, makeInst, Op, setCallData } from "../ir/instructions.js";
import type { Func, Module } from "../ir/module.js";
import { addressBehind, type Move, movePointers } from "../ir/move-pointers.js";
import { raw } from "../ir/raw.js";
import { i8, ptr } from "../ir/types.js";
import { type Constant, constI64, isConstant, type Value } from "../ir/values.js";
import { callGraph, summary } from "../pass/analyses.js";
import { isForSize, type ModulePass, type ProgramContext } from "../pass/pass.js";
import { type AddressCosts, addressBytes, distanceBytes, farBytes } from "../target/addresses.js";
import { passingAttributes, withOnly } from "./parameter-attributes.js";

/** Bytes that a parameter has to save. */
const leastGain = 2;
/** How often parameters choose anew. */
const rounds = 4;
/** Parameters that are what they are by convention. */
const fixed = [...passingAttributes, "returned", "allocptr", "allocalign"];
/** What may be said of a center, too. */
const kept = new Set(["noundef", "noalias", "readonly", "writeonly", "readnone", "nofree"]);

/** Where a pointer goes, or comes from: another parameter, or null for what is no such. */
interface Pass {
  readonly other: Parameter | null;
  /** Of what is passed from the source. */
  readonly distance: number;
}

/** A pointer parameter, or a pointer that a function passes to one. */
class Parameter {
  readonly uses = new PointerUses();
  readonly to: Pass[] = [];
  readonly from: Pass[] = [];
  /** Bytes more for calls that pass the middle of something whose address is made for them. */
  elsewhere = 0;
  center = 0;
  /** It may choose otherwise now: its neighbours did. */
  isDue = true;
  /** What is passed is not for us to say, after all. */
  isGivenUp = false;
  group: Parameter = this;

  constructor(
    /** Position of the parameter; -1: no parameter, only passed. */
    readonly index: number,
    /** Bytes of setting a center where it arrives. */
    readonly setting: number,
    readonly costs: AddressCosts,
  ) {}

  /** Centers that are worth a thought for what it is used for; asked once all its uses are known. */
  ownCenters(): ReadonlySet<number> {
    return (this.possible ??= possibleCenters(this.uses, this.costs));
  }
  private possible: ReadonlySet<number> | null = null;

  /** Bytes of what it is used for, from a center. */
  usesFrom(center: number): number {
    let bytes = this.bytes.get(center);
    if (bytes === undefined) this.bytes.set(center, (bytes = bytesFrom(this.uses, center, this.costs)));
    return bytes;
  }
  private readonly bytes = new Map<number, number>();

  /** The one that stands for its group. */
  leader(): Parameter {
    let at: Parameter = this;
    while (at.group !== at) at = at.group = at.group.group;
    return at;
  }
}

const isCentered = (p: Parameter | null): p is Parameter => p !== null && p.center !== 0 && !p.isGivenUp;

/** In place it is free, or a copy. */
const passBytes = (costs: AddressCosts, distance: number): number =>
  distance === 0 ? costs.copy / 2 : addressBytes(costs, distance);

/** Bytes of what a function does with a parameter from one of its centers, but for passing it to itself. */
function bytesInside(p: Parameter, from: number): number {
  let bytes = p.usesFrom(from);
  for (const { other, distance } of p.to)
    if (other !== p) bytes += passBytes(p.costs, distance + other!.center - from);
  return bytes;
}

/** Bytes of all that has to do with a parameter that arrives at a center, as others have theirs. */
class Prices {
  /** Of each of its own centers, what is done from there. */
  private readonly inside: readonly { readonly own: number; readonly bytes: number }[];
  private readonly toItself: readonly Pass[];
  constructor(private readonly p: Parameter) {
    const owns = p.index < 0 ? [] : [...p.ownCenters()];
    this.inside = owns.map((own) => ({ own, bytes: bytesInside(p, own) }));
    this.toItself = p.to.filter(({ other }) => other === p);
  }

  at(center: number): number {
    const { p } = this;
    let bytes = this.with(center, center, bytesInside(p, center));
    for (const { own, bytes: inside } of this.inside)
      if (own !== center)
        bytes = Math.min(
          bytes,
          this.with(center, own, inside) + settingFrom(p.costs, p.setting, own - center),
        );
    return bytes + bytesOutside(p, center);
  }

  /** @param center where it arrives  @param from where it is used from */
  private with(center: number, from: number, bytes: number): number {
    for (const { distance } of this.toItself) bytes += passBytes(this.p.costs, distance + center - from);
    return bytes;
  }
}

/** Bytes of getting a parameter to a center. */
function bytesOutside(p: Parameter, center: number): number {
  if (p.index < 0) return center === 0 ? 0 : settingFrom(p.costs, p.setting, center);
  let bytes = center === 0 ? 0 : p.elsewhere;
  for (const { other, distance } of p.from)
    if (other !== p) bytes += passBytes(p.costs, distance + center - (other?.center ?? 0));
  return bytes;
}

class Centering {
  /** By argument. */
  private readonly parameters = new Map<Value, Parameter>();
  /** Those that can be centered, by function and position. */
  private readonly byFunction = new Map<Value, readonly (Parameter | null)[]>();
  /** Parameters first, then what is only passed, in the order in which they were found. */
  private all: Parameter[] = [];
  /** Which functions with parameters each function calls. */
  private readonly calls = new Map<Func, ReadonlySet<Value>>();

  constructor(
    private readonly module: Module,
    private readonly context: ProgramContext,
  ) {}

  run(): boolean {
    this.findParameters();
    if (this.parameters.size === 0) return false;
    for (const fn of this.module.functions) {
      if (fn.isDeclaration) continue;
      this.look(fn);
      this.context.bodyDone(fn);
    }
    this.choose();
    const centered = this.all.filter((p) => p.index >= 0 && isCentered(p));
    if (centered.length === 0) return false;
    for (const [fn, callees] of this.calls)
      if (this.isCentered(fn) || [...callees].some((callee) => this.isCentered(callee))) {
        this.rewrite(fn);
        this.context.bodyDone(fn);
      }
    for (const fn of this.calls.keys())
      if (this.isCentered(fn)) fn.attributes = withoutClaims(fn.attributes, this.byFunction.get(fn)!);
    this.context.count("centered", centered.length);
    return true;
  }

  private isCentered(fn: Value): boolean {
    return this.byFunction.get(fn)?.some(isCentered) === true;
  }

  private findParameters(): void {
    const costs = this.context.costs.addresses;
    const { symbolOf, openToCallers, addressTaken } = this.context.ofModule(callGraph);
    for (let node = 0; node < symbolOf.length; node++) {
      if (openToCallers[node] === 1 || addressTaken[node] === 1) continue;
      const fn = this.module.globals[symbolOf[node]!]! as Func;
      if (!isForSize(this.context.goalOf(fn)) || fn.attributes.fn.has("naked")) continue;
      const list = fn.args.map((argument) => {
        const said = fn.attributes.parameter(argument.index);
        if (argument.type !== ptr || isFixed(said)) return null;
        const p = new Parameter(argument.index, settingBytes(costs, argument), costs);
        this.parameters.set(argument, p);
        this.all.push(p);
        return p;
      });
      if (list.some((p) => p !== null)) this.byFunction.set(fn, list);
    }
  }

  private look(fn: Func): void {
    const body = fn.view();
    const { dataLayout } = this.module;
    const costs = this.context.costs.addresses;
    const distances = new Distances(dataLayout);
    /** What is passed of all that is no parameter. */
    const passed = new Map<Value, Parameter>();
    const callees = new Set<Value>();
    const nodeOf = (pointer: Value): Parameter | undefined =>
      this.parameters.get(pointer) ?? passed.get(pointer);
    for (const { insts } of body.blocks)
      for (const inst of insts) {
        const list = isCall(inst) ? this.byFunction.get(inst.operands[0]!) : undefined;
        if (list === undefined) continue;
        callees.add(inst.operands[0]!);
        if (!isPlain(inst as CallInst)) for (const p of list) if (p !== null) p.isGivenUp = true;
        for (const target of list) {
          if (target === null || target.isGivenUp) continue;
          const { pointer, bytes } = distances.of(inst.operands[1 + target.index]!);
          let source = nodeOf(pointer) ?? null;
          if (source === null && arrives(pointer)) {
            passed.set(pointer, (source = new Parameter(-1, settingBytes(costs, pointer), costs)));
            this.all.push(source);
          }
          const made = bytesOfMaking(pointer, dataLayout, costs);
          if (made === null) target.from.push({ other: source, distance: bytes });
          else target.elsewhere += made;
          source?.to.push({ other: target, distance: bytes });
        }
      }
    this.calls.set(fn, callees);
    // What is passed to parameters is counted with them.
    const isCounted = (user: Inst, position: number): boolean => {
      if (!isCall(user) || position === 0 || position > user.data.argumentCount) return true;
      const target = this.byFunction.get(user.operands[0]!)?.[position - 1] ?? null;
      return target === null || target.isGivenUp;
    };
    // Of nobody else's pointers anybody asks.
    if (passed.size > 0 || this.byFunction.has(fn))
      distances.addUp(body, (pointer) => nodeOf(pointer)?.uses, isCounted);
  }

  private choose(): void {
    this.all = this.all.filter((p) => !p.isGivenUp);
    const isThere = ({ other }: Pass): boolean => other?.isGivenUp !== true;
    for (const p of this.all) {
      for (const list of [p.to, p.from])
        if (!list.every(isThere)) list.splice(0, list.length, ...list.filter(isThere));
      for (const { other, distance } of p.to) if (distance === 0) p.leader().group = other!.leader();
    }
    const groups = new Map<Parameter, Parameter[]>();
    for (const p of this.all) {
      const leader = p.leader();
      const members = groups.get(leader);
      if (members === undefined) groups.set(leader, [p]);
      else members.push(p);
    }
    for (const members of groups.values()) chooseTogether(members);
    for (let round = 0; round < rounds; round++) {
      let changed = false;
      for (const p of this.all) {
        if (!p.isDue) continue;
        p.isDue = false;
        const center = chooseAlone(p);
        if (center === p.center) continue;
        p.center = center;
        // Its own center is among those that it tries.
        p.isDue = true;
        for (const list of [p.to, p.from])
          for (const { other } of list) if (other !== null) other.isDue = true;
        changed = true;
      }
      if (!changed) break;
    }
  }

  private rewrite(fn: Func): void {
    const body = fn.rewrite();
    const records = body.hasDebug ? new DebugReconciliation(body) : null;
    const { dataLayout } = this.module;
    for (const block of body.blocks) {
      const insts: Inst[] = [];
      for (const inst of block.insts) {
        if (isCall(inst) && this.isCentered(inst.operands[0]!))
          for (const made of passCenters(inst, this.byFunction.get(inst.operands[0]!)!, dataLayout)) {
            made.parent = block;
            insts.push(made);
          }
        insts.push(inst);
      }
      raw(block).insts = insts;
    }
    const moves = new Map<Value, Move>();
    this.byFunction.get(fn)?.forEach((p, index) => {
      const argument = fn.args[index]!;
      if (isCentered(p)) moves.set(argument, { to: argument, bytes: p.center });
    });
    if (moves.size > 0) movePointers(body, dataLayout, moves);
    // What is gone was made of what arguments were before.
    records?.settle();
    forEachRecord(body, (record) => {
      for (const value of new Set(record.values)) {
        const move = moves.get(value);
        if (move !== undefined) speakOf(record, value, value, adding(-move.bytes));
      }
    });
  }
}

/** Nothing but the values of arguments is between caller and callee. */
function isPlain({ operands, data }: CallInst): boolean {
  const callee = operands[0] as Func;
  return (
    data.functionType === callee.valueType &&
    data.callingConvention === callee.callingConvention &&
    !data.attributes.parameters.some(isFixed)
  );
}
const known = new WeakMap<AttributeSet, boolean>();
/** Few sets are those of many parameters. */
function isFixed(said: AttributeSet): boolean {
  let result = known.get(said);
  if (result === undefined) known.set(said, (result = fixed.some((name) => said.has(name))));
  return result;
}

/** The center that is cheapest as others have theirs. */
function chooseAlone(p: Parameter): number {
  const own = p.ownCenters();
  const isCentral = ({ other }: Pass): boolean => other !== null && other.center !== 0;
  if (p.center === 0 && own.size === 0 && !p.to.some(isCentral) && !p.from.some(isCentral)) return 0;
  const around = [...p.to, ...p.from].map(({ other }) => other?.center ?? 0);
  const candidates = new Set([p.center, ...own, ...mostFrequent(around, candidatesTried)]);
  candidates.delete(0);
  if (candidates.size === 0) return 0;
  let best = 0;
  const prices = new Prices(p);
  let least = prices.at(0) - leastGain + 1;
  for (const center of candidates) {
    const bytes = prices.at(center);
    if (bytes >= least) continue;
    best = center;
    least = bytes;
  }
  return best;
}

/** How often each number is there. */
class Counts {
  private readonly counts = new Map<number, number>();

  add(n: number): void {
    this.counts.set(n, (this.counts.get(n) ?? 0) + 1);
  }
  addAll(numbers: readonly number[]): void {
    for (let i = 0; i < numbers.length; i++) this.add(numbers[i]!);
  }
  /** The prices of all, each as it is so much lower. */
  sumFrom(center: number, price: (n: number) => number): number {
    let sum = 0;
    for (const [n, count] of this.counts) sum += count * price(n - center);
    return sum;
  }
}

/** What the members of a group take at one center, but for what is the same at each: passes among them. */
class GroupPrices {
  private readonly accesses = new Counts();
  private readonly addresses = new Counts();
  private nullTests = 0;
  /** What goes to parameters outside, from the old pointers to their centers. */
  private readonly given = new Counts();
  /** What comes from pointers that have no center, backwards. */
  private readonly got = new Counts();
  /** Of any center but 0. */
  private elsewhere = 0;
  private readonly set: Parameter[] = [];

  private readonly costs: AddressCosts;

  constructor(members: readonly Parameter[]) {
    this.costs = members[0]!.costs;
    const leader = members[0]!.leader();
    for (const p of members) {
      this.accesses.addAll(p.uses.accesses);
      this.addresses.addAll(p.uses.addresses);
      this.nullTests += p.uses.nullTests;
      for (const { other, distance } of p.to)
        if (other!.leader() !== leader) this.given.add(distance + other!.center);
      for (const { other, distance } of p.from) if (other === null) this.got.add(-distance);
      this.elsewhere += p.elsewhere;
      if (p.index < 0) this.set.push(p);
    }
  }

  at(center: number): number {
    const { costs } = this;
    let bytes =
      this.accesses.sumFrom(center, (d) => distanceBytes(costs, d)) +
      this.addresses.sumFrom(center, (d) => addressBytes(costs, d));
    bytes += this.nullTests * distanceBytes(costs, center);
    bytes +=
      this.given.sumFrom(center, (d) => passBytes(costs, d)) +
      this.got.sumFrom(center, (back) => passBytes(costs, -back));
    if (center === 0) return bytes;
    bytes += this.elsewhere;
    for (const p of this.set) bytes += settingFrom(p.costs, p.setting, center);
    return bytes;
  }
}

/** Gives the members of a group the center that is cheapest in all. */
function chooseTogether(members: readonly Parameter[]): void {
  const all = new PointerUses();
  for (const { uses } of members) for (const d of uses.accesses) all.accesses.push(d);
  const candidates = possibleCenters(all, members[0]!.costs);
  if (candidates.size === 0) return;
  const prices = new GroupPrices(members);
  let best = 0;
  let least = prices.at(0);
  for (const center of candidates) {
    const bytes = prices.at(center);
    if (bytes >= least) continue;
    best = center;
    least = bytes;
  }
  for (const p of members) p.center = best;
}

/** Makes a call pass centers. @returns what has to stand before it */
function passCenters(call: CallInst, list: readonly (Parameter | null)[], layout: DataLayout): Inst[] {
  const before: Inst[] = [];
  for (const p of list) {
    if (!isCentered(p)) continue;
    const position = 1 + p.index;
    let from = call.operands[position]!;
    if (from.valueKind === "undef") continue;
    if (isConstant(from)) {
      const sum = movedConstant(from, p.center, layout);
      if (sum !== null) {
        raw(call).operands[position] = sum;
        continue;
      }
      before.push((from = makeInst(Op.Freeze, ptr, [from], null)));
    }
    const address = addressBehind(from, p.center);
    before.push(address);
    raw(call).operands[position] = address;
  }
  const { data } = call;
  setCallData(call, { ...data, attributes: withoutClaims(data.attributes, list) });
  return before;
}

/** Bytes that the middle of something takes more than its start, where its address is made for a call; null: it is not. */
function bytesOfMaking(pointer: Value, layout: DataLayout, costs: AddressCosts): number | null {
  // In the stack frame that is often out of reach for a byte.
  if (pointer.valueKind === "inst" && pointer.op === Op.Alloca) return farBytes(costs);
  if (!isConstant(pointer)) return null;
  if (pointer.valueKind === "undef") return 0;
  if (pointer.valueKind === "zero") return costs.copy;
  return movedConstant(pointer, costs.nearTo, layout) === null ? costs.set : 0;
}

/** A sum that the linker may compute: of nothing that it merges. */
function movedConstant(from: Constant, bytes: number, layout: DataLayout): Constant | null {
  const { base } = placeOf(layout, from);
  if (base !== null) {
    if (base.valueKind !== "global" || base.kind !== "variable" || base.isDeclaration || !base.isLocal)
      return null;
    if (base.isConstant || base.threadLocal !== "none") return null;
  }
  return foldGep(layout, ptr, i8, [from, constI64(bytes)], 0);
}

function withoutClaims(attributes: AttributeList, list: readonly (Parameter | null)[]): AttributeList {
  const parameters = attributes.parameters.map((said, index) => {
    if (!isCentered(list[index] ?? null)) return said;
    return withOnly(said, kept);
  });
  return new AttributeList(attributes.fn, attributes.result, parameters);
}

export const biasPointerArguments: ModulePass = {
  name: "bias-pointer-arguments",
  level: "module",
  description: "passes pointers to the middle of what callees access, where distances are shorter, for size",
  counters: { centered: "parameters that point elsewhere" },
  requires: [callGraph],
  // What bodies call and mention is the same; only addresses are others.
  preserves: [callGraph, summary],
  run: (module, context) => new Centering(module, context).run(),
};
