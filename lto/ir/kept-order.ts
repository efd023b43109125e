/** What stays where it is when a list is changed. */

/**
 * Those of a list that are still in it and in their order; others were moved, even if nobody touched them: as few as can
 * be. n log n.
 * @param position where one is now; negative: it is in the list no more
 */
export function keptInOrder<T>(before: readonly T[], position: (of: T) => number): ReadonlySet<T> {
  const present = before.filter((item) => position(item) >= 0);
  const positions = present.map(position);
  let isSorted = true;
  for (let i = 1; i < positions.length; i++) if (positions[i - 1]! > positions[i]!) isSorted = false;
  if (isSorted) return new Set(present);
  // The longest rising sequence: the last item of the best one of each length, and what comes before each item.
  const lasts: number[] = [];
  const earlier = new Int32Array(present.length).fill(-1);
  positions.forEach((value, i) => {
    let low = 0;
    let high = lasts.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (positions[lasts[middle]!]! < value) low = middle + 1;
      else high = middle;
    }
    if (low > 0) earlier[i] = lasts[low - 1]!;
    lasts[low] = i;
  });
  const kept = new Set<T>();
  for (let at = lasts.at(-1) ?? -1; at >= 0; at = earlier[at]!) kept.add(present[at]!);
  return kept;
}
