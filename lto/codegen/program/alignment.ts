/**
 * Which functions need an aligned stack on entry: by themselves, or for what they call. What does not is called
 * without padding. Backward reachability over the calls; linear.
 */
import type { FunctionFacts } from "./facts.js";

/** @param facts of functions and sets of callees @returns 1 for each that does */
export function alignmentNeeds(facts: readonly FunctionFacts[]): Uint8Array {
  const callers: number[][] = facts.map(() => []);
  facts.forEach((f, caller) => {
    for (const { callee } of f.calls) callers[callee]!.push(caller);
  });
  const needs = Uint8Array.from(facts, (f) => Number(f.aligned));
  const work: number[] = [];
  for (let f = 0; f < facts.length; f++) if (needs[f] === 1) work.push(f);
  for (let f = work.pop(); f !== undefined; f = work.pop())
    for (const caller of callers[f]!)
      if (needs[caller] === 0) {
        needs[caller] = 1;
        work.push(caller);
      }
  return needs;
}
