/**
 * Distance to the next use, for spilling what is needed last (Belady).
 *
 * Distances are measured in the layout, which keeps loops together: a use after the end of a loop is farther
 * than any in it, and a use that only a back edge reaches counts as lying after everything ahead. One binary
 * search a question, no dataflow.
 */
import { isDefKind, type Liveness, type UseKind } from "../liveness.js";

/** Point of the next use of `vreg` at or after `point`; a large number if none lies ahead. */
export function nextUse(liveness: Liveness, vreg: number, point: number): number {
  const { useStart, usePoint, useKind } = liveness;
  let low = useStart[vreg]!;
  let high = useStart[vreg + 1]!;
  const stop = high;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (usePoint[middle]! < point) low = middle + 1;
    else high = middle;
  }
  while (low < stop && isDefKind(useKind[low]! as UseKind)) low++;
  return low < stop ? usePoint[low]! : 2 ** 30;
}
