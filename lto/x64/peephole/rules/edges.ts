/**
 * Between a branch and a block that only it leads to: what was loaded for a comparison alone, and for speed what moves
 * across the branch. The last leaves a loop's way back without code of its own, so that the branch goes there.
 */
import type { MBlock, MInst } from "../../../codegen/mir.js";
import {
  hasRegister,
  isEmptySet,
  noRegisters,
  overlaps,
  type RegisterSet,
  union,
} from "../../../codegen/register-set.js";
import { killsFlags, usedRegisters, writtenRegisters } from "../../isa/effects.js";
import { readsFlags, writesFlags } from "../../isa/op-info.js";
import { Cc, X } from "../../isa/ops.js";
import { like } from "../match.js";
import { type EdgeRule, Gain } from "../rule.js";

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

/** The branch at the end of a block, before its jump; −1 if it ends otherwise. */
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

/** Something before instruction `end` leads to `target`. */
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

/** Where other blocks rely on the comparison: till now, they may have read the register. */
export const compareLoaded: EdgeRule = {
  name: "compare-loaded",
  description:
    "mov m, b; cmp b, a → cmp m, a, where nothing needs b any more since a comparison in another block went",
  gain: Gain.Shorter,
  apply(edge) {
    const { block } = edge;
    const { insts } = block;
    const at = comparesLoaded(block);
    if (at < 0) return;
    const compare = insts[at]!;
    const load = insts[at - 1]!;
    const register = load.defs[0]!.loc;
    if (hasRegister(edge.liveness.liveOut[block.id]!, register)) return;
    for (let i = at + 1; i < insts.length; i++) if (hasRegister(usedRegisters(insts[i]!), register)) return;
    const folded = like(compare, X.Cmp);
    folded.mem = load.mem;
    folded.uses = [compare.uses[0]!];
    edge.change(block, at - 1, 2, folded);
  },
};

/** Arithmetic whose flags say of its result, by ZF and SF, what a test would. */
const describesResult = (op: X): boolean =>
  op === X.Dec || op === X.Inc || op === X.Add || op === X.Sub || op === X.And;

/** With an immediate only: then the same registers are live as before. */
export const sinkToTest: EdgeRule = {
  name: "sink-to-test",
  description:
    "dec r; cmp b, a; jcc L … L: test r, r → cmp b, a; jcc L … L: dec r, where nothing else needs r; for speed",
  gain: Gain.Faster,
  apply(edge) {
    const { block, from } = edge;
    const [test, reader] = block.insts;
    if (test === undefined || test.op !== X.Test || test.mem !== null || test.uses.length !== 2) return;
    const register = test.uses[0]!.loc;
    const branch = branchAt(from);
    if (branch < 0 || test.uses[1]!.loc !== register || branchesTo(from, branch, block)) return;
    if (
      reader === undefined ||
      reader.op !== X.Jcc ||
      (reader.condition !== Cc.E && reader.condition !== Cc.NE)
    )
      return;
    // The flags end with this branch.
    for (let i = 2; i < block.insts.length; i++) if (block.insts[i]!.op !== X.Jmp) return;
    const { liveIn, flags } = edge.liveness;
    for (const next of block.succs) if (overlaps(liveIn[next.id]!, flags)) return;
    for (const next of from.succs) if (next !== block && hasRegister(liveIn[next.id]!, register)) return;
    let flagsSet = false;
    for (let i = branch - 1; i >= 0 && i >= branch - window; i--) {
      const inst = from.insts[i]!;
      if (hasRegister(writtenRegisters(inst), register)) {
        if (!flagsSet || !describesResult(inst.op) || inst.size !== test.size || inst.mem !== null) return;
        if (inst.defs.length !== 1 || inst.uses.length !== 1 || inst.symbol !== null) return;
        edge.change(from, i, 1);
        edge.change(block, 0, 1, inst);
        return;
      }
      if (hasRegister(usedRegisters(inst), register) || !isEmptySet(inst.clobbers)) return;
      // What reads flags before they are set again reads those of the arithmetic.
      if (isCompare(inst)) flagsSet = true;
      else if (writesFlags(inst.op) || killsFlags(inst) || readsFlags(inst.op)) return;
    }
  },
};

/** The copies of the way back of a loop come before the branch to it. */
export const hoistLatchCopies: EdgeRule = {
  name: "hoist-latch-copies",
  description:
    "cmp …; jcc E; jmp L … L: mov a, d; jmp H → mov a, d; cmp …; jcc E; jmp L … L: jmp H, where E needs no d; for speed",
  gain: Gain.Faster,
  apply(edge) {
    const { block: latch, from } = edge;
    const { insts } = latch;
    if (insts.length < 2 || latch.succs.length !== 1 || !isRegisterCopy(insts[0]!)) return;
    const branch = branchAt(from);
    const last = insts.length - 1;
    if (branch < 0 || last < 1 || last > mostCopies || insts[last]!.op !== X.Jmp) return;
    const [other, ...more] = from.succs.filter((next) => next !== latch);
    if (other === undefined || more.length > 0 || branchesTo(from, branch, latch)) return;
    if (latch.frequency < oftener * (from.frequency - latch.frequency)) return;
    let written = noRegisters;
    for (let i = 0; i < last; i++) {
      if (!isRegisterCopy(insts[i]!)) return;
      written = union(written, writtenRegisters(insts[i]!));
    }
    if (overlaps(edge.liveness.liveIn[other.id]!, written)) return;
    // Before the comparison, so that it stays beside the branch.
    let at = branch;
    while (at > 0 && at > branch - 2) {
      const before = from.insts[at - 1]!;
      if (!isCompare(before) || overlaps(usedRegisters(before), written)) break;
      at--;
    }
    edge.change(from, at, 0, ...insts.slice(0, last));
    edge.change(latch, 0, last);
  },
};
