/** What passes share on blocks and uses. New blocks go to the end of the body, and into the order. */

import { renamePhiEntries } from "../../ir/cfg-edit.js";
import { replaceInRecords } from "../../ir/debug-reconcile.js";
import { Block, type Body, type Inst } from "../../ir/instructions.js";
import { raw } from "../../ir/raw.js";
import type { Value } from "../../ir/values.js";

/** An operand. */
export interface Use {
  readonly user: Inst;
  readonly position: number;
  /** Where the value has to be there: for phis the end of the block that it comes from. */
  readonly block: Block;
}

export function newBlock(body: Body): Block {
  const block = new Block();
  body.blocks.push(block);
  return block;
}

/** Moves everything from instruction `index` on into a new block. */
export function splitBefore(body: Body, block: Block, index: number): Block {
  const rest = newBlock(body);
  for (const inst of raw(block).insts.splice(index)) rest.append(inst);
  for (const successor of new Set(rest.successors)) renamePhiEntries(successor, block, rest);
  return rest;
}

export function replaceUses(body: Body, map: ReadonlyMap<Value, Value>): void {
  for (const block of body.blocks)
    for (const inst of block.insts)
      for (let i = 0; i < inst.operands.length; i++) {
        const to = map.get(inst.operands[i]!);
        if (to !== undefined) raw(inst).operands[i] = to;
      }
  replaceInRecords(body, (value) => map.get(value) ?? value);
}

export function countUses(body: Body): Map<Inst, number> {
  const uses = new Map<Inst, number>();
  for (const block of body.blocks)
    for (const inst of block.insts)
      for (const operand of inst.operands)
        if (operand.valueKind === "inst") uses.set(operand, (uses.get(operand) ?? 0) + 1);
  return uses;
}
