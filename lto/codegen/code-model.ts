/** What a module says of how far code and data are apart. Source: System V ABI AMD64, section 3.5.1 (code models). */
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
