/** Calls of library routines that no IR names. */
import { MInst, RegOperand, routineCall } from "../../codegen/mir.js";
import type { Value } from "../../ir/values.js";
import { X } from "../isa/ops.js";
import { integerArguments, maskOf } from "../isa/registers.js";
import type { Selector } from "./selector.js";

/** Calls a library routine that no IR names (memcpy and the like) with the default convention. @param throws it may, and does nothing else to come back */
export function callRoutine(s: Selector, name: string, values: readonly Value[], throws: boolean): void {
  s.mf.hasCalls = true;
  const call = new MInst(X.Call, 8);
  values.forEach((value, i) => {
    call.uses.push(new RegOperand(s.reg(value), maskOf(integerArguments[i]!)));
  });
  call.symbol = { kind: s.pic ? "plt" : "direct", target: { kind: "external", name } };
  call.clobbers = s.options.clobbersOf(null, -1);
  call.extra = { ...routineCall, noReturn: throws, noUnwind: !throws };
  s.emit(call);
}
