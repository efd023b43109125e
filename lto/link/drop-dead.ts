/**
 * Dead-symbol removal: keeps what is reachable from the roots (`analysis/reachable.ts`), by the summaries of bodies.
 * After it, every global of the module is reachable.
 */
import { keepOnly, reachableGlobals } from "../analysis/reachable.js";
import type { GlobalValue, Module } from "../ir/module.js";
import type { Steps } from "../ir/steps.js";
import type { LinkedFacts } from "./linked-facts.js";

/** Removes unreachable globals from the module. @returns how many were removed */
export function* dropDead(
  module: Module,
  pinned: ReadonlySet<GlobalValue>,
  facts: LinkedFacts,
): Steps<number> {
  const live = yield* reachableGlobals(module, pinned, (global, show) => {
    const { calls, references } = facts.of(global);
    for (const callee of calls) show(callee);
    for (const reference of references) show(reference);
  });
  return keepOnly(module, live);
}
