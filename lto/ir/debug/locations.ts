/**
 * Source locations: equal ones as one object, chains of calls that were inlined, and what two have in common.
 * Source: LLVM, `DILocation::getMergedLocation`, and "How to Update Debug Info".
 */
import type { GlobalValue } from "../module.js";
import type { CodeOrigin } from "../origins.js";
import type { DebugNode, DILocation, LocalScope } from "./nodes.js";

/** Lines and columns as one number: columns are written with 16 bits. */
const columns = 2 ** 16;

export class LocationPool {
  private readonly locations = new Map<LocalScope, Map<DILocation | null, Map<number, DILocation>>>();

  /** The location with these fields: the same object for the same ones. */
  location(
    line: number,
    column: number,
    scope: LocalScope,
    inlinedAt: DILocation | null,
    isImplicitCode = false,
  ): DILocation {
    let sites = this.locations.get(scope);
    if (sites === undefined) this.locations.set(scope, (sites = new Map()));
    let places = sites.get(inlinedAt);
    if (places === undefined) sites.set(inlinedAt, (places = new Map()));
    const key = (line * columns + column) * 2 + Number(isImplicitCode);
    let location = places.get(key);
    if (location === undefined)
      places.set(key, (location = made(line, column, scope, inlinedAt, isImplicitCode)));
    return location;
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
    private readonly code: readonly CodeOrigin[],
  ) {}

  of(number: number): DILocation | null {
    if (number <= 0) return null;
    const known = this.known[number];
    if (known !== undefined) return known;
    const { into, place } = this.code[number - 1]!;
    const location = place === null ? null : into === 0 ? place : this.extended(place, this.siteOf(into));
    this.known[number] = location;
    return location;
  }

  /** Where the call is that an origin stands for; one without a place is at line 0 of its function. */
  private siteOf(number: number): DILocation | null {
    const known = this.sites[number];
    if (known !== undefined) return known;
    const { fn, into, copy } = this.code[number - 1]!;
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
