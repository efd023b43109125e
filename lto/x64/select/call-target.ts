/** What calls go to. */

import { type MInst, RegOperand, type SymbolRef } from "../../codegen/mir.js";
import { loadFolds } from "../../codegen/select/loads.js";
import { isLocalSymbol } from "../../codegen/select/symbols.js";
import { Op } from "../../ir/instructions.js";
import type { Value } from "../../ir/values.js";
import { maskOf, R11, RAX } from "../isa/registers.js";
import { address } from "./address.js";
import type { Selector } from "./selector.js";
import { registerSource } from "./source.js";

/** The machine symbol of a direct call. */
export function callSymbol(s: Selector, callee: Extract<Value, { valueKind: "global" }>): SymbolRef {
  return s.globalSymbol(callee, isLocalSymbol(s, callee) || !s.pic ? "direct" : "plt");
}

/** Caller-saved registers that carry no argument: rax (unless variadic), r10, r11. */
export const tailTargetMask = maskOf(RAX, 10, 11);

export function setTarget(s: Selector, machine: MInst, callee: Value, foldLoads: boolean): void {
  if (callee.valueKind === "global") {
    machine.symbol = callSymbol(s, callee);
    return;
  }
  const mark = s.thunkMark("calls");
  if (mark !== 0) {
    machine.marks = mark;
    machine.uses.push(new RegOperand(s.reg(callee), maskOf(R11)));
    return;
  }
  const inst = s.resolve(callee);
  if (foldLoads && inst.valueKind === "inst" && inst.op === Op.Load && loadFolds(s, inst, 8)) {
    machine.mem = address(s, inst.operands[0]!);
    return;
  }
  machine.uses.push(foldLoads ? registerSource(s, callee, 8) : s.use(callee));
}
