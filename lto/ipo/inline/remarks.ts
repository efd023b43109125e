/** What the inliner says of its decisions, in the words and keys of LLVM's, so that the same tools read them. */
import type { Func } from "../../ir/module.js";
import { type Remark, words } from "../../pass/remarks.js";
import type { Advice } from "./advisor.js";

/** A call was replaced, or is too costly to be. Cost and threshold are in units of the advisor's: bytes for size. */
export function decided(caller: Func, callee: Func, { inline, cost, threshold }: Advice): Remark {
  const middle = inline ? " inlined into " : " not inlined into ";
  const end = inline ? " with (cost=" : " because too costly to inline (cost=";
  return {
    kind: inline ? "Passed" : "Missed",
    pass: "inline",
    name: inline ? "Inlined" : "TooCostly",
    function: caller.name,
    facts: [
      ["Callee", callee.name],
      words(middle),
      ["Caller", caller.name],
      words(end),
      ["Cost", Math.round(cost)],
      words(", threshold="),
      ["Threshold", Math.round(threshold)],
      words(")"),
    ],
  };
}

/** Bytes of caller and callee as two functions, and as one; of code and unwind tables. */
export interface TriedSizes {
  readonly before: number;
  readonly after: number;
}
/** A call that was decided by generating code for both versions. */
export function tried(caller: Func, callee: Func, { before, after }: TriedSizes): Remark {
  const inline = after < before;
  return {
    kind: inline ? "Passed" : "Missed",
    pass: "inline",
    name: inline ? "Inlined" : "TooCostly",
    function: caller.name,
    facts: [
      ["Callee", callee.name],
      words(inline ? " inlined into " : " not inlined into "),
      ["Caller", caller.name],
      words(": generated code takes "),
      ["Before", Math.round(before)],
      words(" bytes without and "),
      ["After", Math.round(after)],
      words(" bytes with the copy"),
    ],
  };
}

/** A call that cannot be replaced whatever it costs. */
export const impossible = (caller: Func, callee: Func, why: string): Remark => ({
  kind: "Missed",
  pass: "inline",
  name: "NeverInline",
  function: caller.name,
  facts: [
    ["Callee", callee.name],
    words(" not inlined into "),
    ["Caller", caller.name],
    words(" because it should never be inlined: "),
    ["Reason", why],
  ],
});
