/** Conditions on the flags, and their value as a bit in a register. */
import { MInst, RegOperand } from "../../codegen/mir.js";
import { type Cc, X } from "../isa/ops.js";
import type { Selector } from "./selector.js";

/** True when `first` holds, combined with `second` (if ≥ 0) by `and` or by `or`. */
export interface Condition {
  readonly first: Cc;
  readonly second: Cc | -1;
  readonly and: boolean;
}

/** result (0 or 1 in the low byte) = condition. */
export function setCondition(s: Selector, result: number, condition: Condition): void {
  const set = (cc: Cc, vreg: number): void => {
    const inst = new MInst(X.Setcc, 1);
    inst.condition = cc;
    inst.defs = [new RegOperand(vreg)];
    s.emit(inst);
  };
  if (condition.second < 0) return set(condition.first, result);
  const a = s.newGpr(4);
  const b = s.newGpr(4);
  set(condition.first, a);
  set(condition.second as Cc, b);
  s.binary(condition.and ? X.And : X.Or, 4, result, a, b);
}
