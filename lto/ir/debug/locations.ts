/**
 * Source locations: equal ones as one object, chains of calls that were inlined, and what two have in common.
 * Source: LLVM, `DILocation::getMergedLocation`, and "How to Update Debug Info".
 */
import type { GlobalValue } from "../module.js";
import type { OriginTable } from "../origin-table.js";
import type { DebugNode, DILocation, LocalScope } from "./nodes.js";

export class LocationPool {
  /** Locations where their hashes lead, or after that. A power of two, half of them unused. */
  private slots: (DILocation | undefined)[] = new Array(64).fill(undefined);
  private count = 0;
  private readonly numbers = new Map<DebugNode, number>();

  /** The location with these fields: the same object for the same ones. */
  location(
    line: number,
    column: number,
    scope: LocalScope,
    inlinedAt: DILocation | null,
    isImplicitCode = false,
  ): DILocation {
    const { slots } = this;
    const mask = slots.length - 1;
    let slot = this.hash(line, column, scope, inlinedAt) & mask;
    for (let at = slots[slot]; at !== undefined; at = slots[slot]) {
      if (
        at.line === line &&
        at.column === column &&
        at.scope === scope &&
        at.inlinedAt === inlinedAt &&
        at.isImplicitCode === isImplicitCode
      )
        return at;
      slot = (slot + 1) & mask;
    }
    const location = made(line, column, scope, inlinedAt, isImplicitCode);
    slots[slot] = location;
    if (2 * ++this.count > slots.length) this.grow();
    return location;
  }

  private grow(): void {
    const slots: (DILocation | undefined)[] = new Array(2 * this.slots.length).fill(undefined);
    const mask = slots.length - 1;
    for (const location of this.slots) {
      if (location === undefined) continue;
      const { line, column, scope, inlinedAt } = location;
      let slot = this.hash(line, column, scope!, inlinedAt) & mask;
      while (slots[slot] !== undefined) slot = (slot + 1) & mask;
      slots[slot] = location;
    }
    this.slots = slots;
  }

  private hash(line: number, column: number, scope: LocalScope, inlinedAt: DILocation | null): number {
    const call = inlinedAt === null ? 0 : this.numberOf(inlinedAt);
    const mixed =
      Math.imul(line, 0x9e3779b1) ^
      Math.imul(column, 0x85ebca6b) ^
      Math.imul(this.numberOf(scope), 0xc2b2ae35) ^
      Math.imul(call, 0x27d4eb2f);
    return mixed ^ (mixed >>> 15);
  }
  private numberOf(node: DebugNode): number {
    let number = this.numbers.get(node);
    if (number === undefined) this.numbers.set(node, (number = this.numbers.size + 1));
    return number;
  }
}

const made = (
  line: number,
  column: number,
  scope: LocalScope | null,
  inlinedAt: DILocation | null,
  isImplicitCode: boolean,
): DILocation => ({
  kind: "DILocation",
  distinct: false,
  line,
  column,
  scope,
  inlinedAt,
  isImplicitCode,
  atomGroup: 0,
  atomRank: 0,
});

/** Locations of origins, with the calls that this link inlined as `inlinedAt`. */
export class LocationChains {
  private readonly known: (DILocation | null)[] = [];
  private readonly sites: (DILocation | null)[] = [];
  private readonly copies = new Map<DILocation, Map<DILocation, DILocation>>();

  constructor(
    private readonly pool: LocationPool,
    private readonly code: OriginTable,
  ) {}

  of(number: number): DILocation | null {
    if (number <= 0) return null;
    const known = this.known[number];
    if (known !== undefined) return known;
    const into = this.code.intoOf(number);
    const place = this.code.placeOf(number);
    const location = place === null ? null : into === 0 ? place : this.extended(place, this.siteOf(into));
    this.known[number] = location;
    return location;
  }

  /** Where the call is that an origin stands for; one without a place is at line 0 of its function. */
  private siteOf(number: number): DILocation | null {
    const known = this.sites[number];
    if (known !== undefined) return known;
    const { fn, into, copy } = this.code.origin(number);
    const scope = subprogramOfGlobal(fn);
    const place =
      this.of(number) ??
      (scope === null ? null : this.pool.location(0, 0, scope, into === 0 ? null : this.siteOf(into)));
    const site = place === null || copy === 0 ? place : { ...place, distinct: true };
    this.sites[number] = site;
    return site;
  }

  /** @param up where the outermost function of the chain was called */
  private extended(location: DILocation, up: DILocation | null): DILocation {
    if (up === null) return location;
    let copies = this.copies.get(location);
    if (copies === undefined) this.copies.set(location, (copies = new Map()));
    let copy = copies.get(up);
    if (copy === undefined) {
      const inlinedAt = location.inlinedAt === null ? up : this.extended(location.inlinedAt, up);
      copies.set(up, (copy = { ...location, inlinedAt }));
    }
    return copy;
  }
}

const subprogramOfGlobal = (global: GlobalValue): LocalScope | null =>
  global.kind === "function" ? global.subprogram : null;

/**
 * The scopes that a location is in, from the innermost block to the outermost subprogram, each with its place there and the location
 * of the call that it is reached by.
 */
function* levels({ line, column, scope, inlinedAt }: DILocation): Generator<Level> {
  let place = { line, column };
  let site = inlinedAt;
  let at: DebugNode | null = scope;
  for (;;) {
    while (at !== null && (at.kind === "DILexicalBlock" || at.kind === "DILexicalBlockFile")) {
      yield { ...place, scope: at, site };
      at = at.scope;
    }
    if (at !== null && at.kind === "DISubprogram") yield { ...place, scope: at, site };
    if (site === null) return;
    place = site;
    at = site.scope;
    site = site.inlinedAt;
  }
}

interface Level {
  readonly line: number;
  readonly column: number;
  readonly scope: LocalScope;
  readonly site: DILocation | null;
}

/** What two locations in one function have in common; null: not even the function. */
export function mergedLocation(pool: LocationPool, a: DILocation, b: DILocation): DILocation | null {
  if (a === b) return a;
  const first = [...levels(a)];
  for (const { scope, site, line, column } of levels(b)) {
    const other = first.find((level) => level.scope === scope && level.site === site);
    if (other === undefined) continue;
    const isSame = other.line === line;
    return pool.location(isSame ? line : 0, isSame && other.column === column ? column : 0, scope, site);
  }
  return null;
}
