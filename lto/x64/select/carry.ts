/** Addition and subtraction with a carry that comes and goes in a byte: `tsc.x64.adc32` … `sbb64`, of (carry, a, b). */
import { MInst, RegOperand } from "../../codegen/mir.js";
import { constantNumber } from "../../codegen/select/constants.js";
import { type CallInst, callArguments } from "../../ir/instructions.js";
import type { Value } from "../../ir/values.js";
import { Cc, X } from "../isa/ops.js";
import type { Selector } from "./selector.js";
import { setCondition } from "./set-condition.js";
import { setSource } from "./source.js";

const operations: Readonly<Record<string, readonly [withCarry: X, without: X, size: number]>> = {
  adc32: [X.Adc, X.Add, 4],
  adc64: [X.Adc, X.Add, 8],
  sbb32: [X.Sbb, X.Sub, 4],
  sbb64: [X.Sbb, X.Sub, 8],
};

/** Lowers a call of one of these; false when the name is of something else. */
export function selectCarry(s: Selector, call: CallInst, name: string): boolean {
  const entry = operations[name];
  if (entry === undefined) return false;
  const [withCarry, without, size] = entry;
  const [carry, a, b] = callArguments(call) as [Value, Value, Value];
  const known = constantNumber(carry);
  const isClear = known !== null && (known & 0xff) === 0;
  const inst = new MInst(isClear ? without : withCarry, size);
  // Registers first: what makes them may not come between the flags and who reads them.
  inst.uses = [new RegOperand(s.reg(a))];
  setSource(s, inst, b, size);
  const sum = s.values.partOf(call, 1);
  inst.defs = [RegOperand.tied(sum >= 0 ? sum : s.newGpr(size))];
  if (!isClear) {
    // Carries out of the byte unless it is zero.
    const any = new MInst(X.Add, 1);
    any.uses = [new RegOperand(s.reg(carry))];
    any.defs = [RegOperand.tied(s.newGpr(4))];
    any.imm = -1;
    s.emit(any);
  }
  s.emit(inst);
  const out = s.values.partOf(call, 0);
  if (out >= 0) setCondition(s, out, { first: Cc.B, second: -1, and: false });
  return true;
}
