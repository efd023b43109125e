/**
 * Register allocation: from machine SSA to locations.
 *
 * Pipeline: narrow constraints → liveness and reservations → coalescing → an allocator decides which register
 * holds which value when → the rewriter inserts moves, reloads, stores and recomputations. Allocators, coalescers
 * and cost policies are exchangeable; the checker shares nothing with any of them.
 *
 * Code bytes of Lua, zlib and bzip2 at -Oz, relative to the default (the first of each list);
 * `npm run bench:allocators` prints the table, `npm run bench:regalloc` how time grows:
 *
 *   ssa         1.000  spill to the register pressure, then colour; who finds no register may evict others.
 *   greedy      1.007  eviction, regions and runs of uses in registers, without a look at the pressure first.
 *   linear      1.034  linear scan with holes and second chances.
 *   graph       1.083  Chaitin–Briggs colouring.
 *
 *   pereira     1.000  merge what copies, ties and block arguments connect and what never lives at the same time.
 *   dominance   1.000  the same, but two names of one value may live at the same time (Boissinot et al.).
 *   none        1.244  no merging; moves vanish only if the allocator happens to choose the same register.
 *
 * All take n log n time.
 */
import { marksAfterAllocation, marksBeforeAllocation } from "../debug/allocation.js";
import { blockTimes } from "../late/block-time.js";
import type { MFunction } from "../mir.js";
import type { AllocationResult, TargetRegisters } from "../target.js";
import { checkAllocation, snapshotForCheck } from "./checker.js";
import { type Coalescer, type Coalescing, coalesceByIntervals, coalesceNothing } from "./coalesce.js";
import { coalesceByValues } from "./coalesce-values.js";
import { allocateGraph } from "./graph.js";
import { allocateGreedy } from "./greedy.js";
import { allocateLinear } from "./linear.js";
import { normalizeConstraints } from "./normalize.js";
import { type AllocationProblem, describeProblem, type Placement } from "./problem.js";
import { rewrite } from "./rewrite.js";
import { sizePolicy, speedPolicy } from "./spill-cost.js";
import { allocateSsa } from "./ssa.js";

export interface AllocatorOptions {
  readonly allocator: "ssa" | "greedy" | "linear" | "graph";
  readonly coalesce: "pereira" | "dominance" | "none";
  readonly spillCost: "size" | "speed";
  /** What time is worth where size counts: the knob of `timeBytes` (analysis/heat.ts). */
  readonly sizeTime: number;
  /** Verify the result with the symbolic checker; an unsound allocation is an internal error. */
  readonly check: boolean;
}

const coalescers: Readonly<Record<AllocatorOptions["coalesce"], Coalescer>> = {
  pereira: coalesceByIntervals,
  dominance: coalesceByValues,
  none: coalesceNothing,
};

const allocators: Readonly<
  Record<AllocatorOptions["allocator"], (problem: AllocationProblem, coalescing: Coalescing) => Placement>
> = {
  greedy: allocateGreedy,
  ssa: allocateSsa,
  linear: allocateLinear,
  graph: allocateGraph,
};

/**
 * Gives every register operand of `fn` a location and inserts the moves this takes. `fn` must be in machine SSA
 * as described in `mir.ts`.
 * @throws Error if the input breaks that contract, or if `check` finds the allocation unsound.
 */
export function allocateRegisters(
  fn: MFunction,
  target: TargetRegisters,
  options: AllocatorOptions,
): AllocationResult {
  normalizeConstraints(fn, target);
  const marks = fn.debug?.marks ?? null;
  const marked = marks === null ? null : marksBeforeAllocation(fn, marks);
  const snapshot = options.check ? snapshotForCheck(fn) : null;
  const problem = describeProblem(
    fn,
    target,
    options.spillCost === "size" ? sizePolicy(target, blockTimes(fn, options.sizeTime)) : speedPolicy,
  );
  const coalescing = coalescers[options.coalesce](problem);
  const result = rewrite(problem, allocators[options.allocator](problem, coalescing));
  if (snapshot !== null) {
    const complaints = checkAllocation(fn, target, snapshot);
    if (complaints.length > 0) {
      throw new Error(`unsound register allocation of ${fn.name}:\n${complaints.slice(0, 20).join("\n")}`);
    }
  }
  if (marked !== null) marksAfterAllocation(fn, marks!, marked);
  return result;
}

export { checkAllocation, snapshotForCheck };
