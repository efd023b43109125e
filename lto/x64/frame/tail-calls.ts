/** Tail calls that cannot be made once it is decided what the function saves, and others that can. */

import { type MBlock, type MFunction, MInst, RegOperand } from "../../codegen/mir.js";
import { hasRegister, isEmptySet, type RegisterSet, registersIn } from "../../codegen/register-set.js";
import { OpFact } from "../../codegen/target.js";
import { opFacts } from "../isa/op-info.js";
import { X } from "../isa/ops.js";
import { RSP } from "../isa/registers.js";
import { needsFramePointer } from "./frame-registers.js";

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

/**
 * The blocks of an allocated function that end in a call after which it only returns, perhaps by a block of its own
 * that others lead to as well, if the function's frame is nothing but what aligns the stack for calls: selection makes
 * jumps of calls right before a return alone (codegen/select/tail-calls.ts), and does not know of the frame.
 *
 * What makes it right: the callee finds the stack as the function did, with no argument on it (calls that have some are
 * not followed by the return, but by what takes them off), no address of a frame that would be gone, and nothing to
 * put back; it leaves the results where the function does. Who asked for a call, or for none to be a jump, gets it.
 */
export function findTailCalls(mf: MFunction, saved: RegisterSet): MBlock[] {
  if (!isEmptySet(saved) || needsFramePointer(mf) || mf.returnsTwice) return [];
  if (mf.fn.kind !== "function" || mf.fn.attributes.fn.string("disable-tail-calls") === "true") return [];
  if (mf.slots.some(({ kind }) => kind !== "incoming")) return [];
  const found = mf.blocks.filter((block) => {
    const ret = returnAfter(block);
    return ret !== null && isJump(block.insts[block.insts.length - 2]!, ret);
  });
  return found.length === 0 || mf.blocks.some(({ insts }) => insts.some(isAssembly)) ? [] : found;
}

/** Assembly may rely on more of the frame than one sees. */
const isAssembly = ({ op }: MInst): boolean => (opFacts[op]! & OpFact.Asm) !== 0;

/** The return that a block ends with, or leads to by its last jump. */
function returnAfter({ insts }: MBlock): MInst | null {
  if (insts.length < 2) return null;
  const last = insts[insts.length - 1]!;
  if (last.op === X.Ret) return last;
  if (last.op !== X.Jmp) return null;
  const next = last.targets[0]!.insts;
  return next.length === 1 && next[0]!.op === X.Ret ? next[0]! : null;
}

/** Whether a jump serves as well as the call before this return. */
function isJump({ op, symbol, marks, extra, defs }: MInst, ret: MInst): boolean {
  if (op !== X.Call || symbol === null || marks !== 0 || ret.marks !== 0 || ret.imm !== null) return false;
  if (extra?.kind !== "call" || extra.noReturn || extra.returnsTwice || extra.unwind !== null) return false;
  return ret.uses.every((use) => defs.some((def) => def.loc === use.loc));
}

/** Makes jumps of the calls that such blocks end with. */
export function formTailCalls(blocks: readonly MBlock[], mf: MFunction): void {
  for (const { insts } of blocks) {
    const way = insts.pop()!;
    mf.debug?.marks?.take(way);
    const call = insts[insts.length - 1]!;
    call.op = X.TailCall;
    call.defs = [];
    if (call.extra?.kind === "call") call.extra = { ...call.extra, noUnwind: false };
  }
  // What is left says whether there are any.
  mf.hasCalls = false;
}

/**
 * Jumps by a pointer in memory, as of virtual functions, load it themselves:
 *
 *     mov 32(%rax), %rax; pop %rbx; jmp *%rax    →    pop %rbx; jmp *32(%rax)
 *
 * Nothing lies between the two but what moves arguments and takes the frame away, which touches neither the register nor
 * memory; the place is not addressed by the stack pointer. For a function that has its frame.
 */
export function jumpByMemory({ blocks, debug }: MFunction): void {
  for (const { insts } of blocks) {
    const last = insts.length - 1;
    const jump = insts[last];
    if (jump?.op !== X.TailCallIndirect || jump.mem !== null || jump.marks !== 0) continue;
    const target = jump.uses[0]!.loc;
    let at = last - 1;
    while (at >= 0 && isMove(insts[at]!) && !names(insts[at]!, target)) at--;
    const load = insts[at];
    if (load?.op !== X.Mov || load.size !== 8 || load.mem === null || load.defs[0]!.loc !== target) continue;
    const { base, index } = load.mem;
    // Of other registers nobody else need know that they are in use from here on.
    const isOwn = [base, index].every((part) => part === null || part.loc === target);
    if (base?.loc === RSP || (!isOwn && at < last - 1)) continue;
    if (jump.uses.slice(1).some(({ loc }) => loc === target)) continue;
    jump.mem = load.mem;
    jump.uses.shift();
    const marks = debug?.marks ?? null;
    marks?.put(jump, marks.take(load));
    insts.splice(at, 1);
  }
}

/** Moves between registers, or takes a part of the frame away. */
const isMove = ({ op, mem }: MInst): boolean =>
  mem === null && (op === X.Copy || op === X.Mov || op === X.Pop || op === X.PopSaved || op === X.Add);

const names = ({ defs, uses }: MInst, register: number): boolean =>
  [...defs, ...uses].some(({ loc }) => loc === register);
