/**
 * Which functions each call through a pointer can reach, and whose addresses stay where the program can be seen to
 * handle them. Whole-program and flow-insensitive; flow-graph.ts says how, body-scan.ts what instructions do.
 *
 * Proof obligations, for a call listed with a set: every function it reaches in a run without undefined behaviour
 * is in the set, or the set is marked as unknown and anybody may enter the function. For a function said to be closed: whatever enters it is a direct call of the program, or a call
 * listed with a set that contains it. Both hold if no address escapes unseen. The world gets the address of
 *   - a function that is not local, that other code defines or may replace, or that a used list, an alias, an
 *     ifunc, a table of constructors, a personality, prefix or prologue, or assembly mentions;
 *   - all that is passed to code outside of the program, inline assembly, variable arguments, calls whose idea of
 *     the signature differs from the definition's, or stored in memory that is not tracked: heap, variables that
 *     are not local, thread-local, in a section of their own, or without a pointer in their type;
 *   - all that becomes an integer, in a register (`ptrtoint`) or by being read as one from memory.
 * The world can be anything that calls anything it knows of, so a pointer from it is unknown.
 */
import type { BodyView } from "../../ir/instructions.js";
import type { Func, GlobalVariable, Module } from "../../ir/module.js";
import { ptr } from "../../ir/types.js";
import { ownReferences, Trait } from "../references.js";
import type { ModuleSummary } from "../summary.js";
import { BodyScan } from "./body-scan.js";
import { FlowGraph } from "./flow-graph.js";
import { noNode } from "./nodes.js";
import { ProgramNodes } from "./program-nodes.js";
import { mayHoldPointer } from "./types.js";

/** What a call may reach. Functions are given by number. */
export interface CalleeSet {
  /** Ascending, not empty. */
  readonly members: readonly number[];
  /** Also code outside of the program, and functions that such code may enter. */
  readonly unknown: boolean;
}

/** Outcome of the analysis; plain data. */
export interface IndirectCalls {
  readonly sets: readonly CalleeSet[];
  /**
   * By function: for each call through a pointer (`isIndirectCall`), in the order of the body that was scanned, its set; -1
   * if it is not known at all. Calls themselves have it as a hint from `attachCallees` on.
   */
  readonly sites: readonly (readonly number[])[];
  /** 1: its address is taken, but known to reach no call except those that are listed with it. */
  readonly closed: Uint8Array;
}

/** Nothing is known. */
export const unknownIndirectCalls = (functions: number): IndirectCalls => ({
  sets: [],
  sites: new Array<readonly number[]>(functions).fill([]),
  closed: new Uint8Array(functions),
});

/** One run of the analysis: `scan` of each function of the program, then `solve`. */
export class FunctionPointerAnalysis {
  private readonly graph: FlowGraph;
  private readonly nodes: ProgramNodes;
  private readonly bodies: BodyScan;

  /**
   * @param summary of the module, its bodies' assembly included
   * @param functions with code, by number
   * @param isExact a call of the function is sure to reach this definition
   */
  constructor(
    module: Module,
    summary: ModuleSummary,
    private readonly functions: readonly Func[],
    isExact: (fn: Func) => boolean,
  ) {
    this.graph = new FlowGraph(functions.length, module.dataLayout.storeSize(ptr));
    this.nodes = new ProgramNodes(this.graph, module.dataLayout, functions, isExact);
    this.bodies = new BodyScan(this.graph, this.nodes, module.dataLayout);
    const tracked = new Set(module.variables.filter(isTracked));
    for (const variable of tracked) this.nodes.track(variable);
    for (const variable of tracked) this.nodes.initialize(variable);
    module.globals.forEach((global, index) => {
      if (global.kind === "variable" && tracked.has(global)) return;
      if (global.kind === "function") {
        for (const mentioned of ownReferences(global)) this.nodes.leakGlobal(mentioned);
        if ((summary.symbols[index]!.traits & Trait.InlineAsm) === 0) return;
      }
      for (const mentioned of summary.symbols[index]!.references)
        this.nodes.leakGlobal(module.globals[mentioned]!);
    });
    for (const pinned of summary.pinned ?? []) this.nodes.leakGlobal(module.globals[pinned]!);
  }

  /** Adds what a body does; it is not needed any more afterwards. */
  scan(number: number, body: BodyView): void {
    this.bodies.scan(number, this.functions[number]!, body);
  }

  /** @param addressTaken 1 for functions that anything but a direct call mentions */
  solve(addressTaken: Uint8Array): IndirectCalls {
    const { graph, nodes, functions } = this;
    functions.forEach((fn, number) => {
      if (!fn.isLocal) nodes.openInterface(number);
    });
    graph.solve(nodes);
    const sets: CalleeSet[] = [];
    const bySpelling = new Map<string, number>();
    const sites: number[][] = functions.map(() => []);
    for (const { caller, site, pointer } of nodes.indirectCalls) {
      const list = sites[caller]!;
      // Calls that are not listed, such as invokes, are unknown.
      while (list.length < site) list.push(-1);
      const members = pointer === noNode ? [] : graph.functionsOf(pointer).sort((a, b) => a - b);
      if (members.length === 0) {
        list.push(-1);
        continue;
      }
      const unknown = graph.callsUnknown(pointer);
      const spelling = `${unknown} ${members.join()}`;
      let set = bySpelling.get(spelling);
      if (set === undefined) {
        set = sets.length;
        sets.push({ members, unknown });
        bySpelling.set(spelling, set);
      }
      list.push(set);
    }
    const closed = Uint8Array.from(functions, (fn, number) =>
      Number(addressTaken[number] === 1 && fn.isLocal && nodes.isContained(fn, number)),
    );
    return { sets, sites, closed };
  }
}

/** Every access of the variable is in the program and is seen by the scan, unless its address leaks. */
function isTracked(variable: GlobalVariable): boolean {
  return (
    variable.isLocal &&
    variable.initializer !== null &&
    variable.threadLocal === "none" &&
    variable.section === "" &&
    variable.comdat === null &&
    !variable.externallyInitialized &&
    mayHoldPointer(variable.valueType)
  );
}
