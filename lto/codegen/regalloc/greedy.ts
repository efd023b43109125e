/**
 * Greedy allocation with eviction and splitting: `greedy`.
 *
 * Bundles are placed from the largest to the smallest, without a look at register pressure; who finds no register
 * free evicts others or is taken apart (`evict.ts`). In the family of LLVM's greedy allocator and regalloc2.
 * Time: n log n for n ranges, times the registers of a class.
 */
import { Assignment } from "./assignment.js";
import type { Coalescing } from "./coalesce.js";
import { EvictingPlacer } from "./evict.js";
import type { AllocationProblem, Placement } from "./problem.js";

/** Places the bundles of `coalescing`. */
export function allocateGreedy(problem: AllocationProblem, coalescing: Coalescing): Placement {
  const state = new Assignment(problem, coalescing, (bundle) => -bundle.size);
  for (const bundle of coalescing.bundles) state.enqueue(bundle);
  new EvictingPlacer(state).run();
  return state.placement();
}
