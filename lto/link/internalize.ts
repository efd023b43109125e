/**
 * Internalising: definitions that nothing outside of the linked module can reach become local, so that
 * later passes know all of their users.
 *
 * What stays: the entry, exports, what native code or module asm mentions, members of `llvm.used`, and
 * routines that code generation may call on its own; those that only code calls are listed as such (`Module.routines`). A comdat group that has one such member stays whole
 * (its members are kept or discarded together by the system linker); the others lose their comdat.
 * Without an entry the world is open: only hidden symbols become local; a relocatable output changes nothing.
 * Requires: merged module, complete symbol table. After it, a non-local definition is a root.
 */
import { type Comdat, type GlobalValue, isReference, type Module } from "../ir/module.js";
import { compilePatterns, compileVersions } from "./exports.js";
import type { LinkOptions } from "./input.js";
import { comdatOf, type Resolution } from "./resolve.js";
import { isRuntimeSymbol } from "./runtime-symbols.js";
import type { LinkSymbol } from "./symbol-table.js";

/**
 * A shared library need not export what every user has a copy of, if nobody in it cares where its own is. Variables that change are
 * one in the whole process. Source: LLVM, GlobalValue::canBeOmittedFromSymbolTable.
 */
function isCopiedByUsers(global: GlobalValue): boolean {
  if (global.linkage !== "linkonce_odr" || global.unnamedAddr === "none") return false;
  return global.unnamedAddr === "global" || global.kind !== "variable" || global.isConstant;
}

/** Whether the program's entry is defined, so that all uses but the exported ones are known. */
export function isClosedWorld(symbols: ReadonlyMap<string, LinkSymbol>, options: LinkOptions): boolean {
  const { output, entry, startsAt = "" } = options;
  return output === "executable" && [entry, startsAt].some((name) => symbols.get(name)?.isDefined ?? false);
}

/** Whether a file, as messages name it, is a member of an archive that is listed, with or without its `.a`. */
function isExcluded(file: string, libraries: readonly string[]): boolean {
  const end = file.endsWith(")") ? file.lastIndexOf("(") : -1;
  if (end < 0) return false;
  const archive = file.slice(file.lastIndexOf("/", end) + 1, end);
  return libraries.some((name) => name === "ALL" || archive === name || archive === `${name}.a`);
}

/** Hides what archives define that are not to be seen from outside: a definition elsewhere that prevailed is not theirs. */
export function hideExcluded(
  module: Module,
  fileOf: (global: GlobalValue) => string | undefined,
  libraries: readonly string[],
): void {
  if (libraries.length === 0) return;
  for (const global of module.globals)
    if (!global.isLocal && !global.isDeclaration && global.visibility === "default")
      if (global.linkage !== "appending" && isExcluded(fileOf(global) ?? "", libraries)) {
        global.visibility = "hidden";
        global.dsoLocal = true;
      }
}

/**
 * Says of what a shared library shows whether those in it reach it whatever else is loaded. By default they go through the linker's
 * table, and passes may nevertheless read bodies, as compilers do that were not asked for -fsemantic-interposition. What is listed as
 * replaceable gets weak linkage, so that nothing is concluded from it: its own library has to take whatever is loaded in its place.
 * The linker, given the same options, binds what is left to go through it.
 *
 * Definitions of which all are alike (weak_odr) can be read whichever runs.
 * Sources: GNU ld's manual, "Command-line Options"; lld, computeIsPreemptible; LLVM, GlobalValue::isInterposable.
 */
function bindInLibrary(globals: readonly GlobalValue[], options: LinkOptions): void {
  const isListed = compilePatterns(options.replaceable ?? []);
  for (const global of globals) {
    if (global.isDeclaration || global.linkage !== "external") continue;
    if (global.visibility === "default" && isListed(global.name)) {
      global.linkage = "weak";
      global.dsoLocal = false;
    } else if (options.symbolicFunctions === true && global.kind === "function") global.dsoLocal = true;
  }
}

/**
 * Makes local what may be; changes linkages of the module's globals in place.
 * @param unloaded as resolving found it
 */
export function internalize(
  module: Module,
  symbols: ReadonlyMap<string, LinkSymbol>,
  pinned: ReadonlySet<GlobalValue>,
  options: LinkOptions,
  unloaded: Resolution["unloaded"] = new Map(),
): void {
  if (options.output === "relocatable") return;
  const closed = isClosedWorld(symbols, options);
  const isExported = compilePatterns([
    ...options.exports,
    ...options.undefined,
    ...(options.undefinedGlobs ?? []),
  ]);

  const isKept = compilePatterns(options.keptSections ?? []);
  const isDroppable = (name: string): boolean => closed && options.droppable?.(name) === true;
  const mustStay = (global: GlobalValue): boolean =>
    global.name === options.entry ||
    global.name === options.startsAt ||
    pinned.has(global) ||
    (symbols.get(global.name)?.usedOutside ?? false) ||
    (isRuntimeSymbol(global.name) && !isDroppable(global.name)) ||
    options.callable?.(global.name) === true ||
    ("section" in global && global.section !== "" && isKept(global.section)) ||
    isExported(global.name);
  const isHidden = options.versions === undefined ? () => false : compileVersions(options.versions);
  const isVisible = (global: GlobalValue): boolean =>
    !isHidden(global.name) &&
    global.visibility !== "hidden" &&
    !(options.output === "shared" && isCopiedByUsers(global));
  const keeps = (global: GlobalValue): boolean =>
    mustStay(global) || ((!closed || options.exportDynamic) && isVisible(global));

  const keptGroups = new Set<Comdat>();
  const candidates = module.globals.filter(
    (global) => !global.isLocal && !isReference(global) && global.linkage !== "appending",
  );
  const kept = new Set(candidates.filter(keeps));
  const routines = new Map<string, GlobalValue>();
  for (const global of candidates)
    if (!kept.has(global) && isRuntimeSymbol(global.name) && isDroppable(global.name)) {
      kept.add(global);
      routines.set(global.name, global);
      module.routines.set(global.name, [global]);
    }
  for (const [name, mentioned] of unloaded)
    for (const definition of mentioned) {
      const routine = routines.get(definition);
      if (routine === undefined) continue;
      const listed = module.routines.get(name);
      if (listed === undefined) module.routines.set(name, [routine]);
      else if (!listed.includes(routine)) listed.push(routine);
    }
  for (const global of kept) {
    const comdat = comdatOf(global);
    if (comdat !== null) keptGroups.add(comdat);
  }
  for (const global of candidates) {
    const comdat = comdatOf(global);
    if (kept.has(global)) {
      // Required by name, so it may not vanish for lack of users in the IR.
      const isNeeded = routines.get(global.name) === global || mustStay(global);
      if (isNeeded && global.linkage === "linkonce") global.linkage = "weak";
      if (isNeeded && global.linkage === "linkonce_odr") global.linkage = "weak_odr";
    } else if (comdat === null || !keptGroups.has(comdat)) {
      global.linkage = "internal";
      global.visibility = "default";
      global.dsoLocal = true;
    }
  }
  if (options.output === "shared") bindInLibrary(candidates, options);
  // Locals of a group without a kept member leave it too.
  for (const global of module.globals)
    if (global.comdat !== null && !keptGroups.has(global.comdat)) global.comdat = null;
}
