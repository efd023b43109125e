/** Lets all that mentions some globals mention others, and takes those out of the module. */
import { globalIndices, type ModuleSummary } from "../analysis/summary.js";
import type { GlobalValue, Module } from "../ir/module.js";
import { ConstantRemapper, type Replacements, remapBody } from "../ir/remap.js";

/**
 * Only bodies that mention a replaced global, by the summary, are decoded and changed. Linear in those and in all
 * initialisers.
 * @param summary of the module as it is
 */
export function replaceGlobals(module: Module, summary: ModuleSummary, replacements: Replacements): void {
  const indices = globalIndices(module);
  const isReplaced = new Uint8Array(module.globals.length);
  for (const global of replacements.keys()) isReplaced[indices.get(global)!] = 1;
  const remapper = new ConstantRemapper(replacements);
  module.globals.forEach((global, index) => {
    if (isReplaced[index] === 1) return;
    replaceOwn(global, remapper);
    if (global.kind !== "function" || global.isDeclaration) return;
    const { calls, references } = summary.symbols[index]!;
    const mentions = (list: readonly number[]): boolean => list.some((other) => isReplaced[other] === 1);
    if (mentions(calls) || mentions(references)) remapBody(global.rewrite(), replacements);
  });
  const { globals } = module;
  let kept = 0;
  for (let i = 0; i < isReplaced.length; i++) if (isReplaced[i] === 0) globals[kept++] = globals[i]!;
  globals.length = kept;
}

/** Lets initialisers mention others; bodies and the list of globals stay as they are. */
export function replaceInInitializers(module: Module, replacements: Replacements): void {
  const remapper = new ConstantRemapper(replacements);
  for (const global of module.globals) if (global.kind === "variable") replaceOwn(global, remapper);
}

/** What a global mentions outside of a body. */
function replaceOwn(global: GlobalValue, remapper: ConstantRemapper): void {
  switch (global.kind) {
    case "variable":
      if (global.initializer !== null) global.initializer = remapper.constant(global.initializer);
      break;
    case "alias":
      global.aliasee = remapper.constant(global.aliasee);
      break;
    case "ifunc":
      global.resolver = remapper.constant(global.resolver);
      break;
    case "function":
      if (global.prefix !== null) global.prefix = remapper.constant(global.prefix);
      if (global.prologue !== null) global.prologue = remapper.constant(global.prologue);
      if (global.personality !== null) global.personality = remapper.constant(global.personality);
      break;
  }
}
