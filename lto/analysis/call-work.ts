/**
 * Instructions that one call of each function executes, what it calls with them, estimated from the call graph.
 *
 * A few rounds of adding what callees were found to take in the round before: exact for chains of calls that are no longer;
 * what is deeper executes more than anybody asks about. Recursion ends with the rounds.
 * Linear in the calls.
 */
import type { EstimatedCall } from "./call-frequency.js";

export interface WorkingFunction {
  /** Instructions of its own, and of what is called and not known. */
  readonly ownWork: number;
  readonly calls: readonly EstimatedCall[];
}

const rounds = 4;
/** Loops in callees multiply. */
const most = 2 ** 20;

/** By number. */
export function callWorks(functions: readonly WorkingFunction[]): Float64Array {
  let works = Float64Array.from(functions, ({ ownWork }) => ownWork);
  for (let round = 0; round < rounds; round++)
    works = Float64Array.from(functions, ({ ownWork, calls }) => {
      let work = ownWork;
      for (const { callee, frequency } of calls) work += frequency * works[callee]!;
      return Math.min(work, most);
    });
  return works;
}
