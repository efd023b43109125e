/** How symbols can be reached. */
import type { GlobalValue } from "../../ir/module.js";
import type { Selector } from "./selector.js";

/** Whether the symbol's address is known at link time relative to the code (no GOT needed). */
export function isLocalSymbol(s: Selector, global: GlobalValue): boolean {
  if (s.options.relocation === "static") return global.linkage !== "extern_weak" || global.dsoLocal;
  if (global.isLocal || global.dsoLocal) return true;
  if (global.visibility !== "default") return !global.isDeclaration || global.visibility === "hidden";
  return false;
}
