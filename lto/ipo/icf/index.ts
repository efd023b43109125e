/**
 * icf: one body for functions that are the same code.
 *
 * Functions of headers, instances of templates and copies by hand come once from each file. Where nobody can tell by the
 * address, a copy goes and all that mentions it mentions the other; where its address may be compared, the copy becomes a
 * jump to the other, if it was longer than that.
 *
 * Method: functions of one type and size (by the summary, so that others are not decoded) are put into buckets by a
 * structural hash, then compared exactly (compare.ts). Folding makes further functions the same (those that call copies), so
 * it is repeated, with the functions that were changed. Linear in the bodies that share type and size with others, and in
 * what a round changes.
 *
 * Why before inlining: copies that are inlined into different callers are never found again.
 *
 * Proof obligations:
 *  - both are definitions that nothing replaces; a copy is local and not mentioned by assembly;
 *  - a copy goes only if its address means nothing (unnamed_addr), or nobody knows it; otherwise it stays an
 *    address of its own, after which the other's code runs; that code must not ask for its own address then;
 *  - flags, hints and promises in which the two differ are dropped; what changes the code (attributes of code generation,
 *    alignment of accesses, orderings, conventions, personality, section) has to be equal;
 *  - no block of either has an address; naked and unoptimised functions, coroutines, and functions with data before
 *    their code are left alone.
 */

import { isExact } from "../../analysis/exact.js";
import { keepsItsCode } from "../../analysis/made-functions.js";
import { Trait } from "../../analysis/references.js";
import { type ModuleSummary, updatedSummary } from "../../analysis/summary.js";
import { isCall } from "../../ir/instructions.js";
import type { Func, GlobalValue, Module } from "../../ir/module.js";
import { callGraph, summary } from "../../pass/analyses.js";
import type { ModulePass, PassContext } from "../../pass/pass.js";
import { makeJumpTo } from "../jump-function.js";
import { passingAttributes } from "../parameter-attributes.js";
import { replaceGlobals } from "../replace-globals.js";
import { hashFunction, sameFunction, weaken } from "./compare.js";

/** Attributes of functions that are not to be looked into. */
const untouchable = ["naked", "optnone", "presplitcoroutine", "returns_twice"];
/** Instructions of a function that is longer than a jump. */
const worthJump = 6;

interface Candidate {
  readonly fn: Func;
  readonly hash: number;
  /** All that mentions it may mention another. */
  readonly canGo: boolean;
}

interface Hashed {
  readonly revision: number;
  readonly hash: number;
}

class Folder {
  private summary: ModuleSummary;
  private folded = 0;
  private jumps = 0;
  /** Functions that only jump to another: what jumps where is settled. */
  private readonly thunks = new Set<GlobalValue>();
  /** As globals were before the first round, so that hashes of bodies that did not change stay. */
  private readonly numbers: ReadonlyMap<GlobalValue, number>;
  private readonly hashes = new Map<Func, Hashed>();

  constructor(
    private readonly module: Module,
    private readonly context: PassContext,
  ) {
    this.summary = context.ofModule(summary);
    this.numbers = new Map(module.globals.map((global, index) => [global, index]));
  }

  run(): boolean {
    const graph = this.context.ofModule(callGraph);
    const isKnown = new Set<GlobalValue>();
    graph.symbolOf.forEach((symbol, node) => {
      if (graph.addressTaken[node] === 1) isKnown.add(this.module.globals[symbol]!);
    });
    for (let round = 0; round < 8; round++) if (!this.round(isKnown)) break;
    this.context.count("folded", this.folded);
    this.context.count("jumps", this.jumps);
    return this.folded + this.jumps > 0;
  }

  /** @returns whether some function went */
  private round(isKnown: ReadonlySet<GlobalValue>): boolean {
    const replacements = new Map<GlobalValue, GlobalValue>();
    const jumps: [Func, Func][] = [];
    for (const group of this.groups(isKnown)) this.fold(group, replacements, jumps);
    for (const [copy, kept] of jumps) {
      makeJumpTo(copy, kept);
      this.thunks.add(copy);
      this.jumps++;
    }
    if (replacements.size > 0) {
      if (jumps.length > 0) this.summary = updatedSummary(this.module, this.summary);
      const before = [...this.module.globals];
      for (const [copy, kept] of replacements) this.module.origins?.absorbs(kept, copy);
      replaceGlobals(this.module, this.summary, replacements);
      this.summary = updatedSummary(this.module, this.summary, before);
      this.folded += replacements.size;
    }
    return replacements.size > 0;
  }

  /** Functions with equal hashes, those that have to stay first. */
  private groups(isKnown: ReadonlySet<GlobalValue>): Candidate[][] {
    const { globals, pinned } = this.module;
    const bySize = new Map<string, Func[]>();
    globals.forEach((fn, index) => {
      if (fn.kind !== "function" || !isExact(fn) || !this.isFoldable(fn)) return;
      const { instructions, traits } = this.summary.symbols[index]!;
      if ((traits & Trait.BlockAddress) !== 0) return;
      const key = `${fn.valueType.id},${instructions},${traits}`;
      const list = bySize.get(key);
      if (list === undefined) bySize.set(key, [fn]);
      else list.push(fn);
    });
    const groups: Candidate[][] = [];
    for (const list of bySize.values()) {
      if (list.length === 1) continue;
      const byHash = new Map<number, Candidate[]>();
      for (const fn of list) {
        const canGo = fn.isLocal && !pinned.has(fn) && (fn.unnamedAddr !== "none" || !isKnown.has(fn));
        const candidate = { fn, canGo, hash: this.hashOf(fn) };
        const bucket = byHash.get(candidate.hash);
        if (bucket === undefined) byHash.set(candidate.hash, [candidate]);
        else bucket.push(candidate);
      }
      for (const bucket of byHash.values()) {
        if (bucket.length === 1) continue;
        for (const { fn } of bucket) fn.view().renumber();
        groups.push([...bucket.filter((c) => !c.canGo), ...bucket.filter((c) => c.canGo)]);
      }
    }
    return groups;
  }

  private hashOf(fn: Func): number {
    const known = this.hashes.get(fn);
    if (known?.revision === fn.revision) return known.hash;
    const body = fn.view();
    body.renumber();
    const hash = hashFunction(fn, body, (global) => this.numbers.get(global) ?? -1);
    this.hashes.set(fn, { revision: fn.revision, hash });
    return hash;
  }

  private isFoldable(fn: Func): boolean {
    const { attributes, prefix, prologue, comdat, typeIds } = fn;
    return (
      prefix === null &&
      prologue === null &&
      comdat === null &&
      typeIds.length === 0 &&
      !untouchable.some((name) => attributes.fn.has(name)) &&
      !keepsItsCode(fn)
    );
  }

  private fold(
    group: readonly Candidate[],
    replacements: Map<GlobalValue, GlobalValue>,
    jumps: [Func, Func][],
  ): void {
    const kept: Func[] = [];
    for (const { fn, canGo } of group) {
      const canJump = !canGo && fn.isLocal && this.canJump(fn);
      const same = canGo || canJump ? kept.find((other) => sameFunction(other, fn)) : undefined;
      if (same === undefined) {
        kept.push(fn);
        continue;
      }
      weaken(same, fn);
      if (canGo) replacements.set(fn, same);
      else jumps.push([fn, same]);
    }
  }

  /** Whether a function can be a jump to another of its type, and is not shorter. */
  private canJump(fn: Func): boolean {
    if (this.thunks.has(fn) || this.module.pinned.has(fn) || fn.valueType.isVarArg) return false;
    for (let i = 0; i < fn.args.length; i++) {
      const attributes = fn.attributes.parameter(i);
      if (passingAttributes.some((name) => attributes.has(name))) return false;
    }
    let count = 0;
    for (const { insts } of fn.view().blocks) {
      count += insts.length;
      for (const inst of insts)
        for (let i = isCall(inst) ? 1 : 0; i < inst.operands.length; i++)
          if (inst.operands[i] === fn) return false;
    }
    return count >= worthJump;
  }
}

export const icf: ModulePass = {
  name: "icf",
  level: "module",
  description: "makes functions that are the same code one",
  counters: {
    folded: "functions that were copies",
    jumps: "copies with addresses of their own that became jumps",
  },
  requires: [summary, callGraph],
  preserves: [],
  run: (module, context) => new Folder(module, context).run(),
};
