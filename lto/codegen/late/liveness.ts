/**
 * Liveness of physical registers and of the flags, after allocation.
 *
 * A set is a `RegMask`; the bit of rsp, which is always live, stands for the arithmetic flags. Definitions
 * count as writing the whole register: before allocation they were whole values, so nothing can depend on the
 * rest. Backward data flow to a fixpoint over the blocks.
 * O(instructions + edges × rounds).
 * Breaks if: edges are stale.
 */

import { FlagEffect, opFlags, opFormat, readsFlags } from "../../x64/isa/op-info.js";
import { Format, X } from "../../x64/isa/ops.js";
import { calleeSavedMask, RBP, RSP } from "../../x64/isa/registers.js";
import type { MBlock, MemOperand, MFunction, MInst, RegMask } from "../mir.js";

/** Bit of the arithmetic flags in a liveness mask. */
export const flagsBit: RegMask = 1 << RSP;
const registersOnly = ~flagsBit;

function memUses(mem: MemOperand | null): RegMask {
  if (mem === null) return 0;
  let mask = 0;
  if (mem.base !== null) mask |= 1 << mem.base.loc;
  if (mem.index !== null) mask |= 1 << mem.index.loc;
  return mask & registersOnly;
}

/** The value of the only source register does not matter: `xor r, r` and the like. */
export function isZeroIdiom(inst: MInst): boolean {
  if (inst.uses.length !== 2 || inst.uses[0]!.loc !== inst.uses[1]!.loc) return false;
  return inst.op === X.Xor || inst.op === X.Xorps || inst.op === X.Pxor;
}

/** `sbb r, r` depends on the carry alone. */
const isCarryMask = (inst: MInst): boolean =>
  inst.op === X.Sbb && inst.uses.length === 2 && inst.uses[0]!.loc === inst.uses[1]!.loc;

/** Registers that the instruction reads, without those that an exit hands back to the caller. */
export function usedRegisters(inst: MInst): RegMask {
  let mask = memUses(inst.mem);
  if (!isZeroIdiom(inst) && !isCarryMask(inst)) {
    const { uses } = inst;
    for (let i = 0; i < uses.length; i++) if (uses[i]!.loc >= 0) mask |= 1 << uses[i]!.loc;
  }
  const extra = inst.extra;
  if (extra !== null && extra.kind === "asm")
    for (const operand of extra.operands) if (operand.kind === "mem") mask |= memUses(operand.mem);
  if (inst.op === X.Leave) mask |= 1 << RBP;
  return mask & registersOnly;
}

/** Registers whose old value is gone after the instruction. */
export function writtenRegisters(inst: MInst): RegMask {
  let mask = inst.clobbers;
  const { defs } = inst;
  for (let i = 0; i < defs.length; i++) if (defs[i]!.loc >= 0) mask |= 1 << defs[i]!.loc;
  if (inst.op === X.Leave) mask |= 1 << RBP;
  return mask & registersOnly;
}

/** Every register that the body's instructions or calls change; parameters arrive and change nothing. */
export function changedRegisters(mf: MFunction): RegMask {
  let mask = 0;
  for (const block of mf.blocks)
    for (const inst of block.insts) if (inst.op !== X.Entry) mask |= writtenRegisters(inst);
  return mask;
}

/** The instruction leaves none of the old flags. */
export function killsFlags(inst: MInst): boolean {
  const effect = opFlags[inst.op] as FlagEffect;
  if (effect === FlagEffect.None || effect === FlagEffect.KeepsCarry) return false;
  const format = opFormat[inst.op]!;
  // Shifting by a count in cl that may be zero keeps the flags; rotates keep most of them.
  if (format === Format.Shift || format === Format.ShiftM || format === Format.DoubleShift) {
    if (inst.imm === null) return false;
    return inst.op !== X.Rol && inst.op !== X.Ror && inst.op !== X.RolM && inst.op !== X.RorM;
  }
  return true;
}

/**
 * Live set before `inst`, given the one after it. What a target or landing pad needs is live at the branches
 * and calls to it, and what the caller must find unchanged at every exit.
 */
export function stepBack(inst: MInst, live: RegMask, liveness: PostLiveness): RegMask {
  const { liveIn } = liveness;
  let before = live & ~writtenRegisters(inst);
  const { extra, targets } = inst;
  for (let i = 0; i < targets.length; i++) before |= liveIn[targets[i]!.id]!;
  if (extra !== null && extra.kind === "call" && extra.unwind !== null)
    before |= liveIn[extra.unwind.id]! & registersOnly;
  if (killsFlags(inst)) before &= ~flagsBit;
  if (readsFlags(inst.op)) before |= flagsBit;
  if (isExit(inst)) before |= liveness.preserved;
  return before | usedRegisters(inst);
}

/** The instruction may leave the function. */
function isExit(inst: MInst): boolean {
  switch (inst.op) {
    case X.Ret:
    case X.TailCall:
    case X.TailCallIndirect:
      return true;
    case X.Jcc:
      return inst.symbol !== null;
    default:
      return false;
  }
}

export interface PostLiveness {
  /** Live at the start and end of each block, by block id. */
  readonly liveIn: Int32Array;
  readonly liveOut: Int32Array;
  /** Registers whose value at the exits belongs to the caller. */
  readonly preserved: RegMask;
}

/**
 * Computes liveness at all block boundaries. Edges must be up to date.
 * @param preserved registers that callers rely on besides the callee-saved ones of the convention
 */
export function postLiveness(mf: MFunction, preserved: RegMask): PostLiveness {
  const { blocks } = mf;
  let maxId = 0;
  for (const block of blocks) maxId = Math.max(maxId, block.id);
  const liveIn = new Int32Array(maxId + 1);
  const liveOut = new Int32Array(maxId + 1);
  const liveness: PostLiveness = {
    liveIn,
    liveOut,
    preserved: (preserved | calleeSavedMask) & registersOnly,
  };
  const queued = new Uint8Array(maxId + 1).fill(1);
  const work: MBlock[] = [...blocks];
  for (let block = work.pop(); block !== undefined; block = work.pop()) {
    queued[block.id] = 0;
    // Without successors: what an unwinder may want to find.
    let live = block.succs.length === 0 ? liveness.preserved : 0;
    for (const succ of block.succs) live |= liveIn[succ.id]!;
    liveOut[block.id] = live;
    const { insts } = block;
    for (let i = insts.length - 1; i >= 0; i--) live = stepBack(insts[i]!, live, liveness);
    if (live === liveIn[block.id]) continue;
    liveIn[block.id] = live;
    for (const pred of block.preds) {
      if (queued[pred.id] === 1) continue;
      queued[pred.id] = 1;
      work.push(pred);
    }
  }
  return liveness;
}
