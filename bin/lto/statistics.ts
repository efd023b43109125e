/** Text of `--stats`. */
import type { CodegenStatistics } from "../../lto/codegen/program/statistics.js";

const labels: Record<keyof CodegenStatistics, string> = {
  functions: "functions, compiled or taken from the cache",
  machineInstructions: "machine instructions",
  moves: "register moves",
  spills: "stores to spill slots",
  reloads: "loads from spill slots",
  rematerializations: "values recomputed instead of reloaded",
  spillSlots: "spill slots",
  wrappedFunctions: "functions with paths that run without their frame",
  cachedFunctions: "functions taken from the cache",
  functionsWithoutSaves: "functions that save no callee-saved register they change",
  savesRemoved: "saves of callee-saved registers removed",
  narrowedCalls: "calls with a narrowed clobber mask",
  knownIndirectCalls: "calls through pointers with known callees",
  outlinedFunctions: "functions made of repeated machine code",
  outlinedPlaces: "places that call them or jump to them",
  outlinedBytes: "bytes that saves, with unwind tables",
};

/** One aligned line a count. */
export function formatStatistics(statistics: CodegenStatistics): string {
  return Object.entries(labels)
    .map(([key, label]) => `${String(statistics[key as keyof CodegenStatistics]).padStart(10)}  ${label}\n`)
    .join("");
}
