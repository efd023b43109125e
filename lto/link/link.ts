/**
 * Linking, in order:
 *
 *  1. resolve: loads what is needed; afterwards each name has its final definition, or none in the IR.
 *  2. merge: one module; afterwards names are unique and mentions go to prevailing definitions only.
 *  3. internalize: afterwards a non-local definition is one that something outside may use.
 *  4. dropDead: afterwards everything in the module is reachable from what is outside.
 *
 * No step needs a body of an IR object decoded; bodies of other inputs are decoded when step 4 reaches them.
 * Errors of all steps are collected; with any, there is no module.
 */

import type { ModuleSummary } from "../analysis/summary.js";
import { isReservedName } from "../ir/intrinsics.js";
import type { GlobalValue, Module } from "../ir/module.js";
import type { Steps } from "../ir/steps.js";
import { type Diagnostic, Diagnostics } from "./diagnostics.js";
import { dropDead } from "./drop-dead.js";
import { defaultLinkOptions, type LazyMember, type LinkInput, type LinkOptions } from "./input.js";
import { hideExcluded, internalize, isClosedWorld } from "./internalize.js";
import { LinkedFacts } from "./linked-facts.js";
import { type Merged, merge } from "./merge.js";
import { type Resolution, resolve } from "./resolve.js";
import { declareReturnsTwice } from "./returning-twice.js";
import type { LinkSymbol } from "./symbol-table.js";
import { showWholeProgram } from "./whole-program-visibility.js";

export interface LinkResult {
  /** The linked program; null when there are errors. */
  readonly module: Module | null;
  /** Parallel to `module.globals`. */
  readonly summary: ModuleSummary;
  readonly diagnostics: readonly Diagnostic[];
  /** The final symbol table. */
  readonly symbols: ReadonlyMap<string, LinkSymbol>;
  /** Archive members that were loaded, in that order. */
  readonly extracted: readonly LazyMember[];
  /** All users of local definitions are known. */
  readonly closedWorld: boolean;
  /** How many globals were dropped as unreachable. */
  readonly dropped: number;
  /** IR instructions in the linked module. */
  readonly instructions: number;
  /** The file that a global of the linked module came from, where it came from one. */
  fileOf(global: GlobalValue): string | undefined;
  /** The file that a module flag has its value from. */
  fileOfFlag(key: string): string | undefined;
}

/**
 * Links modules and the symbols of native objects. Takes ownership of the modules. The steps are globals.
 * @throws InputError when a lazy member or a body turns out to be malformed
 */
export function* linkModules(
  inputs: readonly LinkInput[],
  given: Partial<LinkOptions> = {},
): Steps<LinkResult> {
  const options: LinkOptions = { ...defaultLinkOptions, ...given };
  const diagnostics = new Diagnostics(options.errorLimit);
  const resolution = resolve(inputs, options, diagnostics);
  const { symbols, extracted } = resolution;
  const merged = merge(resolution, options, diagnostics);
  const { module } = merged;
  const closedWorld = isClosedWorld(symbols, options);
  const places: Pick<LinkResult, "fileOf" | "fileOfFlag"> = {
    fileOf: (global) => merged.origins.get(global)?.file.file,
    fileOfFlag: (key) => merged.flagFiles.get(key),
  };
  const failed = (): LinkResult => ({
    module: null,
    summary: { symbols: [] },
    diagnostics: diagnostics.list,
    symbols,
    extracted,
    closedWorld,
    dropped: 0,
    instructions: 0,
    ...places,
  });
  // With conflicts unresolved, what follows would be about some other program.
  if (diagnostics.hasErrors) return failed();
  hideExcluded(module, places.fileOf, options.excludeLibs ?? []);
  internalize(module, symbols, merged.pinned, options, resolution.unloaded);
  module.isPartial = options.output === "relocatable";
  if (options.wholeProgramVisibility && !module.isPartial) showWholeProgram(module);
  const facts = new LinkedFacts(merged);
  const dropped = yield* dropDead(module, merged.pinned, facts);
  declareReturnsTwice(module);
  if (options.requireMain && options.entry !== "" && !symbols.get(options.entry)?.isDefined)
    diagnostics.error(`undefined symbol: ${options.entry}`, "referenced by the program's start-up code");
  if (options.noUndefined) reportUndefined(merged, resolution, facts, diagnostics);
  if (diagnostics.hasErrors) return failed();
  const summary = facts.summarize(module.globals);
  const instructions = summary.symbols.reduce((sum, symbol) => sum + symbol.instructions, 0);
  const { list } = diagnostics;
  const counts = { dropped, instructions };
  return { module, summary, diagnostics: list, symbols, extracted, closedWorld, ...counts, ...places };
}

/** How many places that mention an undefined symbol are shown, as in lld. */
const shownReferences = 3;

/** Reports references that nothing satisfies, with the functions, variables and native files they come from. */
function reportUndefined(
  { module, origins }: Merged,
  { symbols, files }: Resolution,
  facts: LinkedFacts,
  diagnostics: Diagnostics,
): void {
  const places = new Map<string, string[]>();
  // Macros may define any name: the system linker will know.
  if (files.some((file) => file.kind === "module" && file.asm.opaque)) return;
  const add = (name: string, place: string): void => {
    const symbol = symbols.get(name);
    if (
      symbol === undefined ||
      symbol.isDefined ||
      symbol.redefined ||
      symbol.state === "shared" ||
      bounds.test(name)
    )
      return;
    const list = places.get(name);
    if (list === undefined) places.set(name, [place]);
    else list.push(place);
  };
  for (const user of module.globals) {
    const { calls, references } = facts.of(user);
    for (const mentioned of new Set([...calls, ...references])) {
      if (!mentioned.isDeclaration || isReservedName(mentioned.name)) continue;
      if (mentioned.linkage === "extern_weak") continue;
      const file = origins.get(user)?.file.file ?? files[0]!.file;
      add(mentioned.name, `${file}:(${user.kind === "function" ? "function " : ""}${user.name})`);
    }
  }
  for (const file of files) {
    if (file.kind === "module")
      for (const name of file.asm.references) add(name, `${file.file}:(module asm)`);
    // What a shared library lacks may come from another one when the program starts.
    else if (!file.input.shared)
      for (const { name, defined, weak } of file.input.symbols) if (!defined && !weak) add(name, file.file);
  }
  for (const [name, list] of places) {
    const lines = list.slice(0, shownReferences).map((place) => `referenced by ${place}`);
    if (list.length > shownReferences) lines.push(`referenced ${list.length - shownReferences} more times`);
    diagnostics.error(`undefined symbol: ${name}`, ...lines);
  }
}

/** Symbols that every linker defines itself. */
const bounds =
  /^(?:__start_|__stop_|__bss_start$|_?end$|_?etext$|_?edata$|__executable_start$|__dso_handle$|__ehdr_start$|_GLOBAL_OFFSET_TABLE_$|_DYNAMIC$|__(?:pre)?init_array_(?:start|end)$|__fini_array_(?:start|end)$)/;
