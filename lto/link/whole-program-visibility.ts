/**
 * Classes that nobody outside of the program derives from (--lto-whole-program-visibility): calls through their tables can
 * be decided. Compilers say so of hidden classes themselves (`!vcall_visibility`).
 *
 * The option promises that machine code in other files derives from none of the program's classes. What such code has
 * classes of its own for is seen: a table stays as it is if the program does not define all of the classes that it
 * is a table of (the standard library's, for one), or if something outside mentions one of them.
 * Requires: linkages final. Linear in the tables' types.
 */
import type { GlobalValue, GlobalVariable, Module } from "../ir/module.js";

export function showWholeProgram(module: Module): void {
  const byName = new Map<string, GlobalValue>(module.globals.map((global) => [global.name, global]));
  /** `_ZTS` begins the name of a class's name, `_ZTI` that of its type information. */
  const isOwn = (type: string): boolean => {
    if (!type.startsWith("_ZTS")) return true;
    const own = (prefix: string): boolean => byName.get(prefix + type.slice(4))?.isLocal !== false;
    return own("_ZTI") && own("_ZTV");
  };
  for (const table of module.variables)
    if (table.vcallVisibility === 0 && table.typeIds.length > 0 && isLocalTable(table))
      if (table.typeIds.every(({ name }) => isOwn(name))) table.vcallVisibility = 1;
}

const isLocalTable = (table: GlobalVariable): boolean => table.isLocal && !table.isDeclaration;
