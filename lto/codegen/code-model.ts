/**
 * What a module says of how far code and data are apart (System V ABI AMD64, section 3.5.1, code models), and of how the stack is
 * aligned where code is called that is not in it.
 */
import type { Module } from "../ir/module.js";
import type { CodeModel } from "./target.js";

const defaultThreshold = 65536;
const models: Readonly<Record<number, CodeModel>> = { 2: "kernel", 3: "medium", 4: "large" };

export function codeModelOf(module: Module): CodeModel {
  return models[Number(module.flag("Code Model") ?? 1)] ?? "small";
}

/** Bytes up to which a variable is near that does not say more. */
export function nearDataBytes(module: Module): number {
  const model = codeModelOf(module);
  if (model !== "medium" && model !== "large") return Number.POSITIVE_INFINITY;
  return Number(module.flag("Large Data Threshold") ?? (model === "large" ? 0 : defaultThreshold));
}

/** Bytes to which code that the module calls may count on the stack being aligned; 0: as the ABI says. */
export const stackAlignmentOf = (module: Module): number =>
  Number(module.flag("override-stack-alignment") ?? 0);
