/** What the inliner says of its decisions, in the words and keys of LLVM's, so that the same tools read them. */
import type { Func } from "../../ir/module.js";
import type { Remark, RemarkFact } from "../../pass/remarks.js";
import type { Advice } from "./advisor.js";

const text = (words: string): RemarkFact => ["String", words];

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
      text(middle),
      ["Caller", caller.name],
      text(end),
      ["Cost", Math.round(cost)],
      text(", threshold="),
      ["Threshold", Math.round(threshold)],
      text(")"),
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
    text(" not inlined into "),
    ["Caller", caller.name],
    text(" because it should never be inlined: "),
    ["Reason", why],
  ],
});
