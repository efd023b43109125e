/**
 * Names of local globals in the linked module: unique, deterministic, and unchanged where possible.
 *
 * A local takes `name.1`, `name.2`, … when its name is another's. One that module asm or `llvm.used` may
 * mention by name chooses first; two such of one name cannot both be satisfied.
 */
import type { GlobalValue } from "../ir/module.js";
import type { Diagnostics } from "./diagnostics.js";
import type { LinkSymbol, LoadedModule } from "./symbol-table.js";

/**
 * Renames locals so that each name occurs once; adds to `pinned` those that module asm mentions, or may mention.
 * @returns those that got another name, with the one they had
 */
export function nameLocals(
  globals: readonly GlobalValue[],
  modules: readonly LoadedModule[],
  symbols: ReadonlyMap<string, LinkSymbol>,
  pinned: Set<GlobalValue>,
  diagnostics: Diagnostics,
): Map<GlobalValue, string> {
  const taken = new Set(symbols.keys());
  for (const global of globals) if (!global.isLocal && global.name !== "") taken.add(global.name);
  for (const { asm } of modules) for (const name of [...asm.globals, ...asm.locals]) taken.add(name);

  const fixed = new Map<string, string>();
  for (const { asm, module, file } of modules) {
    if (module.moduleAsm === "") continue;
    for (const global of module.globals) {
      if (!global.isLocal || global.name === "") continue;
      if (asm.opaque) pinned.add(global);
      if (global.linkage === "private" && asm.references.has(`.L${global.name}`)) pinned.add(global);
      if (!asm.references.has(global.name)) continue;
      const other = fixed.get(global.name);
      if (other !== undefined || taken.has(global.name))
        diagnostics.error(
          `local symbol '${global.name}' is mentioned by module asm, but its name is not unique`,
          `defined in ${file}`,
          `defined in ${other ?? "another file"}`,
        );
      fixed.set(global.name, file);
      taken.add(global.name);
      pinned.add(global);
    }
  }
  const named = new Set<GlobalValue>();
  for (const global of pinned) if (global.isLocal && fixed.has(global.name)) named.add(global);
  // Then members of `llvm.used`, then everything else whose name is free.
  for (const first of [true, false])
    for (const global of globals)
      if (global.isLocal && global.name !== "" && pinned.has(global) === first && !named.has(global))
        if (!taken.has(global.name)) {
          taken.add(global.name);
          named.add(global);
        }
  const renamed = new Map<GlobalValue, string>();
  const next = new Map<string, number>();
  for (const global of globals) {
    if (named.has(global) || !(global.isLocal || global.name === "")) continue;
    const base = global.name === "" ? "__unnamed" : global.name;
    let name = base;
    for (let n = next.get(base) ?? 1; taken.has(name) || name === "__unnamed"; n++) {
      name = `${base}.${n}`;
      next.set(base, n + 1);
    }
    if (global.name !== "") renamed.set(global, global.name);
    global.name = name;
    taken.add(name);
  }
  return renamed;
}
