/**
 * constmerge: one copy of constants that are equal.
 *
 * Files that were compiled apart have the same strings and tables. Constants with equal contents become one where nobody
 * can tell by the address: all but one of them have an address that means nothing.
 *
 * Method: sorted into buckets by a structural hash, then compared. What mentions a copy mentions the one that stays; that
 * may make further constants equal (tables of strings), so it is repeated until nothing is found. Linear in the
 * constants, times the depth to which they mention each other.
 *
 * Proof obligations:
 *  - a constant that goes is local, its address insignificant (unnamed_addr), and nothing but its contents says what it
 *    is: no section, comdat, thread, type identifiers, no mention by assembly;
 *  - the one that stays is a definition that nothing replaces, with the same contents always, and the larger alignment;
 *    two with significant addresses never become one;
 *  - contents are compared bit by bit: floating point by its bits, padding by the type, undefined members only with such.
 *
 * Why before folding of functions: those that mention equal constants are equal then.
 */
import { isExact } from "../analysis/exact.js";
import { hashConstant } from "../ir/hash.js";
import type { GlobalValue, GlobalVariable, Module } from "../ir/module.js";
import { sameConstant } from "../ir/values.js";
import { summary } from "../pass/analyses.js";
import type { ModulePass } from "../pass/pass.js";
import { replaceGlobals, replaceInInitializers } from "./replace-globals.js";

/** The contents are all that matters of it. */
const isPlainConstant = (variable: GlobalVariable): boolean =>
  variable.isConstant &&
  variable.initializer !== null &&
  !variable.externallyInitialized &&
  variable.threadLocal === "none" &&
  variable.section === "" &&
  variable.codeModel === null &&
  variable.comdat === null &&
  variable.typeIds.length === 0 &&
  variable.linkage !== "appending" &&
  variable.type.addressSpace === 0 &&
  isExact(variable);

/** Finds copies: which of the constants can be which other. @param gone those that are out of it */
function findCopies(
  module: Module,
  gone: ReadonlyMap<GlobalValue, GlobalValue>,
): Map<GlobalValue, GlobalValue> {
  const numbers = new Map<GlobalValue, number>(module.globals.map((global, index) => [global, index]));
  const buckets = new Map<number, GlobalVariable[]>();
  for (const variable of module.variables) {
    if (!isPlainConstant(variable) || gone.has(variable)) continue;
    const hash = hashConstant(variable.initializer!, (global) => numbers.get(global) ?? -1);
    const bucket = buckets.get(hash);
    if (bucket === undefined) buckets.set(hash, [variable]);
    else bucket.push(variable);
  }
  const goes = (variable: GlobalVariable): boolean =>
    variable.isLocal && variable.unnamedAddr !== "none" && !module.pinned.has(variable);
  const copies = new Map<GlobalValue, GlobalValue>();
  for (const bucket of buckets.values()) {
    if (bucket.length === 1) continue;
    // Those that have to stay come first.
    const ordered = [...bucket.filter((v) => !goes(v)), ...bucket.filter(goes)];
    const kept: GlobalVariable[] = [];
    for (const variable of ordered) {
      const same = goes(variable)
        ? kept.find((other) => sameConstant(other.initializer!, variable.initializer!))
        : undefined;
      if (same === undefined) kept.push(variable);
      else {
        copies.set(variable, same);
        const { dataLayout } = module;
        const alignOf = ({ align, valueType }: GlobalVariable): number =>
          align === 0 ? dataLayout.preferredAlign(valueType) : align;
        if (alignOf(variable) > alignOf(same)) same.align = alignOf(variable);
      }
    }
  }
  return copies;
}

export const constmerge: ModulePass = {
  name: "constmerge",
  level: "module",
  description: "makes constants with equal contents one",
  counters: { merged: "constants that were copies" },
  requires: [summary],
  preserves: [],
  run(module, context) {
    const all = new Map<GlobalValue, GlobalValue>();
    for (;;) {
      const copies = findCopies(module, all);
      if (copies.size === 0) break;
      for (const [copy, kept] of copies) all.set(copy, kept);
      // Bodies mention what is left only once nothing more is found.
      replaceInInitializers(module, copies);
    }
    if (all.size === 0) return false;
    for (const copy of all.keys()) {
      let kept = all.get(copy)!;
      for (let next = all.get(kept); next !== undefined; next = all.get(kept)) kept = next;
      all.set(copy, kept);
    }
    context.count("merged", all.size);
    for (const [copy, kept] of all) module.origins?.absorbs(kept, copy);
    replaceGlobals(module, context.ofModule(summary), all);
    return true;
  },
};
