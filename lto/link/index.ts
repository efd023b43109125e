/** Linking of whole programs. */
export { buildCallGraph, type CallGraph } from "../analysis/call-graph.js";
export { type ModuleSummary, summarizeModule } from "../analysis/summary.js";
export type { Diagnostic } from "./diagnostics.js";
export { compilePatterns, parseExportList, parseVersionScript } from "./exports.js";
export * from "./input.js";
export { isReplaceable, standardMention } from "./library-names.js";
export { type LinkResult, linkModules } from "./link.js";
export { readLinkerScript } from "./linker-script.js";
export { isLibraryCallOfLlvm, isRoutine, RUNTIME_SYMBOLS } from "./runtime-symbols.js";
