/**
 * One thread's share of code generation: it compiles functions when told to, keeps them until the program's
 * decisions are made, completes them, keeps them until the program's last steps are taken, and lays them out.
 *
 * Every thread has a compiler of the same module; what they hear of each other's functions are masks. What a
 * compiler answers depends on the module, the options and the masks published, not on what else it compiled.
 */

import type { IndirectCalls } from "../../analysis/function-pointers/index.js";
import { InternalError } from "../../ir/errors.js";
import type { Func, GlobalValue, Module } from "../../ir/module.js";
import type { Value } from "../../ir/values.js";
import { ClobberStore } from "../ipra/clobber-store.js";
import { boundsOf, type PassedRegisters, unknownBounds } from "../ipra/variable-arguments.js";
import { completeFunction, layOutFunction } from "../late/finish.js";
import { optionalLateSteps, wantedLateSteps } from "../late/pipeline.js";
import { ruleSettings } from "../late/rule-use.js";
import { loweringRuns } from "../lowering/index.js";
import { type MFunction, unlistedCall } from "../mir.js";
import type { PackedFunction } from "../pack/format.js";
import { packFunction } from "../pack/pack.js";
import { SymbolNumbers } from "../pack/symbol-numbers.js";
import { unpackFunction } from "../pack/unpack.js";
import {
  highWord,
  lowWord,
  minus,
  noRegisters,
  type RegisterSet,
  union,
  withRegister,
} from "../register-set.js";
import {
  type AllocationResult,
  type Convention,
  OpFact,
  platformConvention,
  type Target,
} from "../target.js";
import { CalleeSetNumbers, isListed, listedSets } from "./callee-sets.js";
import { type CodeCache, type FunctionIdentity, SessionCache } from "./code-cache.js";
import { type FunctionFacts, gatherFacts } from "./facts.js";
import { allocateFunction, type Observer, type SessionPasses } from "./function.js";
import type { Decisions, PublishedMask } from "./function-compilers.js";
import { type CalleeNumber, type FunctionNumber, Numbering } from "./numbering.js";
import type { CodegenOptions } from "./options.js";
import type { SessionPlan } from "./plan.js";
import { type ProgramSlice, sliceProgram } from "./slice.js";
import { type FunctionStatistics, functionStatistics } from "./statistics.js";

export type { SessionPasses } from "./function.js";

/** A function that waits for `complete`. */
interface Allocated {
  readonly packed: PackedFunction;
  /** By which it is packed. */
  readonly symbols: SymbolNumbers;
  readonly allocation: AllocationResult;
  readonly frequencies: Float64Array | undefined;
  readonly lost: readonly CalleeNumber[];
  /** For the key of the completed function; null if that is not to be in the cache. */
  readonly cached: (FunctionIdentity & { readonly key: string }) | null;
}

/** A function that is in no cache, by the key that it would have there. */
export interface Missing {
  readonly number: FunctionNumber;
  readonly key: string;
}

export class FunctionCompiler {
  readonly numbering: Numbering;
  private readonly symbols: SymbolNumbers;
  private readonly conventions: Uint32Array;
  private readonly passed: Uint8Array<ArrayBuffer>;
  private readonly indirect: IndirectCalls;
  private readonly componentOf: Uint32Array;
  private readonly calleeSets: CalleeSetNumbers;
  private store: ClobberStore;
  /** Functions whose masks are not known yet when the one that is asked for is compiled. */
  private hidden: ReadonlySet<GlobalValue> = new Set();
  /** While masks are assumed: in which wave each function is compiled. */
  private waveOf: ArrayLike<number> | null = null;
  private readonly allocated = new Map<FunctionNumber, Allocated>();
  private readonly completed = new Map<FunctionNumber, PackedFunction>();
  private readonly cache: SessionCache | null;
  /** Of functions that were asked for before they are compiled. */
  private readonly identities = new Map<FunctionNumber, FunctionIdentity | null>();

  /**
   * @param passes how functions are lowered
   * @param observe is shown the functions that this compiler works on
   */
  constructor(
    private readonly module: Module,
    private readonly options: CodegenOptions,
    plan: SessionPlan,
    private readonly target: Target,
    readonly passes: SessionPasses,
    private readonly observe?: Observer,
    cache: CodeCache | null = null,
  ) {
    this.conventions = plan.conventions;
    this.passed = plan.passed;
    this.indirect = plan.indirect;
    this.componentOf = plan.componentOf;
    this.store = new ClobberStore(target.registers.callClobbers);
    this.numbering = new Numbering(module, options.relocation);
    this.symbols = new SymbolNumbers(module);
    this.calleeSets = new CalleeSetNumbers(this.numbering.functions, plan.indirect.sets);
    this.cache = cache === null ? null : new SessionCache(cache, this.numbering, this.symbols);
  }

  /** Records the masks of functions allocated elsewhere (or here). */
  publish(masks: readonly PublishedMask[]): void {
    for (const [number, clobbers] of masks) {
      const fn = this.numbering.functions[number]!;
      // A call of a definition that may be replaced can reach code that changes more.
      if (this.numbering.numberOf(fn) !== undefined) this.store.publish(fn, clobbers);
    }
  }

  /** What was published, by function; masks of what may be replaced are not among it. */
  published(): PublishedMask[] {
    return this.numbering.functions.flatMap((fn, number): PublishedMask[] =>
      this.store.isKnown(fn) ? [[number as FunctionNumber, this.store.clobbersOf(fn)]] : [],
    );
  }

  /**
   * From now on `missing` and `slice` answer as if the waves had come to each function and published these masks before. To be
   * called before anything is published. What comes of it has keys of its own, so wrong masks are wrong code of nobody.
   * @param waveOf each function; those of a wave know nothing of each other
   * @returns ends it
   */
  assume(masks: readonly PublishedMask[], waveOf: ArrayLike<number>): () => void {
    const { store } = this;
    this.store = new ClobberStore(store.defaultClobbers);
    this.publish(masks);
    this.waveOf = waveOf;
    return () => {
      this.store = store;
      this.waveOf = null;
    };
  }

  /** Does something while the masks of some functions are not known yet. */
  hiding<Result>(functions: readonly GlobalValue[], work: () => Result): Result {
    const { hidden } = this;
    this.hidden = new Set(functions);
    try {
      return work();
    } finally {
      this.hidden = hidden;
    }
  }

  /** Of functions that a function reaches or mentions, those of no earlier wave, while masks are assumed. */
  laterThan(number: FunctionNumber): Func[] {
    const { waveOf } = this;
    if (waveOf === null) return [];
    return this.reachedBy(number).flatMap((other) =>
      waveOf[other]! < waveOf[number]! ? [] : [this.numbering.functions[other]!],
    );
  }

  /** Whether a mask is assumed of all whose masks the function would know. */
  private isForeseen(number: FunctionNumber): boolean {
    const { waveOf, numbering, store } = this;
    return (
      waveOf === null ||
      this.reachedBy(number).every((other) => {
        const fn = numbering.functions[other]!;
        return waveOf[other]! >= waveOf[number]! || store.isKnown(fn) || numbering.numberOf(fn) === undefined;
      })
    );
  }

  /** Defined functions that a body mentions, and that its calls through pointers reach. */
  private reachedBy(number: FunctionNumber): FunctionNumber[] {
    const { numbering, indirect } = this;
    const mentioned = this.identityOf(number)?.mentioned ?? [];
    const members = listedSets(indirect.sites[number] ?? []).flatMap((set) => indirect.sets[set]!.members);
    const all = [...mentioned.flatMap((global) => numbering.numberOfDefinition(global) ?? []), ...members];
    return [...new Set(all)] as FunctionNumber[];
  }

  private maskOf(callee: GlobalValue | null): RegisterSet {
    const isHidden = callee !== null && this.hidden.has(callee);
    return isHidden ? this.store.defaultClobbers : this.store.clobbersOf(callee);
  }

  /** Registers that a call may change, as far as its callees are known by now. */
  private clobbersOf(callee: GlobalValue | null, calleeSet: number): RegisterSet {
    if (callee !== null || calleeSet < 0) return this.maskOf(callee);
    const { members, unknown } = this.indirect.sets[calleeSet]!;
    let clobbers = unknown ? this.target.registers.callClobbers : noRegisters;
    for (const member of members) clobbers = union(clobbers, this.maskOf(this.numbering.functions[member]!));
    return clobbers;
  }

  private conventionOf(callee: GlobalValue | null): Convention {
    const number = callee === null ? undefined : this.numbering.numberOf(callee);
    return (number === undefined ? undefined : this.conventions[number]) ?? platformConvention;
  }

  /** What a call may pass to whom it reaches, and whether that counts. */
  private passedTo(callee: GlobalValue | null, calleeSet: number): PassedRegisters {
    if (callee !== null) return boundsOf(this.passed[this.numbering.numberOf(callee) ?? -1] ?? unknownBounds);
    if (calleeSet < 0 || this.indirect.sets[calleeSet]!.unknown) return boundsOf(unknownBounds);
    let bounds = 0;
    for (const member of this.indirect.sets[calleeSet]!.members) bounds |= this.passed[member]!;
    return boundsOf(bounds);
  }

  /** Selects and allocates a function and keeps it. @throws InputError, InternalError */
  allocate(number: FunctionNumber): FunctionFacts {
    return InternalError.in("compiling function", this.numbering.functions[number]!.name, () =>
      this.compile(number),
    );
  }

  private compile(number: FunctionNumber): FunctionFacts {
    const fn = this.numbering.functions[number]!;
    const sets = this.indirect.sites[number] ?? [];
    const distinct = listedSets(sets);
    const identity = this.identityOf(number);
    this.identities.delete(number);
    const key = identity === null ? "" : this.keyOf(number, identity);
    const fromCache = identity === null ? null : { ...identity, key };
    const known = fromCache === null ? null : this.cache!.allocated(key, fromCache.origins, distinct);
    if (known !== null) {
      fn.release();
      const lost = distinct.map((set) => this.numbering.ofSet(set));
      this.allocated.set(number, { ...known, lost, cached: fromCache });
      return known.facts;
    }
    const body = fn.take();
    if (isListed(sets)) this.calleeSets.resolve(body);
    const callees = {
      clobbersOf: (callee: GlobalValue | null, calleeSet: number) => this.clobbersOf(callee, calleeSet),
      conventionOf: (callee: GlobalValue | null) => this.conventionOf(callee),
      passedTo: (callee: GlobalValue | null, calleeSet: number) => this.passedTo(callee, calleeSet),
    };
    const { functions } = this.numbering;
    const isRecursive = (callee: Value): boolean =>
      callee.valueKind === "global" && this.isRecursive(number, callee);
    const lowering = { ...this.passes, knownCallees: { functions, indirect: this.indirect, isRecursive } };
    const compiled = allocateFunction(
      fn,
      number,
      body,
      this.module.dataLayout,
      this.options,
      this.target,
      callees,
      lowering,
      this.observe,
    );
    const { machine, allocation } = compiled;
    // What there is to say of the function is said in every link.
    const cached = compiled.warned ? null : fromCache;
    const { facts, frequencies, lost } = gatherFacts(fn, machine, this.numbering, sets);
    const { symbols } = this;
    const packed = packFunction(machine, symbols);
    this.allocated.set(number, { packed, symbols, allocation, frequencies, lost, cached });
    if (cached !== null)
      this.cache!.keepAllocated(key, machine, cached.origins, distinct, { allocation, frequencies, facts });
    return facts;
  }

  private identityOf(number: FunctionNumber): FunctionIdentity | null {
    if (this.cache === null) return null;
    let identity = this.identities.get(number);
    if (identity === undefined) {
      identity = this.cache.identify(this.numbering.functions[number]!);
      this.identities.set(number, identity);
    }
    return identity;
  }

  private keyOf(number: FunctionNumber, identity: FunctionIdentity): string {
    return this.cache!.keyOf(identity.digest, this.cacheKeyInputs(number, identity));
  }

  /** Of functions that are to be allocated with the masks published by now, those that the cache lacks and could have. */
  missing(numbers: readonly FunctionNumber[]): Missing[] {
    return numbers.flatMap((number) => {
      const identity = this.identityOf(number);
      if (identity === null || !this.isForeseen(number)) return [];
      const key = this.hiding(this.laterThan(number), () => this.keyOf(number, identity));
      return this.cache!.has(key) ? [] : [{ number, key }];
    });
  }

  /** Of functions allocated here, those whose completion the cache lacks and could have. */
  missingCompleted(numbers: readonly FunctionNumber[], decisions: Decisions): Missing[] {
    return numbers.flatMap((number) => {
      const { cached } = this.allocated.get(number)!;
      if (cached === null) return [];
      const key = this.completedKey(number, cached, decisions);
      return this.cache!.has(key) ? [] : [{ number, key }];
    });
  }

  /**
   * What doing it elsewhere needs of the program. Functions are either all to be allocated, or all allocated and to be
   * completed, by the decisions.
   */
  slice(numbers: readonly FunctionNumber[], decisions: Decisions | null): ProgramSlice {
    const mentioned = (number: FunctionNumber): readonly GlobalValue[] => {
      if (decisions === null) return this.identityOf(number)?.mentioned ?? [];
      const { mentioned: symbols, key } = this.allocated.get(number)!.cached!;
      const names = this.cache!.entry(key)?.names ?? [];
      return [...symbols, ...names.flatMap((name) => this.cache!.find(name) ?? [])];
    };
    const { symbols, numbering, conventions, passed, componentOf, indirect } = this;
    const plan = { conventions, passed, componentOf, indirect };
    const clobbersOf = (fn: Func): RegisterSet => this.clobbersOf(fn, -1);
    return sliceProgram({ symbols, numbering, plan, mentioned, clobbersOf, decisions }, numbers);
  }

  /** Takes a function that was allocated elsewhere, from the cache. @returns whether it is there */
  adopt(number: FunctionNumber, cached: FunctionIdentity & { readonly key: string }): boolean {
    const sets = listedSets(this.indirect.sites[number] ?? []);
    const known = this.cache?.allocated(cached.key, cached.origins, sets) ?? null;
    if (known === null) return false;
    const lost = sets.map((set) => this.numbering.ofSet(set));
    this.allocated.set(number, { ...known, lost, cached });
    return true;
  }

  /** What an allocated function is in the cache, if it may be there. */
  cachedIdentity(number: FunctionNumber): (FunctionIdentity & { readonly key: string }) | null {
    return this.allocated.get(number)?.cached ?? null;
  }

  private isRecursive(number: FunctionNumber, callee: GlobalValue): boolean {
    const other = this.numbering.numberOf(callee);
    return other !== undefined && this.componentOf[other] === this.componentOf[number];
  }

  /** Whatever compiling the function asks of itself and of those that it mentions. */
  private cacheKeyInputs(number: FunctionNumber, { mentioned }: FunctionIdentity): number[] {
    const cacheKeyInputs: number[] = [this.conventions[number]!, this.passed[number]!];
    for (const global of mentioned) {
      const clobbers = this.clobbersOf(global, -1);
      const exact = this.numbering.numberOf(global);
      cacheKeyInputs.push(
        this.conventionOf(global),
        lowWord(clobbers),
        highWord(clobbers),
        exact === undefined ? -1 : this.passed[exact]!,
        this.isRecursive(number, global) ? 1 : 0,
      );
    }
    // Who is in the sets, and which calls have which of them, the body says.
    for (const set of listedSets(this.indirect.sites[number] ?? [])) {
      const clobbers = this.clobbersOf(null, set);
      const { unknown, members } = this.indirect.sets[set]!;
      const bounds = members.map((member) => this.passed[member]!);
      cacheKeyInputs.push(lowWord(clobbers), highWord(clobbers), unknown ? 1 : 0, bounds.length, ...bounds);
    }
    return cacheKeyInputs;
  }

  /** Whatever completing the function asks besides. */
  private finishingKeyInputs(
    number: FunctionNumber,
    mentioned: readonly GlobalValue[],
    { saved, scratch, changed, aligned }: Decisions,
  ): number[] {
    const cacheKeyInputs: number[] = [];
    const add = (set: RegisterSet): void => void cacheKeyInputs.push(lowWord(set), highWord(set));
    add(saved[number]!);
    add(scratch[number]!);
    for (const global of mentioned) {
      const reached = this.numbering.calleeOf(global, -1);
      add(this.clobbersOf(global, -1));
      if (reached === undefined) cacheKeyInputs.push(-1);
      else {
        add(changed[reached]!);
        cacheKeyInputs.push(aligned[reached]!);
      }
    }
    for (const set of listedSets(this.indirect.sites[number] ?? [])) {
      const reached = this.numbering.ofSet(set);
      add(this.clobbersOf(null, set));
      add(changed[reached]!);
      cacheKeyInputs.push(aligned[reached]!);
    }
    return cacheKeyInputs;
  }

  private completedKey(
    number: FunctionNumber,
    { key, mentioned }: NonNullable<Allocated["cached"]>,
    decisions: Decisions,
  ): string {
    return this.cache!.keyOf(key, this.finishingKeyInputs(number, mentioned, decisions));
  }

  /** Gives a function allocated here its frame and final instructions, and keeps it. @throws InputError, InternalError */
  complete(number: FunctionNumber, decisions: Decisions): FunctionStatistics {
    const { name } = this.numbering.functions[number]!;
    return InternalError.in("finishing function", name, () => this.finish(number, decisions));
  }

  private finish(number: FunctionNumber, decisions: Decisions): FunctionStatistics {
    const { saved, scratch, changed, aligned } = decisions;
    const { packed, symbols: packedBy, allocation, frequencies, lost, cached } = this.allocated.get(number)!;
    this.allocated.delete(number);
    const sets = listedSets(this.indirect.sites[number] ?? []);
    const key = cached === null ? "" : this.completedKey(number, cached, decisions);
    const known = cached === null ? null : this.cache!.completed(key, cached.origins, sets);
    if (known !== null) {
      this.completed.set(number, known.packed);
      return { ...functionStatistics(allocation, known.wrapped), cachedFunctions: 1 };
    }
    const { symbols } = this;
    const machine = unpackFunction(packed, packedBy, this.target);
    const written = this.decideClobbers(machine, lost, changed);
    this.target.untieTailCalls(machine, saved[number]!);
    const alignedCall = (callee: GlobalValue | null, calleeSet: number): boolean => {
      const reached = this.numbering.calleeOf(callee, calleeSet);
      return reached === undefined || aligned[reached] === 1;
    };
    const { runner } = this.passes;
    const wrapped = completeFunction(
      machine,
      { ...allocation, written },
      {
        symbols,
        saved: saved[number]!,
        scratch: scratch[number]!,
        alignedCall,
        shrinkWrap: this.options.shrinkWrap,
        runner,
        wanted: wantedLateSteps(runner, machine.name, this.firstLateRun(number)),
        rules: ruleSettings(this.options.passes, machine.name, this.options.sizeTime),
        ...(frequencies === undefined ? {} : { frequencies }),
      },
    );
    this.completed.set(number, packFunction(machine, symbols));
    if (cached !== null) this.cache!.keepCompleted(key, machine, cached.origins, sets, wrapped);
    return functionStatistics(allocation, wrapped);
  }

  /** The number of a function's first optional late step, for bisection: they come after all passes on the IR. */
  private firstLateRun(number: FunctionNumber): number {
    const { earlierRuns, pipelines } = this.passes;
    const lowering = this.numbering.functions.length * loweringRuns(pipelines);
    return earlierRuns + 1 + lowering + number * optionalLateSteps.length;
  }

  /** A function completed here, which is forgotten: what gets it gives it back to some compiler. */
  take(number: FunctionNumber): PackedFunction {
    const packed = this.completed.get(number)!;
    this.completed.delete(number);
    return packed;
  }

  /** Has this compiler lay out the function. */
  give(number: FunctionNumber, packed: PackedFunction): void {
    this.completed.set(number, packed);
  }

  /** Lays out a function, which is forgotten. It can be printed then. @throws InternalError */
  layOut(number: FunctionNumber): MFunction {
    const { name } = this.numbering.functions[number]!;
    return InternalError.in("laying out function", name, () => {
      const machine = unpackFunction(this.take(number), this.symbols, this.target);
      layOutFunction(machine, this.passes.runner);
      this.observe?.("finish", machine);
      return machine;
    });
  }

  /**
   * Gives each call the registers it really changes, no less and no more: what later passes may use themselves is
   * judged by what the body changes, and calls within a recursive component were allocated with more.
   * @returns every register that the body changes
   */
  private decideClobbers(
    machine: MFunction,
    lost: readonly CalleeNumber[],
    changed: readonly RegisterSet[],
  ): RegisterSet {
    const { facts } = machine.target.instructions;
    let written = noRegisters;
    for (const block of machine.blocks)
      for (const inst of block.insts) {
        if ((facts[inst.op]! & OpFact.Entry) === 0)
          for (const def of inst.defs) if (def.loc >= 0) written = withRegister(written, def.loc);
        if (inst.extra?.kind === "call") {
          const { callee, calleeSet } = inst.extra;
          const reached = this.numbering.calleeOf(callee, calleeSet);
          // Callee-saved registers that the convention of the call gives away, and those that no call keeps.
          const given = minus(inst.clobbers, machine.target.registers.callClobbers);
          if (reached !== undefined)
            inst.clobbers = union(given, union(this.clobbersOf(callee, calleeSet), changed[reached]!));
          else if (calleeSet === unlistedCall)
            for (const set of lost) inst.clobbers = union(inst.clobbers, changed[set]!);
        }
        written = union(written, inst.clobbers);
      }
    return written;
  }
}
