/**
 * Tail merging (cross-jumping) and hoisting, for size.
 *
 * Blocks that end in the same instructions and go to the same places share them:
 *
 *     A: … x; y; jmp E        A: … jmp T
 *     B: … x; y; jmp E   →    B: … jmp T       T: x; y; jmp E
 *
 * Blocks are grouped by their last two instructions; in each group the pair with the longest common end is
 * taken, with every other block that shares it, until nothing is gained. The mirror image: what both
 * successors of a branch start with moves before the branch, if it leaves the flags alone.
 * O(blocks of a group squared × common instructions); groups are cut into parts of 64 blocks.
 * Proof obligations: equal instructions, equal successors, and the same stack depth, which equal code to the
 * same end implies except where control never continues.
 */

import type { MBlock, MFunction, MInst } from "../mir.js";
import { hashInst, sameInst } from "../same-inst.js";
import { endsBlock, leavesFunction, OpFact, type Target } from "../target.js";
import { isPinned, skipJumps } from "./cfg.js";
import { mergeOrigins } from "./code-origins.js";

const groupLimit = 64;

/** Number of equal instructions at the ends of two blocks. */
function commonEnd(a: readonly MInst[], b: readonly MInst[]): number {
  const limit = Math.min(a.length, b.length);
  let n = 0;
  while (n < limit && sameInst(a[a.length - 1 - n]!, b[b.length - 1 - n]!)) n++;
  return n;
}

/** Bytes of the last `n` instructions; a final jump stays a jump, so it counts nothing. */
function endBytes({ target, framePointer, unwind }: MFunction, insts: readonly MInst[], n: number): number {
  const { facts, length } = target.instructions;
  const shortBranch = target.costs.branches.short;
  let bytes = 0;
  for (let i = insts.length - n; i < insts.length; i++) {
    const inst = insts[i]!;
    const fact = facts[inst.op]!;
    if ((fact & OpFact.Jump) === 0) bytes += (fact & OpFact.Branch) !== 0 ? shortBranch : length(inst);
    if (unwind === "async") bytes += target.frame.tableBytes(inst, framePointer);
  }
  return bytes;
}

/** Bytes saved for each block after the first that shares its end. */
function gain(mf: MFunction, insts: readonly MInst[], n: number): number {
  const { costs, instructions } = mf.target;
  const jumps = (instructions.facts[insts[insts.length - 1]!.op]! & OpFact.Jump) !== 0;
  return endBytes(mf, insts, n) - (jumps ? 0 : costs.branches.short);
}

/** Whether the block moves the stack pointer before its last `n` instructions, apart from saving registers. */
function movesStackBefore(insts: readonly MInst[], n: number, { instructions, registers }: Target): boolean {
  for (let i = 0; i < insts.length - n; i++) {
    const inst = insts[i]!;
    if ((instructions.facts[inst.op]! & OpFact.MovesStack) !== 0) return true;
    if (inst.defs.length > 0 && inst.defs[0]!.loc === registers.stackPointer) return true;
  }
  return false;
}

/**
 * The common end must not leave out how deep the stack is: a return or jump shows that it is the same, and a call
 * where only blocks with frame make calls.
 */
function depthAgrees(a: MBlock, b: MBlock, n: number, wrapped: boolean, target: Target): boolean {
  const last = target.instructions.facts[a.insts[a.insts.length - 1]!.op]!;
  if (wrapped && (last & OpFact.Trap) !== 0) return false;
  if ((last & (leavesFunction | OpFact.Jump)) !== 0) return true;
  return !movesStackBefore(a.insts, n, target) && !movesStackBefore(b.insts, n, target);
}

/** Blocks whose ends may be equal: same last instruction and, before a jump, same one before it. */
function groupBlocks(mf: MFunction): MBlock[][] {
  const { facts } = mf.target.instructions;
  const groups: MBlock[][] = [];
  const open = new Map<number, MBlock[]>();
  for (const block of mf.blocks) {
    const { insts } = block;
    const last = insts[insts.length - 1];
    if (last === undefined || block.landingPad) continue;
    let key = hashInst(last);
    if ((facts[last.op]! & OpFact.Jump) !== 0) {
      if (insts.length < 2) continue;
      key = (Math.imul(key, 31) + hashInst(insts[insts.length - 2]!)) | 0;
    }
    // A full group is left; what its blocks share and others too is found in the next round.
    const group = open.get(key);
    if (group !== undefined && group.length < groupLimit) group.push(block);
    else {
      const next = [block];
      open.set(key, next);
      groups.push(next);
    }
  }
  return groups.filter((g) => g.length > 1);
}

interface Match {
  readonly block: MBlock;
  readonly length: number;
}

/** The longest common end in the group, by gain; null if none is worth it. */
function bestMatch(mf: MFunction, group: readonly MBlock[], wrapped: boolean): Match | null {
  let best: Match | null = null;
  let bestGain = 0;
  for (let i = 0; i < group.length; i++)
    for (let j = i + 1; j < group.length; j++) {
      const a = group[i]!;
      const b = group[j]!;
      const length = commonEnd(a.insts, b.insts);
      if (length === 0 || !depthAgrees(a, b, length, wrapped, mf.target)) continue;
      const value = gain(mf, a.insts, length);
      if (value <= bestGain) continue;
      bestGain = value;
      // A block that is nothing but the common end becomes the shared one.
      const whole = b.insts.length === length && b !== mf.blocks[0] ? b : a;
      best = { block: whole, length };
    }
  return best;
}

/** The block that holds exactly the last `length` instructions of `block`: itself, or split off. */
function splitEnd(mf: MFunction, block: MBlock, length: number): MBlock {
  if (block.insts.length === length && block !== mf.blocks[0]) return block;
  const tail = mf.newBlock();
  mf.blocks.pop();
  mf.blocks.splice(mf.blocks.indexOf(block) + 1, 0, tail);
  tail.insts = block.insts.splice(block.insts.length - length, length);
  tail.frequency = block.frequency;
  block.insts.push(mf.target.instructions.jump(tail));
  return tail;
}

function mergeGroup(mf: MFunction, group: MBlock[], wrapped: boolean): boolean {
  let changed = false;
  for (;;) {
    const match = bestMatch(mf, group, wrapped);
    if (match === null) return changed;
    const { block, length } = match;
    const sharers = group.filter(
      (b) =>
        b !== block &&
        commonEnd(b.insts, block.insts) >= length &&
        depthAgrees(b, block, length, wrapped, mf.target),
    );
    const shared = splitEnd(mf, block, length);
    const marks = mf.debug?.marks ?? null;
    for (const other of sharers) {
      if (marks !== null)
        for (let k = 0; k < length; k++)
          marks.blur(shared.insts[k]!, other.insts[other.insts.length - length + k]!);
      const start = other.insts.length - length;
      for (let i = 0; i < length; i++) mergeOrigins(shared.insts[i]!, other.insts[start + i]!);
      const jump = mf.target.instructions.jump(shared);
      // Where the code begins that is elsewhere now, so that its line is still a place to stop at.
      jump.origin = other.insts.slice(start).find(({ origin }) => origin >= 0)?.origin ?? -1;
      other.insts.length = start;
      other.insts.push(jump);
      shared.frequency += other.frequency;
    }
    changed = true;
    // What is left of the sharers ends in a jump to the shared block; that is another group.
    const gone = new Set([block, ...sharers]);
    group = [...group.filter((b) => !gone.has(b)), shared];
  }
}

// ── Hoisting ──

/** Index of the first of the trailing branches. */
function branchStart(insts: readonly MInst[], facts: Uint32Array): number {
  let i = insts.length;
  while (i > 0 && (facts[insts[i - 1]!.op]! & (OpFact.Jump | OpFact.Branch)) !== 0) i--;
  return i;
}

const isMovable = (inst: MInst, facts: Uint32Array): boolean =>
  inst.targets.length === 0 && (facts[inst.op]! & (endsBlock | OpFact.WritesFlags | OpFact.Asm)) === 0;

/** Moves what all successors of a conditional branch start with before it. */
function hoist(mf: MFunction, block: MBlock): boolean {
  const { insts } = block;
  const { facts } = mf.target.instructions;
  const start = branchStart(insts, facts);
  if (insts.length - start < 2 || block.succs.length !== 2) return false;
  const [a, b] = block.succs as [MBlock, MBlock];
  if (a === b || a.preds.length !== 1 || b.preds.length !== 1 || isPinned(mf, a) || isPinned(mf, b))
    return false;
  let n = 0;
  const limit = Math.min(a.insts.length, b.insts.length);
  while (n < limit && isMovable(a.insts[n]!, facts) && sameInst(a.insts[n]!, b.insts[n]!)) n++;
  if (n === 0) return false;
  for (let i = 0; i < n; i++) mergeOrigins(a.insts[i]!, b.insts[i]!);
  const marks = mf.debug?.marks ?? null;
  if (marks !== null)
    for (const { insts: own } of [a, b])
      for (let k = n - 1; k >= 0; k--)
        if (own.length > n)
          marks.put(
            own[n]!,
            marks.take(own[k]!).filter(({ kind }) => kind === "variable"),
          );
        else marks.lose(marks.take(own[k]!));
  insts.splice(start, 0, ...a.insts.slice(0, n));
  a.insts.splice(0, n);
  b.insts.splice(0, n);
  return true;
}

/**
 * Shares equal code at the ends and starts of blocks. Edges must be up to date, and are afterwards.
 * @param wrapped some blocks have no frame
 */
export function mergeTails(mf: MFunction, wrapped = false): void {
  if (mf.goal !== "minsize" && mf.goal !== "size") return;
  for (let round = 0; round < 6; round++) {
    let changed = false;
    for (const group of groupBlocks(mf)) if (mergeGroup(mf, group, wrapped)) changed = true;
    // Jumps go past what is only a jump now: in the next round the blocks before it end alike.
    if (changed) skipJumps(mf);
    for (const block of mf.blocks) if (hoist(mf, block)) changed = true;
    if (!changed) return;
  }
}
