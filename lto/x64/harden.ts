/**
 * What functions' attributes ask for at entries, exits and places that pointers lead to, put in when the rest of the
 * code is final:
 *
 *   - `fentry-call`: a call of a profiler before everything else;
 *   - `patchable-function-entry`: bytes that a tool may replace, at the entry;
 *   - `zero-call-used-regs`: registers that could tell something are zero at exits;
 *   - `+harden-sls-ret`, `+harden-sls-ijmp`: a trap after returns and indirect jumps, which speculation runs into;
 *   - `fn_ret_thunk_extern`: returns are jumps to a routine that others provide;
 *   - `branch-marks`: indirect branches may only lead to `endbr64`; jumps through tables do without (`notrack`).
 *
 * The code that comes in keeps nothing in registers: functions with the first, second and fourth publish that they may
 * change all that the convention lets them (`ipra/added-code.ts`). Linear in the function.
 * Source: LLVM's attributes (Language Reference); Intel SDM volume 1, chapter 17 (indirect branch tracking).
 */
import { type MBlock, type MFunction, MInst, routineCall } from "../codegen/mir.js";
import {
  hasRegister,
  minus,
  noRegisters,
  type RegisterSet,
  registersIn,
  union,
  withRegister,
} from "../codegen/register-set.js";
import { branchMarks } from "../ir/attributes.js";
import { noLabel } from "../ir/instructions.js";
import type { Func } from "../ir/module.js";
import { aluReg, physical } from "./isa/build.js";
import { usedRegisters, writtenRegisters } from "./isa/effects.js";
import { jump } from "./isa/facts.js";
import { hasHighRegisters } from "./isa/high-registers.js";
import { opFormat } from "./isa/op-info.js";
import { Format, JumpMark, X } from "./isa/ops.js";
import { callClobbers, gprMask, highMask, integerArguments, maskOf, XMM0, XMM16 } from "./isa/registers.js";
import { V } from "./isa/vex-ops.js";

/** Puts in what the function's attributes ask for. */
export function harden(mf: MFunction): void {
  if (mf.fn.kind !== "function") return;
  const attributes = mf.fn.attributes.fn;
  const zeroed = attributes.string("zero-call-used-regs") ?? "skip";
  if (zeroed !== "skip") zeroRegisters(mf, zeroed);
  const features = (attributes.string("target-features") ?? "").split(",");
  const stopReturns = features.includes("+harden-sls-ret");
  const stopJumps = features.includes("+harden-sls-ijmp");
  const thunk = attributes.has("fn_ret_thunk_extern");
  if (thunk || stopReturns || stopJumps)
    for (const block of mf.blocks) changeExits(block, thunk, stopReturns, stopJumps);
  const patched = Number(attributes.string("patchable-function-entry") ?? 0);
  if (patched > 0) leaveRoom(mf, patched, Number(attributes.string("patchable-function-prefix") ?? 0) === 0);
  if (attributes.string("fentry-call") === "true") callAtEntry(mf, "__fentry__");
  const marks = attributes.string(branchMarks.attribute);
  if (marks !== undefined) markTargets(mf, marks === branchMarks.entry);
}

/** The first block, which nothing jumps to. */
function ownEntry(mf: MFunction): MBlock {
  const first = mf.blocks[0]!;
  if (first.preds.length === 0 && !first.addressTaken) return first;
  const entry = mf.newBlock();
  mf.blocks.pop();
  mf.blocks.unshift(entry);
  entry.insts.push(jump(first));
  entry.succs.push(first);
  first.preds.push(entry);
  return entry;
}

/** Arguments are in registers, and nothing is on the stack: what is called has to care for both. */
function callAtEntry(mf: MFunction, name: string): void {
  const call = new MInst(X.Call, 8);
  call.symbol = { kind: "direct", target: { kind: "external", name } };
  call.extra = routineCall;
  ownEntry(mf).insts.unshift(call);
}

/** Instructions that a tool may replace. The list of such places names these, unless there are some before the entry. */
function leaveRoom(mf: MFunction, bytes: number, listed: boolean): void {
  const nop = new MInst(X.Nop, 8);
  nop.imm = bytes;
  const { insts } = ownEntry(mf);
  insts.unshift(nop);
  if (listed) insts.unshift(new MInst(X.PatchLabel, 0));
}

// ── Registers at exits ──

/** Registers that the function mentions. */
function mentioned(mf: MFunction): RegisterSet {
  let all = noRegisters;
  for (const { insts } of mf.blocks)
    for (const inst of insts) {
      // What a callee changes is the callee's to zero.
      if (inst.extra?.kind !== "call") all = union(all, writtenRegisters(inst));
      for (const def of inst.defs) if (def.loc >= 0) all = withRegister(all, def.loc);
      all = union(all, usedRegisters(inst));
    }
  return all;
}

const argumentRegisters = union(
  maskOf(...integerArguments),
  maskOf(...Array.from({ length: 8 }, (_, i) => XMM0 + i)),
);

/** The registers that a kind of the attribute names, of those that a call may change. */
function namedRegisters(mf: MFunction, kind: string): RegisterSet {
  let set = hasHighRegisters(mf.fn) ? union(callClobbers, highMask) : callClobbers;
  if (kind.includes("gpr")) set = minus(set, minus(set, gprMask));
  if (kind.endsWith("arg")) set = minus(set, minus(set, argumentRegisters));
  if (kind.startsWith("used")) set = minus(set, minus(set, mentioned(mf)));
  return set;
}

function zero(register: number): MInst {
  if (register < XMM0) return aluReg(X.Xor, 4, register, register);
  const inst = new MInst(register < XMM16 ? X.XorpsZero : V.Zero, 16);
  inst.defs = [physical(register)];
  return inst;
}

function zeroRegisters(mf: MFunction, kind: string): void {
  const named = namedRegisters(mf, kind);
  const usesStack = mf.blocks.some((block) =>
    block.insts.some(({ op }) => opFormat[op] === Format.X87 || opFormat[op] === Format.X87M),
  );
  const wholeStack = (kind === "all" || (kind === "used" && usesStack)) && !returnsOnStack(mf);
  for (const { insts } of mf.blocks) {
    const exit = insts.length - 1;
    const last = insts[exit];
    if (last === undefined || (last.op !== X.Ret && last.op !== X.TailCall && last.op !== X.TailCallIndirect))
      continue;
    let kept = union(usedRegisters(last), last.op === X.Ret ? mf.resultRegisters : noRegisters);
    for (const use of last.uses) if (use.loc >= 0) kept = withRegister(kept, use.loc);
    const added: MInst[] = [];
    if (wholeStack) {
      for (let i = 0; i < 8; i++) added.push(new MInst(X.Fldz, 10));
      for (let i = 0; i < 8; i++) added.push(new MInst(X.FstpSt0, 10));
    }
    for (const register of registersIn(named)) if (!hasRegister(kept, register)) added.push(zero(register));
    insts.splice(exit, 0, ...added);
  }
}

const returnsOnStack = (mf: MFunction): boolean => {
  const { result } = (mf.fn as Func).valueType;
  return result.kind === "x86_fp80" || result.elements.some((member) => member.kind === "x86_fp80");
};

// ── Exits ──

function changeExits(block: MBlock, thunk: boolean, stopReturns: boolean, stopJumps: boolean): void {
  const inst = block.insts[block.insts.length - 1];
  if (inst === undefined) return;
  if (inst.op === X.Ret && thunk) {
    inst.op = X.TailCall;
    inst.symbol = { kind: "direct", target: { kind: "external", name: "__x86_return_thunk" } };
    inst.extra = { ...routineCall, noReturn: true };
  } else if (inst.op === X.Ret ? stopReturns : isIndirectJump(inst.op) && stopJumps)
    inst.marks |= JumpMark.Stop;
}

const isIndirectJump = (op: number): boolean => op === X.JmpIndirect || op === X.TailCallIndirect;

// ── Targets of indirect branches ──

function markTargets(mf: MFunction, atEntry: boolean): void {
  for (const block of mf.blocks) {
    const { insts } = block;
    for (let i = insts.length - 1; i >= 0; i--) {
      const inst = insts[i]!;
      if (inst.extra?.kind === "call" && inst.extra.returnsTwice) insts.splice(i + 1, 0, endbr());
      else if (inst.op === X.JmpIndirect && inst.extra?.kind === "jump-table") inst.marks |= JumpMark.NoTrack;
    }
    if (block.landingPad || (block.addressTaken && block.label !== noLabel)) insts.unshift(endbr());
  }
  if (atEntry) ownEntry(mf).insts.unshift(endbr());
}

const endbr = (): MInst => new MInst(X.Endbr64, 8);
