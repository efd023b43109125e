/**
 * Search for an order of passes: hill climbing by random changes.
 *
 * A change swaps two passes, moves one, takes one out, or runs one once more. It stays if the programs together get smaller
 * (geometric mean) and none of them gets larger. Programs are tried one after the other, and a change that makes one larger
 * is given up at once: most are given up after one link. The same seed tries the same changes. Orders that were tried
 * are not tried again.
 */
import type { Random } from "./random.js";
import { geometricMean } from "./tables.js";

export type Order = readonly string[];

/** How many times a pass may be in an order. */
const mostOften = 3;

/** The order with one change, and what that is. @param passes those that there are */
export function changed(order: Order, passes: Order, random: Random): { order: Order; what: string } {
  const list = [...order];
  const at = random.below(list.length);
  switch (random.below(4)) {
    case 0: {
      const other = random.below(list.length);
      [list[at], list[other]] = [list[other]!, list[at]!];
      return { order: list, what: `swap ${order[at]!} (${at}) and ${order[other]!} (${other})` };
    }
    case 1: {
      const to = random.below(list.length);
      list.splice(to, 0, ...list.splice(at, 1));
      return { order: list, what: `move ${order[at]!} from ${at} to ${to}` };
    }
    case 2:
      if (list.length === 1) return { order, what: "nothing" };
      list.splice(at, 1);
      return { order: list, what: `without ${order[at]!} (${at})` };
    default: {
      const pass = passes[random.below(passes.length)]!;
      const to = random.below(list.length + 1);
      if (list.filter((name) => name === pass).length >= mostOften) return { order, what: "nothing" };
      list.splice(to, 0, pass);
      return { order: list, what: `${pass} once more, at ${to}` };
    }
  }
}

export interface Search {
  readonly start: Order;
  /** Passes that may be in an order. */
  readonly passes: Order;
  readonly programs: readonly string[];
  /** Links that may be made, those of the start included. */
  readonly budget: number;
  readonly random: Random;
  /** Bytes of a program. */
  readonly size: (program: string, order: Order) => Promise<number>;
  readonly log: (line: string) => void;
}

/** @returns the best order found, and its size relative to the start's in the geometric mean */
export async function searchOrder(
  search: Search,
): Promise<{ readonly order: Order; readonly ratio: number }> {
  const { start, passes, programs, budget, random, size, log } = search;
  let links = 0;
  const measure = (program: string, order: Order): Promise<number> => {
    links++;
    return size(program, order);
  };
  const first: number[] = [];
  for (const program of programs) first.push(await measure(program, start));
  let best = { order: start, sizes: first };
  const tried = new Set([start.join()]);
  // Changes run out where there are few passes.
  for (let idle = 0; links + programs.length <= budget && idle < 1000; ) {
    const { order, what } = changed(best.order, passes, random);
    if (tried.has(order.join())) {
      idle++;
      continue;
    }
    idle = 0;
    tried.add(order.join());
    const sizes: number[] = [];
    for (const [i, program] of programs.entries()) {
      sizes.push(await measure(program, order));
      if (sizes[i]! > best.sizes[i]!) break;
    }
    const isWhole = sizes.length === programs.length && sizes.every((bytes, i) => bytes <= best.sizes[i]!);
    const gain = sizes.map((bytes, i) => `${programs[i]!} ${signed(bytes - best.sizes[i]!)}`).join(", ");
    const isBetter = isWhole && sizes.some((bytes, i) => bytes < best.sizes[i]!);
    log(`${links} links: ${what}: ${gain}${isBetter ? ": taken" : ""}`);
    if (isBetter) best = { order, sizes };
  }
  return { order: best.order, ratio: geometricMean(best.sizes.map((bytes, i) => bytes / first[i]!)) };
}

const signed = (n: number): string => (n > 0 ? `+${n}` : String(n));
