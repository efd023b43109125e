/** Who saves which callee-saved registers: the facts of the program put to `ipra/save-placement.ts`. */

import { callFrequencies } from "../../analysis/call-frequency.js";
import { callWorks } from "../../analysis/call-work.js";
import { placeSaves, type SavePlan, type SavingFunction } from "../ipra/save-placement.js";
import { intersect, noRegisters } from "../register-set.js";
import type { TargetRegisters } from "../target.js";
import type { FunctionFacts } from "./facts.js";

/**
 * Estimated executions of functions and sets of callees.
 * @param open 1: unknown code may enter it
 * @param entries how often, estimated; null: once
 */
export const executionsOf = (
  facts: readonly FunctionFacts[],
  open: Uint8Array,
  entries: Float64Array | null,
): Float64Array =>
  callFrequencies(
    facts.map((f, i) => ({
      entries: open[i] === 1 ? Math.max(1, entries?.[i] ?? 1) : 0,
      calls: f.calls,
    })),
  );

/** Instructions that a call of each function or set of callees executes, estimated. */
export const worksOf = (facts: readonly FunctionFacts[]): Float64Array =>
  callWorks(facts.map(({ work, calls }) => ({ ownWork: work, calls })));

/**
 * Decides for the whole program.
 * @param facts of functions and sets of callees
 * @param open 1: unknown code may enter it
 * @param runs estimated executions
 */
export function decideSaves(
  facts: readonly FunctionFacts[],
  open: Uint8Array,
  runs: Float64Array,
  registers: Pick<TargetRegisters, "calleeSaved" | "saveCost">,
): SavePlan {
  const functions: SavingFunction[] = facts.map((f, i) => ({
    open: open[i] === 1,
    forSize: f.forSize,
    executions: runs[i]!,
    writes: intersect(f.written, registers.calleeSaved),
    returns: f.returns,
    calls: f.calls,
  }));
  return placeSaves(functions, registers.calleeSaved, (register) => registers.saveCost(register));
}

/** Without interprocedural allocation: each function saves what it writes. */
export function localSaves(
  facts: readonly FunctionFacts[],
  { calleeSaved }: Pick<TargetRegisters, "calleeSaved">,
): SavePlan {
  return {
    saved: facts.map((f) => intersect(f.written, calleeSaved)),
    changed: facts.map(() => noRegisters),
  };
}
