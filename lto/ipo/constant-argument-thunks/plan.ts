/**
 * Which arguments of calls are bound together.
 *
 * Greedy: what most bytes are saved by comes first, with all that those calls have in common besides; then, of these calls,
 * what some of them share in addition, which goes to a function of its own before the first. Linear in the arguments,
 * times as many as one call has.
 */
import type { Func } from "../../ir/module.js";
import type { CallSite, Item } from "./sites.js";

/** A function that sets arguments and goes on to another one. */
export interface Binding {
  readonly items: readonly Item[];
  /** Calls that it is for, without those of `inner`. */
  readonly sites: readonly CallSite[];
  /** That set more, and go on to this one. */
  readonly inner: readonly Binding[];
  /** Bytes saved, as estimated, without those of `inner`. */
  readonly gain: number;
}

interface Bindings {
  readonly found: readonly Binding[];
  /** Calls that none of them is for. */
  readonly rest: readonly CallSite[];
}

export interface JumpBytes {
  /** To the callee: the first jump can be without code, where the callee stands after it. */
  readonly first: number;
  readonly next: number;
}

/** Between functions of the program. */
const between: JumpBytes = { first: 0.5, next: 3 };
const elsewhere: JumpBytes = { first: 5, next: 5 };
export const jumpsTo = ({ isDeclaration }: Func): JumpBytes => (isDeclaration ? elsewhere : between);

const leastGain = 2.5;

/** @param bound what all of them set already */
export function bindingsFor(
  sites: readonly CallSite[],
  { first, next }: JumpBytes,
  bound: ReadonlySet<Item> = new Set(),
): Bindings {
  const found: Binding[] = [];
  const done = new Set<CallSite>();
  for (const [item, list] of candidates(sites, bound)) {
    const free = list.filter((site) => !done.has(site));
    if (free.length < 2) continue;
    const items = free[0]!.items.filter(
      (other) => !bound.has(other) && (other === item || free.every(({ items }) => items.includes(other))),
    );
    const bytes = items.reduce((sum, { bytes }) => sum + bytes, 0);
    const gain = (free.length - 1) * bytes - (found.length === 0 ? first : next);
    if (gain < leastGain) continue;
    for (const site of free) done.add(site);
    const inner = bindingsFor(free, between, new Set([...bound, ...items]));
    found.push({ items, sites: inner.rest, inner: inner.found, gain });
  }
  return { found, rest: sites.filter((site) => !done.has(site)) };
}

/** What several calls set, by the bytes of it. */
function candidates(sites: readonly CallSite[], bound: ReadonlySet<Item>): [Item, CallSite[]][] {
  const users = new Map<Item, CallSite[]>();
  for (const site of sites)
    for (const item of site.items) {
      if (bound.has(item)) continue;
      const list = users.get(item);
      if (list === undefined) users.set(item, [site]);
      else list.push(site);
    }
  const weight = ([item, { length }]: [Item, CallSite[]]): number => (length - 1) * item.bytes;
  return [...users]
    .filter(([, { length }]) => length > 1)
    .sort((a, b) => weight(b) - weight(a) || a[0].id - b[0].id);
}
