/**
 * Unwind directives, made from the final instructions.
 *
 * Where the CFA is and which callee-saved registers have been stored follows from the instructions that move
 * rsp, so the directives need no upkeep in the passes that move code: this pass runs last, propagates the
 * state (CFA register and offset, stored registers) along control flow to every block, and writes a directive
 * wherever the state changes or a block starts in another state than the code above it ends in. The result is
 * exact at every instruction. A restored register is reported only when other code follows than the rest of
 * the epilogue: its stack copy stays valid until the return.
 * Linear in the function.
 * Breaks if: two predecessors enter a block in different states, which would be a wrong frame anyway.
 * Source: DWARF 5 section 6.4; System V ABI AMD64 section 3.6 (register numbers).
 */

import { X } from "../../x64/isa/ops.js";
import { RBP, RSP } from "../../x64/isa/registers.js";
import { type MBlock, type MFunction, MInst } from "../mir.js";

/** In `MInst.size` of an `X.Cfi`. */
export enum CfiKind {
  /** The CFA is `imm` above the current CFA register. */
  DefCfaOffset,
  /** The CFA register becomes `cc`; the offset stays. */
  DefCfaRegister,
  /** The CFA is `imm` above register `cc`. */
  DefCfa,
  /** Register `cc` is stored at CFA + `imm`. */
  Offset,
  /** Register `cc` has its value from the function's entry again. */
  Restore,
}

interface State {
  /** rsp or rbp. */
  register: number;
  offset: number;
  /** CFA minus rsp; -1 once it is unknown. */
  depth: number;
  /** Stored registers, and where: negative offsets from the CFA. */
  saved: { register: number; offset: number }[];
}

const initial = (): State => ({ register: RSP, offset: 8, depth: 8, saved: [] });
const clone = (s: State): State => ({ ...s, saved: [...s.saved] });

function directive(kind: CfiKind, register: number, offset: number): MInst {
  const inst = new MInst(X.Cfi, kind);
  inst.cc = register;
  inst.imm = offset;
  return inst;
}

/** Moves rsp down by `bytes` (up when negative). */
function moveStack(state: State, bytes: number): void {
  if (state.depth >= 0) state.depth += bytes;
  if (state.register === RSP) state.offset = state.depth;
}

/** The register that an instruction writes as its first definition, or -1. */
const target = (inst: MInst): number => (inst.defs.length > 0 ? inst.defs[0]!.loc : -1);

/**
 * Effect of one instruction; `framePointer`: a copy of rsp to rbp establishes the frame.
 * @returns whether the state may have changed
 */
function step(state: State, inst: MInst, framePointer: boolean): boolean {
  switch (inst.op) {
    case X.Push:
    case X.PushPad:
      moveStack(state, 8);
      return true;
    case X.Pop:
      moveStack(state, -8);
      return true;
    case X.PushSaved:
      moveStack(state, 8);
      state.saved.push({ register: inst.uses[0]!.loc, offset: -state.depth });
      return true;
    case X.PopSaved:
      restore(state, target(inst));
      return true;
    case X.Leave:
      restore(state, RBP);
      return true;
    case X.Copy:
      if (framePointer && target(inst) === RBP && inst.uses[0]!.loc === RSP) state.register = RBP;
      else if (target(inst) === RSP) state.depth = -1;
      return true;
    case X.Sub:
      return target(inst) === RSP && adjustBy(state, inst, 1);
    case X.Add:
      return target(inst) === RSP && adjustBy(state, inst, -1);
    case X.And:
      if (target(inst) !== RSP) return false;
      state.depth = -1;
      return true;
    case X.Lea:
      return target(inst) === RSP && leaStack(state, inst);
    default:
      return false;
  }
}

function adjustBy(state: State, inst: MInst, sign: number): boolean {
  if (inst.imm === null) state.depth = -1;
  else moveStack(state, sign * Number(inst.imm));
  return true;
}

/** lea disp(%rsp) or disp(%rbp), %rsp. */
function leaStack(state: State, inst: MInst): boolean {
  const mem = inst.mem!;
  if (mem.base!.loc === RSP) moveStack(state, -mem.disp);
  else if (state.register === RBP) state.depth = state.offset - mem.disp;
  return true;
}

function restore(state: State, register: number): void {
  state.saved = state.saved.filter((s) => s.register !== register);
  if (register === RBP && state.register === RBP) {
    // pop %rbp and leave end 8 above the saved rbp, which is where rbp pointed.
    state.register = RSP;
    state.depth = state.offset - 8;
    state.offset = state.depth;
  } else moveStack(state, -8);
}

/** Writes the directives that lead from what the unwinder believes to `state`. */
function emitDifference(out: MInst[], believed: State, state: State, restores: boolean): void {
  if (believed.register !== state.register && believed.offset !== state.offset)
    out.push(directive(CfiKind.DefCfa, state.register, state.offset));
  else if (believed.register !== state.register)
    out.push(directive(CfiKind.DefCfaRegister, state.register, 0));
  else if (believed.offset !== state.offset) out.push(directive(CfiKind.DefCfaOffset, 0, state.offset));
  believed.register = state.register;
  believed.offset = state.offset;
  for (const { register, offset } of state.saved)
    if (!believed.saved.some((s) => s.register === register && s.offset === offset)) {
      out.push(directive(CfiKind.Offset, register, offset));
      believed.saved = believed.saved.filter((s) => s.register !== register);
      believed.saved.push({ register, offset });
    }
  if (!restores) return;
  for (const { register } of believed.saved)
    if (!state.saved.some((s) => s.register === register)) out.push(directive(CfiKind.Restore, register, 0));
  believed.saved = [...state.saved];
}

/** State at the entry of every block, by id. */
function blockStates(mf: MFunction, framePointer: boolean): (State | undefined)[] {
  const states: (State | undefined)[] = [];
  const entry = mf.blocks[0]!;
  states[entry.id] = initial();
  const work: MBlock[] = [entry];
  for (let block = work.pop(); block !== undefined; block = work.pop()) {
    const state = clone(states[block.id]!);
    for (const inst of block.insts) {
      step(state, inst, framePointer);
      const extra = inst.extra;
      if (extra === null || extra.kind !== "call" || extra.unwind === null) continue;
      // The unwinder enters a landing pad with the stack as it was at the call.
      if (states[extra.unwind.id] === undefined) {
        states[extra.unwind.id] = clone(state);
        work.push(extra.unwind);
      }
    }
    for (const succ of block.succs) {
      if (states[succ.id] !== undefined || succ.landingPad) continue;
      states[succ.id] = clone(state);
      work.push(succ);
    }
  }
  return states;
}

/** Whether any instruction changes what the unwinder must know. */
function movesStack(mf: MFunction): boolean {
  for (const block of mf.blocks)
    for (const inst of block.insts) {
      switch (inst.op) {
        case X.Push:
        case X.PushPad:
        case X.PushSaved:
        case X.Leave:
          return true;
        case X.Add:
        case X.Sub:
        case X.And:
        case X.Lea:
          if (target(inst) === RSP) return true;
      }
    }
  return false;
}

/** Whether the block does more from `index` on than to restore registers and leave. */
function goesOn(insts: readonly MInst[], index: number): boolean {
  for (let i = index; i < insts.length; i++) {
    switch (insts[i]!.op) {
      case X.PopSaved:
      case X.Ret:
      case X.TailCall:
      case X.TailCallIndirect:
      case X.Jmp:
        break;
      default:
        return true;
    }
  }
  return false;
}

/**
 * Inserts `X.Cfi` instructions into the blocks, which must be in their final order.
 * @param framePointer the frame plan uses rbp as frame pointer
 */
export function insertCfi(mf: MFunction, framePointer: boolean): void {
  if (mf.omitCfi || mf.blocks.length === 0 || !movesStack(mf)) return;
  const states = blockStates(mf, framePointer);
  const believed = initial();
  for (const block of mf.blocks) {
    const state = states[block.id] === undefined ? clone(believed) : clone(states[block.id]!);
    const out: MInst[] = [];
    emitDifference(out, believed, state, true);
    const { insts } = block;
    for (let i = 0; i < insts.length; i++) {
      // Behind an epilogue in the middle of a function the stack copies are no longer valid.
      if (believed.saved.length > state.saved.length && goesOn(insts, i))
        emitDifference(out, believed, state, true);
      out.push(insts[i]!);
      if (step(state, insts[i]!, framePointer)) emitDifference(out, believed, state, false);
    }
    block.insts = out;
  }
}
