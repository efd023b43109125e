/** Counts for `--stats`: sums over functions, so the order of compilation does not matter. */

import type { IndirectCalls } from "../../analysis/function-pointers/index.js";
import type { SavePlan } from "../ipra/save-placement.js";
import type { MFunction } from "../mir.js";
import type { OutlineReport } from "../outline/outliner.js";
import {
  includesSet,
  intersect,
  isEmptySet,
  minus,
  type RegisterSet,
  registerCount,
} from "../register-set.js";
import type { AllocationResult, TargetRegisters } from "../target.js";
import type { FunctionFacts } from "./facts.js";
import type { CalleeNumber } from "./numbering.js";

/** Of functions, each by itself. */
export interface FunctionStatistics {
  readonly functions: number;
  readonly machineInstructions: number;
  readonly moves: number;
  readonly spills: number;
  readonly reloads: number;
  readonly rematerializations: number;
  readonly spillSlots: number;
  readonly wrappedFunctions: number;
  /** Completed in an earlier link. */
  readonly cachedFunctions: number;
}

/** Of the program. */
export interface IpraStatistics {
  /** Functions that write a callee-saved register and save none. */
  readonly functionsWithoutSaves: number;
  /** Saves that callers spared, registers times functions. */
  readonly savesRemoved: number;
  /** Calls whose mask is narrower than the convention's. */
  readonly narrowedCalls: number;
  /** Calls through a pointer whose callees are all known. */
  readonly knownIndirectCalls: number;
}

export type CodegenStatistics = FunctionStatistics & IpraStatistics & OutlineReport;

export const noFunctions: FunctionStatistics = {
  functions: 0,
  machineInstructions: 0,
  moves: 0,
  spills: 0,
  reloads: 0,
  rematerializations: 0,
  spillSlots: 0,
  wrappedFunctions: 0,
  cachedFunctions: 0,
};

export function addStatistics(a: FunctionStatistics, b: FunctionStatistics): FunctionStatistics {
  return {
    functions: a.functions + b.functions,
    machineInstructions: a.machineInstructions + b.machineInstructions,
    moves: a.moves + b.moves,
    spills: a.spills + b.spills,
    reloads: a.reloads + b.reloads,
    rematerializations: a.rematerializations + b.rematerializations,
    spillSlots: a.spillSlots + b.spillSlots,
    wrappedFunctions: a.wrappedFunctions + b.wrappedFunctions,
    cachedFunctions: a.cachedFunctions + b.cachedFunctions,
  };
}

/** Of one function, but for its instructions. @param wrapped some paths run without its frame */
export function functionStatistics(allocation: AllocationResult, wrapped: boolean): FunctionStatistics {
  return {
    functions: 1,
    machineInstructions: 0,
    moves: allocation.moves,
    spills: allocation.spills,
    reloads: allocation.reloads,
    rematerializations: allocation.rematerializations,
    spillSlots: allocation.spillSlots,
    wrappedFunctions: wrapped ? 1 : 0,
    cachedFunctions: 0,
  };
}

/** Instructions of a function that is laid out. */
export const instructionCount = (machine: MFunction): number =>
  machine.blocks.reduce((n, b) => n + b.insts.length, 0);

/** @param facts of the functions @param changedBy registers that a call may change */
export function ipraStatistics(
  facts: readonly FunctionFacts[],
  plan: SavePlan,
  changedBy: (callee: CalleeNumber) => RegisterSet,
  { sets }: IndirectCalls,
  { callClobbers, calleeSaved }: Pick<TargetRegisters, "callClobbers" | "calleeSaved">,
): IpraStatistics {
  let functionsWithoutSaves = 0;
  let savesRemoved = 0;
  let narrowedCalls = 0;
  let knownIndirectCalls = 0;
  facts.forEach((f, i) => {
    const writes = intersect(f.written, calleeSaved);
    const removed = minus(writes, plan.saved[i]!);
    if (!isEmptySet(writes) && isEmptySet(plan.saved[i]!)) functionsWithoutSaves++;
    savesRemoved += registerCount(removed);
    for (const { callee } of f.calls) {
      if (!includesSet(changedBy(callee), callClobbers)) narrowedCalls++;
      if (callee >= facts.length && !sets[callee - facts.length]!.unknown) knownIndirectCalls++;
    }
  });
  return { functionsWithoutSaves, savesRemoved, narrowedCalls, knownIndirectCalls };
}
