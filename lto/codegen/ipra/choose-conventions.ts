/**
 * Which closed functions take which arguments in callee-saved registers, their substitutes.
 *
 *     f(p) { g(); use(p) }         push %rbx; mov %rdi,%rbx; call g; … pop %rbx; ret
 *     with p in rbx                                          call g; …           ret
 *
 * A context that is handed down a call graph then never moves. But where a function passes different values to
 * such callees, none of them can stay in the register, and it is no longer of use for anything else: so it is a
 * question of cost, and the answer for one function depends on those for its callers and callees.
 *
 * Method: a cost in bytes for each function, as a function of its own convention and its callees' (`costOf`).
 * One substitute after the other: starting from "all", functions change sides in turn as long as the total falls.
 * For each function and substitute the sources of what it passes there are counted, so that a change costs no more
 * than the sites of the function that changes. A few rounds of work linear in the sites. The order of functions is
 * all that the outcome depends on.
 * Obligations: `eligible` functions are closed — every call of them is a listed direct call of the program.
 */
import type { TargetConventions } from "../target.js";
import type { ArgumentFlow } from "./argument-flow.js";
import { PassedValues } from "./passed-values.js";

/* Bytes, as those of `TargetConventions.bytes`. */
/** From so many values across calls on, registers are short, and giving one away costs so much. */
const crowd = 10;
const crowding = 20;
/** The same for further substitutes: they also cost at every call that something else has to make room at. */
const contest = 3;
const contention = 2;
/** In a function as large as an interpreter's loop no register is free anywhere: one call costs that much. */
const giant = 100;
const eviction = 8;

/**
 * @param eligible 1 for functions that may be chosen
 * @returns for each function and substitute (function · substitutes + substitute) the position of the argument, or -1
 */
export function chooseConventions(
  flows: readonly ArgumentFlow[],
  eligible: Uint8Array,
  target: Pick<TargetConventions, "substituteIsLong" | "bytes">,
): Int8Array {
  const search = new Search(flows, eligible, target);
  for (let which = 0; which < target.substituteIsLong.length; which++) search.decide(which);
  return search.chosen;
}

class Search {
  readonly chosen: Int8Array;
  /** Number of substitutes. */
  private readonly count: number;
  private readonly candidates: number[] = [];
  /** Calls of each function: caller and number of the site, alternating. */
  private readonly sitesOf: number[][];
  /** Distinct callers of each function. */
  private readonly callersOf: number[][];
  private readonly passed: PassedValues[];
  /** How many calls of a function pass on its parameter p in the place it came in (function · limit + p). */
  private readonly forwards: Int32Array;
  private readonly costs: Float64Array;
  /** By substitute, whether it costs a byte more in narrow instructions: it is not for narrow arguments. */
  private readonly long: readonly boolean[];
  private readonly bytes: TargetConventions["bytes"];
  /** The most arguments of a function that travel in registers. */
  private limit = 1;

  constructor(
    private readonly flows: readonly ArgumentFlow[],
    eligible: Uint8Array,
    { substituteIsLong, bytes }: Pick<TargetConventions, "substituteIsLong" | "bytes">,
  ) {
    this.long = substituteIsLong;
    this.bytes = bytes;
    this.count = substituteIsLong.length;
    for (const { positions } of flows) this.limit = Math.max(this.limit, positions);
    const { count } = this;
    const allowed = Uint8Array.from(flows, (flow, f) =>
      eligible[f] === 1 && flow.positions > 0 && !flow.rigid ? 1 : 0,
    );
    // Such a jump could not be made up for by a call.
    for (const { mustTail } of flows) for (const callee of mustTail) allowed[callee] = 0;
    this.chosen = new Int8Array(flows.length * count).fill(-1);
    this.sitesOf = flows.map(() => []);
    this.callersOf = flows.map(() => []);
    this.forwards = new Int32Array(flows.length * this.limit);
    flows.forEach(({ sites, positions }, f) => {
      if (allowed[f] === 1) this.candidates.push(f);
      sites.forEach(({ callee, sources }, i) => {
        for (let p = 0; p < sources.length && p < positions; p++)
          if (sources[p] === p) this.forwards[f * this.limit + p]!++;
        if (callee < 0) return;
        this.sitesOf[callee]!.push(f, i);
        const callers = this.callersOf[callee]!;
        if (callers[callers.length - 1] !== f) callers.push(f);
      });
    });
    this.passed = flows.map((flow) => new PassedValues(flow.sources, count));
    this.costs = new Float64Array(flows.length);
  }

  /** Starts from "every first argument that is left" and improves on it. */
  decide(which: number): void {
    for (const f of this.candidates)
      for (let position = 0; position < this.flows[f]!.positions; position++)
        if (this.isFree(f, which, position)) {
          this.place(f, which, position);
          break;
        }
    for (let f = 0; f < this.flows.length; f++) this.costs[f] = this.costOf(f);
    for (let round = 0, changed = true; changed && round < 8; round++) {
      changed = false;
      for (const f of this.candidates) if (this.improve(f, which)) changed = true;
    }
  }

  /** The argument may travel in a substitute, and does in none yet. */
  private isFree(f: number, which: number, position: number): boolean {
    if (this.long[which] === true && ((this.flows[f]!.narrow >> position) & 1) === 1) return false;
    for (let other = 0; other < this.count; other++)
      if (this.chosen[f * this.count + other] === position) return false;
    return true;
  }

  /** Gives the substitute the best of the function's arguments, all else equal. */
  private improve(f: number, which: number): boolean {
    const before = this.chosen[f * this.count + which]!;
    let best = before;
    let least = 0;
    for (let position = -1; position < this.flows[f]!.positions; position++) {
      if (position === before || (position >= 0 && !this.isFree(f, which, position))) continue;
      this.place(f, which, position);
      const change = this.change(f);
      if (change < least) {
        least = change;
        best = position;
      }
      this.place(f, which, before);
    }
    if (best === before) return false;
    this.place(f, which, best);
    this.costs[f] = this.costOf(f);
    for (const caller of this.callersOf[f]!) this.costs[caller] = this.costOf(caller);
    return true;
  }

  /** By how much the present state costs more than the one that `costs` is of, around a function. */
  private change(f: number): number {
    let sum = this.costOf(f) - this.costs[f]!;
    for (const caller of this.callersOf[f]!)
      if (caller !== f) sum += this.costOf(caller) - this.costs[caller]!;
    return sum;
  }

  private place(f: number, which: number, position: number): void {
    const at = f * this.count + which;
    const old = this.chosen[at]!;
    if (old === position) return;
    this.chosen[at] = position;
    const sites = this.sitesOf[f]!;
    for (let i = 0; i < sites.length; i += 2) {
      const caller = sites[i]!;
      const { sources, tail } = this.flows[caller]!.sites[sites[i + 1]!]!;
      const passed = this.passed[caller]!;
      if (old >= 0 && old < sources.length) passed.count(which, sources[old]!, tail, -1);
      if (position >= 0 && position < sources.length) passed.count(which, sources[position]!, tail, 1);
    }
  }

  /** Estimated bytes that the substitutes cost a function, compared with the platform's convention. */
  private costOf(f: number): number {
    const flow = this.flows[f]!;
    const passed = this.passed[f]!;
    const { move, save, extraRegister, lostTailCall } = this.bytes;
    let cost = 0;
    let residents = 0;
    for (let which = 0; which < this.count; which++) {
      const own = this.chosen[f * this.count + which]!;
      const wanted = passed.totals[which]!;
      if (own < 0 && wanted === 0) continue;
      if (flow.living > crowd) cost += crowding;
      // The one value that all such callees are passed can stay in the register — in one register.
      const only = passed.only(which, own);
      const resident = own >= 0 ? own : only;
      let pure = passed.dying[which] === 0 && (own >= 0 ? wanted === 0 || only === own : only >= 0);
      if (pure && resident < 31) {
        if (((residents >> resident) & 1) === 1) pure = false;
        residents |= 1 << resident;
      }
      const isOwn = resident >= 0 && resident < flow.positions;
      const lives = !isOwn || ((flow.lives >> resident) & 1) === 1;
      if (which > 0 && flow.living > giant) cost += eviction * wanted;
      if (!pure) {
        cost += extraRegister + (own >= 0 && !lives ? move : 0);
        if (which > 0 && flow.living > contest) cost += contention * wanted;
      } else if (own < 0) cost += lives ? -move * wanted : save + move;
      else if (lives) cost -= save + move + move * wanted;
      else cost += move * (this.forwards[f * this.limit + own]! - wanted);
      if (own < 0 || !pure) cost += lostTailCall * passed.tails[which]!;
    }
    return cost;
  }
}
