/** Legalisation for x86-64: the target-neutral legaliser with SSE2 vectors. */
import { type LegalFunction, legalizeFunction as legalizeFor } from "../../codegen/legalize/index.js";
import type { Convention } from "../../codegen/target.js";
import type { DataLayout } from "../../ir/data-layout.js";
import type { Body } from "../../ir/instructions.js";
import type { Func, GlobalValue } from "../../ir/module.js";
import { defaultConvention, resultRoom } from "../frame/convention.js";
import { sse2Vectors } from "./vectors.js";

/**
 * Makes a function legal for instruction selection. Consumes the body.
 * @param conventionOf of the function and those it calls
 * @param body taken from the function
 * @throws UnsupportedError naming the construct and the function
 */
export function legalizeFunction(
  fn: Func,
  layout: DataLayout,
  conventionOf: (callee: GlobalValue | null) => Convention = () => defaultConvention,
  body: Body = fn.take(),
): LegalFunction {
  return legalizeFor(fn, layout, sse2Vectors, (callee) => resultRoom(conventionOf(callee)), body);
}
