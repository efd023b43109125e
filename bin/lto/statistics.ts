/** Counts that `--stats` prints; sums over functions, so the order of compilation does not matter. */
import type { CompiledFunction } from "../../lto/pipeline.js";

export interface CodegenStatistics {
  readonly functions: number;
  readonly machineInstructions: number;
  readonly moves: number;
  readonly spills: number;
  readonly reloads: number;
  readonly rematerializations: number;
  readonly spillSlots: number;
}

export const noStatistics: CodegenStatistics = {
  functions: 0,
  machineInstructions: 0,
  moves: 0,
  spills: 0,
  reloads: 0,
  rematerializations: 0,
  spillSlots: 0,
};

const isCompiled = (x: CompiledFunction | CodegenStatistics): x is CompiledFunction => "machine" in x;

export function addStatistics(sum: CodegenStatistics, next: CompiledFunction | CodegenStatistics): CodegenStatistics {
  const other = isCompiled(next) ? statisticsOf(next) : next;
  return {
    functions: sum.functions + other.functions,
    machineInstructions: sum.machineInstructions + other.machineInstructions,
    moves: sum.moves + other.moves,
    spills: sum.spills + other.spills,
    reloads: sum.reloads + other.reloads,
    rematerializations: sum.rematerializations + other.rematerializations,
    spillSlots: sum.spillSlots + other.spillSlots,
  };
}

function statisticsOf({ machine, allocation }: CompiledFunction): CodegenStatistics {
  return {
    functions: 1,
    machineInstructions: machine.blocks.reduce((n, b) => n + b.insts.length, 0),
    moves: allocation.moves,
    spills: allocation.spills,
    reloads: allocation.reloads,
    rematerializations: allocation.rematerializations,
    spillSlots: allocation.spillSlots,
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
  };
  return Object.entries(labels)
    .map(([key, label]) => `${String(statistics[key as keyof CodegenStatistics]).padStart(10)}  ${label}\n`)
    .join("");
}
