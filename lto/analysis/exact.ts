import type { GlobalValue } from "../ir/module.js";

/** Whether a definition is the one that runs: none may take its place at link or load time. */
export const isExact = (global: GlobalValue): boolean =>
  !global.isDeclaration &&
  (global.isLocal || (global.linkage === "external" && global.dsoLocal && global.comdat === null));
