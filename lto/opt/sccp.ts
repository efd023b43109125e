/**
 * sccp: sparse conditional constant propagation, with bounds of integers, inside of a function.
 *
 *     for (i = 0; i != 61; i++)                    for (i = 0; i != 61; i++)
 *       if (i < 64) a(); else b();        →          a();
 *
 * Why: what calls brought in is compiled for all arguments, and checks them; where the caller's own numbers have bounds, what they
 * pass is inside of them. `ipsccp` has been there before, when callee and caller were two functions.
 * Method: `ConstantSolver`, which knows nothing of memory here, and of arguments and calls what attributes say.
 * Linear, but for loops that take some rounds.
 * Breaks if: see the solver, `interval.ts`, `conditions.ts` and `loop-bounds.ts`.
 */
import type { FunctionPass } from "../pass/pass.js";
import { LocalSurroundings } from "./constants/local.js";
import { findRelaxed, rewriteConstants } from "./constants/rewrite.js";
import { ConstantSolver } from "./constants/solver.js";

export const sccp: FunctionPass = {
  name: "sccp",
  level: "function",
  description: "finds values that are constant and branches that are decided, by bounds of integers",
  counters: {
    values: "values replaced by constants",
    branches: "branches decided",
    blocks: "blocks removed that nothing reaches",
    operations: "operations that became cheaper, since operands are not negative",
  },
  requires: [],
  preserves: [],
  run(fn, context) {
    const body = context.view();
    const solver = new ConstantSolver(body, body.renumber(), new LocalSurroundings(fn, context.layout), true);
    solver.solve();
    const relaxed = findRelaxed(body, solver);
    if (relaxed.size === 0 && !solver.findsAnything(() => false)) return false;
    const before = fn.revision;
    const { values, branches, blocks, operations } = rewriteConstants(fn.edit(), solver, relaxed);
    context.count("values", values);
    context.count("branches", branches);
    context.count("blocks", blocks);
    context.count("operations", operations);
    return fn.revision !== before || values + branches + blocks + operations > 0;
  },
};
