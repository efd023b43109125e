/**
 * Outlines regions with branches (regions.ts), after the outlining of straight code: pieces of that are cheaper to move.
 *
 * Regions that may be alike come in groups. For each group some extents are tried: how much of the head before the branch moves
 * too, and how much of the exit. Each is laid out as a sequence of pieces, for which plans are made as for straight code.
 * Those that save most are taken first. As for straight code, code is generated only where the model hardly knows what
 * operations take: with code for each function, programs came out larger (bzip2 45815 bytes instead of 45279, lua 125650
 * instead of 125534) at half of the time again.
 */

import { type BlockTimes, callInstructions } from "../../analysis/function-times.js";
import { type BodyView, isCall } from "../../ir/instructions.js";
import { intrinsicOf } from "../../ir/intrinsics.js";
import type { Func, Module } from "../../ir/module.js";
import type { ProgramContext } from "../../pass/pass.js";
import { bytesOf } from "../inline/body-size.js";
import { isPassable } from "../similar/parameters.js";
import { showsFrame, takesCopies } from "./legality.js";
import { Operations } from "./operations.js";
import { areAlike, isCertain, isClose, mayPay, type OutlinePlan, planFor } from "./plan.js";
import { RegionEdits, RegionExtractor, returnsFrom } from "./region-extract.js";
import { dominatorsOf, extended, instsOf, type Region, RegionFinder, shapeOf } from "./regions.js";
import { notOutlined } from "./remarks.js";
import { type FunctionFacts, Sequence } from "./sequence.js";
import { bytesForTime } from "./time.js";
import { tried } from "./trial.js";

/** Further instructions of a head, and of an exit, that are tried. */
const mostFurther = 24;

/** By number of instruction, 1 for what is in a region that is taken. */
type Taken = Map<Func, Uint8Array>;

interface CachedCost {
  readonly facts: FunctionFacts;
  /** How often each instruction is an operand. */
  readonly uses: Int32Array;
}

/** Regions that may be alike, each laid out as one piece, as large as all of them can be. */
interface Group {
  readonly regions: readonly Region[];
  readonly sequence: Sequence;
  /** Instructions of each, from one to the next. */
  readonly length: number;
  /** Further instructions of heads and exits that it has. */
  readonly before: number;
  readonly behind: number;
}

/** What a function could be made for. */
interface Candidate {
  readonly group: Group;
  /** Numbers of regions. */
  readonly members: readonly number[];
  /** Further instructions that it has. */
  readonly before: number;
  readonly behind: number;
  readonly benefit: number;
}

export interface OutlinedRegions {
  readonly made: Func;
  readonly fns: readonly Func[];
  readonly length: number;
  readonly plan: OutlinePlan;
}

export class RegionOutliner {
  private readonly known = new Map<Func, CachedCost>();
  private readonly operations: Operations;
  private readonly isTold: boolean;

  /** @param pass in remarks */
  constructor(
    private readonly module: Module,
    private readonly context: ProgramContext,
    private readonly names: Set<string>,
    private readonly pass: string,
    private readonly times: BlockTimes,
  ) {
    this.operations = new Operations(module);
    this.isTold = context.remarks?.wants(pass) === true;
  }

  run(functions: readonly Func[]): OutlinedRegions[] {
    const candidates: Candidate[] = [];
    for (const regions of this.alike(functions)) this.addCandidates(candidates, regions);
    candidates.sort((a, b) => b.benefit - a.benefit);
    const taken = new Map<Func, Uint8Array>();
    const edits = new RegionEdits();
    const result: OutlinedRegions[] = [];
    for (const candidate of candidates) {
      const made = this.outline(candidate, taken, edits);
      if (made !== null) result.push(made);
    }
    edits.finish();
    return result;
  }

  /** Null: others took its places, or it saves nothing. */
  private outline(candidate: Candidate, taken: Taken, edits: RegionEdits): OutlinedRegions | null {
    const { group, before, behind } = candidate;
    const { sequence, regions } = group;
    const members = this.apart(candidate, candidate.members, taken);
    const { starts, length } = piecesOf(candidate, members);
    if (members.length < 2) return this.refused(candidate, starts, length, null);
    let plan = this.planFor(group, members, starts, length);
    if (plan === null) return this.refused(candidate, starts, length, this.planAnyway(group, starts, length));
    if (!areEqual(group, members, starts, length)) return null;
    const extents = members.map((member) => extended(regions[member]!, before, behind)!);
    const byStart = new Map(extents.map((extent, i) => [starts[i]!, extent]));
    const extractor = new RegionExtractor(sequence, this.names, this.module.origins, byStart);
    const { trials } = this.context;
    const size =
      trials === null || !isClose(sequence, starts, length, plan)
        ? null
        : trials.sizeAlone(extractor.functionFor("outlined", starts, length, plan));
    if (size !== null) {
      this.context.count("trials");
      plan = tried(sequence, starts, length, plan, size);
      if (!this.isWorth(sequence, starts, plan)) return this.refused(candidate, starts, length, plan);
    }
    this.apart(candidate, members, taken, true);
    const made = extractor.extract(starts, length, plan, edits);
    return { made, fns: members.map((member) => regions[member]!.fn), length, plan };
  }

  /** What regions that stay would be, whatever it costs; null: too many registers, or nobody asks. */
  private planAnyway({ sequence }: Group, starts: Int32Array, length: number): OutlinePlan | null {
    return this.isTold
      ? planFor(sequence, starts, length, this.context.layout, Number.POSITIVE_INFINITY)
      : null;
  }

  /** Says why not, if anybody asks. */
  private refused(
    { group, members }: Pick<Candidate, "group" | "members">,
    starts: Int32Array,
    length: number,
    plan: OutlinePlan | null,
  ): null {
    const { sequence, regions } = group;
    // What would pay, but for where its results are used, is no candidate.
    if (this.isTold && (plan === null || !this.isWorth(sequence, starts, plan))) {
      const found = members.map((member) => regions[member]!.fn);
      const time = plan === null ? 0 : bytesForTime(sequence, starts, plan, this.times);
      this.context.remarks!.add(notOutlined(this.pass, found, length, starts.length, plan, time));
    }
    return null;
  }

  /** Regions that may be alike, two or more. */
  private alike(functions: readonly Func[]): Region[][] {
    const finder = new RegionFinder(this.operations, functions);
    for (const fn of functions) {
      const body = fn.view();
      finder.add(fn, body, body.renumber());
    }
    const groups = new Map<number, Region[]>();
    for (const region of finder.found) {
      if (!this.isWorthTime(region)) continue;
      const group = groups.get(region.hash);
      if (group === undefined) groups.set(region.hash, [region]);
      else group.push(region);
    }
    return [...groups.values()].filter((group) => group.length > 1);
  }

  /** Whether it saves more than the time of a call there is worth. */
  private isWorthTime({ fn, order, count }: Region): boolean {
    const spent = this.times.bytes(fn, order[0]!, callInstructions);
    if (spent === 0) return true;
    const { costs } = this.context;
    let bytes = -costs.calls.call;
    for (let i = 0; i < count && bytes <= spent; i++)
      for (const inst of order[i]!.insts) bytes += bytesOf(inst, costs);
    return bytes > spent;
  }

  /** Candidates of regions that may be alike: of all that are at each extent. */
  private addCandidates(candidates: Candidate[], regions: readonly Region[]): void {
    const before = this.common(regions, (region, more) => extended(region, more, 0)?.stays ?? -1, true);
    const behind = this.common(regions, (region, more) => extended(region, 0, more)?.ofExit ?? -1, false);
    const insts = instsOf(extended(regions[0]!, before, behind)!);
    let bytes = 0;
    let calls = 0;
    for (const inst of insts) {
      bytes += bytesOf(inst, this.context.costs);
      if (isCall(inst) && intrinsicOf(inst.operands[0]!) === null) calls++;
    }
    if (!mayPay(this.context.costs, bytes, Math.min(calls, 1), regions.length)) return;
    const pieces = regions.map((region) => ({
      fn: region.fn,
      insts: instsOf(extended(region, before, behind)!),
      ...this.knownOf(region.fn),
    }));
    const sequence = Sequence.ofPieces(this.operations, this.context.costs, pieces);
    const group = { regions, sequence, length: insts.length, before, behind };
    for (const b of new Set([before, before >> 1, 0]))
      for (const f of new Set([behind, behind >> 1, 0])) this.addExtent(candidates, group, b, f);
  }

  /** Those that are alike, at least two, without overlaps. */
  private addExtent(candidates: Candidate[], group: Group, before: number, behind: number): void {
    const { regions, sequence } = group;
    const extent = { group, before, behind };
    const groups = new Map<number, number[]>();
    const { starts, length } = piecesOf(extent, [...regions.keys()]);
    for (let i = 0; i < starts.length; i++) {
      const key = sequence.structureOf(starts[i]!, length);
      const members = groups.get(key);
      if (members === undefined) groups.set(key, [i]);
      else members.push(i);
    }
    for (const all of groups.values()) {
      const members = this.apart(extent, all, new Map(), true);
      if (members.length < 2) continue;
      const pieces = piecesOf(extent, members);
      const plan = this.planFor(group, members, pieces.starts, length);
      if (plan !== null)
        candidates.push({ ...extent, members, benefit: this.benefitOf(sequence, pieces.starts, plan) });
      // Smaller extents of the same regions would not be told apart.
      else if (before === group.before && behind === group.behind)
        this.refused(
          { group, members },
          pieces.starts,
          length,
          this.planAnyway(group, pieces.starts, length),
        );
    }
  }

  /** How many further instructions all regions have that are the same operations. */
  private common(
    regions: readonly Region[],
    reach: (region: Region, more: number) => number,
    isBefore: boolean,
  ): number {
    for (let more = 1; more <= mostFurther; more++) {
      let symbol = -1;
      for (const region of regions) {
        const place = reach(region, more);
        if (place < 0) return more - 1;
        const { insts } = isBefore ? region.order[0]! : region.exit!;
        const next = this.operations.numberOf(insts[isBefore ? place : place - 1]!, null, 0);
        if (symbol >= 0 && symbol !== next) return more - 1;
        symbol = next;
      }
    }
    return mostFurther;
  }

  /** Null: it cannot be, or saves nothing. */
  private planFor(
    { regions, sequence }: Group,
    members: readonly number[],
    starts: Int32Array,
    length: number,
  ): OutlinePlan | null {
    const { insts } = sequence;
    const first = regions[members[0]!]!;
    const { exit, order, count } = first;
    const returns = returnsFrom(first);
    if (returns) {
      const { result } = first.fn.valueType;
      if (result.kind !== "void" && !isPassable(result)) return null;
      for (const member of members) if (regions[member]!.fn.valueType.result !== result) return null;
    }
    const straight = planFor(sequence, starts, length, this.context.layout);
    if (straight === null) return null;
    const plan = { ...straight, endsThere: exit === null && !returns };
    if (exit === null && plan.outputs.length > 0) return null;
    const exitsDominators = dominatorsOf(first)[count]!;
    for (const k of plan.outputs) {
      const block = order.indexOf(insts[starts[0]! + k]!.parent!);
      // Else it is the exit's own.
      if (block >= 0 && block < count && (exitsDominators & (1 << block)) === 0) return null;
    }
    return this.isWorth(sequence, starts, plan) ? plan : null;
  }
  private isWorth(sequence: Sequence, starts: Int32Array, plan: OutlinePlan): boolean {
    return isCertain(plan, starts.length) && this.benefitOf(sequence, starts, plan) > 0;
  }
  /** Bytes saved, less what the time is worth. */
  private benefitOf(sequence: Sequence, starts: Int32Array, plan: OutlinePlan): number {
    return plan.before - plan.after - bytesForTime(sequence, starts, plan, this.times);
  }

  /** Those of which nothing is taken yet, nor by those before. @param isTaking they take their instructions */
  private apart(
    extent: Omit<Candidate, "members" | "benefit">,
    members: readonly number[],
    taken: Taken,
    isTaking = false,
  ): number[] {
    const { insts } = extent.group.sequence;
    const { starts, length } = piecesOf(extent, members);
    return members.filter((member, i) => {
      const { fn } = extent.group.regions[member]!;
      let places = taken.get(fn);
      if (places === undefined) taken.set(fn, (places = new Uint8Array(this.knownOf(fn).uses.length)));
      const start = starts[i]!;
      for (let at = start; at < start + length; at++) if (places[insts[at]!.id] === 1) return false;
      if (isTaking) for (let at = start; at < start + length; at++) places[insts[at]!.id] = 1;
      return true;
    });
  }

  private knownOf(fn: Func): CachedCost {
    let known = this.known.get(fn);
    if (known === undefined) this.known.set(fn, (known = factsOf(fn, fn.view())));
    return known;
  }
}

/** Where pieces of an extent are in the sequence of their group. */
function piecesOf(
  { group, before, behind }: Omit<Candidate, "members" | "benefit">,
  members: readonly number[],
): { starts: Int32Array; length: number } {
  const left = group.before - before;
  return {
    starts: Int32Array.from(members, (member) => member * (group.length + 1) + left),
    length: group.length - left - (group.behind - behind),
  };
}

function factsOf(fn: Func, { blocks }: BodyView): CachedCost {
  let count = 0;
  for (const { insts } of blocks) count += insts.length;
  const uses = new Int32Array(count);
  let hasShown = takesCopies(fn);
  let hasCalls = false;
  for (const { insts } of blocks)
    for (const inst of insts) {
      if (isCall(inst)) hasCalls = true;
      if (showsFrame(inst)) hasShown = true;
      for (const operand of inst.operands) if (operand.valueKind === "inst") uses[operand.id]!++;
    }
  return { facts: { showsFrame: hasShown, hasCalls }, uses };
}

/** Whether regions that have one hash are alike indeed. */
function areEqual(
  { regions, sequence }: Group,
  members: readonly number[],
  starts: Int32Array,
  length: number,
): boolean {
  const { insts, symbols } = sequence;
  if (!areAlike(sequence, starts, length)) return false;
  const shapeAt = (i: number): number[] =>
    shapeOf(regions[members[i]!]!, insts.slice(starts[i]!, starts[i]! + length));
  const shape = shapeAt(0);
  for (let i = 1; i < starts.length; i++) {
    for (let k = 0; k < length; k++) {
      const symbol = symbols[starts[0]! + k]!;
      // Pieces that are too small for anything have none.
      if (symbol < 0 || symbol !== symbols[starts[i]! + k]) return false;
    }
    const other = shapeAt(i);
    if (other.length !== shape.length || shape.some((number, k) => number !== other[k])) return false;
  }
  return true;
}
