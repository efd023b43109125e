/**
 * Unwind directives, made from the final instructions.
 *
 * Where the CFA is and which callee-saved registers have been stored follows from the instructions that move
 * the stack pointer, so the directives need no upkeep in the passes that move code: this pass runs last, propagates the
 * state (CFA register and offset, stored registers) along control flow to every block, and writes a directive
 * wherever the state changes or a block starts in another state than the code above it ends in. The result is
 * exact at every instruction. A restored register is reported only when other code follows than the rest of
 * the epilogue: its stack copy stays valid until the return.
 * Linear in the function.
 * Breaks if: two predecessors enter a block in different states, which would be a wrong frame anyway.
 * A landing pad is entered without the arguments of the call: `DW_CFA_GNU_args_size` tells the unwinder how many
 * bytes those are. It needs to be right only at calls that unwind to a landing pad of the same function.
 * Source: DWARF 5 section 6.4; Linux Standard Base, Core, "DWARF Extensions" (DW_CFA_GNU_args_size).
 */

import { type MBlock, type MFunction, MInst, unwindTarget } from "../mir.js";
import { type CfaState, leavesFunction, OpFact } from "../target.js";

/** In `MInst.size` of an unwind directive. */
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
  /** Of what is on the stack, the lowest `imm` bytes are arguments: gone when a landing pad is entered. */
  Arguments,
}

const clone = (s: CfaState): CfaState => ({ ...s, saved: [...s.saved] });

function directive(op: number, kind: CfiKind, register: number, offset: number): MInst {
  const inst = new MInst(op, kind);
  inst.cc = register;
  inst.imm = offset;
  return inst;
}

/** Writes the directives that lead from what the unwinder believes to `state`. */
function emitDifference(
  out: MInst[],
  believed: CfaState,
  state: CfaState,
  restores: boolean,
  op: number,
): void {
  if (believed.register !== state.register && believed.offset !== state.offset)
    out.push(directive(op, CfiKind.DefCfa, state.register, state.offset));
  else if (believed.register !== state.register)
    out.push(directive(op, CfiKind.DefCfaRegister, state.register, 0));
  else if (believed.offset !== state.offset) out.push(directive(op, CfiKind.DefCfaOffset, 0, state.offset));
  believed.register = state.register;
  believed.offset = state.offset;
  for (const { register, offset } of state.saved)
    if (!believed.saved.some((s) => s.register === register && s.offset === offset)) {
      out.push(directive(op, CfiKind.Offset, register, offset));
      believed.saved = believed.saved.filter((s) => s.register !== register);
      believed.saved.push({ register, offset });
    }
  if (!restores) return;
  for (const { register } of believed.saved)
    if (!state.saved.some((s) => s.register === register))
      out.push(directive(op, CfiKind.Restore, register, 0));
  believed.saved = [...state.saved];
}

/** Bytes that the unwinder takes off the stack when it leaves the call for a landing pad. */
const argumentBytes = ({ extra }: MInst): number =>
  extra !== null && extra.kind === "call" ? extra.pushed : 0;

/** State at the entry of every block, by id. */
function blockStates(mf: MFunction, framePointer: boolean): (CfaState | undefined)[] {
  const { frame } = mf.target;
  const states: (CfaState | undefined)[] = [];
  const entry = mf.blocks[0]!;
  states[entry.id] = mf.target.frame.entryState();
  const work: MBlock[] = [entry];
  for (let block = work.pop(); block !== undefined; block = work.pop()) {
    const state = clone(states[block.id]!);
    for (const inst of block.insts) {
      frame.step(state, inst, framePointer);
      const pad = unwindTarget(inst);
      if (pad === null || states[pad.id] !== undefined) continue;
      // The unwinder enters a landing pad with the stack as it was at the call, but for the arguments.
      const entered = clone(state);
      frame.release(entered, argumentBytes(inst));
      states[pad.id] = entered;
      work.push(pad);
    }
    for (const succ of block.succs) {
      if (states[succ.id] !== undefined || succ.landingPad) continue;
      states[succ.id] = clone(state);
      work.push(succ);
    }
  }
  return states;
}

/** Whether the block does more from `index` on than to restore registers and leave. */
function goesOn(insts: readonly MInst[], index: number, facts: Uint32Array): boolean {
  for (let i = index; i < insts.length; i++)
    if ((facts[insts[i]!.op]! & (OpFact.Restores | leavesFunction | OpFact.Jump)) === 0) return true;
  return false;
}

/**
 * Inserts unwind directives into the blocks, which must be in their final order.
 * @param framePointer the frame has a frame pointer
 */
export function insertCfi(mf: MFunction, framePointer: boolean): void {
  const { frame, instructions } = mf.target;
  if (mf.omitCfi || mf.blocks.length === 0) return;
  if (!mf.blocks.some((block) => block.insts.some(frame.movesStack))) return;
  const states = blockStates(mf, framePointer);
  const believed = mf.target.frame.entryState();
  let believedArguments = 0;
  for (const block of mf.blocks) {
    const state = states[block.id] === undefined ? clone(believed) : clone(states[block.id]!);
    const out: MInst[] = [];
    emitDifference(out, believed, state, true, frame.directive);
    const { insts } = block;
    for (let i = 0; i < insts.length; i++) {
      // Behind an epilogue in the middle of a function the stack copies are no longer valid.
      if (believed.saved.length > state.saved.length && goesOn(insts, i, instructions.facts))
        emitDifference(out, believed, state, true, frame.directive);
      if (unwindTarget(insts[i]!) !== null && argumentBytes(insts[i]!) !== believedArguments) {
        believedArguments = argumentBytes(insts[i]!);
        out.push(directive(frame.directive, CfiKind.Arguments, -1, believedArguments));
      }
      out.push(insts[i]!);
      if (frame.step(state, insts[i]!, framePointer))
        emitDifference(out, believed, state, false, frame.directive);
    }
    block.insts = out;
  }
}
