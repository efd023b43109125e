/**
 * Where the code and the globals of a module come from, for reports and debug information. A table beside the module; there is
 * none where nobody wants to know.
 *
 * Of globals it knows the source and the input that has it, or the pass that made it and the functions whose code it has.
 * Of instructions, which have numbers into it, the function that they were written in, the calls through which they
 * came to stand where they do, and their source location if they have one. 0 is the function that an instruction stands in,
 * with no location, so where nobody asks all numbers are 0.
 *
 * A location's own `inlinedAt` are calls that the compiler inlined; ours are chains of `into`. `locationOf` makes one chain of
 * both. Numbers say nothing about what code does: no pass may decide anything by them.
 */
import { LocationChains, LocationPool, mergedLocation } from "./debug/locations.js";
import {
  type DILabel,
  type DILocalVariable,
  type DILocation,
  isLocalScope,
  type LocalScope,
} from "./debug/nodes.js";
import { forEachRecord } from "./debug-records.js";
import type { BodyView } from "./instructions.js";
import type { Func, GlobalValue } from "./module.js";
import { OriginTable } from "./origin-table.js";

/** A global that no input has. */
export interface Made {
  /** The pass's name. */
  readonly by: string;
  /** Whose code or contents it has, each once. */
  readonly of: readonly GlobalValue[];
}

/** Where an input's definition is from. */
export interface Place {
  /** The source, as its compiler was given it; the input where that is not known. */
  readonly source: string;
  /** The input, as the link was given it: an object, or a member `lib.a(member.o)`. */
  readonly object: string;
}

/** Code that stands in another function than it was written in, or has a location. */
export interface CodeOrigin {
  /** The function it was written in. */
  readonly fn: GlobalValue;
  /** The origin of the call that it stands for, in the function where all stands; 0: it was called, or taken out, there. */
  readonly into: number;
  /** In `fn`; null: not known. */
  readonly place: DILocation | null;
  /** Tells calls at one place apart that were inlined: 0 for the first of them. */
  readonly copy: number;
}

const none: readonly number[] = [];

/** Beyond this, what a global was made of is said no more: thousands of places may share a piece of code. */
const mostNamed = 64;

export class Origins {
  private readonly places = new Map<GlobalValue, Place>();
  private readonly made = new Map<GlobalValue, Made>();
  private readonly absorbed = new Map<GlobalValue, readonly GlobalValue[]>();

  private readonly code = new OriginTable();
  /** Some code has a source location. */
  hasLocations = false;
  /** Where numbers are given: another table, once this one is part of it. */
  private whole: Origins = this;
  private readonly pool = new LocationPool();
  private readonly chains = new LocationChains(this.pool, this.code);

  private numberOf(fn: GlobalValue, into: number, place: DILocation | null, copy = 0): number {
    const first = this.firstNumberOf(fn, into, place);
    if (copy === 0) return first;
    const key = `${first} ${copy}`;
    let number = this.copyNumbers.get(key);
    if (number === undefined) this.copyNumbers.set(key, (number = this.code.another(fn, into, place, copy)));
    return number;
  }
  private readonly copyNumbers = new Map<string, number>();

  private firstNumberOf(fn: GlobalValue, into: number, place: DILocation | null): number {
    if (place !== null) this.hasLocations = true;
    return this.code.number(fn, into, place);
  }

  /** A place in the source: equal ones are the same object. Line and column from 1 on; 0: not known. */
  place(
    line: number,
    column: number,
    scope: LocalScope,
    inlinedAt: DILocation | null,
    isImplicitCode = false,
  ): DILocation {
    return this.whole.pool.location(line, column, scope, inlinedAt, isImplicitCode);
  }

  /** The origin of a function's own code with a location. */
  located(fn: GlobalValue, place: DILocation): number {
    return this.whole.numberOf(fn, 0, place);
  }

  /**
   * The origin of code of a function that is copied or moved into another one.
   * @param origin what it was in `fn` @param call that of the call that it takes the place of
   */
  moved(fn: GlobalValue, origin: number, call: number): number {
    if (origin === 0) return this.numberOf(fn, call, null);
    const { code } = this;
    const written = code.fnOf(origin);
    const into = code.intoOf(origin);
    const place = code.placeOf(origin);
    const copy = code.copyOf(origin);
    const others = this.others.get(origin);
    const calls = into === 0 && written === fn ? call : this.moved(fn, into, call);
    const moved = this.numberOf(written, calls, place, copy);
    if (others === undefined) return moved;
    return this.standingFor([moved, ...others.map((other) => this.moved(fn, other, call))]);
  }

  /**
   * The origin of a call that is inlined now, by which all that comes there is `moved`. Calls at one place, such as two of one
   * macro, are told apart: else debuggers would see one call, and take the variables of one for those of the other. As LLVM's
   * inliner makes a distinct location for each. A call that nothing is known of is at line 0 of the function that it stands in.
   * Without locations all calls of one function in another are one, as before.
   */
  inlined(origin: number, caller: Func): number {
    if (!this.hasLocations) return origin;
    const { subprogram } = caller;
    const call =
      origin === 0 && subprogram !== null ? this.located(caller, this.place(0, 0, subprogram, null)) : origin;
    if (call === 0) return call;
    if (!this.inlinedCalls.has(call)) {
      this.inlinedCalls.add(call);
      return call;
    }
    const { fn, into, place } = this.code.origin(call);
    return this.numberOf(fn, into, place, ++this.copies);
  }
  private readonly inlinedCalls = new Set<number>();
  private copies = 0;

  /**
   * Of one instruction that does for two, or stands where it is executed for other reasons than those it was written for: what
   * both have in common. Two lines have none, which debuggers are told by line 0 in the nearest scope that both are in.
   * Without locations, the first. Source: LLVM, "How to Update Debug Info", and `DILocation::getMergedLocation`.
   */
  merged(a: number, b: number): number {
    if (a === b) return a;
    if (!this.hasLocations) return a;
    if (a === 0 || b === 0) return 0;
    const frames = new Map<string, number>();
    for (let at = a; at !== 0; at = this.code.intoOf(at)) frames.set(this.frameOf(at), at);
    for (let at = b; at !== 0; at = this.code.intoOf(at)) {
      const other = frames.get(this.frameOf(at));
      if (other === undefined) continue;
      const { fn, into, place } = this.code.origin(at);
      const same = this.code.placeOf(other);
      return this.numberOf(
        fn,
        into,
        place === null || same === null ? null : mergedLocation(this.pool, same, place),
      );
    }
    return 0;
  }

  /**
   * Of code that runs where it was not written, or more often: it is of the function as before, but of no line, since a
   * debugger would go back and forth. Calls keep their scope, in which what is inlined will be. As LLVM drops locations.
   */
  unplaced(origin: number, isCall: boolean): number {
    if (origin === 0 || !this.hasLocations) return origin;
    const { fn, into, place } = this.code.origin(origin);
    const kept = isCall && place?.scope != null ? this.place(0, 0, place.scope, place.inlinedAt) : null;
    return into === 0 && kept === null ? 0 : this.numberOf(fn, into, kept);
  }

  /** Tells the functions that code stands in apart, with the calls that led there. */
  private frameOf(number: number): string {
    const fn = this.code.fnOf(number);
    const into = this.code.intoOf(number);
    let id = this.frameIds.get(fn);
    if (id === undefined) this.frameIds.set(fn, (id = this.frameIds.size));
    return `${id} ${into}`;
  }
  private readonly frameIds = new Map<GlobalValue, number>();

  /**
   * The origin of an instruction that stands for several, such as the call of what was outlined: it is where the first one was,
   * and debuggers stop there for the lines of all. Without locations, the function's own.
   */
  standingFor(origins: Iterable<number>): number {
    if (!this.hasLocations) return 0;
    const [first, ...others] = [...new Set(origins)].filter((origin) => origin !== 0);
    if (first === undefined) return 0;
    if (others.length === 0) return first;
    const key = `${first} ${others.join()}`;
    let number = this.setNumbers.get(key);
    if (number === undefined) {
      const { fn, into, place, copy } = this.code.origin(first);
      this.setNumbers.set(key, (number = this.code.another(fn, into, place, copy)));
      this.others.set(number, others);
    }
    return number;
  }
  private readonly setNumbers = new Map<string, number>();
  private readonly others = new Map<number, readonly number[]>();

  /** What an instruction stands for besides. */
  othersOf(number: number): readonly number[] {
    return this.others.get(number) ?? none;
  }

  /** The table of an input becomes part of that of the program: locations have numbers there from now on. */
  join(program: Origins): void {
    this.whole = program;
  }

  /** The program's number of one that was given before `join`. */
  joined(number: number): number {
    if (number === 0) return 0;
    const fn = this.code.fnOf(number);
    const place = this.code.placeOf(number);
    return place === null ? 0 : this.located(fn, place);
  }

  /** The location with all calls that led there; null: it is not known. The same object for the same number. */
  locationOf(number: number): DILocation | null {
    return this.chains.of(number);
  }

  /** A body was made of a copy of another function's code. */
  moveBody(body: BodyView, from: GlobalValue): void {
    for (const { insts } of body.blocks)
      for (const inst of insts) inst.origin = this.moved(from, inst.origin, 0);
    forEachRecord(body, (record) => {
      record.origin = this.moved(from, record.origin, 0);
    });
  }

  /** The number of a source variable or label, as debug records have it. */
  variable(node: DILocalVariable | DILabel): number {
    const { whole } = this;
    let number = whole.variableNumbers.get(node);
    if (number === undefined) whole.variableNumbers.set(node, (number = whole.variables.push(node) - 1));
    return number;
  }
  variableOf(number: number): DILocalVariable | DILabel {
    return this.variables[number]!;
  }
  private readonly variables: (DILocalVariable | DILabel)[] = [];
  private readonly variableNumbers = new Map<DILocalVariable | DILabel, number>();

  /**
   * The origin of what is said of a variable: which of the instances of its scope is meant, and nothing else, so that all that
   * is said of one instance has one number.
   */
  instance(fn: GlobalValue, node: DILocalVariable | DILabel, inlinedAt: DILocation | null): number {
    const { scope } = node;
    return isLocalScope(scope) ? this.located(fn, this.place(0, 0, scope, inlinedAt)) : 0;
  }

  /** What numbers from 1 on mean; chains lead to lower numbers. A list that is made for who asks. */
  get codeOrigins(): readonly CodeOrigin[] {
    return Array.from({ length: this.code.length }, (_, i) => this.code.origin(i + 1));
  }
  /** What a number means that is not 0. */
  codeOrigin(number: number): CodeOrigin {
    return this.code.origin(number);
  }

  /** @param place the same object for all that is from there */
  cameFrom(global: GlobalValue, place: Place): void {
    this.places.set(global, place);
  }

  /** A pass made the global of others: of their code, or to stand for them. */
  recordMade(global: GlobalValue, by: string, of: readonly GlobalValue[]): void {
    this.made.set(global, { by, of: [...new Set(of)].slice(0, mostNamed) });
  }

  /** One global does for another, which is gone or leads to it. */
  absorbs(global: GlobalValue, other: GlobalValue): void {
    const list = this.absorbed.get(global) ?? [];
    const more = [other, ...(this.absorbed.get(other) ?? [])];
    if (list.length < mostNamed) this.absorbed.set(global, [...list, ...more]);
  }

  /** Globals that were made, those that are gone by now too. */
  allMade(): Iterable<GlobalValue> {
    return this.made.keys();
  }

  /** Definitions of the inputs, those that are gone by now too. */
  allPlaced(): Iterable<readonly [GlobalValue, Place]> {
    return this.places;
  }

  madeOf(global: GlobalValue): Made | null {
    return this.made.get(global) ?? null;
  }

  absorbedBy(global: GlobalValue): readonly GlobalValue[] {
    return this.absorbed.get(global) ?? [];
  }

  /** Of one that was made, the place of all that it was made of; null where they have several. */
  placeOf(global: GlobalValue): Place | null {
    return this.commonPlace(global, new Set());
  }

  /** @param asked those that led here, so that two that were made of each other have none */
  private commonPlace(global: GlobalValue, asked: Set<GlobalValue>): Place | null {
    const known = this.places.get(global);
    if (known !== undefined) return known;
    const made = this.made.get(global);
    if (made === undefined || asked.has(global)) return null;
    asked.add(global);
    let common: Place | null = null;
    for (const part of made.of) {
      const place = this.commonPlace(part, asked);
      if (place === null || (common !== null && place !== common)) return null;
      common = place;
    }
    return common;
  }
}
