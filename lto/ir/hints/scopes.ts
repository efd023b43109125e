/**
 * Alias scopes: claims that accesses in some scopes do not touch what accesses without them do, as `restrict` and
 * inlined `noalias` parameters make them (LLVM Language Reference, "'noalias' and 'alias.scope' Metadata").
 *
 * A scope is an object of its own, compared by identity, and means something within one decoded body: who copies
 * code into another function, or repeats code that contains a scope's declaration, makes new scopes for the copy
 * (or drops these hints). A body that is decoded again has others.
 */

export class AliasDomain {
  constructor(readonly name: string) {}
}

export class AliasScope {
  constructor(
    readonly domain: AliasDomain,
    readonly name: string,
  ) {}
}

export type ScopeList = readonly AliasScope[];

/**
 * Whether an access in `scopes` can touch what an access with the `noalias` list touches: not if, in some
 * domain, it is in scopes and the list has them all.
 */
export function scopesMayAlias(scopes: ScopeList | null, noalias: ScopeList | null): boolean {
  if (scopes === null || noalias === null) return true;
  for (const { domain } of noalias) {
    let inDomain = 0;
    let missing = false;
    for (const scope of scopes) {
      if (scope.domain !== domain) continue;
      inDomain++;
      if (!noalias.includes(scope)) missing = true;
    }
    if (inDomain > 0 && !missing) return false;
  }
  return true;
}

/** Scopes of an access that is one of two: of domains that both are in, all scopes of either. */
export function joinScopes(a: ScopeList | null, b: ScopeList | null): ScopeList | null {
  if (a === b || a === null || b === null) return a === b ? a : null;
  const shared = (list: ScopeList, { domain }: AliasScope): boolean => list.some((s) => s.domain === domain);
  const joined = [...new Set([...a.filter((s) => shared(b, s)), ...b.filter((s) => shared(a, s))])];
  return joined.length === 0 ? null : joined;
}

/** What an access that is one of two does not touch: the scopes that both lists have. */
export function intersectScopes(a: ScopeList | null, b: ScopeList | null): ScopeList | null {
  if (a === b || a === null || b === null) return a === b ? a : null;
  const both = a.filter((scope) => b.includes(scope));
  return both.length === 0 ? null : both;
}
