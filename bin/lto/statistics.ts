/** Counts that `--stats` prints; sums over functions, so the order of compilation does not matter. */
import type { CompiledFunction } from "../../lto/pipeline.js";
import type { IpraStatistics } from "../../lto/program.js";

export interface CodegenStatistics extends IpraStatistics {
  readonly functions: number;
  readonly machineInstructions: number;
  readonly moves: number;
  readonly spills: number;
  readonly reloads: number;
  readonly rematerializations: number;
  readonly spillSlots: number;
  readonly wrappedFunctions: number;
}

export const noStatistics: CodegenStatistics = {
  functions: 0,
  machineInstructions: 0,
  moves: 0,
  spills: 0,
  reloads: 0,
  rematerializations: 0,
  spillSlots: 0,
  wrappedFunctions: 0,
  functionsWithoutSaves: 0,
  savesRemoved: 0,
  narrowedCalls: 0,
  knownIndirectCalls: 0,
};

const isCompiled = (x: CompiledFunction | CodegenStatistics): x is CompiledFunction => "machine" in x;

export function addStatistics(
  sum: CodegenStatistics,
  next: CompiledFunction | CodegenStatistics,
): CodegenStatistics {
  const other = isCompiled(next) ? statisticsOf(next) : next;
  return {
    functions: sum.functions + other.functions,
    machineInstructions: sum.machineInstructions + other.machineInstructions,
    moves: sum.moves + other.moves,
    spills: sum.spills + other.spills,
    reloads: sum.reloads + other.reloads,
    rematerializations: sum.rematerializations + other.rematerializations,
    spillSlots: sum.spillSlots + other.spillSlots,
    wrappedFunctions: sum.wrappedFunctions + other.wrappedFunctions,
    functionsWithoutSaves: sum.functionsWithoutSaves + other.functionsWithoutSaves,
    savesRemoved: sum.savesRemoved + other.savesRemoved,
    narrowedCalls: sum.narrowedCalls + other.narrowedCalls,
    knownIndirectCalls: sum.knownIndirectCalls + other.knownIndirectCalls,
  };
}

function statisticsOf({ machine, allocation, wrapped }: CompiledFunction): CodegenStatistics {
  return {
    ...noStatistics,
    functions: 1,
    machineInstructions: machine.blocks.reduce((n, b) => n + b.insts.length, 0),
    moves: allocation.moves,
    spills: allocation.spills,
    reloads: allocation.reloads,
    rematerializations: allocation.rematerializations,
    spillSlots: allocation.spillSlots,
    wrappedFunctions: wrapped === true ? 1 : 0,
  };
}

/** One aligned line a count. */
export function formatStatistics(statistics: CodegenStatistics): string {
  const labels: Record<keyof CodegenStatistics, string> = {
    functions: "functions compiled",
    machineInstructions: "machine instructions",
    moves: "register moves",
    spills: "stores to spill slots",
    reloads: "loads from spill slots",
    rematerializations: "values recomputed instead of reloaded",
    spillSlots: "spill slots",
    wrappedFunctions: "functions with paths that run without their frame",
    functionsWithoutSaves: "functions that save no callee-saved register they change",
    savesRemoved: "saves of callee-saved registers removed",
    narrowedCalls: "calls with a narrowed clobber mask",
    knownIndirectCalls: "calls through pointers with known callees",
  };
  return Object.entries(labels)
    .map(([key, label]) => `${String(statistics[key as keyof CodegenStatistics]).padStart(10)}  ${label}\n`)
    .join("");
}
