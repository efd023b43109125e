/**
 * A part of a program with which some of its functions can be compiled elsewhere: the symbols that compiling them can ask
 * of, and what the plan and the compilers know of these, in numbers of the part alone.
 *
 * What that is, the keys of the code cache say (code-cache.ts): the bodies of the functions, the headers of what they
 * mention, masks, conventions, bounds and components of the functions among that, and sets of callees. A compiler that has
 * the slice comes to the same keys. So what is missing from a slice costs a second compilation, and is never wrong code.
 *
 * Symbols are in the order of the module, components and sets are numbered as they come: slices do not change with what
 * they do not hold. Linear in what is mentioned.
 */
import type { IndirectCalls } from "../../analysis/function-pointers/index.js";
import { ownReferences } from "../../analysis/references.js";
import type { Func, GlobalValue } from "../../ir/module.js";
import type { SymbolNumbers } from "../pack/symbol-numbers.js";
import { noRegisters, type RegisterSet } from "../register-set.js";
import { listedSets } from "./callee-sets.js";
import type { Decisions, PublishedMask } from "./function-compilers.js";
import { definedFunctions, type FunctionNumber, type Numbering } from "./numbering.js";
import type { SessionPlan } from "./plan.js";

export interface ProgramSlice {
  /** In the order of the module. Of functions only those in `bodies` need more than their headers. */
  readonly globals: readonly GlobalValue[];
  readonly bodies: ReadonlySet<GlobalValue>;
  /** Those that are to be compiled; numbers here and below are those of a module of `globals`. */
  readonly functions: readonly FunctionNumber[];
  readonly plan: SessionPlan;
  readonly masks: readonly PublishedMask[];
  /** Null: the functions are not to be completed. */
  readonly decisions: Decisions | null;
}

/** What is known of the whole. */
export interface SlicedProgram {
  readonly symbols: SymbolNumbers;
  readonly numbering: Numbering;
  readonly plan: SessionPlan;
  /** Symbols that the body of a function mentions. */
  readonly mentioned: (number: FunctionNumber) => readonly GlobalValue[];
  readonly clobbersOf: (fn: Func) => RegisterSet;
  readonly decisions: Decisions | null;
}

/** @param numbers of functions that are in one slice */
export function sliceProgram(program: SlicedProgram, numbers: readonly FunctionNumber[]): ProgramSlice {
  const { symbols, numbering, plan, mentioned, clobbersOf, decisions } = program;
  const { functions } = numbering;
  const wanted = new Set<GlobalValue>(numbers.map((number) => functions[number]!));
  const sets = [...new Set(numbers.flatMap((number) => listedSets(plan.indirect.sites[number] ?? [])))];
  const found = new Set<GlobalValue>();
  const work: GlobalValue[] = [...wanted];
  for (const number of numbers) work.push(...mentioned(number));
  for (const set of sets)
    for (const member of plan.indirect.sets[set]!.members) work.push(functions[member]!);
  for (let global = work.pop(); global !== undefined; global = work.pop()) {
    if (found.has(global)) continue;
    found.add(global);
    // Initialisers say nothing that code generation asks.
    if (global.kind !== "variable") work.push(...ownReferences(global));
  }
  const globals = [...found].sort((a, b) => symbols.numberOf(a) - symbols.numberOf(b));
  const own = definedFunctions({ functions: globals.filter((global) => global.kind === "function") });
  const original = own.map((fn) => numbering.numberOfDefinition(fn)!);
  const numberIn = new Map<number, FunctionNumber>(original.map((n, i) => [n, i as FunctionNumber]));
  return {
    globals,
    // What is allocated has no use for IR any more.
    bodies: decisions === null ? wanted : new Set(),
    functions: numbers.map((number) => numberIn.get(number)!),
    plan: slicedPlan(plan, original, numberIn, sets, wanted, functions),
    masks: own.map((fn, i) => [i as FunctionNumber, clobbersOf(fn)] as const),
    decisions:
      decisions === null ? null : slicedDecisions(decisions, original, sets, functions.length, wanted, own),
  };
}

function slicedPlan(
  { conventions, passed, componentOf, indirect }: SessionPlan,
  original: readonly FunctionNumber[],
  numberIn: ReadonlyMap<number, FunctionNumber>,
  sets: readonly number[],
  wanted: ReadonlySet<GlobalValue>,
  functions: readonly GlobalValue[],
): SessionPlan {
  const components = new Map<number, number>();
  const setIn = new Map(sets.map((set, i) => [set, i]));
  const own: IndirectCalls = {
    sets: sets.map((set) => {
      const { members, unknown } = indirect.sets[set]!;
      return { members: members.map((member) => numberIn.get(member)!), unknown };
    }),
    sites: original.map((number) =>
      wanted.has(functions[number]!)
        ? (indirect.sites[number] ?? []).map((set) => (set < 0 ? set : setIn.get(set)!))
        : [],
    ),
    closed: new Uint8Array(original.length),
  };
  return {
    conventions: Uint32Array.from(original, (number) => conventions[number]!),
    passed: Uint8Array.from(original, (number) => passed[number]!),
    componentOf: Uint32Array.from(original, (number) => {
      const component = componentOf[number]!;
      if (!components.has(component)) components.set(component, components.size);
      return components.get(component)!;
    }),
    indirect: own,
  };
}

/** @param count of functions of the program, after which come sets */
function slicedDecisions(
  { saved, scratch, changed, aligned }: Decisions,
  original: readonly FunctionNumber[],
  sets: readonly number[],
  count: number,
  wanted: ReadonlySet<GlobalValue>,
  own: readonly GlobalValue[],
): Decisions {
  const reached = [...original, ...sets.map((set) => count + set)];
  const ofBodies = (of: readonly RegisterSet[]): RegisterSet[] =>
    original.map((number, i) => (wanted.has(own[i]!) ? of[number]! : noRegisters));
  return {
    saved: ofBodies(saved),
    scratch: ofBodies(scratch),
    changed: reached.map((number) => changed[number]!),
    aligned: Uint8Array.from(reached, (number) => aligned[number]!),
  };
}
