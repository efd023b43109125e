/**
 * legalize: the types and operations of the IR become those that selection takes (see codegen/legalize/).
 *
 * From here on the function has the signature that `context.legal` says, and not its own; returns have one operand for
 * each register.
 */
import type { FunctionPass } from "../../pass/pass.js";
import { legalizeFunction } from "../legalize/index.js";
import type { LoweringContext } from "./context.js";

export const legalize: FunctionPass<LoweringContext> = {
  name: "legalize",
  level: "function",
  description: "expands types and operations that the target does not have",
  counters: { rewritten: "functions rewritten" },
  requires: [],
  preserves: [],
  run(fn, context) {
    const legal = legalizeFunction(fn, context.layout, context.target, context.roomOf, context.rewrite());
    context.legal = legal;
    if (legal.isRewritten) context.count("rewritten");
    return legal.isRewritten;
  },
};
