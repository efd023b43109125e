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

interface Holder<T> {
  readonly insts: readonly T[];
}

/** A block, and the instructions that it had. */
type Former<T, B> = readonly [block: B, insts: readonly T[]];

/** What of a list of blocks has changed since their instructions were listed; all else is as it was. */
export interface ChangedBlocks<T, B> {
  readonly before: readonly Former<T, B>[];
  /** Changed and new ones. */
  readonly now: readonly B[];
}

function isSame<T>(a: readonly T[], b: readonly T[]): boolean {
  if (a.length !== b.length) return false;
  for (let i = 0; i < a.length; i++) if (a[i] !== b[i]) return false;
  return true;
}

export function changedBlocks<T, B extends Holder<T>>(
  before: readonly Former<T, B>[],
  blocks: readonly B[],
): ChangedBlocks<T, B> {
  if (
    before.length === blocks.length &&
    before.every(([block, insts], b) => block === blocks[b] && isSame(insts, block.insts))
  )
    return { before: [], now: [] };
  const here = new Set(blocks);
  const changed: Former<T, B>[] = [];
  for (const former of before) {
    const [block, insts] = former;
    if (here.has(block) && isSame(insts, block.insts)) here.delete(block);
    else changed.push(former);
  }
  return { before: changed, now: blocks.filter((block) => here.has(block)) };
}

/** Where each instruction is: its block, and its number there. */
export function placesIn<T, B extends Holder<T>>(blocks: readonly B[]): ReadonlyMap<T, readonly [B, number]> {
  const places = new Map<T, readonly [B, number]>();
  for (const block of blocks) {
    const { insts } = block;
    for (let i = 0; i < insts.length; i++) places.set(insts[i]!, [block, i]);
  }
  return places;
}

/**
 * Instructions of a block that are where they were, before and after the same. The end of the block may be a block of its own by
 * now, or of the block before, with the last instruction.
 * @param insts what was in the block @param places where instructions are now
 */
export function keptInBlock<T, B extends Holder<T>>(
  block: B,
  insts: readonly T[],
  places: ReadonlyMap<T, readonly [B, number]>,
): ReadonlySet<T> {
  const last = insts.at(-1);
  const end = last === undefined ? undefined : places.get(last)?.[0];
  return keptInOrder(insts, (inst) => {
    const [now, at] = places.get(inst) ?? [null, 0];
    if (now === block) return at;
    return now !== null && now === end ? block.insts.length + at : -1;
  });
}

/**
 * New instructions, which may stand for what is gone, by what they follow: an older instruction, or the start of a block.
 * @param mayStand whether a new one can
 */
export function madeAfter<T, B extends Holder<T>>(
  blocks: readonly B[],
  old: ReadonlySet<T>,
  mayStand: (inst: T) => boolean,
): ReadonlyMap<T | B, T> {
  const made = new Map<T | B, T>();
  for (const block of blocks) {
    let last: T | B = block;
    for (const inst of block.insts) {
      const isFirst = last === block || old.has(last as T);
      if (isFirst && !old.has(inst) && mayStand(inst)) made.set(last, inst);
      last = inst;
    }
  }
  return made;
}
