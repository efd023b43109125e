/**
 * Variables that may lie farther from the code than an instruction reaches: those that say so, or whose sections do, and in
 * the medium and large code models all of which are larger than a threshold, or of unknown size. In all but the large one
 * code finds them through the global offset table, which is near.
 * Which they are, has to be what other compilers take them for. Source: System V ABI AMD64, section 3.5.1 (code
 * models); LLVM's TargetMachine for sizes, sections and `code_model`.
 */
import type { DataLayout } from "../ir/data-layout.js";
import type { GlobalValue, GlobalVariable } from "../ir/module.js";
import { baseObject } from "./references.js";

const within = (section: string, ...names: readonly string[]): boolean =>
  names.some((name) => section === name || section.startsWith(`${name}.`));

/** What the variable says itself, whatever the module's code model; null: nothing. */
export function saysItIsLarge({ section, codeModel, threadLocal }: GlobalVariable): boolean | null {
  if (threadLocal !== "none") return false;
  if (codeModel === "small" || codeModel === "large") return codeModel === "large";
  if (section === "") return null;
  if (within(section, ".bss", ".data", ".rodata")) return false;
  return within(section, ".lbss", ".ldata", ".lrodata") ? true : null;
}

/** Whether code must not count on the variable being near. @param near bytes up to which one is that says nothing */
export function isLarge(variable: GlobalVariable, layout: DataLayout, near: number): boolean {
  const said = saysItIsLarge(variable);
  if (said !== null) return said;
  if (near === Number.POSITIVE_INFINITY) return false;
  // Linkers define these anywhere.
  if (variable.isDeclaration && /^__(?:ehdr_start$|start_|stop_)/.test(variable.name)) return true;
  const size = layout.allocSize(variable.valueType);
  return size === 0 || size > near;
}

/** The same of a variable by any of its names. */
export function leadsToLarge(global: GlobalValue, layout: DataLayout, near: number): boolean {
  const object = global.kind === "alias" ? baseObject(global) : global;
  return object?.kind === "variable" && isLarge(object, layout, near);
}
