/**
 * inline: replaces calls by the bodies of what they call where that makes the program faster, or smaller.
 *
 * Method: components of the call graph, callees first, so that what is copied has been inlined into and simplified
 * before. In each caller, a list of its calls; an advisor (by what the caller is compiled for) decides on each; calls
 * that a copy brings along come onto the list, with the functions that they came through, and none of these is inlined
 * into its own copy again. So what a component of recursive functions can grow by is bounded by its paths without
 * repetition, and before that by the size of the caller.
 *
 * For size, where an estimate is close (`Advice.isClose`), code is generated for both versions (`TrialCode`): of the caller
 * with and without the copy, simplified, and of a callee that goes with its last call. The smaller one stays. Calls that
 * are their functions' only ones come first, since what others cost depends on them, and within the budget.
 *
 * A function whose last call was inlined is removed.
 *
 * Why here: after constants were propagated, so that bodies are small; before the passes that look at one function, which
 * find more in joined bodies. Identical functions are folded before: two copies of a body can no longer be.
 * Breaks if: see `inline-call.ts` and `obstacles.ts`.
 */

import { type FunctionTimes, functionTimes, workOfCall } from "../../analysis/function-times.js";
import { timeBytes } from "../../analysis/heat.js";
import { bareCall } from "../../analysis/loop-shares.js";
import type { CloneMap } from "../../ir/clone.js";
import type { CallInst } from "../../ir/instructions.js";
import type { Func, GlobalValue, Module } from "../../ir/module.js";
import type { Value } from "../../ir/values.js";
import { callGraph } from "../../pass/analyses.js";
import { type ComponentPass, type ComponentWalk, isForSize, type ProgramContext } from "../../pass/pass.js";
import { placeOfOrigin } from "../../pass/remarks.js";
import type { InlineAdvisor } from "./advisor.js";
import { ArgumentBounds } from "./argument-bounds.js";
import { ArgumentSlots } from "./argument-slots.js";
import { type BodyCost, bodyCost, callsIn, type PlacedCall, placedCalls } from "./body-cost.js";
import { inlineCall } from "./inline-call.js";
import { misfit, takeOverAttributes } from "./obstacles.js";
import { decided, impossible, type ToldCall, type TriedSizes, tried } from "./remarks.js";
import { InlineSession } from "./session.js";
import { SizeAdvisor } from "./size-advisor.js";
import { SpeedAdvisor } from "./speed-advisor.js";

/** Functions that a call came through, innermost first. */
interface Path {
  readonly through: Func;
  readonly before: Path | null;
}
interface Candidate extends Omit<PlacedCall, "isInLoop"> {
  readonly path: Path | null;
}
const comesThrough = (path: Path | null, fn: Func): boolean => {
  for (let p = path; p !== null; p = p.before) if (p.through === fn) return true;
  return false;
};
type Place = Omit<PlacedCall, "call">;
/** What is known of a callee's body as it is at a revision. */
interface CachedCost {
  readonly revision: number;
  readonly cost: BodyCost;
  /** Where its calls are; null: nobody has asked yet. */
  places: readonly Place[] | null;
}
/** What a copy in a loop seems to be worth counts by half: arguments have to be computed there, too, and it takes registers from the loop. */
const worthOfCopy = 1 / 2;
/** Calls of calls of calls: what is that deep was not worth it where it was. */
const deepest = 8;
/** Bytes that a copy may take for time, however hot it is. */
const mostForTime = 64;
/** A caller of so many instructions is left as it is. */
const largestCaller = 50_000;

class InlinerWalk implements ComponentWalk {
  private readonly session: InlineSession;
  private readonly speed: InlineAdvisor;
  private readonly size: InlineAdvisor;
  private readonly known = new Map<Func, CachedCost>();
  /** How hot functions are; null: nobody asks. */
  private readonly times: FunctionTimes | null;
  /** Functions that calls lead back to. */
  private readonly recursive = new Set<GlobalValue>();

  constructor(
    private readonly module: Module,
    private readonly context: ProgramContext,
  ) {
    const graph = context.ofModule(callGraph);
    const { componentOf, recursive } = graph.components;
    graph.symbolOf.forEach((symbol, node) => {
      if (recursive[componentOf[node]!] === 1) this.recursive.add(module.globals[symbol]!);
    });
    this.session = new InlineSession(module, graph);
    this.session.countCalls();
    const hasSizes = module.functions.some((fn) => !fn.isDeclaration && isForSize(context.goalOf(fn)));
    this.times = context.sizeTime > 0 && hasSizes ? functionTimes(module, graph) : null;
    this.speed = new SpeedAdvisor(module.dataLayout);
    this.size = new SizeAdvisor(module.dataLayout, context.costs);
  }

  run(functions: readonly Func[]): boolean {
    let changed = false;
    for (const fn of functions) changed = this.inlineInto(fn) || changed;
    this.session.releaseBodies(functions);
    return changed;
  }
  finish(): boolean {
    this.session.releaseBodies([], 0);
    return this.session.removeUncalled(this.context.ofModule(callGraph)) > 0;
  }

  /** In code for size; 0: time is worth nothing. */
  private heatOf(fn: Func): number {
    return this.times?.heats.get(fn) ?? 0;
  }
  private readonly workOf = (callee: Value): number => workOfCall(this.times, callee);

  /**
   * Bytes that a caller for size may take so that it has one call less: what enters, passes arguments, and returns.
   * @param saved instructions of the callee that a copy does not have
   */
  private timeBytesOf({ call, frequency, times, share }: Candidate, heat: number, saved: number): number {
    const instructions = bareCall + call.data.argumentCount + saved;
    const place = { heat: heat * frequency, times, share: worthOfCopy * share };
    return Math.min(timeBytes(this.context.sizeTime, place, instructions), mostForTime);
  }

  private told(caller: Func, { origin }: CallInst, callee: Func): ToldCall {
    return { caller, callee, place: placeOfOrigin(this.context.origins, origin) };
  }

  private inlineInto(caller: Func): boolean {
    const goal = this.context.goalOf(caller);
    if (goal === "none" || caller.linkage === "available_externally") return false;
    const advisor = goal === "speed" ? this.speed : this.size;
    const { session } = this;
    const { remarks } = this.context;
    const isRecursive = this.recursive.has(caller);
    const body = caller.view();
    let size = 0;
    let recursiveSlotBytes = 0;
    for (const { insts } of body.blocks) size += insts.length;
    const isForSpeed = goal === "speed";
    const heat = isForSpeed ? 0 : this.heatOf(caller);
    // How often a call runs matters for speed, or where bytes are given for time.
    const isPlaced = isForSpeed || heat > 0;
    const bounds = new ArgumentBounds(caller, this.module.dataLayout);
    const slots = new ArgumentSlots(caller, this.context.costs);
    const work: Candidate[] = [];
    if (isPlaced) for (const placed of placedCalls(body, this.workOf)) work.push({ ...placed, path: null });
    else
      for (const call of callsIn(body))
        work.push({ call, frequency: 1, times: 1, share: 0, isCold: false, path: null });
    work.reverse();
    // Moves first: what they save does not depend on other calls, and the budget should reach for them.
    if (this.context.trials?.triesProgram === true && !isForSpeed)
      work.sort((a, b) => Number(this.isMove(a.call)) - Number(this.isMove(b.call)));
    let inlined = 0;
    for (let item = work.pop(); item !== undefined; item = work.pop()) {
      const { call, frequency, isCold, path } = item;
      const callee = call.operands[0]!;
      if (call.parent === null || callee.valueKind !== "global" || callee.kind !== "function") continue;
      if (callee.isDeclaration || comesThrough(path, callee) || size > largestCaller) continue;
      // Remarks tell what is impossible, whatever it costs. Otherwise what costs too much is out before what takes longer.
      const why =
        remarks === null ? misfit(caller, call, callee) : session.obstacle(caller, call, callee, false);
      if (why !== null) {
        remarks?.add(impossible(this.told(caller, call, callee), why));
        continue;
      }
      const callSites = session.callSites(callee);
      const isClosed = session.isClosed(callee);
      // Remarks tell what it costs.
      const mostBytes = remarks === null ? advisor.mostBytes({ call, callSites, isClosed }) : Infinity;
      const known = this.knownOf(callee, mostBytes);
      const { cost } = known;
      const candidate = item;
      const advice = advisor.advise({
        caller,
        call,
        callee,
        body: session.bodyOf(callee),
        cost,
        frequency,
        timeBytes: (saved) => this.timeBytesOf(candidate, heat, saved),
        bounds: bounds.of,
        slotBytes: () => slots.bytesOf(call, cost.savedBytes),
        isCold,
        callSites,
        isClosed,
        callerSize: size,
        recursiveSlotBytes,
        isRecursive,
      });
      if (remarks === null) {
        if (!advice.inline && advice.isClose !== true) continue;
        if (session.obstacle(caller, call, callee, false) !== null) continue;
      }
      const sizes = advice.isClose === true ? this.tryOut(caller, call, callee, advice.share) : null;
      if (remarks !== null) {
        const told = this.told(caller, call, callee);
        remarks.add(sizes === null ? decided(told, advice) : tried(told, sizes));
      }
      if (sizes === null ? !advice.inline : sizes.after - (advice.worth ?? 0) >= sizes.before) continue;
      const places = isPlaced ? this.placesIn(callee, known) : null;
      const calls = session.inline(caller.edit(), call, callee);
      size += cost.instructions;
      if (isRecursive) recursiveSlotBytes += cost.slotBytes;
      inlined++;
      const next: Path = { through: callee, before: path };
      if (length(next) > deepest) continue;
      this.addCalls(work, calls, places, { ...item, path: next });
    }
    this.context.count("calls", inlined);
    return inlined > 0;
  }

  /** The call of a function that has no other and goes with it. */
  private isMove({ operands }: CallInst): boolean {
    const callee = operands[0]!;
    if (callee.valueKind !== "global" || callee.kind !== "function") return false;
    return this.session.callSites(callee) === 1 && this.session.isClosed(callee);
  }

  /**
   * Bytes of what a call concerns without and with a copy of the callee; null: that cannot be told.
   * @param share of the callee's body, by which the program gets smaller; absent: all of it goes
   */
  private tryOut(caller: Func, call: CallInst, callee: Func, share: number | undefined): TriedSizes | null {
    const { trials } = this.context;
    if (trials === null || !trials.triesProgram) return null;
    const isLast = share === undefined;
    const before = trials.sizeWith(caller, null, isLast);
    const gone = isLast ? trials.sizeOf(callee) : share;
    if (before === null || gone === null) return null;
    const { runtime } = this.session;
    const inlined = (copy: Func, map: CloneMap): void => {
      inlineCall(copy.edit(), map.value(call) as CallInst, callee, runtime);
      takeOverAttributes(copy, callee);
    };
    const after = trials.sizeWith(caller, inlined, isLast);
    this.context.count("trials");
    return after === null ? null : { before: before + gone, after };
  }

  /** Calls that came with a copy, in the order in which the callee has them. */
  private addCalls(
    work: Candidate[],
    calls: readonly CallInst[],
    places: readonly Place[] | null,
    site: Candidate,
  ): void {
    let n = 0;
    const added: Candidate[] = [];
    for (const call of calls) {
      const callee = call.operands[0]!;
      if (callee.valueKind !== "global" || callee.kind !== "function" || callee.intrinsic !== null) continue;
      const place = places?.[n++];
      added.push({
        call,
        frequency: site.frequency * (place?.frequency ?? 1),
        times: site.times * (place?.times ?? 1),
        // In a loop of its own, or in that of the call.
        share: place?.isInLoop === true ? place.share : site.share * (place?.frequency ?? 1),
        isCold: site.isCold || place?.isCold === true,
        path: site.path,
      });
    }
    work.push(...added.reverse());
  }

  /** @param mostBytes of code; what is known of larger bodies is of their first blocks */
  private knownOf(callee: Func, mostBytes: number): CachedCost {
    const known = this.known.get(callee);
    if (known?.revision === callee.revision && (known.cost.isWhole || known.cost.bytes > mostBytes))
      return known;
    const body = this.session.bodyOf(callee);
    const made: CachedCost = {
      revision: callee.revision,
      cost: bodyCost(callee, body, this.module.dataLayout, this.context.costs, mostBytes),
      places: null,
    };
    this.known.set(callee, made);
    return made;
  }
  private placesIn(callee: Func, known: CachedCost): readonly Place[] {
    // Without the calls, which would keep the body.
    known.places ??= placedCalls(this.session.bodyOf(callee), this.workOf).map(
      ({ call: _, ...place }) => place,
    );
    return known.places;
  }
}

const length = (path: Path): number => (path.before === null ? 1 : 1 + length(path.before));

export const inline: ComponentPass = {
  name: "inline",
  level: "component",
  description: "replaces calls by what they call, where that is faster, or smaller",
  counters: { calls: "calls inlined", trials: "calls decided by generating code for both versions" },
  requires: [callGraph],
  preserves: [],
  movesCode: true,
  begin: (module, context) => new InlinerWalk(module, context),
};
