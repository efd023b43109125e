/**
 * unused-routines: removes definitions of run-time routines that no code will call.
 *
 * Problem: code generation makes calls that no IR has, of `fmod`, `memcpy` or `__udivti3`. Where the C library is bitcode that is
 * linked into the program, all that could be called so is loaded and stays: 60 kB of mathematics in a program that has none.
 *
 * Method: reachability as for `globaldce`, in which such a routine (`Module.routines`) is reached by what code generation may make a
 * call of it: intrinsics by their names, operations by a look at each body (analysis/routines.ts). Linear in the instructions,
 * and nothing where no program's own routine is left.
 *
 * Why last of all: no pass on the program comes after it that could ask for more.
 *
 * Proof obligations: names that code generation asks for are among those that the body shows; what anything else may call is not
 * in the list.
 */
import { keepOnly, reachableGlobals } from "../analysis/reachable.js";
import { Routines } from "../analysis/routines.js";
import { globalIndices } from "../analysis/summary.js";
import { finish } from "../ir/steps.js";
import { summary } from "../pass/analyses.js";
import type { ModulePass } from "../pass/pass.js";

export const unusedRoutines: ModulePass = {
  name: "unused-routines",
  level: "module",
  description: "removes the program's own run-time routines that no code calls",
  counters: { removed: "globals removed" },
  requires: [summary],
  preserves: [],
  run(module, context) {
    const routines = new Routines(module);
    if (routines.count === 0) return false;
    const { symbols } = context.ofModule(summary);
    const before = [...module.globals];
    const indices = globalIndices(module);
    const live = finish(
      reachableGlobals(
        module,
        module.pinned,
        (global, show) => {
          const { calls, references } = symbols[indices.get(global)!]!;
          for (const callee of calls) show(before[callee]!);
          for (const reference of references) show(before[reference]!);
          if (global.kind === "function" && !global.isDeclaration)
            global.peek((body) => routines.ofOperations(body, show));
        },
        routines,
      ),
    );
    const removed = keepOnly(module, live);
    context.count("removed", removed);
    return removed > 0;
  },
};
