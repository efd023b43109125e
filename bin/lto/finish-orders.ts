/** The last step of code generation for a share of the functions: the same in every thread. */
import type { AsmPrinter } from "../../formats/asm/index.js";
import type { RegMask } from "../../lto/codegen/mir.js";
import type { CodegenSession } from "../../lto/program.js";
import { addStatistics, type CodegenStatistics, noStatistics } from "./statistics.js";

/** What `CodegenSession.finish` gets for one function. */
export interface FinishOrder {
  readonly number: number;
  readonly saves: RegMask;
  readonly free: RegMask;
}

/**
 * Finishes and prints functions that the session allocated.
 * @param changes callee-saved registers each function may change
 * @param aligned 1: the function needs an aligned stack
 * @returns one text an order
 */
export function finishOrders(
  session: CodegenSession,
  printer: AsmPrinter,
  orders: readonly FinishOrder[],
  changes: readonly RegMask[],
  aligned: Uint8Array,
): { texts: string[]; statistics: CodegenStatistics } {
  const changesOf = (callee: number): RegMask => changes[callee]!;
  const alignedOf = (callee: number): boolean => aligned[callee] === 1;
  let statistics = noStatistics;
  const texts = orders.map(({ number, saves, free }) => {
    const compiled = session.finish(number, saves, free, changesOf, alignedOf);
    statistics = addStatistics(statistics, compiled);
    return printer.functionText(compiled.machine);
  });
  return { texts, statistics };
}
