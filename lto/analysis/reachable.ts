/**
 * Which globals are reachable from outside of the module.
 *
 * Roots are non-local definitions that may not be discarded, appending lists (constructors, destructors, used
 * lists), pinned globals, and what lies in a section whose bounds (`__start_SEC`, `__stop_SEC`) are mentioned. Run-time
 * routines that stay for code generation to call (`Module.routines`) are roots as far as nobody has looked at what asks for them.
 * From there liveness goes through bodies, initialisers, aliasees, resolvers and personalities, and a comdat group
 * lives as a whole. Linear in globals and mentions.
 * Requires: names and linkages final.
 */
import type { Comdat, GlobalValue, Module } from "../ir/module.js";
import type { Steps } from "../ir/steps.js";
import { Routines } from "./routines.js";

/** Whether a definition must be emitted even if nothing in the module mentions it. */
function isRoot(global: GlobalValue): boolean {
  // A list that has become empty has no effect.
  if (global.linkage === "appending" && global.kind === "variable" && global.valueType.kind === "array")
    return global.valueType.count > 0;
  if (global.isDeclaration || global.isLocal) return false;
  return (
    global.linkage !== "linkonce" &&
    global.linkage !== "linkonce_odr" &&
    global.linkage !== "available_externally"
  );
}

const bounds = /^__(?:start|stop)_([A-Za-z_]\w*)$/;

/**
 * @param mentioned shows each global that one mentions; with `routines`, also routines that a function's operations ask for
 * @param routines given: what it does not show is not asked for
 */
export function* reachableGlobals(
  module: Module,
  pinned: ReadonlySet<GlobalValue>,
  mentioned: (by: GlobalValue, show: (global: GlobalValue) => void) => void,
  routines: Routines | null = null,
): Steps<Set<GlobalValue>> {
  const groups = new Map<Comdat, GlobalValue[]>();
  const sections = new Map<string, GlobalValue[]>();
  const enter = <K>(map: Map<K, GlobalValue[]>, key: K, global: GlobalValue): void => {
    const list = map.get(key);
    if (list === undefined) map.set(key, [global]);
    else list.push(global);
  };
  for (const global of module.globals) {
    if (global.comdat !== null) enter(groups, global.comdat, global);
    if ((global.kind === "function" || global.kind === "variable") && global.section !== "")
      enter(sections, global.section, global);
  }
  const total = module.globals.length;
  const live = new Set<GlobalValue>();
  const work: GlobalValue[] = [];
  const mark = (global: GlobalValue): void => {
    if (live.has(global)) return;
    live.add(global);
    work.push(global);
  };
  const asked = routines ?? new Routines(module);
  const stays = (global: GlobalValue): boolean =>
    isRoot(global) && (routines === null ? !asked.isFinalAtLink(global) : !asked.has(global));
  for (const global of module.globals) if (stays(global) || pinned.has(global)) mark(global);
  for (let global = work.pop(); global !== undefined; global = work.pop()) {
    mentioned(global, mark);
    if (asked.count > 0) asked.ofIntrinsic(global, mark);
    if (global.comdat !== null) for (const member of groups.get(global.comdat)!) mark(member);
    const section = bounds.exec(global.name)?.[1];
    if (section !== undefined) for (const member of sections.get(section) ?? []) mark(member);
    yield { done: live.size - work.length, total };
  }
  return live;
}

/** Takes what is not in the set out of the module. @returns how many were removed */
export function keepOnly(module: Module, live: ReadonlySet<GlobalValue>): number {
  const { globals } = module;
  const before = globals.length;
  let count = 0;
  for (const global of globals) if (live.has(global)) globals[count++] = global;
  globals.length = count;
  return before - count;
}
