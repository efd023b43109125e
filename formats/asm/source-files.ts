/**
 * Which source each local symbol is from. In a symbol table the symbol of a source (`STT_FILE`) stands before the local symbols of
 * it (System V ABI, "Symbol Table"), and assemblers put local symbols in the order in which they are first mentioned, those
 * of `.file` among them. So where a program has several sources, its local symbols are mentioned at its start, by source.
 */

import { isReservedName } from "../../lto/ir/intrinsics.js";
import type { GlobalValue, Module } from "../../lto/ir/module.js";
import { quoteText, type SymbolNames } from "./names.js";

/** What passes made of several sources, or for all, comes after these. */
const madeOfAll = "tsc-lto";

const baseName = (path: string): string => path.substring(path.lastIndexOf("/") + 1);
const fileText = (name: string): string => `\t.file\t${quoteText(name)}\n`;

/** The directives at the start of the file. */
export function sourceFiles(module: Module, names: SymbolNames): string {
  const { sources } = module;
  if (sources === null) return fileText(module.sourceName);
  const texts = sources.names.map((name) => fileText(baseName(name)));
  for (const global of module.globals) {
    const number = sources.of.get(global);
    if (number === undefined || !isDefinedLocal(global)) continue;
    const symbol = names.symbol(global);
    if (/^"?\.L/.test(symbol)) continue;
    texts[number] += `\t.type\t${symbol},@${global.kind === "function" ? "function" : "object"}\n`;
  }
  return texts.join("") + fileText(madeOfAll);
}

/** A symbol that will be there: mentioned without a definition it would be undefined. */
function isDefinedLocal(global: GlobalValue): boolean {
  if (!global.isLocal || global.isDeclaration) return false;
  if (global.kind === "function") return true;
  return global.kind === "variable" && global.section !== "llvm.metadata" && !isReservedName(global.name);
}
