/** Tail calls that cannot be made once it is decided what the function saves. */

import { type MBlock, type MFunction, MInst, RegOperand } from "../../codegen/mir.js";
import { hasRegister, type RegisterSet, registersIn } from "../../codegen/register-set.js";
import { X } from "../isa/ops.js";

/** Makes calls of tail calls that pass an argument in a register which the function restores before it leaves. */
export function untieTailCalls(mf: MFunction, saved: RegisterSet): void {
  for (const block of mf.blocks) untieTailCall(block, saved, mf.resultRegisters);
}

/** The results are in the same places: the function returns what its callee returns. */
function untieTailCall(block: MBlock, saved: RegisterSet, results: RegisterSet): void {
  const last = block.insts.length - 1;
  const inst = block.insts[last];
  if (inst === undefined || inst.op !== X.TailCall) return;
  if (!inst.uses.some((use) => use.loc >= 0 && hasRegister(saved, use.loc))) return;
  inst.op = X.Call;
  if (inst.extra?.kind === "call") inst.extra = { ...inst.extra, noReturn: false };
  const ret = new MInst(X.Ret, 8);
  for (const register of registersIn(results)) {
    inst.defs.push(RegOperand.physical(register));
    ret.uses.push(RegOperand.physical(register));
  }
  block.insts.push(ret);
}
