/**
 * Variables that may lie farther from the code than an instruction reaches: in the medium and large code models all of
 * which are larger than a threshold, or of unknown size. In the medium one code finds them through the global offset table, which is near.
 * Which they are, has to be what other compilers take them for. Source: System V ABI AMD64, section 3.5.1 (code
 * models); LLVM's TargetMachine for sizes and sections.
 */
import { baseObject } from "../analysis/references.js";
import type { DataLayout } from "../ir/data-layout.js";
import type { GlobalValue, GlobalVariable, Module } from "../ir/module.js";
import type { CodeModel } from "./target.js";

const defaultThreshold = 65536;
const models: Readonly<Record<number, CodeModel>> = { 2: "kernel", 3: "medium", 4: "large" };

export function codeModelOf(module: Module): CodeModel {
  return models[Number(module.flag("Code Model") ?? 1)] ?? "small";
}

/** Bytes up to which a variable is near. */
export function nearDataBytes(module: Module): number {
  const model = codeModelOf(module);
  if (model !== "medium" && model !== "large") return Number.POSITIVE_INFINITY;
  return Number(module.flag("Large Data Threshold") ?? (model === "large" ? 0 : defaultThreshold));
}

const within = (section: string, ...names: readonly string[]): boolean =>
  names.some((name) => section === name || section.startsWith(`${name}.`));

/** Whether code must not count on the variable being near. @param near see `nearDataBytes` */
export function isLarge(variable: GlobalVariable, layout: DataLayout, near: number): boolean {
  if (near === Number.POSITIVE_INFINITY || variable.threadLocal !== "none") return false;
  const { section, name, isDeclaration } = variable;
  if (within(section, ".bss", ".data", ".rodata")) return false;
  if (within(section, ".lbss", ".ldata", ".lrodata")) return true;
  // Linkers define these anywhere.
  if (isDeclaration && /^__(?:ehdr_start$|start_|stop_)/.test(name)) return true;
  const size = layout.allocSize(variable.valueType);
  return size === 0 || size > near;
}

/** The same of a variable by any of its names. */
export function leadsToLarge(global: GlobalValue, layout: DataLayout, near: number): boolean {
  if (near === Number.POSITIVE_INFINITY) return false;
  const object = global.kind === "alias" ? baseObject(global) : global;
  return object?.kind === "variable" && isLarge(object, layout, near);
}
