/**
 * What code generation tells about functions besides their text: dumps of machine IR, and claims for the checker of
 * interprocedural register allocation.
 *
 * What is wanted is plain data, so that every thread can be asked; each thread has a `Reporter`, and the findings
 * come back with its results, in the order of the functions. So the output is the same for any number of threads.
 */
import { dumpFunction } from "../../lto/codegen/dump.js";
import type { MFunction } from "../../lto/codegen/mir.js";
import type { Observer, Stage } from "../../lto/codegen/program/function.js";
import { type Remark, Remarks } from "../../lto/pass/remarks.js";
import { type CodeFacts, codeFacts } from "./code-facts.js";
import { tellSizes } from "./code-remarks.js";
import { type ClaimReport, functionClaim, undefinedRegisters } from "./ipra-claims.js";
import type { PlacedFunction } from "./jump-sizes.js";

export interface ReportRequests {
  /** Machine IR after a stage goes to the log; of one function, or (null) of all. */
  readonly print: { readonly stage: Stage; readonly fn: string | null } | null;
  /** Finished machine IR is wanted as output. */
  readonly machine: boolean;
  /** Claims for the checker are wanted. */
  readonly claims: boolean;
  /** Facts for a size report are wanted. */
  readonly facts: boolean;
  /** Remarks on the size of functions are wanted, of passes with such names; null: none are. */
  readonly remarks: { readonly passes: string | null } | null;
}

export const noReports: ReportRequests = {
  print: null,
  machine: false,
  claims: false,
  facts: false,
  remarks: null,
};

/** One finding. Plain data. */
export type Report =
  | { readonly kind: "print"; readonly text: string }
  | { readonly kind: "machine"; readonly text: string }
  | { readonly kind: "facts"; readonly facts: CodeFacts }
  | { readonly kind: "remark"; readonly remark: Remark }
  | { readonly kind: "place"; readonly place: PlacedFunction }
  | ClaimReport;

/** What looks at the functions of one thread; undefined if nothing is wanted. */
export function reporter(
  { print, machine, claims, facts, remarks: told }: ReportRequests,
  deliver: (report: Report) => void,
): Observer | undefined {
  if (print === null && !machine && !claims && !facts && told === null) return undefined;
  const remarks = told === null ? null : new Remarks(told.passes === null ? null : new RegExp(told.passes));
  return (stage: Stage, mf: MFunction): void => {
    if (stage === print?.stage && (print.fn === null || print.fn === mf.name))
      deliver({ kind: "print", text: dumpFunction(mf) });
    if (machine && stage === "finish") deliver({ kind: "machine", text: dumpFunction(mf) });
    if (facts && stage === "finish") deliver({ kind: "facts", facts: codeFacts(mf) });
    if (remarks !== null && stage === "finish") {
      tellSizes(mf, remarks);
      for (const remark of remarks.take()) deliver({ kind: "remark", remark });
    }
    if (claims && stage === "allocate")
      deliver({ kind: "undefined", symbol: mf.name, registers: undefinedRegisters(mf) });
    if (claims && stage === "finish") deliver({ kind: "claim", ...functionClaim(mf) });
  };
}
