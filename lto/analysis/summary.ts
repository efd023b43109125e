/**
 * Module summaries: what whole-program decisions need to know of each global without its body.
 *
 * A summary is parallel to `Module.globals`: entry i describes global i, and globals are named by that
 * index. Objects store it, so that a link decodes no body to resolve, internalise or drop.
 *
 * A summary is of one moment. What makes it stale: another list of globals, another initialiser, linkage or personality,
 * and every edit of a body, which `Func.revision` shows. `updatedSummary` looks again at what has changed.
 */
import type { GlobalValue, Linkage, Module, Visibility } from "../ir/module.js";
import { ownReferences, scanBody } from "./references.js";

export { Trait } from "./references.js";

export interface SymbolSummary {
  readonly name: string;
  readonly kind: GlobalValue["kind"];
  readonly linkage: Linkage;
  readonly visibility: Visibility;
  readonly isDeclaration: boolean;
  /** Globals that the body calls directly, intrinsics included; ascending indices. */
  readonly calls: readonly number[];
  /** Globals mentioned otherwise: addresses taken, initialiser, aliasee, personality; ascending indices. */
  readonly references: readonly number[];
  /** IR instructions of the body, 0 without one. */
  readonly instructions: number;
  /** Bits of `Trait`. */
  readonly traits: number;
  /** Hash of the encoded body, "" when it is not known. */
  readonly hash: string;
  /** Of the body it describes (`Func.revision`); 0 for globals without one. */
  readonly revision: number;
}

export interface ModuleSummary {
  readonly symbols: readonly SymbolSummary[];
  /** `Module.pinned`, as indices. */
  readonly pinned?: readonly number[];
}

const ascending = (globals: Iterable<GlobalValue>, indices: ReadonlyMap<GlobalValue, number>): number[] => {
  const list: number[] = [];
  for (const global of globals) {
    const index = indices.get(global);
    if (index === undefined) throw new Error(`@${global.name} is mentioned but not in the module`);
    list.push(index);
  }
  return list.sort((a, b) => a - b);
};

/** Index of each global in its module. */
export function globalIndices({ globals }: Module): Map<GlobalValue, number> {
  const indices = new Map<GlobalValue, number>();
  for (let i = 0; i < globals.length; i++) indices.set(globals[i]!, i);
  return indices;
}

export const revisionOf = (global: GlobalValue): number => (global.kind === "function" ? global.revision : 0);

/** Of a global's own properties: one literal, since every symbol has such an object, after every change of the module. */
export const symbolSummary = (
  {
    name,
    kind,
    linkage,
    visibility,
    isDeclaration,
  }: Pick<SymbolSummary, "name" | "kind" | "linkage" | "visibility" | "isDeclaration">,
  calls: readonly number[],
  references: readonly number[],
  instructions: number,
  traits: number,
  hash: string,
  revision: number,
): SymbolSummary => ({
  name,
  kind,
  linkage,
  visibility,
  isDeclaration,
  calls,
  references,
  instructions,
  traits,
  hash,
  revision,
});

const noSymbols: readonly number[] = [];

/** Most declarations and strings: there is nothing to walk. */
function mentionsNothing(global: GlobalValue): boolean {
  if (global.kind === "function")
    return global.prefix === null && global.prologue === null && global.personality === null;
  if (global.kind !== "variable") return false;
  switch (global.initializer?.valueKind) {
    case undefined:
    case "int":
    case "data":
    case "zero":
      return true;
    default:
      return false;
  }
}

/** Describes one global; a function's body is decoded if need be and left decoded. */
export function summarizeGlobal(
  global: GlobalValue,
  indices: ReadonlyMap<GlobalValue, number>,
  hash = "",
): SymbolSummary {
  if (global.kind === "function" && !global.isDeclaration) {
    const { calls, references, instructions, traits } = scanBody(global, global.view());
    const called = ascending(calls, indices);
    const mentioned = ascending(references, indices);
    return symbolSummary(global, called, mentioned, instructions, traits, hash, global.revision);
  }
  const references = mentionsNothing(global) ? noSymbols : ascending(ownReferences(global), indices);
  return symbolSummary(global, noSymbols, references, 0, 0, hash, revisionOf(global));
}

/**
 * Summary of a module in memory. Bodies are decoded one after another; those that can be decoded again are
 * released unless `keepBodies`.
 */
export function summarizeModule(module: Module, keepBodies = false): ModuleSummary {
  const indices = globalIndices(module);
  const symbols = module.globals.map((global) => {
    if (keepBodies || global.kind !== "function" || global.isDeclaration)
      return summarizeGlobal(global, indices);
    return global.peek(() => summarizeGlobal(global, indices));
  });
  return { symbols, pinned: pinnedIn(module, indices) };
}

const pinnedIn = (module: Module, indices: ReadonlyMap<GlobalValue, number>): number[] =>
  ascending(
    [...module.pinned].filter((global) => indices.has(global)),
    indices,
  );

/**
 * The summary of a module as it is now, from one made before: only bodies that were edited since are looked at again.
 * @param before the module's globals when `known` was made, if they are others now
 */
export function updatedSummary(
  module: Module,
  known: ModuleSummary,
  before: readonly GlobalValue[] = module.globals,
): ModuleSummary {
  const indices = globalIndices(module);
  const { places, indexOf, isSame } = comparePlaces(before, indices);
  const moved = (list: readonly number[]): readonly number[] => {
    if (isSame) return list;
    const result: number[] = [];
    let isAscending = true;
    for (let i = 0; i < list.length; i++) {
      const index = indexOf[list[i]!]!;
      if (index < 0) throw new Error(`@${before[list[i]!]!.name} is mentioned but not in the module`);
      if (i > 0 && index < result[i - 1]!) isAscending = false;
      result.push(index);
    }
    return isAscending ? result : result.sort((a, b) => a - b);
  };
  const symbols = module.globals.map((global): SymbolSummary => {
    const place = places.get(global);
    const old = place === undefined ? undefined : known.symbols[place];
    if (global.kind !== "function" || global.isDeclaration) {
      const isKnown = old !== undefined && old.references.length === 0 && mentionsNothing(global);
      return isKnown && isNamedSo(global, old) ? old : summarizeGlobal(global, indices);
    }
    if (old === undefined || old.isDeclaration || old.revision !== global.revision)
      return global.peek(() => summarizeGlobal(global, indices));
    if (isSame && isNamedSo(global, old)) return old;
    const { calls, references, instructions, traits, hash, revision } = old;
    return symbolSummary(global, moved(calls), moved(references), instructions, traits, hash, revision);
  });
  return { symbols, pinned: pinnedIn(module, indices) };
}

const isNamedSo = (global: GlobalValue, known: SymbolSummary): boolean =>
  known.name === global.name &&
  known.linkage === global.linkage &&
  known.visibility === global.visibility &&
  known.isDeclaration === global.isDeclaration &&
  known.revision === revisionOf(global);

/** Where globals were and are, by their places before; -1 for those that are gone. */
function comparePlaces(
  before: readonly GlobalValue[],
  indices: ReadonlyMap<GlobalValue, number>,
): { places: ReadonlyMap<GlobalValue, number>; indexOf: Int32Array; isSame: boolean } {
  const indexOf = new Int32Array(before.length);
  let isSame = true;
  for (let i = 0; i < before.length; i++) {
    indexOf[i] = indices.get(before[i]!) ?? -1;
    if (indexOf[i] !== i) isSame = false;
  }
  if (isSame && before.length === indices.size) return { places: indices, indexOf, isSame };
  const places = new Map<GlobalValue, number>();
  for (let i = 0; i < before.length; i++) places.set(before[i]!, i);
  return { places, indexOf, isSame };
}
