/**
 * branch-marks: says of each function where indirect branches may lead, in a program that allows them to marked places
 * only (module flag `cf-protection-branch`; in the linked program if all modules have it).
 *
 * The entry needs a mark where a pointer or code outside may lead to it: the linked program knows that of local
 * functions. What is marked, and how, is the target's business; functions with `nocf_check` have no marks. Linear in
 * the functions.
 * What breaks it: a pass after it that takes the address of a function.
 */
import { branchMarks, withFunctionString } from "../ir/attributes.js";
import type { GlobalValue } from "../ir/module.js";
import { callGraph } from "../pass/analyses.js";
import type { ModulePass } from "../pass/pass.js";

export const markBranches: ModulePass = {
  name: "branch-marks",
  level: "module",
  description: "says where indirect branches may lead, in programs that restrict them",
  counters: { entries: "functions whose entries are marked" },
  requires: [callGraph],
  preserves: [callGraph],
  run(module, context) {
    if (Number(module.flag("cf-protection-branch") ?? 0) === 0) return false;
    // In the large code model all calls are indirect.
    const callsByPointers = Number(module.flag("Code Model") ?? 1) === 4;
    const graph = context.ofModule(callGraph);
    const taken = new Set<GlobalValue>(module.pinned);
    graph.symbolOf.forEach((symbol, node) => {
      if (graph.addressTaken[node] === 1) taken.add(module.globals[symbol]!);
    });
    let changed = false;
    for (const fn of module.functions) {
      if (fn.isDeclaration || fn.attributes.fn.has("nocf_check")) continue;
      const atEntry = callsByPointers || !fn.isLocal || taken.has(fn);
      const before = fn.attributes;
      fn.attributes = withFunctionString(
        before,
        branchMarks.attribute,
        atEntry ? branchMarks.entry : branchMarks.inside,
      );
      if (fn.attributes !== before) changed = true;
      if (atEntry) context.count("entries");
    }
    return changed;
  },
};
