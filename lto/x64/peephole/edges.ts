/**
 * Peepholes across the edge between a branch and a block that only it leads to. First, repeated comparisons go
 * (`repeated-compares.ts`), and where such a one was b's last reader
 *
 *   mov m, b; cmp b, a                   → cmp m, a
 *
 * For speed, also:
 *
 *   dec r; cmp a, b; jcc L … L: test r, r → cmp a, b; jcc L … L: dec r  nothing else needs r
 *   cmp …; jcc E; jmp L … L: mov …; jmp H → mov …; cmp …; jcc E; jmp H   nothing that E reads is written
 *
 * The last leaves a loop's way back without code of its own, so that the branch goes there.
 * Proof obligations: nothing comes between a branch and its targets any more that changes flags; frames are in
 * place, and what is entered in other ways stays as it is (`isPinned`).
 * Linear, but for liveness, once more where a comparison went.
 */
import { isPinned } from "../../codegen/late/cfg.js";
import { type PostLiveness, postLiveness } from "../../codegen/late/liveness.js";
import type { MBlock, MFunction, MInst } from "../../codegen/mir.js";
import {
  hasRegister,
  isEmptySet,
  noRegisters,
  overlaps,
  type RegisterSet,
  union,
} from "../../codegen/register-set.js";
import { killsFlags, usedRegisters, writtenRegisters } from "../isa/effects.js";
import { readsFlags, writesFlags } from "../isa/op-info.js";
import { Cc, X } from "../isa/ops.js";
import { dropRepeatedCompares } from "./repeated-compares.js";

/** How far comparisons are looked for, on both sides of the edge. */
const window = 8;
/** More copies than that cost as much as the jump that goes. */
const mostCopies = 3;
/** The way back is taken so much more often than the other. */
const oftener = 2;

const isCompare = ({ op }: MInst): boolean => op === X.Cmp || op === X.Test;
const isRegisterCopy = (inst: MInst): boolean =>
  (inst.op === X.Copy || inst.op === X.Mov) &&
  inst.mem === null &&
  inst.uses.length === 1 &&
  inst.symbol === null;

/** The instruction leaves flags, memory and these registers alone. */
const leaves = (inst: MInst, registers: RegisterSet): boolean =>
  !writesFlags(inst.op) &&
  !killsFlags(inst) &&
  isEmptySet(inst.clobbers) &&
  !overlaps(writtenRegisters(inst), registers);

/** The branch at the end of a block, in front of its jump; −1 if it ends otherwise. */
function branchAt({ insts }: MBlock): number {
  const at = insts.length - 2;
  return at >= 0 && insts[at]!.op === X.Jcc && insts[at]!.symbol === null && insts[at + 1]!.op === X.Jmp
    ? at
    : -1;
}

/** Index of the comparison in `block` that the flags at its branch come from, if its operands are still there; else −1. */
function lastCompare({ insts }: MBlock, branch: number): number {
  let written = noRegisters;
  for (let i = branch - 1; i >= 0 && i >= branch - window; i--) {
    const inst = insts[i]!;
    if (isCompare(inst)) return inst.mem === null && !overlaps(usedRegisters(inst), written) ? i : -1;
    if (!leaves(inst, noRegisters)) return -1;
    written = union(written, writtenRegisters(inst));
  }
  return -1;
}

/** Something in front of instruction `end` leads to `target`. */
function branchesTo({ insts }: MBlock, end: number, target: MBlock): boolean {
  for (let i = 0; i < end; i++) if (insts[i]!.targets.includes(target)) return true;
  return false;
}

/** Whether the low `size` bytes of what it loads are all that it reads. */
function loadsOperand({ op, size: whole }: MInst, size: number): boolean {
  switch (size) {
    case 1:
      return op === X.Movzx8 || op === X.Movsx8;
    case 2:
      return op === X.Movzx16 || op === X.Movsx16;
    default:
      return op === X.Mov && whole === size;
  }
}

/** Index of a comparison at the end of a block that may read memory where the load before it does; −1: none. */
function comparesLoaded(block: MBlock): number {
  const branch = branchAt(block);
  const at = branch < 0 ? -1 : lastCompare(block, branch);
  if (at < 1) return -1;
  const compare = block.insts[at]!;
  const load = block.insts[at - 1]!;
  if (compare.op !== X.Cmp || compare.uses.length !== 2 || load.mem === null) return -1;
  if (!loadsOperand(load, compare.size) || load.defs.length !== 1 || load.uses.length !== 0) return -1;
  const register = load.defs[0]!.loc;
  return compare.uses[1]!.loc === register && compare.uses[0]!.loc !== register ? at : -1;
}

/** Compares with memory what was loaded only for the comparison at index `at`. */
function foldLoad(block: MBlock, at: number, liveness: PostLiveness): void {
  const { insts } = block;
  const compare = insts[at]!;
  const load = insts[at - 1]!;
  const register = load.defs[0]!.loc;
  if (hasRegister(liveness.liveOut[block.id]!, register)) return;
  for (let i = at + 1; i < insts.length; i++) if (hasRegister(usedRegisters(insts[i]!), register)) return;
  compare.mem = load.mem;
  compare.uses = [compare.uses[0]!];
  insts.splice(at - 1, 1);
}

/** Arithmetic whose flags say of its result, by ZF and SF, what a test would. */
const describesResult = (op: X): boolean =>
  op === X.Dec || op === X.Inc || op === X.Add || op === X.Sub || op === X.And;

/** Moves what is computed in front of another comparison to the test of it, which goes. */
function sinkToTest(block: MBlock, from: MBlock, liveness: PostLiveness): void {
  const [test] = block.insts;
  if (test === undefined || test.op !== X.Test || test.mem !== null || test.uses.length !== 2) return;
  const register = test.uses[0]!.loc;
  const branch = branchAt(from);
  if (branch < 0 || test.uses[1]!.loc !== register || branchesTo(from, branch, block)) return;
  const reader = block.insts[1];
  if (
    reader === undefined ||
    reader.op !== X.Jcc ||
    (reader.condition !== Cc.E && reader.condition !== Cc.NE)
  )
    return;
  // The flags end with this branch.
  for (let i = 2; i < block.insts.length; i++) if (block.insts[i]!.op !== X.Jmp) return;
  for (const next of block.succs) if (overlaps(liveness.liveIn[next.id]!, liveness.flags)) return;
  for (const next of from.succs)
    if (next !== block && hasRegister(liveness.liveIn[next.id]!, register)) return;
  let flagsSet = false;
  for (let i = branch - 1; i >= 0 && i >= branch - window; i--) {
    const inst = from.insts[i]!;
    if (hasRegister(writtenRegisters(inst), register)) {
      if (!flagsSet || !describesResult(inst.op) || inst.size !== test.size || inst.mem !== null) return;
      // With an immediate only: then the same registers are live as before.
      if (inst.defs.length !== 1 || inst.uses.length !== 1 || inst.symbol !== null) return;
      from.insts.splice(i, 1);
      block.insts[0] = inst;
      return;
    }
    if (hasRegister(usedRegisters(inst), register) || !isEmptySet(inst.clobbers)) return;
    // What reads flags in front of where they are set again reads those of the arithmetic.
    if (isCompare(inst)) flagsSet = true;
    else if (writesFlags(inst.op) || killsFlags(inst) || readsFlags(inst.op)) return;
  }
}

/** Moves the copies of the way back of a loop in front of the branch to it. @returns whether it did */
function hoistLatch(latch: MBlock, from: MBlock, liveness: PostLiveness): boolean {
  const branch = branchAt(from);
  const { insts } = latch;
  const last = insts.length - 1;
  if (branch < 0 || last < 1 || last > mostCopies || insts[last]!.op !== X.Jmp) return false;
  const [other, ...more] = from.succs.filter((next) => next !== latch);
  if (other === undefined || more.length > 0 || branchesTo(from, branch, latch)) return false;
  if (latch.frequency < oftener * (from.frequency - latch.frequency)) return false;
  let written = noRegisters;
  for (let i = 0; i < last; i++) {
    if (!isRegisterCopy(insts[i]!)) return false;
    written = union(written, writtenRegisters(insts[i]!));
  }
  if (overlaps(liveness.liveIn[other.id]!, written)) return false;
  // In front of the comparison, so that it stays beside the branch.
  let at = branch;
  while (at > 0 && at > branch - 2) {
    const before = from.insts[at - 1]!;
    if (!isCompare(before) || overlaps(usedRegisters(before), written)) break;
    at--;
  }
  from.insts.splice(at, 0, ...insts.splice(0, last));
  return true;
}

/**
 * Edges must be up to date, and stay so.
 * @param flags liveness of flags at the ends of blocks
 */
export function edgePeepholes(mf: MFunction, preserved: RegisterSet, flags: PostLiveness): void {
  const compared = dropRepeatedCompares(mf, flags);
  let liveness: PostLiveness | null = null;
  // Their other ways are no longer what liveness was computed of: what was moved is live there now.
  const hoisted = new Set<MBlock>();
  for (const block of compared) {
    const at = comparesLoaded(block);
    if (at < 0) continue;
    liveness ??= postLiveness(mf, preserved);
    foldLoad(block, at, liveness);
  }
  if (mf.goal !== "speed") return;
  for (const block of mf.blocks) {
    const [from] = block.preds;
    if (from === undefined || block.preds.length !== 1 || from === block || isPinned(mf, block)) continue;
    if (block.insts[0]?.op === X.Test && branchAt(from) >= 0) {
      liveness ??= postLiveness(mf, preserved);
      sinkToTest(block, from, liveness);
      continue;
    }
    if (block.insts.length < 2 || block.succs.length !== 1 || !isRegisterCopy(block.insts[0]!)) continue;
    if (hoisted.has(from)) continue;
    liveness ??= postLiveness(mf, preserved);
    if (hoistLatch(block, from, liveness)) hoisted.add(from);
  }
}
