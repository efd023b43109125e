/**
 * Decoupled SSA allocation: `ssa`, the default.
 *
 * First spilling lowers the pressure until there is a register for each value at each point (`ssa-spill.ts`), then
 * registers are given out: values of greater worth first, those of about the same worth in dominance order;
 * preferences (fixed operands, other ends of moves, short names) choose among the free ones. At last what was
 * spilled gets the registers that are left, from the longest life to the shortest, over the regions where that
 * pays. The edges' parallel copies are the rewriter's. The shape is that of Hack's thesis and of Cranelift's first
 * allocator.
 *
 * In dominance order alone colouring cannot fail, which is why those allocators use it, but fixed operands and
 * clobbers break the theorem: a value may find no register free for all of its life although one is free at
 * each point. So who finds none may evict others anyway (`evict.ts`), and then the order is free.
 * Time: n log n for n ranges, times the registers of a class.
 */
import { reversePostOrderOf } from "../../analysis/cfg.js";
import { Assignment } from "./assignment.js";
import type { Bundle } from "./bundle.js";
import type { Coalescing } from "./coalesce.js";
import { EvictingPlacer } from "./evict.js";
import type { AllocationProblem, Placement } from "./problem.js";
import { spillToPressure } from "./ssa-spill.js";

/** Places the bundles of `coalescing`. */
export function allocateSsa(problem: AllocationProblem, coalescing: Coalescing): Placement {
  const { bundles } = coalescing;
  const colouringOrder = orderByWorth(problem);
  let colouring = true;
  const state = new Assignment(problem, coalescing, (bundle) =>
    colouring ? colouringOrder(bundle) : -bundle.size,
  );
  for (const bundle of bundles) state.costs.measure(bundle);
  const spilled = spillToPressure(problem, bundles);
  const placer = new EvictingPlacer(state);
  for (let b = 0; b < bundles.length; b++) if (spilled[b] === 0) state.enqueueMeasured(bundles[b]!);
  placer.drain();
  colouring = false;
  for (let b = 0; b < bundles.length; b++) if (spilled[b] === 1) state.enqueueMeasured(bundles[b]!);
  placer.run();
  return state.placement();
}

/** The rank of a bundle, least first: by the magnitude of its worth (a power of two), then in dominance order. */
function orderByWorth({ fn, liveness: { numbering } }: AllocationProblem): (bundle: Bundle) => number {
  // Reverse postorder puts every block after those that dominate it, in linear time.
  const { position } = numbering;
  const rank = new Int32Array(fn.blocks.length);
  const order = reversePostOrderOf(fn.blocks.map((block) => block.succs.map((next) => position[next.id]!)));
  for (let k = 0; k < order.length; k++) rank[order[k]!] = k;
  const pointAt = (bundle: Bundle): number => {
    const { start } = bundle.ranges[0]!;
    const block = numbering.blockAt[start >> 2]!;
    // Blocks in order, points within: the number of points bounds both.
    return rank[block]! * 4 * numbering.blockAt.length + (start - 4 * numbering.head[block]!);
  };
  const scale = 4 * numbering.blockAt.length * fn.blocks.length;
  return (bundle) => pointAt(bundle) - scale * Math.floor(Math.log2(bundle.weight + 1e-9));
}
