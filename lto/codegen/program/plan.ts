/**
 * What is decided about a program before code generation, from one look at each body: the call graph with the calls
 * through pointers whose callees are known, in which order functions are compiled, who may enter each function, and
 * the conventions of closed functions.
 *
 * Masks come from callees that are done, so an edge that closes a cycle is worth nothing: calls through pointers
 * order functions only where that makes no component larger.
 */

import {
  buildCallGraph,
  type CallGraph,
  type Components,
  componentsWith,
} from "../../analysis/call-graph.js";
import {
  FunctionPointerAnalysis,
  type IndirectCalls,
  unknownIndirectCalls,
} from "../../analysis/function-pointers/index.js";
import { functionTimes } from "../../analysis/function-times.js";
import { type ModuleSummary, Trait } from "../../analysis/summary.js";
import type { BodyCodec, Func, GlobalValue, Module } from "../../ir/module.js";
import type { Steps } from "../../ir/steps.js";
import { isForSize } from "../../pass/pass.js";
import { unknownBounds, VariableArguments } from "../ipra/variable-arguments.js";
import type { Target } from "../target.js";
import { attachCallees } from "./callee-sets.js";
import { decideConventions } from "./conventions.js";
import type { Component } from "./function-compilers.js";
import { definedFunctions, type FunctionNumber, isExact } from "./numbering.js";
import { type CodegenOptions, doesIpra, goalOf } from "./options.js";

/** The program as code generation needs it; functions by number. Plain data. */
export interface ProgramPlan {
  /** Functions of each component, callees' components first. */
  readonly components: readonly Component[];
  /** Components that can be worked on at the same time, by wave. */
  readonly waves: readonly (readonly number[])[];
  /** 1 for functions that unknown code may enter. */
  readonly open: Uint8Array;
  /** Estimated executions of each function by calls whose callees are not known; null: one, where unknown code may enter. */
  readonly entries: Float64Array | null;
  /** The `Convention` of each function. */
  readonly conventions: Uint32Array;
  /** The `PackedBounds` of each function: what variable arguments it may be passed. */
  readonly passed: Uint8Array<ArrayBuffer>;
  readonly indirect: IndirectCalls;
  /** The component of each function. */
  readonly componentOf: Uint32Array;
}

/** What compilers have to know of it. */
export type SessionPlan = Pick<ProgramPlan, "conventions" | "passed" | "indirect" | "componentOf">;

/**
 * Plans a linked module. Calls through pointers learn what they can reach. The steps are functions.
 * @param summary of it @param codec for the bodies with such calls
 */
export function* planProgram(
  module: Module,
  summary: ModuleSummary,
  options: CodegenOptions,
  target: Target,
  codec: BodyCodec,
): Steps<ProgramPlan> {
  const functions = definedFunctions(module);
  const graph = buildCallGraph(summary);
  const byFunction = new Map<GlobalValue, number>(functions.map((fn, i) => [fn, i]));
  const numberOf = Int32Array.from(graph.symbolOf, (symbol) => byFunction.get(module.globals[symbol]!) ?? -1);
  const perFunction = (of: Uint8Array): Uint8Array => {
    const result = new Uint8Array(functions.length);
    numberOf.forEach((number, node) => {
      if (number >= 0) result[number] = of[node]!;
    });
    return result;
  };
  const open = perFunction(graph.openToCallers);
  const addressTaken = perFunction(graph.addressTaken);
  const entries = pointerEntries(module, graph, functions, options, summary);
  const conventions = new Uint32Array(functions.length);
  let indirect = unknownIndirectCalls(functions.length);
  let ordered = graph.components;
  let passed = new Uint8Array(functions.length).fill(unknownBounds);
  if (options.ipra) {
    const callsPointers =
      doesIpra(options, "pointers") && summary.symbols.some((s) => (s.traits & Trait.IndirectCalls) !== 0);
    const takesAddress = functions.some((fn, i) => fn.isLocal && addressTaken[i] === 1);
    const analysis =
      callsPointers && takesAddress
        ? new FunctionPointerAnalysis(module, summary, functions, (fn) => isExact(fn, options.relocation))
        : null;
    // A call through a pointer has the platform's convention: functions whose addresses are taken keep it.
    const variable = new VariableArguments(functions);
    const decided = yield* decideConventions(module, open, options, target, (fn, body) => {
      analysis?.scan(fn, body);
      variable.scan(fn, body);
    });
    if (doesIpra(options, "conventions")) conventions.set(decided);
    if (analysis !== null) {
      indirect = analysis.solve(addressTaken);
      yield* attachCallees(module, functions, indirect, codec);
      ordered = orderedBy(graph, indirect, numberOf);
    }
    indirect.closed.forEach((closed, number) => {
      if (closed === 1) open[number] = 0;
    });
    if (options.boundVariableArguments) passed = variable.solve(indirect, open);
  }
  const { members, count, waves } = ordered;
  const components = Array.from({ length: count }, (_, c) =>
    Array.from(
      members.items.subarray(members.start[c], members.start[c + 1]),
      (node) => numberOf[node]! as FunctionNumber,
    ).filter((n) => n >= 0),
  );
  const componentOf = new Uint32Array(functions.length);
  components.forEach((numbers, component) => {
    for (const number of numbers) componentOf[number] = component;
  });
  return { components, waves, open, entries, conventions, passed, indirect, componentOf };
}

/** Where time is worth bytes. */
function pointerEntries(
  module: Module,
  graph: CallGraph,
  functions: readonly Func[],
  { sizeTime, level }: CodegenOptions,
  { symbols }: ModuleSummary,
): Float64Array | null {
  if (sizeTime === 0 || !symbols.some(({ traits }) => (traits & Trait.IndirectCalls) !== 0)) return null;
  if (!functions.some((fn) => isForSize(goalOf(fn, level)))) return null;
  const { pointerEntries: known } = functionTimes(module, graph);
  return Float64Array.from(functions, (fn) => known.get(fn) ?? 0);
}

/** The components with edges of calls through pointers, where those join none. */
function orderedBy(graph: CallGraph, { sets, sites }: IndirectCalls, numberOf: Int32Array): Components {
  const nodeOf = new Int32Array(sites.length).fill(-1);
  numberOf.forEach((number, node) => {
    if (number >= 0) nodeOf[number] = node;
  });
  const edges = new Map<number, number[]>();
  sites.forEach((list, caller) => {
    const reached = new Set(list.filter((set) => set >= 0 && !sets[set]!.unknown));
    if (reached.size === 0) return;
    const nodes = [...reached].flatMap((set) => sets[set]!.members.map((member) => nodeOf[member]!));
    edges.set(nodeOf[caller]!, nodes);
  });
  if (edges.size === 0) return graph.components;
  const { componentOf } = componentsWith(graph, edges);
  const between = new Map<number, number[]>();
  for (const [caller, callees] of edges)
    between.set(
      caller,
      callees.filter((callee) => componentOf[callee] !== componentOf[caller]),
    );
  return componentsWith(graph, between);
}
