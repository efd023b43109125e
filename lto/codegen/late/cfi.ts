/**
 * Unwind directives, made from the final instructions.
 *
 * Where the CFA is and which callee-saved registers have been stored follows from the instructions that move
 * the stack pointer, so the directives need no upkeep in the passes that move code: this pass runs last, propagates the
 * state (CFA register and offset, stored registers) along control flow to every block, and writes a directive
 * wherever the state changes or a block starts in another state than the code above it ends in. For "async" tables the
 * result is exact at every instruction; for "sync" ones at calls, so that only calls have directives before them.
 * A restored register is reported only when other code follows than the rest of the epilogue: its stack copy stays
 * valid until the return. Stores in a row are reported after the last of them, where the CFA does not move with them:
 * the registers have their values still.
 *
 * Forms: the state at the entry is remembered at the first directive (1 byte) and restored (1 byte) where the function's
 * last epilogue is done, in place of `def_cfa_offset 8` (2), so that a description may go on with the function that
 * follows (formats/asm/unwind-sharing.ts). Where code ends in another state, `MFunction.unwindReset` leads back.
 * Likewise the state before an epilogue amid the code, where that takes a `def_cfa` (3) to come back to.
 * Code that starts in its users' frames (late/share-epilogues.ts) has the state that its pops lead from told at its start.
 * Linear in the function.
 * Breaks if: two predecessors enter a block in different states, which would be a wrong frame anyway.
 * A landing pad is entered without the arguments of the call: `DW_CFA_GNU_args_size` tells the unwinder how many
 * bytes those are. It needs to be right only at calls that unwind to a landing pad of the same function.
 * Source: DWARF 5 section 6.4; Linux Standard Base, Core, "DWARF Extensions" (DW_CFA_GNU_args_size).
 */

import { CfiKind, type MBlock, type MFunction, MInst, unwindDirective, unwindTarget } from "../mir.js";
import { type CfaState, leavesFunction, OpFact } from "../target.js";

const clone = (s: CfaState): CfaState => ({ ...s, saved: [...s.saved] });

function directive(op: number, directive: CfiKind, register = -1, offset = 0): MInst {
  const inst = new MInst(op, 0);
  inst.extra = { kind: "unwind", directive, register, offset };
  return inst;
}

const isStored = ({ saved }: CfaState, register: number, offset: number): boolean =>
  saved.some((s) => s.register === register && s.offset === offset);

/** What the unwinder finds is the same. */
const sameState = (a: CfaState, b: CfaState): boolean =>
  a.register === b.register &&
  a.offset === b.offset &&
  a.saved.length === b.saved.length &&
  a.saved.every((s) => isStored(b, s.register, s.offset));

/** Directives that make `believed` be `state`. @param restores registers that are no longer stored are reported too */
function difference(believed: CfaState, state: CfaState, restores: boolean, op: number): MInst[] {
  const out: MInst[] = [];
  if (believed.register !== state.register && believed.offset !== state.offset)
    out.push(directive(op, CfiKind.DefCfa, state.register, state.offset));
  else if (believed.register !== state.register)
    out.push(directive(op, CfiKind.DefCfaRegister, state.register));
  else if (believed.offset !== state.offset) out.push(directive(op, CfiKind.DefCfaOffset, -1, state.offset));
  for (const { register, offset } of state.saved)
    if (!isStored(believed, register, offset)) out.push(directive(op, CfiKind.Offset, register, offset));
  if (restores)
    for (const { register } of believed.saved)
      if (!state.saved.some((s) => s.register === register))
        out.push(directive(op, CfiKind.Restore, register));
  return out;
}

/** What the unwinder believes after these directives. */
function believe(believed: CfaState, state: CfaState, restores: boolean): void {
  believed.register = state.register;
  believed.offset = state.offset;
  const kept = restores
    ? []
    : believed.saved.filter(({ register }) => !state.saved.some((s) => s.register === register));
  believed.saved = [...kept, ...state.saved];
}

/** Bytes that the unwinder takes off the stack when it leaves the call for a landing pad. */
const argumentBytes = ({ extra }: MInst): number =>
  extra !== null && extra.kind === "call" ? extra.pushed : 0;

/** State at the entry of every block, by id. */
function blockStates(mf: MFunction, framePointer: boolean): (CfaState | undefined)[] {
  const { frame } = mf.target;
  const states: (CfaState | undefined)[] = [];
  const entry = mf.blocks[0]!;
  states[entry.id] = mf.startsFramed ? frame.stateBefore(entry.insts) : frame.entryState();
  const work: MBlock[] = [entry];
  for (let block = work.pop(); block !== undefined; block = work.pop()) {
    const state = clone(states[block.id]!);
    for (const inst of block.insts) {
      frame.step(state, inst, framePointer);
      // A way out that was copied follows in the same block as the branch around it.
      for (const target of inst.targets) {
        if (states[target.id] !== undefined) continue;
        states[target.id] = clone(state);
        work.push(target);
      }
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

/**
 * The most that a completed function has on the stack at any time, in bytes, with its return address and what it pushes for
 * calls; null where that is not known before run time. What its callees take comes on top.
 */
export function stackBytes(mf: MFunction): number | null {
  const { frame } = mf.target;
  const states = blockStates(mf, mf.framePointer);
  let most = 0;
  for (const { id, insts } of mf.blocks) {
    const entered = states[id];
    if (entered === undefined) continue;
    const state = clone(entered);
    for (const inst of insts) {
      frame.step(state, inst, mf.framePointer);
      if (state.depth < 0) return null;
      most = Math.max(most, state.depth);
    }
  }
  return most;
}

/** Whether the block does more from `index` on than to restore registers and leave. */
function goesOn(insts: readonly MInst[], index: number, facts: Uint32Array): boolean {
  for (let i = index; i < insts.length; i++)
    if ((facts[insts[i]!.op]! & (OpFact.Restores | leavesFunction | OpFact.Jump)) === 0) return true;
  return false;
}

/** Directives at one place. */
interface Change {
  readonly at: MInst[];
  readonly index: number;
  readonly count: number;
  /** What the unwinder believed before. */
  readonly before: CfaState;
  /** It leads to the state on entry: no register is stored any more. */
  readonly leads: boolean;
}

class Directives {
  private readonly believed: CfaState;
  private readonly entry: CfaState;
  private first: Change | null = null;
  private last: Change | null = null;
  private believedArguments = 0;
  private out: MInst[] = [];

  constructor(
    private readonly mf: MFunction,
    private readonly framePointer: boolean,
  ) {
    this.believed = mf.target.frame.entryState();
    this.entry = mf.target.frame.entryState();
  }

  run(): void {
    const { mf } = this;
    const states = blockStates(mf, this.framePointer);
    let state = this.entry;
    for (const block of mf.blocks) {
      const start = states[block.id];
      state = clone(start ?? this.believed);
      this.out = [];
      if (mf.unwind === "sync") this.beforeCalls(block, state);
      else this.everywhere(block, state);
      block.insts = this.out;
    }
    this.close(state);
  }

  /** A call or a landing pad is reached where the unwinder would not find the frame: no pass may lead there. */
  private mustBeKnown(state: CfaState): void {
    if (state.register === this.entry.register && state.depth < 0)
      throw new Error("calls from a frame of unknown size");
  }

  private everywhere({ insts }: MBlock, state: CfaState): void {
    const { frame, instructions } = this.mf.target;
    this.change(state, true);
    for (let i = 0; i < insts.length; i++) {
      const inst = insts[i]!;
      // After an epilogue in the middle of a function the stack copies are no longer valid.
      if (this.believed.saved.length > state.saved.length && goesOn(insts, i, instructions.facts))
        this.change(state, true);
      if ((instructions.facts[inst.op]! & OpFact.Call) !== 0) this.mustBeKnown(state);
      this.arguments(inst);
      this.out.push(inst);
      if (frame.step(state, inst, this.framePointer) && !this.storesNext(state, insts[i + 1]))
        this.change(state, false);
    }
  }

  private beforeCalls({ insts }: MBlock, state: CfaState): void {
    const { frame, instructions } = this.mf.target;
    const mayCall = OpFact.Call | OpFact.Asm;
    for (const inst of insts) {
      if ((instructions.facts[inst.op]! & mayCall) !== 0 || unwindTarget(inst) !== null) {
        this.mustBeKnown(state);
        this.change(state, true);
      }
      this.arguments(inst);
      this.out.push(inst);
      frame.step(state, inst, this.framePointer);
    }
  }

  /** The CFA is where it is believed to be, and the next instruction stores a register, too. */
  private storesNext(state: CfaState, next: MInst | undefined): boolean {
    const { believed } = this;
    if (next === undefined || state.register !== believed.register || state.offset !== believed.offset)
      return false;
    const ahead = clone(state);
    this.mf.target.frame.step(ahead, next, this.framePointer);
    return ahead.saved.length > state.saved.length && ahead.offset === state.offset;
  }

  private arguments(inst: MInst): void {
    if (unwindTarget(inst) === null || argumentBytes(inst) === this.believedArguments) return;
    this.believedArguments = argumentBytes(inst);
    this.out.push(directive(this.mf.target.frame.directive, CfiKind.Arguments, -1, this.believedArguments));
  }

  /** Tells the unwinder what holds from here on. */
  private change(state: CfaState, restores: boolean): void {
    const op = this.mf.target.frame.directive;
    const { believed, last } = this;
    const list = difference(believed, state, restores, op);
    if (list.length === 0) return;
    this.mustBeKnown(state);
    if (
      last !== null &&
      unwindDirective(list[0]!).directive === CfiKind.DefCfa &&
      sameState(last.before, state)
    ) {
      // Back to what held before an epilogue.
      last.at.splice(last.index, 0, directive(op, CfiKind.RememberState));
      this.out.push(directive(op, CfiKind.RestoreState));
      believe(believed, state, true);
      this.last = null;
      return;
    }
    const change = {
      at: this.out,
      index: this.out.length,
      count: list.length,
      before: clone(believed),
      leads: sameState(state, this.entry),
    };
    this.first ??= change;
    this.last = change;
    for (const item of list) this.out.push(item);
    believe(believed, state, restores);
  }

  /** Back to the state on entry, at the end. @param state that holds there */
  private close(state: CfaState): void {
    const { believed, entry, first, last, mf } = this;
    const op = mf.target.frame.directive;
    const reset = difference(believed, entry, true, op);
    const bytes = reset.reduce((sum, inst) => sum + directiveBytes(inst), 0);
    mf.unwindReset = reset;
    if (first === null || (bytes === 0 && directiveBytes(last?.at[last.index]) <= 2)) return;
    if (last !== null && last !== first && last.count === 1 && last.leads && sameState(state, entry)) {
      last.at[last.index] = directive(op, CfiKind.RestoreState);
      first.at.splice(first.index, 0, directive(op, CfiKind.RememberState));
      mf.unwindReset = [];
      return;
    }
    if (bytes <= 2) return;
    mf.unwindReset = [directive(op, CfiKind.RestoreState)];
    first.at.splice(first.index, 0, directive(op, CfiKind.RememberState, -1, 1));
  }
}

/**
 * Inserts unwind directives into the blocks, which must be in their final order.
 * @param framePointer the frame has a frame pointer
 */
export function insertCfi(mf: MFunction, framePointer: boolean): void {
  mf.unwindReset = [];
  if (mf.unwind === "none") return;
  describeFrames(mf, framePointer);
}

/** The same for code that has no unwind tables: exact at each instruction, for debuggers. */
export function describeFrames(mf: MFunction, framePointer: boolean): void {
  const { frame } = mf.target;
  mf.unwindReset = [];
  if (mf.blocks.length === 0) return;
  if (!mf.startsFramed && !mf.blocks.some((block) => block.insts.some(frame.movesStack))) return;
  new Directives(mf, framePointer).run();
}

const unsignedBytes = (value: number): number => (value < 128 ? 1 : value < 16384 ? 2 : 3);

/** Bytes of a directive in the tables; 0 for none. Registers and offsets are those of common machines. */
function directiveBytes(inst: MInst | undefined): number {
  if (inst === undefined) return 0;
  const { directive, offset } = unwindDirective(inst);
  switch (directive) {
    case CfiKind.DefCfaOffset:
    case CfiKind.Arguments:
      return 1 + unsignedBytes(offset);
    case CfiKind.DefCfaRegister:
    case CfiKind.Offset:
      return 2;
    case CfiKind.DefCfa:
      return 2 + unsignedBytes(offset);
    case CfiKind.Restore:
    case CfiKind.RememberState:
    case CfiKind.RestoreState:
      return 1;
  }
}

/** Bytes of a step of `distance` in the code. */
const advanceBytes = (distance: number): number =>
  distance === 0 ? 0 : distance < 64 ? 1 : distance < 256 ? 2 : distance < 65536 ? 3 : 5;

/** Estimated bytes of the tables of a function that has its directives, without what every description has. */
export function unwindBytes(mf: MFunction): number {
  const { facts, length } = mf.target.instructions;
  const shortBranch = mf.target.costs.branches.short;
  const { directive: op } = mf.target.frame;
  let bytes = 0;
  let distance = 0;
  for (const block of mf.blocks)
    for (const inst of block.insts)
      if (inst.op === op) {
        bytes += directiveBytes(inst) + advanceBytes(distance);
        distance = 0;
      } else distance += (facts[inst.op]! & (OpFact.Jump | OpFact.Branch)) !== 0 ? shortBranch : length(inst);
  if (mf.unwindReset.length > 0) bytes += advanceBytes(distance);
  for (const inst of mf.unwindReset) bytes += directiveBytes(inst);
  return bytes;
}
