/**
 * globaldce: removes functions, variables and aliases that nothing reaches any more.
 *
 * Method: reachability from what is seen outside (analysis/reachable.ts), by the module's summary, so that only bodies
 * that have changed are looked at. Linear in globals and mentions.
 *
 * Why last of the passes on the program, and why at all: linking has dropped what was dead then; since, calls were
 * decided away, variables forgotten, copies folded.
 *
 * Proof obligations: what assembly may mention by name is pinned; comdat groups and sections with bounds live as a
 * whole; the runtime library's functions are no definitions that may be discarded.
 */
import { keepOnly, reachableGlobals } from "../analysis/reachable.js";
import { globalIndices } from "../analysis/summary.js";
import { finish } from "../ir/steps.js";
import { summary } from "../pass/analyses.js";
import type { ModulePass } from "../pass/pass.js";

export const globaldce: ModulePass = {
  name: "globaldce",
  level: "module",
  description: "removes functions, variables and aliases that nothing reaches any more",
  counters: { removed: "globals removed" },
  requires: [summary],
  preserves: [],
  run(module, context) {
    const { symbols } = context.ofModule(summary);
    const before = [...module.globals];
    const indices = globalIndices(module);
    const live = finish(
      reachableGlobals(module, module.pinned, (global, show) => {
        const { calls, references } = symbols[indices.get(global)!]!;
        for (const callee of calls) show(before[callee]!);
        for (const reference of references) show(before[reference]!);
      }),
    );
    const removed = keepOnly(module, live);
    context.count("removed", removed);
    return removed > 0;
  },
};
