/**
 * merge-similar-functions: one function with parameters for functions that are the same code but for constants.
 *
 * Setters of different fields, handlers of different tables, copies by hand with another number in them: what folding of
 * identical functions leaves. The constants in which they differ, numbers and addresses, become parameters, those that
 * always go together one. Calls pass them; where somebody knows a function's address it stays, as a jump.
 *
 * Method: functions of one type and size get a hash of their bodies without the constants that may vary (slots.ts). In a
 * bucket each function joins the cluster where it saves most, and clusters that save bytes for certain (cluster.ts) become
 * one function, whose body is the first member's. What called members is then alike in turn, so it is done in rounds.
 * Linear in the bodies that share type and size with others, times the clusters of a bucket, which are bounded.
 *
 * Why after inlining: what is small enough is gone, and what inlining left is what there is to share.
 *
 * Proof obligations: those of icf on the code (compare.ts), and
 *  - a constant that varies may be computed by the caller: no block's or thread's address, no operand that has to be a
 *    constant of the instruction;
 *  - a function that goes is local, its address is unknown, and every call of it can pass more;
 *  - claims on which memory is reached through parameters go where an address becomes one;
 *  - no musttail call in the body or of it, no variable arguments, no mention of its own address.
 *
 * Breaks if: an operand that must be constant is taken for one that may vary.
 */
import { isExact } from "../../analysis/exact.js";
import { keepsItsCode } from "../../analysis/made-functions.js";
import { Trait } from "../../analysis/references.js";
import { type ModuleSummary, updatedSummary } from "../../analysis/summary.js";
import { type Inst, isCall } from "../../ir/instructions.js";
import type { Func, GlobalValue, Module } from "../../ir/module.js";
import { isConstant } from "../../ir/values.js";
import { callGraph, summary } from "../../pass/analyses.js";
import { isForSize, type ModulePass, type ProgramContext } from "../../pass/pass.js";
import { listOfPlaces, type Remark, words } from "../../pass/remarks.js";
import { type Differ, hashFunction, sameFunction } from "../icf/compare.js";
import { passingAttributes } from "../parameter-attributes.js";
import {
  Cluster,
  type Difference,
  type Differences,
  gainOf,
  isWorth,
  type Member,
  type MergePlan,
  slotKey,
} from "./cluster.js";
import { mergeCluster, type Redirection, redirectCalls } from "./rewrite.js";
import { bytesOfVariable, isPassed, isPassedCallee, mayVary } from "./slots.js";

/** Attributes of functions that are not to be looked into, or are fast for a reason. */
const untouchable = ["naked", "optnone", "presplitcoroutine", "returns_twice", "hot"];
/** Instructions of a function that is worth a look. */
const leastInstructions = 5;
const mostClusters = 8;
const rounds = 3;

class Merger {
  private summary: ModuleSummary;
  /** Functions whose addresses are known, in the module as it was. */
  private readonly isKnown = new Set<GlobalValue>();
  /** Functions that were made, or are jumps to such. */
  private readonly settled = new Set<GlobalValue>();
  private readonly names: Set<string>;

  constructor(
    private readonly module: Module,
    private readonly context: ProgramContext,
  ) {
    this.summary = context.ofModule(summary);
    const graph = context.ofModule(callGraph);
    graph.symbolOf.forEach((symbol, node) => {
      if (graph.addressTaken[node] === 1) this.isKnown.add(module.globals[symbol]!);
    });
    this.names = new Set(module.globals.map((global) => global.name));
  }

  run(): boolean {
    let changed = false;
    for (let round = 0; round < rounds && this.round(); round++) changed = true;
    return changed;
  }

  private round(): boolean {
    const buckets = this.buckets();
    if (buckets.length === 0) return false;
    const calls = this.countCalls(new Set(buckets.flat()));
    const merged = new Map<Func, Redirection>();
    const gone = new Set<GlobalValue>();
    const before = [...this.module.globals];
    for (const bucket of buckets)
      for (const cluster of this.clusters(bucket, calls)) {
        const { members } = cluster;
        const plan = members.length > 1 ? cluster.plan() : null;
        if (plan === null) continue;
        const isTaken = isWorth(plan, members.length);
        this.context.remarks?.add(decided(members, plan, isTaken));
        if (!isTaken) {
          this.context.count("kept", members.length);
          continue;
        }
        const to = mergeCluster(cluster, plan, this.nameFor(cluster.first));
        this.settled.add(to);
        this.module.globals.push(to);
        this.module.origins?.moveBody(to.view(), cluster.first);
        this.module.origins?.recordMade(
          to,
          "merge-similar-functions",
          members.map(({ fn }) => fn),
        );
        members.forEach(({ fn, staysAsJump }, i) => {
          if (staysAsJump) this.settled.add(fn);
          else gone.add(fn);
          merged.set(fn, { to, passed: plan.parameters.list.map(({ values }) => values[i]!) });
        });
        this.context.count("merged", members.length);
        this.context.count("parameters", plan.parameters.list.length);
        this.context.count("bytes", Math.round(gainOf(plan)));
      }
    if (merged.size === 0) return false;
    redirectCalls(this.callersOf(merged, before), merged);
    const { globals } = this.module;
    let kept = 0;
    for (const global of globals) if (!gone.has(global)) globals[kept++] = global;
    globals.length = kept;
    this.summary = updatedSummary(this.module, this.summary, before);
    return true;
  }

  private nameFor(fn: Func): string {
    let name = `${fn.name}.merged`;
    for (let i = 2; this.names.has(name); i++) name = `${fn.name}.merged.${i}`;
    this.names.add(name);
    return name;
  }

  /** Functions that may be the same code but for constants. */
  private buckets(): Func[][] {
    const { globals } = this.module;
    const numbers = new Map<GlobalValue, number>(globals.map((global, index) => [global, index]));
    const bySize = new Map<string, Func[]>();
    globals.forEach((fn, index) => {
      if (fn.kind !== "function" || !isExact(fn) || !this.isCandidate(fn)) return;
      const { instructions, traits } = this.summary.symbols[index]!;
      if (instructions < leastInstructions || (traits & (Trait.BlockAddress | Trait.VarArg)) !== 0) return;
      const key = `${fn.valueType.id},${instructions},${traits}`;
      const list = bySize.get(key);
      if (list === undefined) bySize.set(key, [fn]);
      else list.push(fn);
    });
    const buckets: Func[][] = [];
    for (const list of bySize.values()) {
      if (list.length === 1) continue;
      const byHash = new Map<number, Func[]>();
      for (const fn of list) {
        const body = fn.view();
        body.renumber();
        const hash = hashFunction(fn, body, (global) => numbers.get(global) ?? -1, mayVary);
        const bucket = byHash.get(hash);
        if (bucket === undefined) byHash.set(hash, [fn]);
        else bucket.push(fn);
      }
      for (const bucket of byHash.values()) if (bucket.length > 1) buckets.push(bucket);
    }
    return buckets;
  }

  private isCandidate(fn: Func): boolean {
    const { attributes, prefix, prologue, comdat, typeIds } = fn;
    return (
      isForSize(this.context.goalOf(fn)) &&
      prefix === null &&
      prologue === null &&
      comdat === null &&
      typeIds.length === 0 &&
      !this.settled.has(fn) &&
      !this.module.pinned.has(fn) &&
      !untouchable.some((name) => attributes.fn.has(name)) &&
      !keepsItsCode(fn) &&
      !fn.args.some(
        (_, i) => attributes.parameter(i).has("inalloca") || attributes.parameter(i).has("preallocated"),
      )
    );
  }

  /** Calls of each of some functions; -1: one of them cannot be changed. */
  private countCalls(functions: ReadonlySet<Func>): Map<Func, number> {
    const counts = new Map<Func, number>();
    const { globals } = this.module;
    const isAsked = new Uint8Array(globals.length);
    globals.forEach((global, index) => {
      if (global.kind === "function" && functions.has(global)) isAsked[index] = 1;
    });
    globals.forEach((caller, index) => {
      if (caller.kind !== "function" || caller.isDeclaration) return;
      if (!this.summary.symbols[index]!.calls.some((callee) => isAsked[callee] === 1)) return;
      for (const { insts } of caller.view().blocks)
        for (const inst of insts) {
          const callee = inst.operands[0];
          if (!isCall(inst) || callee?.valueKind !== "global" || callee.kind !== "function") continue;
          if (!functions.has(callee)) continue;
          const count = counts.get(callee) ?? 0;
          counts.set(callee, count < 0 || !fits(inst, callee) ? -1 : count + 1);
        }
    });
    return counts;
  }

  private clusters(bucket: readonly Func[], calls: ReadonlyMap<Func, number>): Cluster[] {
    const clusters: Cluster[] = [];
    for (const fn of bucket) {
      const body = fn.view();
      if (!canBeParametrized(fn)) continue;
      const count = calls.get(fn) ?? 0;
      const staysAsJump = !fn.isLocal || this.isKnown.has(fn) || count < 0;
      if (staysAsJump && !canJump(fn)) continue;
      const member = (differences: Differences): Member => ({
        fn,
        differences,
        staysAsJump,
        // Calls that can be changed go to the body at once, beside the jump.
        calls: Math.max(count, 0),
      });
      let best: { cluster: Cluster; member: Member; gain: number } | null = null;
      for (const cluster of clusters) {
        const differences = differencesFrom(cluster.first, fn);
        if (differences === null) continue;
        const joined = member(differences);
        const plan = cluster.plan(joined);
        if (plan === null) {
          this.context.remarks?.add(unpassable(cluster.first, fn));
          continue;
        }
        const now = cluster.plan()!;
        const gain = gainOf(plan) - gainOf(now);
        if (gain > (best?.gain ?? 0)) best = { cluster, member: joined, gain };
        else if (this.context.remarks !== null && best === null)
          this.context.remarks.add(decided([...cluster.members, joined], plan, false));
      }
      if (best !== null) best.cluster.members.push(best.member);
      else if (clusters.length < mostClusters) {
        const cluster = new Cluster(fn, body, this.context.layout, this.context.costs);
        cluster.members.push(member(new Map()));
        clusters.push(cluster);
      }
    }
    return clusters;
  }

  private *callersOf(merged: ReadonlyMap<Func, unknown>, before: readonly GlobalValue[]): Iterable<Func> {
    const isMerged = before.map((global) => global.kind === "function" && merged.has(global));
    for (const [index, caller] of before.entries()) {
      if (caller.kind !== "function" || caller.isDeclaration || isMerged[index]) continue;
      if (this.summary.symbols[index]!.calls.some((callee) => isMerged[callee])) yield caller;
    }
    for (const global of this.module.globals.slice(before.length))
      if (global.kind === "function") yield global;
  }
}

/** What is said of functions that are alike: bytes of one function with parameters, and of all functions as they are. */
const decided = (
  members: readonly Member[],
  { before, after, parameters }: MergePlan,
  isTaken: boolean,
): Remark => ({
  kind: isTaken ? "Passed" : "Missed",
  pass: "merge-similar-functions",
  name: isTaken ? "Merged" : "TooCostly",
  function: members[0]!.fn.name,
  facts: [
    ["Functions", members.length],
    words(isTaken ? " functions merged with " : " functions not merged with "),
    ["Parameters", parameters.list.length],
    words(" parameters (cost="),
    ["Cost", Math.round(after)],
    words(", threshold="),
    ["Threshold", Math.round(before)],
    words("): "),
    ...listOfPlaces(members.map(({ fn }) => fn.name)),
  ],
});

/** Functions that are alike but for more constants than a call has room for. */
const unpassable = (first: Func, other: Func): Remark => ({
  kind: "Missed",
  pass: "merge-similar-functions",
  name: "TooManyInputs",
  function: first.name,
  facts: [
    words("functions not merged, since they differ in more than can be passed: "),
    ...listOfPlaces([first.name, other.name]),
  ],
});

/** Whether a call can pass more. */
const fits = (call: Inst, callee: Func): boolean =>
  isCall(call) &&
  call.data.tail !== "musttail" &&
  call.data.functionType === callee.valueType &&
  call.data.callingConvention === callee.callingConvention;

/** Constants of `other` that are not those of `first`; null: they differ in more. */
function differencesFrom(first: Func, other: Func): Differences | null {
  const found = new Map<number, Difference>();
  const differ: Differ = (inst, operand, a, b) => {
    if (a.type !== b.type || !isConstant(a) || !mayVary(inst, operand) || !isPassed(b)) return false;
    if (operand === 0 && isCall(inst) && !isPassedCallee(b)) return false;
    const slot = { inst: inst.id, operand, value: a, bytes: bytesOfVariable(inst, operand) };
    found.set(slotKey(inst.id, operand), { slot, value: b });
    return true;
  };
  return sameFunction(first, other, differ) ? found : null;
}

/** Whether a body can be another function's. */
function canBeParametrized(fn: Func): boolean {
  for (const { insts } of fn.view().blocks)
    for (const inst of insts) {
      if (isCall(inst) && inst.data.tail === "musttail") return false;
      // Its own address would be another's.
      for (let i = isCall(inst) ? 1 : 0; i < inst.operands.length; i++)
        if (inst.operands[i] === fn) return false;
      if (inst.operands.length > 255) return false;
    }
  return true;
}

/** Whether the function can be a jump to another one with the same parameters and more. */
const canJump = (fn: Func): boolean =>
  !fn.args.some((_, i) => passingAttributes.some((name) => fn.attributes.parameter(i).has(name)));

export const mergeSimilarFunctions: ModulePass = {
  name: "merge-similar-functions",
  level: "module",
  description: "makes functions that differ in constants one with parameters, where that is smaller",
  counters: {
    merged: "functions that became one with others",
    parameters: "parameters that constants became",
    bytes: "bytes saved, as estimated",
    kept: "functions alike that would not be smaller as one",
  },
  requires: [summary, callGraph],
  preserves: [],
  movesCode: true,
  run: (module, context) => new Merger(module, context).run(),
};
