/**
 * How much each of several decisions is worth, when all are made together. What one saves depends on the others, so there
 * are several answers: left out alone, taken alone, in pairs, and the Shapley value, which is the mean of what it saves
 * over all orders of taking them, here over some orders. Shapley values add up to what all save together.
 */

/** Bytes of the program with just these decisions, by their numbers. */
export type Measure = (taken: ReadonlySet<number>) => Promise<number>;

export interface ShapleyValue {
  /** Bytes. */
  readonly mean: number;
  /** Of the mean; 0 for one order. */
  readonly standardError: number;
}

/** Numbers from 0 up to 1, the same in each run. xorshift32 (Marsaglia, 2003). */
function randomNumbers(seed: number): () => number {
  let state = seed | 1;
  return () => {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    return (state >>> 0) / 2 ** 32;
  };
}

function shuffled(count: number, random: () => number): number[] {
  const order = Array.from({ length: count }, (_, i) => i);
  for (let i = count - 1; i > 0; i--) {
    const j = Math.floor(random() * (i + 1));
    [order[i], order[j]] = [order[j]!, order[i]!];
  }
  return order;
}

/**
 * @param count of decisions
 * @param orders how many are looked at: each with its reverse, which evens out who is early
 */
export async function shapleyValues(
  count: number,
  orders: number,
  measure: Measure,
): Promise<ShapleyValue[]> {
  const random = randomNumbers(0x9e3779b9);
  const samples: number[][] = Array.from({ length: count }, () => []);
  let order: number[] = [];
  for (let n = 0; n < orders; n++) {
    order = n % 2 === 0 ? shuffled(count, random) : [...order].reverse();
    const taken = new Set<number>();
    let bytes = await measure(taken);
    for (const decision of order) {
      taken.add(decision);
      const less = await measure(taken);
      samples[decision]!.push(bytes - less);
      bytes = less;
    }
  }
  return samples.map((list) => {
    const mean = list.reduce((sum, value) => sum + value, 0) / list.length;
    const squares = list.reduce((sum, value) => sum + (value - mean) ** 2, 0);
    const standardError = list.length < 2 ? 0 : Math.sqrt(squares / (list.length - 1) / list.length);
    return { mean, standardError };
  });
}

export interface Interaction {
  readonly first: number;
  readonly second: number;
  /** Bytes that leaving out both costs. */
  readonly together: number;
  /** What that is more than leaving out each alone: positive, one does in part what the other does. */
  readonly beyond: number;
}

/** Pairs of some of `count` decisions, by their numbers, the strongest interaction first. */
export async function interactions(
  count: number,
  measure: Measure,
  some: readonly number[] = Array.from({ length: count }, (_, i) => i),
): Promise<Interaction[]> {
  const all = new Set(Array.from({ length: count }, (_, i) => i));
  const without = async (...left: readonly number[]): Promise<number> =>
    measure(new Set([...all].filter((one) => !left.includes(one))));
  const whole = await without();
  const alone = new Map<number, number>();
  for (const one of some) alone.set(one, (await without(one)) - whole);
  const result: Interaction[] = [];
  for (const [i, first] of some.entries())
    for (const second of some.slice(i + 1)) {
      const together = (await without(first, second)) - whole;
      result.push({ first, second, together, beyond: together - alone.get(first)! - alone.get(second)! });
    }
  return result.sort((a, b) => Math.abs(b.beyond) - Math.abs(a.beyond));
}

/** The middle of a list, of an even number the mean of the two. */
export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  const half = sorted.length >> 1;
  return sorted.length % 2 === 1 ? sorted[half]! : (sorted[half - 1]! + sorted[half]!) / 2;
}
