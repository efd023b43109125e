/**
 * The state that allocators on bundles share: what each register holds when, which bundles a value consists of,
 * what a register costs a bundle. The allocators differ in the order in which they place bundles and in what they
 * do when no register is free.
 */
import {
  firstRegister,
  hasRegister,
  includesSet,
  intersect,
  isEmptySet,
  minus,
  noRegisters,
  registersIn,
  withoutFirst,
  withRegister,
} from "../register-set.js";
import { type Bundle, overlap, SplitLevel } from "./bundle.js";
import { BundleCosts } from "./bundle-costs.js";
import type { Affinity, Coalescing } from "./coalesce.js";
import { IntervalSet } from "./interval-set.js";
import type { AllocationProblem, Piece, Placement } from "./problem.js";
import { BundleQueue } from "./queue.js";
import type { RegionPlan } from "./region.js";
import { Splitter } from "./split.js";

/** Of a value in many parts only these many are asked for their place, and of many moves of a value only so many. */
const neighbourLimit = 32;
const moveLimit = 128;
/** As many bundles at most make room for another one that gains more by their register than they do. */
const exchangeLimit = 2;

/**
 * The other ends of the moves of each virtual register v: entries [start[v], start[v + 1]) of the arrays, in the
 * order of the affinities.
 */
interface Neighbours {
  readonly start: Int32Array;
  readonly other: Int32Array;
  readonly weight: Float64Array;
  readonly tie: Uint8Array;
}

function neighbourTable(affinities: readonly Affinity[], count: number): Neighbours {
  const start = new Int32Array(count + 1);
  for (let k = 0; k < affinities.length; k++) {
    start[affinities[k]!.a + 1]!++;
    start[affinities[k]!.b + 1]!++;
  }
  for (let v = 0; v < count; v++) start[v + 1]! += start[v]!;
  const fill = start.slice(0, count);
  const other = new Int32Array(2 * affinities.length);
  const weight = new Float64Array(2 * affinities.length);
  const tie = new Uint8Array(2 * affinities.length);
  for (let k = 0; k < affinities.length; k++) {
    const { a, b, rank, weight: w } = affinities[k]!;
    for (let end = 0; end < 2; end++) {
      const at = fill[end === 0 ? a : b]!++;
      other[at] = end === 0 ? b : a;
      weight[at] = w;
      tie[at] = rank === 0 ? 1 : 0;
    }
  }
  return { start, other, weight, tie };
}

export class Assignment {
  readonly costs: BundleCosts;
  readonly splitter: Splitter;
  /** Bundles that still want a register. */
  readonly queue = new BundleQueue();
  readonly occupied: IntervalSet<Bundle>[] = [];
  /** How many bundles are in each register. */
  private readonly users: Int32Array;
  /** Current bundles of each virtual register. */
  private readonly bundlesOf: (Bundle[] | null)[];
  private readonly neighbours: Neighbours;
  private readonly gain: Float64Array;
  /** By virtual register: 1 if it is in memory except for single runs of uses. */
  private readonly spilled: Uint8Array;
  /**
   * Results of `rank`: what moves to and from memory cost if the bundle is in a register (its neighbours being in
   * memory), and if it is in memory (its neighbours being in registers).
   */
  memoryPull = 0;
  registerPull = 0;
  readonly price: Float64Array;
  readonly order: Int32Array;
  private readonly mentionCost: Float64Array;
  private readonly formCosts: readonly (readonly number[])[];
  /** By register, the first of a run of registers that all cost the same to encode. */
  private readonly encodedLike: Int32Array;
  private readonly saveCost: Float64Array;
  private maxMentionCost = 0;
  private maxSaveCost = 0;
  private readonly slotGroup: Int32Array;
  /** Bundles that parameters are in: a few. */
  private readonly parameters: Bundle[] = [];

  /**
   * @param keyOf Rank of a bundle in the queue: the smallest is placed first.
   */
  constructor(
    readonly problem: AllocationProblem,
    coalescing: Coalescing,
    private readonly keyOf: (bundle: Bundle) => number,
  ) {
    const count = problem.fn.vregs.length;
    this.costs = new BundleCosts(problem);
    const registers = problem.target.count;
    this.users = new Int32Array(registers);
    this.gain = new Float64Array(registers);
    this.price = new Float64Array(registers);
    this.order = new Int32Array(registers);
    this.mentionCost = new Float64Array(registers);
    this.formCosts = problem.target.formCosts ?? [];
    this.saveCost = new Float64Array(registers);
    for (let r = 0; r < registers; r++) {
      this.mentionCost[r] = problem.target.mentionCost(r);
      this.saveCost[r] = problem.target.saveCost(r);
      this.maxMentionCost = Math.max(this.maxMentionCost, this.mentionCost[r]!);
      this.maxSaveCost = Math.max(this.maxSaveCost, this.saveCost[r]!);
    }
    this.encodedLike = new Int32Array(registers);
    for (let r = 1; r < registers; r++)
      this.encodedLike[r] = this.costsTheSame(r - 1, r) ? this.encodedLike[r - 1]! : r;
    this.splitter = new Splitter(problem, this.costs, count);
    this.bundlesOf = new Array(count).fill(null);
    this.neighbours = neighbourTable(coalescing.affinities, count);
    this.slotGroup = new Int32Array(count);
    for (let v = 0; v < count; v++) this.slotGroup[v] = v;
    this.spilled = new Uint8Array(count);
    for (let r = 0; r < registers; r++) this.occupied.push(new IntervalSet());
    for (const bundle of coalescing.bundles) {
      for (const range of bundle.ranges) this.slotGroup[range.vreg] = bundle.group;
      // Two names of a value live at the same time: they need homes of their own.
      for (const range of bundle.shadows) this.slotGroup[range.vreg] = range.vreg;
    }
  }

  /** Measures a new bundle and queues it. */
  enqueue(bundle: Bundle): void {
    this.costs.measure(bundle);
    this.enqueueMeasured(bundle);
  }

  /** Queues a new bundle whose costs are known. */
  enqueueMeasured(bundle: Bundle): void {
    this.enterMeasured(bundle);
    this.queue.push(bundle);
  }

  /** Queues a bundle that lost its register. */
  requeue(bundle: Bundle): void {
    this.queue.push(bundle);
  }

  /** Makes a new bundle known. */
  enter(bundle: Bundle): void {
    this.costs.measure(bundle);
    this.enterMeasured(bundle);
  }

  private enterMeasured(bundle: Bundle): void {
    bundle.key = this.keyOf(bundle);
    const { vregs, fixedRegisters } = bundle;
    // A value that an instruction wants in a callee-saved register is brought there: that makes its save necessary.
    for (let k = 0; k < fixedRegisters.length; k++) {
      const register = fixedRegisters[k]!;
      if (this.saveCost[register] !== 0 && this.users[register] === 0 && bundle.arrives !== register) {
        this.users[register] = 1;
      }
    }
    let first = vregs[0]!;
    for (let k = 0; k < vregs.length; k++) {
      (this.bundlesOf[vregs[k]!] ??= []).push(bundle);
      if (vregs[k]! < first) first = vregs[k]!;
    }
    bundle.firstVreg = first;
    if (bundle.enters >= 0) this.parameters.push(bundle);
  }

  /** Takes bundles from the queue and hands them to `place` until none is left. */
  drain(place: (bundle: Bundle) => void): void {
    for (let bundle = this.queue.pop(); bundle !== null; bundle = this.queue.pop()) {
      if (!bundle.dead && bundle.register < 0) place(bundle);
    }
  }

  /** Replaces a bundle by its parts. */
  split(bundle: Bundle): void {
    this.forget(bundle);
    const parts = this.splitter.split(bundle);
    const toMemory = parts.length === 0 || parts[0]!.level >= SplitLevel.Cluster;
    if (toMemory) for (const vreg of bundle.vregs) this.spilled[vreg] = 1;
    for (const part of parts) this.enqueue(part);
  }

  /**
   * Keeps the planned parts of a bundle in the planned register, where it is free, and sends the rest to memory.
   */
  splitByPlan(bundle: Bundle, plan: RegionPlan): void {
    this.forget(bundle);
    const { regions, rest } = this.splitter.regions(bundle, plan.intervals);
    for (const vreg of bundle.vregs) this.spilled[vreg] = 1;
    for (const region of regions) {
      this.enter(region);
      if (hasRegister(region.unblocked, plan.register) && this.isFree(region, plan.register)) {
        this.assign(region, plan.register);
      } else this.queue.push(region);
    }
    for (const part of rest) this.enqueue(part);
  }

  /** What encoding `register` costs `bundle`, and saving it if nothing else has made that necessary. */
  priceOfUse(bundle: Bundle, register: number): number {
    return this.priceOfEncoding(bundle, register) + this.priceOfSave(bundle, register);
  }

  /** What it costs that instructions encode `register` for `bundle`. */
  private priceOfEncoding(bundle: Bundle, register: number): number {
    const { forms } = bundle;
    let price = bundle.mentions * this.mentionCost[register]!;
    for (let f = 0; f < forms.length; f++) {
      // Nearly always nothing; then no other number has to be made.
      const cost = this.formCosts[f]![register]!;
      if (cost !== 0) price += forms[f]! * cost;
    }
    return price * this.problem.policy.byte;
  }

  /** Whatever is to be encoded. */
  private costsTheSame(a: number, b: number): boolean {
    return (
      this.mentionCost[a] === this.mentionCost[b] && this.formCosts.every((costs) => costs[a] === costs[b])
    );
  }

  /** Saving `register` for `bundle`, if nothing else has made that necessary and it does not arrive there. */
  private priceOfSave(bundle: Bundle, register: number): number {
    if (this.users[register] !== 0 || bundle.arrives === register) return 0;
    return this.saveCost[register]!;
  }

  /** Counts `bundle` in or out as a reason to save `register`. */
  private count(bundle: Bundle, register: number, by: 1 | -1): void {
    if (bundle.arrives !== register) this.users[register]! += by;
  }

  /** After `rank`: true if `bundle` had better be in memory than in `register`. */
  prefersMemory(bundle: Bundle, register: number): boolean {
    if (bundle.level >= SplitLevel.Cluster) return false;
    return this.price[register]! + this.memoryPull > bundle.spillCost + this.registerPull;
  }

  /** The cheapest register that is free all over `bundle`, -1 if there is none. `rank` comes first. */
  firstFree(bundle: Bundle, count: number): number {
    for (let k = 0; k < count; k++) if (this.isFree(bundle, this.order[k]!)) return this.order[k]!;
    return -1;
  }

  /**
   * Puts the registers that `bundle` may be in into `order`, the cheapest first, and their prices into `price`.
   * Returns their number.
   */
  rank(bundle: Bundle): number {
    const { gain, price, order } = this;
    gain.fill(0);
    for (let k = 0; k < bundle.fixedRegisters.length; k++) {
      gain[bundle.fixedRegisters[k]!]! += bundle.fixedGains[k]!;
    }
    this.neighbourGains(bundle, gain);
    this.leaveToParameters(bundle, gain);
    let count = 0;
    let encoding = 0;
    let encodedLike = -1;
    for (
      let rest = intersect(bundle.permitted, bundle.unblocked);
      !isEmptySet(rest);
      rest = withoutFirst(rest)
    ) {
      const register = firstRegister(rest);
      if (this.encodedLike[register] !== encodedLike) {
        encodedLike = this.encodedLike[register]!;
        encoding = this.priceOfEncoding(bundle, register);
      }
      const cost = encoding - gain[register]! + this.priceOfSave(bundle, register);
      price[register] = cost;
      let at = count++;
      for (; at > 0 && price[order[at - 1]!]! > cost; at--) order[at] = order[at - 1]!;
      order[at] = register;
    }
    return count;
  }

  /** A register in which a parameter arrives that has no place yet is worth less to others that live beside it. */
  private leaveToParameters(bundle: Bundle, gain: Float64Array): void {
    for (let k = 0; k < this.parameters.length; k++) {
      const parameter = this.parameters[k]!;
      if (parameter.register < 0 && parameter !== bundle && !parameter.dead && overlap(parameter, bundle))
        gain[parameter.enters]! -= this.problem.policy.move(8) * 0.75;
    }
  }

  /** Gains from the places of values that moves connect with this bundle. */
  private neighbourGains(bundle: Bundle, gain: Float64Array): void {
    const { fn, policy } = this.problem;
    const { spilled, slotGroup, bundlesOf } = this;
    const { start, other: others, weight: weights, tie } = this.neighbours;
    this.memoryPull = 0;
    this.registerPull = 0;
    const { vregs } = bundle;
    for (let k = 0; k < vregs.length; k++) {
      const vreg = vregs[k]!;
      const { size } = fn.vregs[vreg]!;
      const price = policy.move(size);
      const siblings = bundlesOf[vreg]!;
      for (let s = 0; siblings !== null && s < siblings.length && s < neighbourLimit; s++) {
        const sibling = siblings[s]!;
        if (sibling !== bundle && sibling.register >= 0) gain[sibling.register]! += price;
      }
      const end = Math.min(start[vreg + 1]!, start[vreg]! + moveLimit);
      for (let n = start[vreg]!; n < end; n++) {
        const other = others[n]!;
        const weight = weights[n]!;
        const bundles = bundlesOf[other]!;
        const count = bundles === null ? 0 : bundles.length;
        if (tie[n] === 0 && (count === 0 || bundles![0] !== bundle)) {
          const home = spilled[other] === 1 && slotGroup[other] === slotGroup[vreg];
          if (home && fn.vregs[other]!.remat === null) this.memoryPull += policy.memory(size) * weight;
          else if (spilled[other] === 1 || (count > 0 && bundles![0]!.register >= 0)) {
            this.registerPull += policy.memory(size) * weight;
          }
        }
        for (let i = 0; i < count && i < neighbourLimit; i++) {
          const neighbour = bundles![i]!;
          if (neighbour !== bundle && neighbour.register >= 0) gain[neighbour.register]! += price * weight;
        }
      }
    }
  }

  isFree(bundle: Bundle, register: number): boolean {
    const set = this.occupied[register]!;
    const { ranges } = bundle;
    for (let r = 0; r < ranges.length; r++) {
      if (!set.isFree(ranges[r]!.start, ranges[r]!.end)) return false;
    }
    return true;
  }

  /**
   * Operands of one instruction may have to change places among themselves to make room for the last one: an
   * augmenting path (Kuhn's algorithm) over minimal bundles. True if `bundle` got a register.
   */
  rearrange(bundle: Bundle, visited: Set<Bundle>): boolean {
    visited.add(bundle);
    const candidates = registersIn(intersect(bundle.permitted, bundle.unblocked));
    for (const register of candidates) {
      const owners = this.ownersOf(bundle, register);
      if (owners.some((owner) => visited.has(owner))) continue;
      for (const owner of owners) this.unassign(owner);
      this.assign(bundle, register);
      const stuck = owners.find((owner) => !this.relocate(owner, visited));
      if (stuck === undefined) return true;
      // Undo: everything that found a new place leaves it again.
      for (const owner of owners) if (owner.register >= 0) this.unassign(owner);
      this.unassign(bundle);
      for (const owner of owners) {
        if (this.isFree(owner, register)) this.assign(owner, register);
        else this.queue.push(owner);
      }
    }
    return false;
  }

  private relocate(owner: Bundle, visited: Set<Bundle>): boolean {
    if (owner.level !== SplitLevel.Minimal) {
      this.queue.push(owner);
      return true;
    }
    for (const register of registersIn(intersect(owner.permitted, owner.unblocked))) {
      if (!this.isFree(owner, register)) continue;
      this.assign(owner, register);
      return true;
    }
    return this.rearrange(owner, visited);
  }

  ownersOf(bundle: Bundle, register: number): Bundle[] {
    const set = this.occupied[register]!;
    const owners: Bundle[] = [];
    for (const range of bundle.ranges) {
      set.seek(range.start);
      for (let owner = set.current(range.end); owner !== null; owner = set.current(range.end)) {
        if (!owners.includes(owner)) owners.push(owner);
        set.advance();
      }
    }
    return owners;
  }

  assign(bundle: Bundle, register: number): void {
    bundle.register = register;
    this.count(bundle, register, 1);
    const set = this.occupied[register]!;
    for (const range of bundle.ranges) set.insert(range.start, range.end, bundle);
  }

  unassign(bundle: Bundle): void {
    const register = bundle.register;
    bundle.register = -1;
    this.count(bundle, register, -1);
    const set = this.occupied[register]!;
    for (const range of bundle.ranges) set.remove(range.start);
  }

  forget(bundle: Bundle): void {
    for (const vreg of bundle.vregs) {
      const list = this.bundlesOf[vreg]!;
      const at = list.indexOf(bundle);
      if (at >= 0) list.splice(at, 1);
    }
  }

  /** All bundles, each once, by their first virtual register. */
  private allBundles(): Bundle[] {
    const result: Bundle[] = [];
    for (let v = 0; v < this.bundlesOf.length; v++) {
      const list = this.bundlesOf[v]!;
      if (list === null) continue;
      for (let k = 0; k < list.length; k++) {
        if (list[k]!.firstVreg === v) result.push(list[k]!);
      }
    }
    return result;
  }

  /**
   * Now that all neighbours have places, sends bundles to memory whose moves from and to memory cost more than
   * their registers save. True if there were any; their remainders are queued.
   */
  reconsider(): boolean {
    let changed = false;
    for (const bundle of this.allBundles()) {
      const { register } = bundle;
      if (register < 0 || bundle.level >= SplitLevel.Cluster || !this.mayPreferMemory(bundle)) continue;
      this.rankAsVacated(bundle);
      if (!this.prefersMemory(bundle, register)) continue;
      this.unassign(bundle);
      this.split(bundle);
      changed = true;
    }
    return changed;
  }

  /** False only if `prefersMemory` cannot hold, whatever places the neighbours have. */
  private mayPreferMemory(bundle: Bundle): boolean {
    const { fn, policy } = this.problem;
    const { start, weight } = this.neighbours;
    let most = bundle.mentions * this.maxMentionCost + this.maxSaveCost;
    for (let f = 0; f < bundle.forms.length; f++) most += bundle.forms[f]! * this.maxMentionCost;
    if (most > bundle.spillCost) return true;
    for (let k = 0; k < bundle.vregs.length; k++) {
      const vreg = bundle.vregs[k]!;
      const memory = policy.memory(fn.vregs[vreg]!.size);
      for (let n = start[vreg]!; n < start[vreg + 1]!; n++) {
        most += memory * weight[n]!;
        if (most > bundle.spillCost) return true;
      }
    }
    return false;
  }

  /**
   * Now that all neighbours have places, lets each bundle move to a register that costs less. Each move lowers
   * the sum of prices as seen by the bundle; a fixed number of rounds bounds the time.
   */
  improve(): void {
    const bundles = this.allBundles();
    for (let round = 0; round < 2; round++) {
      let changed = false;
      for (let k = 0; k < bundles.length; k++) {
        if (bundles[k]!.register >= 0 && this.moveCheaper(bundles[k]!)) changed = true;
      }
      if (!changed) break;
    }
  }

  private moveCheaper(bundle: Bundle): boolean {
    const current = bundle.register;
    const count = this.rankAsVacated(bundle);
    let wanted = -1;
    for (let k = 0; k < count; k++) {
      const register = this.order[k]!;
      if (register === current || this.price[register]! >= this.price[current]! - 1e-9) break;
      if (wanted < 0) wanted = register;
      if (!this.isFree(bundle, register)) continue;
      this.unassign(bundle);
      this.assign(bundle, register);
      return true;
    }
    return wanted >= 0 && this.exchange(bundle, wanted);
  }

  /** `rank`, with the register that the bundle is in priced as if it were vacated. */
  private rankAsVacated(bundle: Bundle): number {
    const { register } = bundle;
    this.count(bundle, register, -1);
    const count = this.rank(bundle);
    this.count(bundle, register, 1);
    return count;
  }

  /** What `bundle` costs in the register that it is in. */
  private currentPrice(bundle: Bundle): number {
    this.rankAsVacated(bundle);
    return this.price[bundle.register]!;
  }

  /**
   * Moves `bundle` to a register whose occupants find other places, if all of them together cost less then.
   * True if it did.
   */
  private exchange(bundle: Bundle, register: number): boolean {
    const owners = this.ownersOf(bundle, register);
    if (owners.length > exchangeLimit) return false;
    const moved = [bundle, ...owners];
    const before = this.totalPrice(moved);
    const left = bundle.register;
    for (const each of moved) this.unassign(each);
    this.assign(bundle, register);
    const stuck = owners.find((owner) => {
      const place = this.firstFree(owner, this.rank(owner));
      if (place >= 0) this.assign(owner, place);
      return place < 0;
    });
    if (stuck === undefined && this.totalPrice(moved) < before - 1e-9) return true;
    for (const each of moved) if (each.register >= 0) this.unassign(each);
    this.assign(bundle, left);
    for (const owner of owners) this.assign(owner, register);
    return false;
  }

  private totalPrice(bundles: readonly Bundle[]): number {
    let sum = 0;
    for (const bundle of bundles) sum += this.currentPrice(bundle);
    return sum;
  }

  /**
   * Exchanges the roles of whole callee-saved registers that no fixed operand distinguishes, as long as that makes
   * their names cheaper.
   */
  renameCalleeSaved(): void {
    const { target, allocatable } = this.problem;
    const inside: Bundle[][] = [];
    for (let register = 0; register < target.count; register++) inside.push([]);
    let pinned = noRegisters;
    for (const bundle of this.allBundles()) {
      const { register } = bundle;
      if (register < 0 || !hasRegister(target.calleeSaved, register)) continue;
      inside[register]!.push(bundle);
      const candidates = intersect(target.calleeSaved, allocatable[bundle.cls]!);
      if (!includesSet(intersect(bundle.permitted, bundle.unblocked), candidates))
        pinned = withRegister(pinned, register);
      if (bundle.fixedRegisters.includes(register)) pinned = withRegister(pinned, register);
    }
    for (const all of allocatable) {
      const names = registersIn(minus(intersect(target.calleeSaved, all), pinned));
      // What each register's occupants would cost under each name.
      const costs = names.map((register) =>
        names.map((name) => {
          if (this.users[register]! <= 0) return 0;
          let cost = this.saveCost[name]!;
          for (const bundle of inside[register]!) cost += this.priceOfEncoding(bundle, name);
          return cost;
        }),
      );
      const chosen = cheapestNames(costs);
      for (let k = 0; k < names.length; k++) {
        for (const bundle of inside[names[k]!]!) bundle.register = names[chosen[k]!]!;
      }
    }
  }

  /** The answer: the last question, for registers may be renamed by now. */
  placement(): Placement {
    const pieces: (Piece[] | null)[] = new Array(this.bundlesOf.length).fill(null);
    for (const bundle of this.allBundles()) {
      const { register } = bundle;
      if (register < 0) continue;
      const ranges = bundle.all();
      for (let r = 0; r < ranges.length; r++) {
        const { vreg, start, end } = ranges[r]!;
        (pieces[vreg] ??= []).push({ start, end, register });
      }
    }
    return {
      pieces: pieces.map((list) => {
        if (list === null) return nowhere;
        return list.length > 1 ? joinAdjacent(list.sort((a, b) => a.start - b.start)) : list;
      }),
      slotGroup: this.slotGroup,
    };
  }
}

/**
 * A permutation: for each row of `costs` a column. No exchange of two makes it cheaper; columns of equal cost stay in
 * their order.
 */
function cheapestNames(costs: readonly (readonly number[])[]): number[] {
  const chosen = costs.map((_, k) => k);
  for (let changed = true; changed; ) {
    changed = false;
    for (let a = 0; a < chosen.length; a++) {
      for (let b = a + 1; b < chosen.length; b++) {
        const [x, y] = [chosen[a]!, chosen[b]!];
        const now = costs[a]![x]! + costs[b]![y]!;
        if (costs[a]![y]! + costs[b]![x]! >= now - 1e-6) continue;
        chosen[a] = y;
        chosen[b] = x;
        changed = true;
      }
    }
  }
  return chosen;
}

const nowhere: readonly Piece[] = [];

function joinAdjacent(pieces: Piece[]): Piece[] {
  const result: Piece[] = [];
  for (const piece of pieces) {
    const last = result[result.length - 1];
    if (last !== undefined && last.end === piece.start && last.register === piece.register) {
      result[result.length - 1] = { ...last, end: piece.end };
    } else result.push(piece);
  }
  return result;
}
