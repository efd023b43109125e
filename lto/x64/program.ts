/** x86-64 as code generation of a whole program sees it. */
import { type MBlock, type MFunction, MInst, type RegMask, RegOperand } from "../codegen/mir.js";
import type { ProgramTarget } from "../codegen/program/target.js";
import { registersIn } from "../codegen/regalloc/problem.js";
import { finishFunction } from "./finish.js";
import { substitutes, withArgument } from "./frame/convention.js";
import { wantedExtras } from "./frame/extra-registers.js";
import { X } from "./isa/ops.js";
import { legalizeFunction } from "./legalize/index.js";
import { selectFunction } from "./select/index.js";
import { x64Target } from "./target.js";

export const x64ProgramTarget: ProgramTarget = {
  machine: x64Target,
  conventions: {
    substituteIsLong: substitutes.map((register) => register >= 8),
    withArgument,
    wantedExtras,
  },
  legalize: legalizeFunction,
  select: (legal, layout, goal, options) => selectFunction(x64Target, legal, layout, goal, options),
  untieTailCalls(mf: MFunction, saved: RegMask): void {
    for (const block of mf.blocks) untieTailCall(block, saved, mf.resultRegisters);
  },
  finish: finishFunction,
};

/** The results are in the same places: the function returns what its callee returns. */
function untieTailCall(block: MBlock, saved: RegMask, results: RegMask): void {
  const last = block.insts.length - 1;
  const inst = block.insts[last];
  if (inst === undefined || inst.op !== X.TailCall) return;
  if (!inst.uses.some((use) => use.loc >= 0 && ((saved >>> use.loc) & 1) === 1)) return;
  inst.op = X.Call;
  if (inst.extra?.kind === "call") inst.extra = { ...inst.extra, noReturn: false };
  const ret = new MInst(X.Ret, 8);
  for (const register of registersIn(results)) {
    inst.defs.push(RegOperand.physical(register));
    ret.uses.push(RegOperand.physical(register));
  }
  block.insts.push(ret);
}
