/** What the inliner says of its decisions, in the words and keys of LLVM's, so that the same tools read them. */
import type { Func } from "../../ir/module.js";
import { type Remark, type RemarkFact, type SourcePlace, words } from "../../pass/remarks.js";
import type { Advice } from "./advisor.js";

/** The call that a remark is about. */
export interface ToldCall {
  readonly caller: Func;
  readonly callee: Func;
  readonly place: SourcePlace | null;
}

const decision = (
  { caller, callee, place }: ToldCall,
  isInlined: boolean,
  reasons: readonly RemarkFact[],
): Remark => ({
  kind: isInlined ? "Passed" : "Missed",
  pass: "inline",
  name: isInlined ? "Inlined" : "TooCostly",
  function: caller.name,
  place,
  facts: [
    ["Callee", callee.name],
    words(isInlined ? " inlined into " : " not inlined into "),
    ["Caller", caller.name],
    ...reasons,
  ],
});

/** A call was replaced, or is too costly to be. Cost and threshold are in units of the advisor's: bytes for size. */
export const decided = (call: ToldCall, { inline, cost, threshold }: Advice): Remark =>
  decision(call, inline, [
    words(inline ? " with (cost=" : " because too costly to inline (cost="),
    ["Cost", Math.round(cost)],
    words(", threshold="),
    ["Threshold", Math.round(threshold)],
    words(")"),
  ]);

/** Bytes of caller and callee as two functions, and as one; of code and unwind tables. */
export interface TriedSizes {
  readonly before: number;
  readonly after: number;
}
/** A call that was decided by generating code for both versions. */
export const tried = (call: ToldCall, { before, after }: TriedSizes): Remark =>
  decision(call, after < before, [
    words(": generated code takes "),
    ["Before", Math.round(before)],
    words(" bytes without and "),
    ["After", Math.round(after)],
    words(" bytes with the copy"),
  ]);

/** A call that cannot be replaced whatever it costs. */
export const impossible = ({ caller, callee, place }: ToldCall, why: string): Remark => ({
  kind: "Missed",
  pass: "inline",
  name: "NeverInline",
  function: caller.name,
  place,
  facts: [
    ["Callee", callee.name],
    words(" not inlined into "),
    ["Caller", caller.name],
    words(" because it should never be inlined: "),
    ["Reason", why],
  ],
});
