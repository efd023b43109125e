/**
 * Names of symbols, as far as they differ from the names of globals in LLVM's IR (Language Reference, "Identifiers"
 * and "Data Layout", mangling).
 */
import type { GlobalValue } from "./module.js";

const mangled = "\x01";

/** A leading \x01 asks for a name to be taken as it is, which is what happens to every name here but private ones. */
export const withoutEscape = (name: string): string => (name.startsWith(mangled) ? name.slice(1) : name);

/**
 * Replaces the name that a reader found by that of the symbol. A private global's does not get the prefix of local
 * labels then, so it becomes an internal one. To be called when the linkage is set.
 */
export function takeSymbolName(global: GlobalValue): void {
  if (!global.name.startsWith(mangled)) return;
  global.name = withoutEscape(global.name);
  if (global.linkage === "private") global.linkage = "internal";
}
