/**
 * Removes instructions whose results nothing reads and that do nothing else: what expansions leave behind.
 *
 * One count of uses, then a worklist; linear in instructions plus operands. Cycles of dead phis stay.
 */

import { type Body, Flag, type Inst, Op } from "../../ir/instructions.js";
import { intrinsicOf } from "../../ir/intrinsics.js";
import { raw } from "../../ir/raw.js";

function isRemovable(inst: Inst): boolean {
  if (inst.op >= Op.FNeg && inst.op <= Op.Xor) return true;
  if (inst.op >= Op.GetElementPtr && inst.op <= Op.Select) return true;
  switch (inst.op) {
    case Op.Freeze:
    case Op.ExtractValue:
    case Op.Alloca:
      return true;
    case Op.Load:
      return (inst.flags & Flag.Volatile) === 0 && inst.data.ordering === "not_atomic";
    case Op.Call:
      return intrinsicOf(inst.operands[0]!)?.removable ?? false;
    default:
      return false;
  }
}

export function removeUnused(body: Body): void {
  const count = body.renumber();
  const uses = new Int32Array(count);
  for (const block of body.blocks)
    for (const inst of block.insts)
      for (const operand of inst.operands) if (operand.valueKind === "inst") uses[operand.id]!++;
  const dead: Inst[] = [];
  for (const block of body.blocks)
    for (const inst of block.insts) if (uses[inst.id] === 0 && isRemovable(inst)) dead.push(inst);
  if (dead.length === 0) return;
  const isDead = new Uint8Array(count);
  for (let inst = dead.pop(); inst !== undefined; inst = dead.pop()) {
    isDead[inst.id] = 1;
    for (const operand of inst.operands)
      if (operand.valueKind === "inst" && --uses[operand.id]! === 0 && isRemovable(operand))
        dead.push(operand);
  }
  for (const block of body.blocks) raw(block).insts = block.insts.filter((inst) => isDead[inst.id] === 0);
}
