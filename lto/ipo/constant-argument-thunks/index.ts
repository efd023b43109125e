/**
 * constant-argument-thunks: calls that pass the same constants go through a function that sets them, for size.
 *
 *     report(a, 1, "x"); ... report(b, 1, "y");      report.bound(a, , "x"); ... report.bound(b, , "y");
 *                                                    report.bound(a, _, s) { report(a, 1, s); }
 *
 * Why: a constant takes 2 to 10 bytes at each call. The function sets it once and jumps; where its callee stands after it
 * (codegen/late/function-order), without a jump. That is partial specialisation the other way round: the body is there
 * once, and entries are many.
 *
 * Also bound are loads from fixed addresses (`fprintf(stderr, …)`), and of functions with variable arguments that are
 * elsewhere how many vector registers are used: what goes between has a fixed number of parameters. Who passes fewer passes
 * poison for the others, which is in registers that the callee does not look at.
 *
 * Method: a look at each body notes what its calls set (sites.ts); plan.ts chooses. Parameters keep their positions, and so
 * their registers: what is bound is poison at the call.
 *
 * Proof obligations:
 *  - the callee sees what it saw: the same arguments in the same registers, and the caller's return address, since the
 *    function between ends in a jump. So nothing may be passed in memory, by reference of a copy, or in a register
 *    of its own, and both agree on extensions of narrow values;
 *  - what is loaded later was not written in between, and nobody else uses it;
 *  - what a call says holds of the bound one too, but for claims on what is poison now, and on memory where it loads;
 *  - calls that code cannot be put before stay: `musttail`, `notail`, returning twice, with bundles, convergent;
 *  - code with attributes stays among its like, and functions that are hot or not compiled for size keep their calls.
 *
 * At -Os, too: a jump at some calls is 1.004 (Lua), 1.000 (bzip2, gzip) of the instructions executed, for 0.974, 0.988 and
 * 0.970 of the bytes loaded.
 */
import { DebugReconciliation } from "../../ir/debug-reconcile.js";
import type { Func, Module } from "../../ir/module.js";
import type { ModulePass, ProgramContext } from "../../pass/pass.js";
import { listOfPlaces, words } from "../../pass/remarks.js";
import { type Binding, bindingsFor, jumpsTo } from "./plan.js";
import { boundFunction, type Redirection, redirectCalls } from "./rewrite.js";
import { type Callee, type Item, Sites } from "./sites.js";

const name = "constant-argument-thunks";

class Binder {
  /** By caller and number of the call. */
  private readonly redirections = new Map<Func, Map<number, Redirection>>();
  private readonly names: Set<string>;
  /** Names tried for each callee. */
  private readonly counts = new Map<Func, number>();

  constructor(
    private readonly module: Module,
    private readonly context: ProgramContext,
  ) {
    this.names = new Set(module.globals.map((global) => global.name));
  }

  run(): boolean {
    const { module, context } = this;
    const sites = new Sites(module, context);
    for (const fn of module.functions) {
      if (!sites.mayLook(fn)) continue;
      sites.look(fn);
      context.bodyDone(fn);
    }
    for (const callee of sites.groups())
      for (const binding of bindingsFor(callee.sites, jumpsTo(callee.fn)).found)
        this.make(callee, callee.fn, binding, []);
    for (const [fn, calls] of this.redirections) {
      const body = fn.rewrite();
      const records = body.hasDebug ? new DebugReconciliation(body) : null;
      redirectCalls(body, calls);
      records?.settle();
      context.bodyDone(fn);
    }
    return this.redirections.size > 0;
  }

  /** @param next what it goes on to, which sets `bound` */
  private make(callee: Callee, next: Func, binding: Binding, bound: readonly Item[]): void {
    const { items, sites, inner, gain } = binding;
    const fn = boundFunction(this.nameFor(callee.fn), callee, next, items, bound, callersOf(binding));
    this.module.globals.push(fn);
    this.module.origins?.recordMade(fn, name, [callee.fn]);
    const { context } = this;
    context.count("functions");
    context.count("calls", sites.length);
    context.count("bytes", Math.round(gain));
    const all = [...bound, ...items];
    for (const site of sites) {
      let calls = this.redirections.get(site.fn);
      if (calls === undefined) this.redirections.set(site.fn, (calls = new Map()));
      calls.set(site.index, { to: fn, items: all });
    }
    if (context.remarks?.wants(name) === true)
      context.remarks.add({
        kind: "Passed",
        pass: name,
        name: "ArgumentsBound",
        function: fn.name,
        facts: [
          words("saved "),
          ["Benefit", Math.round(gain)],
          words(" bytes, as estimated, by setting "),
          ["NumArguments", items.length],
          words(" arguments of "),
          ["Callee", next.name],
          words(" once; called in: "),
          ...listOfPlaces(sites.map((site) => site.fn.name)),
        ],
      });
    for (const more of inner) this.make(callee, fn, more, all);
  }

  private nameFor(callee: Func): string {
    const base = `${callee.name}.bound`;
    let count = this.counts.get(callee) ?? 0;
    let own: string;
    do own = ++count === 1 ? base : `${base}.${count}`;
    while (this.names.has(own));
    this.counts.set(callee, count);
    this.names.add(own);
    return own;
  }
}

/** All whose calls go through a function, or through one before it. */
const callersOf = ({ sites, inner }: Binding): readonly Func[] => [
  ...new Set([...sites.map((site) => site.fn), ...inner.flatMap(callersOf)]),
];

export const constantArgumentThunks: ModulePass = {
  name,
  level: "module",
  description: "lets calls that pass the same constants share the code that sets them",
  counters: {
    functions: "functions made",
    calls: "calls that go through them",
    bytes: "bytes saved, as estimated",
  },
  requires: [],
  preserves: [],
  run: (module, context) => new Binder(module, context).run(),
};
