/**
 * Where the CFA is and which registers are stored, instruction by instruction: the x86-64 half of unwind directives
 * (`codegen/late/cfi.ts` carries the state along control flow).
 * Source: System V ABI AMD64, section 3.4.
 */
import type { MInst } from "../../codegen/mir.js";
import type { CfaState } from "../../codegen/target.js";
import { opStack } from "../isa/op-info.js";
import { X } from "../isa/ops.js";
import { RBP, RSP } from "../isa/registers.js";
import { Stack } from "../isa/row.js";

/** On entry the return address has been pushed. */
export const entryState = (): CfaState => ({ register: RSP, offset: 8, depth: 8, saved: [] });

/** The state from which pops of registers, and a return, lead to that on entry. */
export function stateBefore(pops: readonly MInst[]): CfaState {
  const state = entryState();
  for (let i = pops.length - 1; i >= 0; i--) {
    const inst = pops[i]!;
    const effect: Stack = opStack[inst.op]!;
    if (effect !== Stack.Pop && effect !== Stack.PopSaved) continue;
    moveStack(state, 8);
    if (effect === Stack.PopSaved) state.saved.push({ register: target(inst), offset: -state.depth });
  }
  return state;
}

/** Moves rsp down by `bytes` (up when negative). */
function moveStack(state: CfaState, bytes: number): void {
  if (state.depth >= 0) state.depth += bytes;
  if (state.register === RSP) state.offset = state.depth;
}

/** The unwinder takes `bytes` of arguments off the stack. */
export const release = (state: CfaState, bytes: number): void => moveStack(state, -bytes);

/** The register that an instruction writes as its first definition, or -1. */
const target = (inst: MInst): number => (inst.defs.length > 0 ? inst.defs[0]!.loc : -1);

/**
 * Effect of one instruction; `framePointer`: a copy of rsp to rbp establishes the frame.
 * @returns whether the state may have changed
 */
export function step(state: CfaState, inst: MInst, framePointer: boolean): boolean {
  switch (opStack[inst.op] as Stack) {
    case Stack.Push:
      moveStack(state, 8);
      return true;
    case Stack.Pop:
      moveStack(state, -8);
      return true;
    case Stack.PushSaved:
      moveStack(state, 8);
      state.saved.push({ register: inst.uses[0]!.loc, offset: -state.depth });
      return true;
    case Stack.PopSaved:
      restore(state, target(inst));
      return true;
    case Stack.Leave:
      restore(state, RBP);
      return true;
    case Stack.Lower:
      moveStack(state, Number(inst.imm));
      return true;
    case Stack.Set:
      state.depth = -1;
      return true;
    case Stack.Result:
    case Stack.Stays:
      return compute(state, inst, framePointer);
  }
}

/** Effect of copies and arithmetic. */
function compute(state: CfaState, inst: MInst, framePointer: boolean): boolean {
  switch (inst.op) {
    case X.Copy:
      if (framePointer && target(inst) === RBP && inst.uses[0]!.loc === RSP) state.register = RBP;
      else if (target(inst) === RSP) state.depth = -1;
      return true;
    case X.Sub:
      if (target(inst) === RSP) return adjustBy(state, inst, 1);
      return framePointer && target(inst) === RBP && lend(state, inst, -1);
    case X.Add:
      if (target(inst) === RSP) return adjustBy(state, inst, -1);
      return framePointer && target(inst) === RBP && lend(state, inst, 1);
    case X.And:
      if (target(inst) !== RSP) return false;
      state.depth = -1;
      return true;
    case X.Lea:
      if (target(inst) === RSP) return leaStack(state, inst);
      return framePointer && target(inst) === RBP && inst.mem!.base?.loc === RBP && lend(state, inst, 1);
    default:
      return false;
  }
}

function adjustBy(state: CfaState, inst: MInst, sign: number): boolean {
  if (inst.imm === null) state.depth = -1;
  else moveStack(state, sign * Number(inst.imm));
  return true;
}

/** The frame pointer, which nothing else changes, is moved by an amount for a loop that borrows it. */
function lend(state: CfaState, inst: MInst, sign: number): boolean {
  if (state.register !== RBP) return false;
  state.offset -= sign * (inst.mem !== null ? inst.mem.disp : Number(inst.imm));
  return true;
}

/** lea disp(%rsp) or disp(%rbp), %rsp. */
function leaStack(state: CfaState, inst: MInst): boolean {
  const mem = inst.mem!;
  if (mem.base!.loc === RSP) moveStack(state, -mem.disp);
  else if (state.register === RBP) state.depth = state.offset - mem.disp;
  return true;
}

function restore(state: CfaState, register: number): void {
  state.saved = state.saved.filter((s) => s.register !== register);
  if (register === RBP && state.register === RBP) {
    // pop %rbp and leave end 8 above the saved rbp, which is where rbp pointed.
    state.register = RSP;
    state.depth = state.offset - 8;
    state.offset = state.depth;
  } else moveStack(state, -8);
}

/**
 * Bytes of asynchronous tables: a step of the location (1), `def_cfa_offset` (2), `offset` of a saved register (2). With a
 * frame pointer the CFA stays where it is until that is restored: a step and `def_cfa` (3).
 */
export function tableBytes(inst: MInst, framePointer: boolean): number {
  switch (opStack[inst.op] as Stack) {
    case Stack.PushSaved:
      return framePointer ? 2 : 5;
    case Stack.Push:
    case Stack.Pop:
      return framePointer ? 0 : 3;
    case Stack.PopSaved:
      return framePointer ? (target(inst) === RBP ? 4 : 0) : 3;
    case Stack.Leave:
      return 4;
    default:
      return !framePointer && movesStack(inst) ? 3 : 0;
  }
}

/** Whether the instruction changes what the unwinder must know. */
export function movesStack(inst: MInst): boolean {
  switch (opStack[inst.op] as Stack) {
    case Stack.Stays:
    case Stack.Pop:
    case Stack.PopSaved:
      return false;
    case Stack.Result:
      return target(inst) === RSP;
    default:
      return true;
  }
}
