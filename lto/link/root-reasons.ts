/**
 * Why definitions of a linked module are not local: what internalising went by, said in words, for reports. Nothing else
 * asks for it. Linear in the definitions.
 */
import { type GlobalValue, isReference, type Module } from "../ir/module.js";
import { compilePatterns } from "./exports.js";
import type { LinkOptions } from "./input.js";
import { isClosedWorld } from "./internalize.js";
import { RUNTIME_SYMBOLS } from "./runtime-symbols.js";
import type { LinkSymbol } from "./symbol-table.js";

/** Globs, and what gave them, as it is to be said: `--export`, `--export-list FILE`. */
export interface NamedPatterns {
  readonly from: string;
  readonly patterns: readonly string[];
}

/**
 * @param options that the module was linked with
 * @param told whatever makes up `options.exports` and `options.undefined`
 * @returns reasons by the name of each definition that unknown code may use; at least one each
 */
export function rootReasons(
  module: Module,
  symbols: ReadonlyMap<string, LinkSymbol>,
  options: LinkOptions,
  told: readonly NamedPatterns[],
): Map<string, string[]> {
  const lists = told.map(({ from, patterns }) => ({ from, matches: compilePatterns(patterns) }));
  const closed = isClosedWorld(symbols, options);
  const reasonsFor = (global: GlobalValue): string[] => {
    const { name } = global;
    const reasons: string[] = [];
    if (options.output === "relocatable") reasons.push("--relocatable: the result is linked further");
    if (name === options.entry || name === options.startsAt) reasons.push("the entry");
    const user = symbols.get(name)?.usedBy ?? null;
    if (user !== null) reasons.push(`used by ${user}`);
    if (module.pinned.has(global) && user === null) reasons.push("in assembly or a list of used symbols");
    if (RUNTIME_SYMBOLS.has(name)) reasons.push("a routine that code generation may call");
    for (const { from, matches } of lists) if (matches(name)) reasons.push(`named by ${from}`);
    if (reasons.length > 0) return reasons;
    if (options.exportDynamic) reasons.push("visible, with --export-dynamic");
    else if (!closed)
      reasons.push(
        options.output === "shared"
          ? "visible in the shared library"
          : `visible, and nothing defines the entry`,
      );
    return reasons;
  };
  const all = new Map<string, string[]>();
  for (const global of module.globals) {
    if (global.linkage === "appending" || isReference(global)) continue;
    if (global.isLocal && !module.pinned.has(global)) continue;
    const reasons = reasonsFor(global);
    // Such groups are kept or left out together.
    if (global.comdat !== null && reasons.length === 0)
      reasons.push(`in the comdat group ${global.comdat.name}, of which another member stays`);
    all.set(global.name, reasons.length > 0 ? reasons : ["not local"]);
  }
  return all;
}
