/**
 * Prepares operand constraints so that later stages need not look at two operands at a time.
 *
 * The target first says which operands may be in slots. Then constraints only get narrower:
 * - A tied definition and its use get the intersection of their register sets.
 * - Outside inline assembly at most one operand of an instruction stays permitted in a slot: an instruction
 *   has one memory operand. The one whose value comes from farther away keeps the permission.
 * - Two uses of one value in an instruction whose register sets have nothing in common that is left by its fixed
 *   operands, without being single registers: the second reads a copy.
 *
 * Linear.
 */

import { collectUses } from "../liveness.js";
import { CopyOp, type MBlock, type MFunction, MInst, RegOperand } from "../mir.js";
import {
  includesSet,
  intersect,
  isEmptySet,
  isSingle,
  noRegisters,
  type RegisterSet,
  union,
} from "../register-set.js";
import type { TargetRegisters } from "../target.js";

export function normalizeConstraints(fn: MFunction, target: TargetRegisters): void {
  let definedIn: Int32Array | null = null;
  const buffer: RegOperand[] = [];
  for (const block of fn.blocks) {
    for (let i = 0; i < block.insts.length; i++) {
      const inst = block.insts[i]!;
      target.permitSlots?.(fn, inst);
      narrowTies(inst);
      const count = collectUses(inst, buffer);
      let slots = 0;
      let masks = 0;
      for (let k = 0; k < count; k++) {
        const use = buffer[k]!;
        if (use.mayBeSlot) slots++;
        if (!isEmptySet(use.allowed) && !isSingle(use.allowed)) masks++;
      }
      for (let k = 0; k < inst.defs.length; k++) if (inst.defs[k]!.mayBeSlot) slots++;
      if (slots > 1 && (inst.extra === null || inst.extra.kind !== "asm")) {
        const home = (definedIn ??= definingBlocks(fn));
        keepOneSlot(inst, buffer.slice(0, count), (vreg) => home[vreg] === block.id);
      }
      if (masks > 1) i += separateMasks(fn, block, i, inst, buffer.slice(0, count));
    }
  }
}

/** By virtual register: id of the block that defines it. */
function definingBlocks(fn: MFunction): Int32Array {
  const definedIn = new Int32Array(fn.vregs.length).fill(-1);
  for (const block of fn.blocks) {
    for (const param of block.params) definedIn[param.vreg] = block.id;
    for (const inst of block.insts) {
      for (const def of inst.defs) if (def.vreg >= 0) definedIn[def.vreg] = block.id;
    }
  }
  return definedIn;
}

function narrowTies(inst: MInst): void {
  for (let d = 0; d < inst.defs.length; d++) {
    const def = inst.defs[d]!;
    if (def.tiedTo < 0) continue;
    const use = inst.uses[def.tiedTo]!;
    if (def.vreg < 0 || (isEmptySet(def.allowed) && isEmptySet(use.allowed))) continue;
    const both = isEmptySet(def.allowed)
      ? use.allowed
      : isEmptySet(use.allowed)
        ? def.allowed
        : intersect(def.allowed, use.allowed);
    if (isEmptySet(both)) throw new Error("a tied definition and its use have no register in common");
    def.allowed = both;
  }
}

/** Leaves at most one operand of `inst` permitted in a slot; a tied pair counts once. */
export function keepOneSlot(
  inst: MInst,
  uses: readonly RegOperand[],
  isLocal: (vreg: number) => boolean,
): void {
  let kept: RegOperand | null = null;
  const consider = (operand: RegOperand): void => {
    if (!operand.mayBeSlot || operand.vreg < 0) return;
    if (kept === null) kept = operand;
    else if (isLocal(kept.vreg) && !isLocal(operand.vreg)) {
      kept.mayBeSlot = false;
      kept = operand;
    } else operand.mayBeSlot = false;
  };
  for (let k = 0; k < uses.length; k++) consider(uses[k]!);
  for (const def of inst.defs) {
    if (def.tiedTo >= 0 && def.mayBeSlot) def.mayBeSlot = inst.uses[def.tiedTo]!.mayBeSlot;
    else consider(def);
  }
}

/** Returns how many copies it put before `inst`. */
function separateMasks(
  fn: MFunction,
  block: MBlock,
  position: number,
  inst: MInst,
  uses: readonly RegOperand[],
): number {
  let inserted = 0;
  for (let a = 0; a < uses.length; a++) {
    const use = uses[a]!;
    if (use.vreg < 0 || isEmptySet(use.allowed) || isSingle(use.allowed)) continue;
    let common: RegisterSet | null = null;
    for (let b = 0; b < a; b++) {
      const other = uses[b]!;
      if (other.vreg !== use.vreg || isEmptySet(other.allowed) || isSingle(other.allowed)) continue;
      common = common === null ? other.allowed : intersect(common, other.allowed);
    }
    if (common === null) continue;
    if (!includesSet(takenByOthers(inst, uses, use.vreg), intersect(common, use.allowed))) continue;
    const info = fn.vregs[use.vreg]!;
    const copy = fn.newVReg(info.cls, info.size);
    const move = new MInst(CopyOp, info.size);
    move.defs = [new RegOperand(copy)];
    move.uses = [new RegOperand(use.vreg)];
    block.insts.splice(position + inserted, 0, move);
    use.vreg = copy;
    inserted++;
  }
  return inserted;
}

/** Registers that fixed operands for other values take while `inst` reads its uses. */
function takenByOthers(inst: MInst, uses: readonly RegOperand[], vreg: number): RegisterSet {
  let set = noRegisters;
  for (const use of uses) if (use.vreg !== vreg && isSingle(use.allowed)) set = union(set, use.allowed);
  for (const def of inst.defs)
    if ((def.early || def.tiedTo >= 0) && isSingle(def.allowed)) set = union(set, def.allowed);
  return set;
}
