/**
 * Which repeats to outline, where they compete for the same places.
 *
 * Greedy: the candidate with the largest benefit is taken first, left to right, an occurrence that overlaps one already
 * taken is lost to it. What a candidate loses to others is found when its turn comes: its benefit is computed
 * again, and it waits for its new turn. So every candidate is taken for what it is really worth.
 * Where a benefit takes long to compute there may be a bound for it, by which candidates wait until it is their turn: what
 * others take places from is never computed. The result is the same. Where benefits are estimates and can be known exactly, at a
 * price, that is asked last, of what would be taken: who has none is refused, and who was estimated much too high waits again.
 * O(c · (o + log c)) for c candidates of o occurrences, times the few turns that a candidate waits.
 * The result depends on the candidates alone: of equal benefits the longer, then the one that occurs first comes first.
 */

export interface Candidate {
  /** In symbols; what its occurrences have in common. */
  readonly length: number;
  /** Ascending. */
  readonly starts: Int32Array;
}

export interface Selected<C> {
  readonly candidate: C;
  readonly benefit: number;
  /** Those of its starts that are taken: ascending, without overlaps. */
  readonly starts: Int32Array;
}

interface Waiting<C> {
  readonly candidate: C;
  benefit: number;
  starts: Int32Array;
  /** The benefit is only a bound. */
  isBound: boolean;
}

/**
 * A benefit of which at least this part is confirmed is as good as the estimates that it competes with. With 1, everything that
 * overlaps the best is confirmed, too; with less than 0.8, what is taken is worse (bzip2 at -Oz: 0.9% of its bytes).
 */
const closeEnough = 0.9;

/** Of outlining a candidate at these places, which do not overlap. */
export type Benefit<C> = (candidate: C, starts: Int32Array) => number;

export interface SelectionHelp<C> {
  /** Is told of each candidate that is not taken, with the places that were left to it when that was decided. */
  readonly refused?: ((candidate: C, starts: Int32Array) => void) | undefined;
  /** What no benefit is above. */
  readonly bound?: Benefit<C>;
  /** The benefit of a candidate that would be taken: nothing is that has none. May be asked again of the same places. */
  readonly confirmed?: Benefit<C>;
}

/**
 * @param size of the sequence that starts are places in
 * @param benefit nothing is taken that has none
 * @returns in the order of taking
 */
export function selectCandidates<C extends Candidate>(
  candidates: readonly C[],
  size: number,
  benefit: Benefit<C>,
  { refused, bound, confirmed }: SelectionHelp<C> = {},
): Selected<C>[] {
  const taken = new Uint8Array(size);
  const queue: Waiting<C>[] = [];
  const enter = (waiting: Waiting<C>, isBound: boolean): void => {
    const { candidate, starts } = waiting;
    waiting.isBound = isBound;
    waiting.benefit = starts.length === 0 ? 0 : (isBound ? bound! : benefit)(candidate, starts);
    if (waiting.benefit > 0) push(queue, waiting);
    else refused?.(candidate, starts);
  };
  const isBounded = bound !== undefined;
  for (const candidate of candidates)
    enter(
      { candidate, benefit: 0, starts: free(candidate.starts, candidate.length, taken), isBound: isBounded },
      isBounded,
    );
  const selected: Selected<C>[] = [];
  for (let waiting = pop(queue); waiting !== undefined; waiting = pop(queue)) {
    const { candidate } = waiting;
    // From all its starts: where one is lost, another that overlapped it may be free.
    const starts = free(candidate.starts, candidate.length, taken);
    if (!areEqual(starts, waiting.starts)) {
      waiting.starts = starts;
      enter(waiting, isBounded);
      continue;
    }
    if (waiting.isBound) {
      enter(waiting, false);
      continue;
    }
    const gain = confirmed === undefined ? waiting.benefit : confirmed(candidate, starts);
    if (gain <= 0) {
      refused?.(candidate, starts);
      continue;
    }
    if (gain < waiting.benefit * closeEnough) {
      waiting.benefit = gain;
      push(queue, waiting);
      continue;
    }
    for (const start of starts) taken.fill(1, start, start + candidate.length);
    selected.push({ candidate, benefit: gain, starts });
  }
  return selected;
}

/** The places that are not taken, left to right without overlaps. */
function free(starts: Int32Array, length: number, taken: Uint8Array): Int32Array {
  /** Null: all are free up to here. */
  let kept: Int32Array | null = null;
  let count = 0;
  let end = 0;
  for (let i = 0; i < starts.length; i++) {
    const start = starts[i]!;
    if (start < end || isTaken(taken, start, start + length)) {
      kept ??= starts.slice();
      continue;
    }
    if (kept !== null) kept[count] = start;
    count++;
    end = start + length;
  }
  return kept === null ? starts : kept.subarray(0, count);
}

function areEqual(a: Int32Array, b: Int32Array): boolean {
  if (a === b) return true;
  if (a.length !== b.length) return false;
  for (let i = 0; i < a.length; i++) if (a[i] !== b[i]) return false;
  return true;
}

function isTaken(taken: Uint8Array, from: number, to: number): boolean {
  for (let i = from; i < to; i++) if (taken[i] === 1) return true;
  return false;
}

function isBefore<C extends Candidate>(a: Waiting<C>, b: Waiting<C>): boolean {
  if (a.benefit !== b.benefit) return a.benefit > b.benefit;
  // What it is bounded by it may be.
  if (a.isBound !== b.isBound) return a.isBound;
  if (a.candidate.length !== b.candidate.length) return a.candidate.length > b.candidate.length;
  return a.starts[0]! < b.starts[0]!;
}

/** A binary heap. */
function push<C extends Candidate>(heap: Waiting<C>[], waiting: Waiting<C>): void {
  let at = heap.length;
  heap.push(waiting);
  while (at > 0) {
    const up = (at - 1) >> 1;
    if (!isBefore(waiting, heap[up]!)) break;
    heap[at] = heap[up]!;
    at = up;
  }
  heap[at] = waiting;
}

function pop<C extends Candidate>(heap: Waiting<C>[]): Waiting<C> | undefined {
  const first = heap[0];
  const last = heap.pop();
  if (last === undefined || heap.length === 0) return first;
  let at = 0;
  for (;;) {
    let down = 2 * at + 1;
    if (down >= heap.length) break;
    if (down + 1 < heap.length && isBefore(heap[down + 1]!, heap[down]!)) down++;
    if (!isBefore(heap[down]!, last)) break;
    heap[at] = heap[down]!;
    at = down;
  }
  heap[at] = last;
  return first;
}

/** Those of the places that are wanted: the same list where all are, as mostly they are. */
export function wantedStarts(starts: Int32Array, isWanted: (start: number) => boolean): Int32Array {
  for (let i = 0; i < starts.length; i++) if (!isWanted(starts[i]!)) return starts.filter(isWanted);
  return starts;
}
