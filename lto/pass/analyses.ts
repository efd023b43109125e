/**
 * The analyses that passes may ask for, and the cache that keeps results until an edit.
 *
 * A function's facts live as long as its decoded body and go when a pass changes it; what the pass preserves stays.
 * Those of the module go when any pass changes any function, for the same reason.
 */
import { buildCallGraph, type CallGraph, sameCalls } from "../analysis/call-graph.js";
import { bodySuccessors, type Successors } from "../analysis/cfg.js";
import { DominatorTree } from "../analysis/dominators.js";
import { type LoopNest, loopNest } from "../analysis/loop-nest.js";
import { type ModuleSummary, summarizeModule, updatedSummary } from "../analysis/summary.js";
import { variableUses as findVariableUses, type ProgramVariableUses } from "../analysis/variable-uses.js";
import type { BodyView } from "../ir/instructions.js";
import type { GlobalValue, Module } from "../ir/module.js";
import type { Analysis, FunctionAnalysis, GetModuleFact, ModuleAnalysis } from "./pass.js";

const sameLists = (a: Successors, b: Successors): boolean =>
  a.length === b.length &&
  a.every((list, i) => list.length === b[i]!.length && list.every((x, k) => x === b[i]![k]));
const sameNumbers = (a: ArrayLike<number>, b: ArrayLike<number>): boolean => {
  if (a.length !== b.length) return false;
  for (let i = 0; i < a.length; i++) if (a[i] !== b[i]) return false;
  return true;
};

/** Successors of each block. */
export const cfg: FunctionAnalysis<Successors> = {
  unit: "function",
  name: "cfg",
  description: "successors of each block",
  compute: bodySuccessors,
  same: sameLists,
};
export const dominators: FunctionAnalysis<DominatorTree> = {
  unit: "function",
  name: "dominators",
  description: "the dominator tree",
  compute: (_, get) => DominatorTree.of(get(cfg)),
  same: (a, b) => sameNumbers(a.idom, b.idom),
};
export const loops: FunctionAnalysis<LoopNest> = {
  unit: "function",
  name: "loops",
  description: "innermost loop and depth of each block",
  compute: (_, get) => loopNest(get(cfg), [0]),
  same: (a, b) => sameNumbers(a.header, b.header) && sameNumbers(a.depth, b.depth),
};
/** Uses of each instruction by other instructions, by its number. */
export const useCounts: FunctionAnalysis<Int32Array> = {
  unit: "function",
  name: "use-counts",
  description: "how often each instruction's result is used",
  compute(body) {
    let count = 0;
    for (const block of body.blocks) count += block.insts.length;
    const uses = new Int32Array(count);
    for (const block of body.blocks)
      for (const inst of block.insts)
        for (const operand of inst.operands) if (operand.valueKind === "inst") uses[operand.id]!++;
    return uses;
  },
  same: sameNumbers,
};
/** The module's globals when each summary was made. */
const summarized = new WeakMap<ModuleSummary, readonly GlobalValue[]>();

function remember(module: Module, result: ModuleSummary): ModuleSummary {
  summarized.set(result, [...module.globals]);
  return result;
}

/** After changes, looks at changed bodies only. */
export const summary: ModuleAnalysis<ModuleSummary> = {
  unit: "module",
  name: "summary",
  description: "what each symbol calls, references and does",
  compute: (module) => remember(module, summarizeModule(module)),
  update: (module, old) => remember(module, updatedSummary(module, old, summarized.get(old))),
  adopt: (module, result) => void remember(module, result),
};
/** The summary that each graph was made from, or one of the same calls. */
const graphed = new WeakMap<CallGraph, ModuleSummary>();

function graphOf(current: ModuleSummary, old: CallGraph | null): CallGraph {
  const known = old === null ? undefined : graphed.get(old);
  const graph =
    old !== null && known !== undefined && sameCalls(known, current) ? old : buildCallGraph(current);
  graphed.set(graph, current);
  return graph;
}

/** Most changes of bodies leave calls as they are. */
export const callGraph: ModuleAnalysis<CallGraph> = {
  unit: "module",
  name: "call-graph",
  description: "calls between functions, and the graph's strongly connected components",
  compute: (_, get) => graphOf(get(summary), null),
  update: (_, old, get) => graphOf(get(summary), old),
};

/** After changes, looks at changed bodies only. */
export const variableUses: ModuleAnalysis<ProgramVariableUses> = {
  unit: "module",
  name: "variable-uses",
  description: "what is done with each local variable",
  compute: (module) => findVariableUses(module),
  update: (module, old) => findVariableUses(module, old),
};

/** All of them, for the manual. */
export const analyses: readonly Analysis[] = [
  cfg,
  dominators,
  loops,
  useCounts,
  summary,
  callGraph,
  variableUses,
];

/** Results for one subject, a body or a module. */
class Facts {
  /** Blocks and instructions have their numbers. */
  isNumbered = false;
  private readonly results = new Map<Analysis, unknown>();

  has(analysis: Analysis): boolean {
    return this.results.has(analysis);
  }
  get(analysis: Analysis): unknown {
    return this.results.get(analysis);
  }
  set(analysis: Analysis, result: unknown): void {
    this.results.set(analysis, result);
  }
  keepOnly(kept: readonly Analysis[]): void {
    for (const analysis of this.results.keys()) if (!kept.includes(analysis)) this.results.delete(analysis);
  }
  kept(): [Analysis, unknown][] {
    return [...this.results];
  }
  get isEmpty(): boolean {
    return this.results.size === 0;
  }
}

/** Keeps the facts about a module and about the bodies that are being worked on. */
export class AnalysisCache {
  private readonly facts = new Facts();
  /** Results that no longer hold, of analyses that can update them. */
  private readonly outdated = new Map<Analysis, unknown>();
  private readonly bodies = new Map<BodyView, Facts>();
  private readonly moduleFact: GetModuleFact = (analysis) => this.ofModule(analysis);

  /** @param module null where passes see one function at a time: then there are no facts about a module */
  constructor(private readonly module: Module | null) {}

  /** Tells a fact that is known already. */
  know<Result>(analysis: ModuleAnalysis<Result>, result: Result): void {
    if (this.module !== null) analysis.adopt?.(this.module, result);
    this.facts.set(analysis, result);
  }

  ofModule<Result>(analysis: ModuleAnalysis<Result>): Result {
    if (!this.facts.has(analysis)) {
      if (this.module === null) throw new Error(`analysis ${analysis.name}: no module here`);
      const result =
        analysis.update !== undefined && this.outdated.has(analysis)
          ? analysis.update(this.module, this.outdated.get(analysis) as Result, this.moduleFact)
          : analysis.compute(this.module, this.moduleFact);
      this.outdated.delete(analysis);
      this.facts.set(analysis, result);
    }
    return this.facts.get(analysis) as Result;
  }

  ofBody<Result>(analysis: FunctionAnalysis<Result>, body: BodyView): Result {
    let facts = this.bodies.get(body);
    if (facts === undefined) this.bodies.set(body, (facts = new Facts()));
    if (!facts.has(analysis)) {
      if (!facts.isNumbered) body.renumber();
      facts.isNumbered = true;
      facts.set(
        analysis,
        analysis.compute(body, (other) => this.ofBody(other, body)),
      );
    }
    return facts.get(analysis) as Result;
  }

  /** A pass changed the body. */
  changed(body: BodyView, preserved: readonly Analysis[]): void {
    const facts = this.bodies.get(body);
    if (facts === undefined) return;
    facts.isNumbered = false;
    facts.keepOnly(preserved);
  }
  /** A pass changed something in the module. */
  moduleChanged(preserved: readonly Analysis[]): void {
    for (const [analysis, result] of this.facts.kept())
      if (analysis.unit === "module" && analysis.update !== undefined) this.outdated.set(analysis, result);
    this.facts.keepOnly(preserved);
  }
  /** The body is encoded, consumed or gone. */
  forget(body: BodyView): void {
    this.bodies.delete(body);
  }
  forgetBodies(): void {
    this.bodies.clear();
  }

  /** Names of facts about the body that are kept although they do not hold. */
  stale(body: BodyView): string[] {
    const facts = this.bodies.get(body);
    if (facts === undefined || facts.isEmpty) return [];
    body.renumber();
    const fresh = new AnalysisCache(null);
    const wrong: string[] = [];
    for (const [analysis, result] of facts.kept())
      if (analysis.unit === "function" && analysis.same?.(result, fresh.ofBody(analysis, body)) === false)
        wrong.push(analysis.name);
    return wrong;
  }
}
