/**
 * Code that functions get or are given besides what allocation sees, by what their attributes ask for: it knows of the
 * platform's convention only, so such functions keep it, as those without a known body do.
 */
import type { Func } from "../../ir/module.js";

/** Code that runs between the call and the entry, which knows of the platform's argument registers only. */
const entryAttributes = [
  "fentry-call",
  "instrument-function-entry",
  "instrument-function-entry-inlined",
  "patchable-function",
  "patchable-function-entry",
  "patchable-function-prefix",
  "function-instrument",
  "xray-instruction-threshold",
  "split-stack",
  "probe-stack",
];
const runsBeforeEntry = ({ attributes: { fn } }: Func): boolean =>
  entryAttributes.some((name) => (fn.string(name) ?? "inline-asm") !== "inline-asm");

/** A call of the function may change whatever registers the platform's convention lets it change, and counts on the stack's alignment. */
export const changesUnseen = (fn: Func): boolean =>
  runsBeforeEntry(fn) ||
  fn.attributes.fn.has("fn_ret_thunk_extern") ||
  (fn.attributes.fn.string("zero-call-used-regs") ?? "skip") !== "skip";
