/** What passes share on blocks and uses. New blocks go to the end of the body, and into the order. */

import { renamePhiEntries } from "../../ir/cfg-edit.js";
import { replaceInRecords } from "../../ir/debug-reconcile.js";
import { Block, type Body, type BodyView, type Inst, Op } from "../../ir/instructions.js";
import { raw } from "../../ir/raw.js";
import type { Value } from "../../ir/values.js";

/** An operand. */
export interface Use {
  readonly user: Inst;
  readonly position: number;
  /** Where the value has to be there: for phis the end of the block that it comes from. */
  readonly block: Block;
}

/** Who uses each instruction's value, as noted: who changes operands says so. */
export class Uses {
  private readonly lists = new Map<Inst, Use[]>();

  /** @param isWanted of others nobody asks */
  constructor(
    { blocks }: BodyView,
    private readonly isWanted: (inst: Inst) => boolean = () => true,
  ) {
    for (const block of blocks) for (const inst of block.insts) this.note(inst, block);
  }

  of(inst: Inst): readonly Use[] {
    return this.lists.get(inst) ?? [];
  }
  set(inst: Inst, uses: readonly Use[]): void {
    this.lists.set(inst, [...uses]);
  }
  /** An instruction that goes uses nothing any more. */
  forget(user: Inst): void {
    for (const operand of user.operands)
      if (operand.valueKind === "inst" && this.lists.has(operand))
        this.set(
          operand,
          this.of(operand).filter((use) => use.user !== user),
        );
  }
  /** Adds what an instruction of a block uses. */
  note(user: Inst, at: Block): void {
    user.operands.forEach((operand, position) => {
      if (operand.valueKind !== "inst" || !this.isWanted(operand)) return;
      const use = { user, position, block: user.op === Op.Phi ? user.blocks[position]! : at };
      const list = this.lists.get(operand);
      if (list === undefined) this.lists.set(operand, [use]);
      else list.push(use);
    });
  }
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
