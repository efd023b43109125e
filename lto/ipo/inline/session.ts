/**
 * One walk of an inliner over the program: what it knows of bodies, how often each function is called, and which
 * functions nobody calls any more.
 *
 * Call sites are counted once, by a look at every body, and kept current: a copied body brings its calls with it, the
 * last call of a function takes those of its body along. What other passes delete meanwhile is still counted, so
 * that a call that seems the last one is.
 *
 * Bodies of callees are decoded when asked for, and let go when many are in memory: `releaseBodies`.
 */
import type { CallGraph } from "../../analysis/call-graph.js";
import type { Editor } from "../../ir/editor.js";
import { type BodyView, type CallInst, isCall } from "../../ir/instructions.js";
import type { Func, GlobalValue, Module } from "../../ir/module.js";
import { inlineCall } from "./inline-call.js";
import {
  type BodyObstacles,
  bodyObstacles,
  callObstacle,
  functionObstacle,
  isExact,
  takeOverAttributes,
} from "./obstacles.js";
import { InlineRuntime } from "./runtime.js";

/** Instructions of callees that may stay decoded between components. */
const mostDecoded = 30_000;

interface CachedCost {
  readonly revision: number;
  readonly obstacles: BodyObstacles;
}

export class InlineSession {
  readonly runtime: InlineRuntime;
  private readonly known = new Map<Func, CachedCost>();
  private readonly sites = new Map<Func, number>();
  /** Not to be removed whatever calls it: somebody else knows it. */
  private readonly open = new Set<GlobalValue>();
  /** Whose last call was inlined. */
  private readonly uncalled = new Set<Func>();
  private readonly decoded = new Set<Func>();
  /** Instructions of those, as they were when they were asked for. */
  private decodedInstructions = 0;

  constructor(
    readonly module: Module,
    graph: CallGraph,
  ) {
    this.runtime = new InlineRuntime(module);
    graph.symbolOf.forEach((symbol, node) => {
      if (graph.openToCallers[node] === 1) this.open.add(module.globals[symbol]!);
    });
  }

  /** Counts all calls, so that `callSites` can be asked. */
  countCalls(): void {
    for (const fn of this.module.functions) if (!fn.isDeclaration) fn.peek((body) => this.countIn(body, 1));
  }
  private countIn({ blocks }: BodyView, by: number): void {
    for (const { insts } of blocks)
      for (const inst of insts) {
        if (!isCall(inst)) continue;
        const callee = inst.operands[0]!;
        if (callee.valueKind === "global" && callee.kind === "function" && callee.intrinsic === null)
          this.sites.set(callee, (this.sites.get(callee) ?? 0) + by);
      }
  }
  /** Calls of the function in the program, as far as they are counted. */
  callSites(fn: Func): number {
    return this.sites.get(fn) ?? 0;
  }
  /** The function goes when its last call is inlined. */
  isClosed(fn: Func): boolean {
    return fn.isLocal && !this.open.has(fn);
  }

  /** The body of a function to be copied. */
  bodyOf(fn: Func): BodyView {
    const body = fn.view();
    if (!this.decoded.has(fn)) {
      this.decoded.add(fn);
      for (const { insts } of body.blocks) this.decodedInstructions += insts.length;
    }
    return body;
  }
  obstaclesIn(callee: Func): BodyObstacles {
    const known = this.known.get(callee);
    if (known?.revision === callee.revision) return known.obstacles;
    const obstacles = bodyObstacles(callee, this.bodyOf(callee));
    this.known.set(callee, { revision: callee.revision, obstacles });
    return obstacles;
  }
  /** Why a call cannot be inlined; null: it can be. @param forced it has to be, if it can be */
  obstacle(caller: Func, call: CallInst, callee: Func, forced: boolean): string | null {
    if (!isExact(callee, this.module)) return "the definition may be replaced by another";
    const why = callObstacle(caller, call, callee) ?? functionObstacle(caller, callee, forced);
    if (why !== null) return why;
    const { never, unlessForced } = this.obstaclesIn(callee);
    return never ?? (forced ? null : unlessForced);
  }

  /** Inlines a call to which there is no obstacle. @returns the calls of the copy */
  inline(editor: Editor, call: CallInst, callee: Func): readonly CallInst[] {
    const left = this.callSites(callee) - 1;
    this.sites.set(callee, left);
    const { calls } = inlineCall(editor, call, callee, this.runtime);
    takeOverAttributes(editor.fn, callee);
    if (left <= 0 && this.isClosed(callee)) this.uncalled.add(callee);
    else
      for (const { operands } of calls) {
        const inner = operands[0]!;
        if (inner.valueKind === "global" && inner.kind === "function" && inner.intrinsic === null)
          this.sites.set(inner, this.callSites(inner) + 1);
      }
    return calls;
  }

  /** Lets go of callees' bodies. @param but functions that are being worked on */
  releaseBodies(but: readonly Func[], most = mostDecoded): void {
    if (this.decodedInstructions <= most) return;
    for (const fn of this.decoded) if (!but.includes(fn)) this.module.pool.rest(fn);
    this.decoded.clear();
    this.decodedInstructions = 0;
  }

  /**
   * Removes the functions of which no call is left.
   * @param graph as the program is now
   */
  removeUncalled(graph: CallGraph): number {
    const { globals } = this.module;
    const { start, items } = graph.callers;
    const { start: calleesStart, items: callees } = graph.callees;
    const gone = new Set<GlobalValue>();
    const work: number[] = [];
    for (let node = 0; node < graph.symbolOf.length; node++) {
      const global = globals[graph.symbolOf[node]!]!;
      if (global.kind === "function" && this.uncalled.has(global)) work.push(node);
    }
    for (let node = work.pop(); node !== undefined; node = work.pop()) {
      const global = globals[graph.symbolOf[node]!]!;
      if (gone.has(global) || graph.openToCallers[node] === 1) continue;
      let isCalled = false;
      for (let i = start[node]!; i < start[node + 1]!; i++)
        if (items[i] !== node && !gone.has(globals[graph.symbolOf[items[i]!]!]!)) isCalled = true;
      if (isCalled) continue;
      gone.add(global);
      for (let i = calleesStart[node]!; i < calleesStart[node + 1]!; i++) work.push(callees[i]!);
    }
    if (gone.size === 0) return 0;
    const kept = globals.filter((global) => !gone.has(global));
    globals.length = 0;
    for (const global of kept) globals.push(global);
    for (const global of gone) if (global.kind === "function") global.dropBody();
    return gone.size;
  }
}
