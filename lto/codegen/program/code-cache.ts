/**
 * Code of functions from earlier links of the same program.
 *
 * What a compiler makes of a function depends on its body and header, on the headers of what it mentions, on what is
 * known of the functions among those, on the options and the module's flags: all that is in the key. A second key has
 * besides what the whole program decided, and stands for the completed function. So a hit gives what compiling would
 * give, word for word; what else changes in the program does not matter.
 *
 * Entries name symbols, since numbers are one link's; with each goes the digest of its header, for symbols that the
 * body does not mention and lowering brought in. Origins of instructions and sets of callees are positions among those that
 * the body has; what is in a set the body says. A function is compiled as without cache where an entry could not say
 * all: something mentioned lost blocks whose address is taken, or source variables are described.
 *
 * Cost: a hash of the encoded body.
 * Breaks if: compiling asks for something of another function that is not in `cacheKeyInputs`.
 */
import type { Func, GlobalValue } from "../../ir/module.js";
import type { MFunction } from "../mir.js";
import type { PackedFunction } from "../pack/format.js";
import { type PackedPlaces, packFunction } from "../pack/pack.js";
import { SymbolNumbers } from "../pack/symbol-numbers.js";
import type { AllocationResult } from "../target.js";
import type { FunctionFacts } from "./facts.js";
import type { CalleeNumber, FunctionNumber, Numbering } from "./numbering.js";

/** What a function is, but for what is known of other functions. */
export interface FunctionIdentity {
  /** Of body, headers, options and version. */
  readonly digest: string;
  /** Symbols that the body mentions, in the order in which it does. */
  readonly mentioned: readonly GlobalValue[];
  /** Origins that its instructions have, but 0, each once; `digest` knows which instruction has which of them. */
  readonly origins: readonly number[];
}

/** Entries by key, and what keys are made of; implemented where there are files and hashes. */
export interface CodeCache {
  /** Null for a function that cannot be told from others by this. */
  identify(fn: Func): FunctionIdentity | null;
  /** Of a symbol, without the contents of a definition. */
  headerOf(symbol: GlobalValue): string;
  /** The symbol of that name, if there is exactly one. */
  find(name: string): GlobalValue | undefined;
  keyOf(digest: string, cacheKeyInputs: readonly number[]): string;
  /** There may be an entry. */
  has(key: string): boolean;
  get(key: string): CodeEntry | undefined;
  put(key: string, entry: CodeEntry): void;
}

/** What entries mention, by position. */
interface EntrySymbols {
  readonly names: readonly string[];
  readonly headers: readonly string[];
  /** How many sets of callees the function's calls have. */
  readonly setCount: number;
}
/** A function after allocation. Plain data, as is the other. */
export interface AllocatedEntry extends EntrySymbols {
  readonly kind: "allocated";
  readonly packed: PackedFunction;
  readonly allocation: AllocationResult;
  readonly frequencies: Float64Array | undefined;
  /** Callees are positions in `names`; after them, positions among the function's sets of callees. */
  readonly facts: FunctionFacts;
}
/** A function whose frame and instructions are final. */
export interface CompletedEntry extends EntrySymbols {
  readonly kind: "completed";
  readonly packed: PackedFunction;
  /** Where in its words numbers of symbols are. */
  readonly places: Uint32Array;
  /** And numbers of sets of callees. */
  readonly sets: Uint32Array;
  readonly wrapped: boolean;
}
export type CodeEntry = AllocatedEntry | CompletedEntry;

/** What is known of an allocated function, in whatever numbering. */
export interface CachedAllocation {
  readonly packed: PackedFunction;
  readonly symbols: SymbolNumbers;
  readonly allocation: AllocationResult;
  readonly frequencies: Float64Array | undefined;
  readonly facts: FunctionFacts;
}

/** Numbers symbols as they come, for an entry. */
class EntryNumbers extends SymbolNumbers {
  readonly list: GlobalValue[] = [];
  private readonly places = new Map<GlobalValue, number>();
  /** It mentions a set that is not among the function's. */
  isStrange = false;

  /** @param sets of the function, by position */
  constructor(
    private readonly all: SymbolNumbers,
    readonly sets: readonly number[],
  ) {
    super({ globals: [] });
  }
  override packedSet(set: number): number {
    if (set < 0) return set;
    const place = this.sets.indexOf(set);
    if (place < 0) this.isStrange = true;
    return place;
  }
  override numberOf(global: GlobalValue): number {
    if (this.all.numberOf(global) < 0) return super.numberOf(global);
    let place = this.places.get(global);
    if (place === undefined) {
      place = this.list.length;
      this.places.set(global, place);
      this.list.push(global);
    }
    return place;
  }
  override global(number: number): GlobalValue {
    return this.list[number]!;
  }
}

/** The symbols and sets of an entry, in this link. */
class KnownNumbers extends SymbolNumbers {
  constructor(
    globals: GlobalValue[],
    private readonly sets: readonly number[],
  ) {
    super({ globals });
  }
  override setOf(packed: number): number {
    return packed < 0 ? packed : this.sets[packed]!;
  }
}

/** The function with other numbers of origins, but for those that say where code is by themselves. */
function withOrigins(packed: PackedFunction, number: (origin: number) => number): PackedFunction {
  const { origins } = packed;
  if (origins === undefined) return packed;
  return { ...packed, origins: origins.map((origin) => (origin <= 0 ? origin : number(origin))) };
}

/** Positions from 1 on; 0 for one that code generation came up with. */
function placesIn(origins: readonly number[]): (origin: number) => number {
  const places = new Map(origins.map((origin, i) => [origin, i + 1]));
  return (origin) => places.get(origin) ?? 0;
}

/** The cache as a compiler uses it. */
export class SessionCache {
  constructor(
    private readonly cache: CodeCache,
    private readonly numbering: Numbering,
    private readonly all: SymbolNumbers,
  ) {}

  identify(fn: Func): FunctionIdentity | null {
    return this.cache.identify(fn);
  }
  keyOf(digest: string, cacheKeyInputs: readonly number[]): string {
    return this.cache.keyOf(digest, cacheKeyInputs);
  }

  has(key: string): boolean {
    return this.cache.has(key);
  }
  find(name: string): GlobalValue | undefined {
    return this.cache.find(name);
  }
  /** As it is kept; undefined: it is not an allocated function's. */
  entry(key: string): AllocatedEntry | undefined {
    const entry = this.cache.get(key);
    return entry?.kind === "allocated" ? entry : undefined;
  }

  /** @param sets of callees of the function, by position */
  allocated(key: string, origins: readonly number[], sets: readonly number[]): CachedAllocation | null {
    const entry = this.entry(key);
    const globals = entry === undefined ? null : this.resolve(entry, sets);
    if (entry === undefined || globals === null) return null;
    const calls: FunctionFacts["calls"][number][] = [];
    for (const call of entry.facts.calls) {
      const set = call.callee - globals.length;
      const callee =
        set < 0
          ? this.numbering.numberOf(globals[call.callee]!)
          : set < sets.length
            ? this.numbering.ofSet(sets[set]!)
            : undefined;
      if (callee === undefined) return null;
      calls.push({ ...call, callee });
    }
    const { allocation, frequencies } = entry;
    const packed = withOrigins(entry.packed, (place) => origins[place - 1]!);
    const facts = { ...entry.facts, calls };
    return { packed, symbols: new KnownNumbers(globals, sets), allocation, frequencies, facts };
  }

  keepAllocated(
    key: string,
    machine: MFunction,
    origins: readonly number[],
    sets: readonly number[],
    { allocation, frequencies, facts }: Omit<CachedAllocation, "packed" | "symbols">,
  ): void {
    const numbers = new EntryNumbers(this.all, sets);
    const packed = withOrigins(packFunction(machine, numbers), placesIn(origins));
    const { functions } = this.numbering;
    // Sets come after all symbols, whose number is not known before all of these have one.
    for (const { callee } of facts.calls) if (callee < functions.length) numbers.numberOf(functions[callee]!);
    const place = (callee: CalleeNumber): number =>
      callee < functions.length
        ? numbers.numberOf(functions[callee]!)
        : numbers.list.length + numbers.packedSet(callee - functions.length);
    const calls = facts.calls.map((call) => ({ ...call, callee: place(call.callee) as FunctionNumber }));
    const symbols = this.describe(numbers);
    if (symbols === null || packed.debug !== undefined) return;
    const entry: AllocatedEntry = {
      kind: "allocated",
      ...symbols,
      packed,
      allocation,
      frequencies,
      facts: { ...facts, calls },
    };
    this.cache.put(key, entry);
  }

  /** The completed function in the compiler's numbering. */
  completed(
    key: string,
    origins: readonly number[],
    sets: readonly number[],
  ): { readonly packed: PackedFunction; readonly wrapped: boolean } | null {
    const entry = this.cache.get(key);
    if (entry?.kind !== "completed") return null;
    const globals = this.resolve(entry, sets);
    if (globals === null) return null;
    const { places, wrapped } = entry;
    const packed = withOrigins(entry.packed, (place) => origins[place - 1]!);
    const numbers = globals.map((global) => this.all.numberOf(global));
    // A copy: what is read may be a view of the entry.
    const words = packed.words.slice();
    for (let i = 0; i < places.length; i++) words[places[i]!] = numbers[words[places[i]!]!]!;
    for (const place of entry.sets) words[place] = sets[words[place]!]!;
    return { packed: { ...packed, symbol: numbers[packed.symbol]!, words }, wrapped };
  }

  keepCompleted(
    key: string,
    machine: MFunction,
    origins: readonly number[],
    ofFunction: readonly number[],
    wrapped: boolean,
  ): void {
    const numbers = new EntryNumbers(this.all, ofFunction);
    const at: PackedPlaces = { globals: [], sets: [] };
    const packed = withOrigins(packFunction(machine, numbers, at), placesIn(origins));
    const places = Uint32Array.from(at.globals);
    const sets = Uint32Array.from(at.sets);
    const symbols = this.describe(numbers);
    if (symbols !== null && packed.debug === undefined)
      this.cache.put(key, { kind: "completed", ...symbols, packed, places, sets, wrapped });
  }

  private describe({ list, sets, isStrange }: EntryNumbers): EntrySymbols | null {
    const { cache } = this;
    if (isStrange || list.some((symbol) => cache.find(symbol.name) !== symbol)) return null;
    return {
      names: list.map(({ name }) => name),
      headers: list.map((symbol) => cache.headerOf(symbol)),
      setCount: sets.length,
    };
  }

  /** The symbols of an entry, if each is there and as it was. @param sets of the function */
  private resolve({ names, headers, setCount }: EntrySymbols, sets: readonly number[]): GlobalValue[] | null {
    const globals: GlobalValue[] = [];
    if (setCount !== sets.length) return null;
    for (let i = 0; i < names.length; i++) {
      const global = this.cache.find(names[i]!);
      if (global === undefined || this.cache.headerOf(global) !== headers[i]) return null;
      globals.push(global);
    }
    return globals;
  }
}
