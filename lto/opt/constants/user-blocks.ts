/**
 * Where the values of a body are used: which blocks have to be looked at again when less is known of one.
 *
 * Uses after the definition in its own block are left out: who looks at the block looks at them.
 */
import { type BodyView, type Inst, Op } from "../../ir/instructions.js";
import type { Argument } from "../../ir/values.js";

export class UserBlocks {
  /** By instruction and by argument: the last entry of its list; -1: none. */
  private readonly ofInst: Int32Array;
  private readonly ofArgument: number[] = [];
  /** By entry: a block, and the entry before. */
  private readonly blocks: number[] = [];
  private readonly before: number[] = [];

  /** @param body numbered, with so many instructions */
  constructor(body: BodyView, instructions: number) {
    this.ofInst = new Int32Array(instructions).fill(-1);
    for (const block of body.blocks)
      for (const inst of block.insts) {
        const { operands } = inst;
        const isPhi = inst.op === Op.Phi;
        for (let i = 0; i < operands.length; i++) {
          const operand = operands[i]!;
          if (operand.valueKind === "inst") {
            if (isPhi || operand.parent !== block) this.add(this.ofInst, operand.id, block.id);
          } else if (operand.valueKind === "argument") {
            while (this.ofArgument.length <= operand.index) this.ofArgument.push(-1);
            this.add(this.ofArgument, operand.index, block.id);
          }
        }
      }
  }

  private add(lists: Int32Array | number[], value: number, block: number): void {
    const last = lists[value]!;
    // The walk is by blocks, so that one that is there already is the last one.
    if (last >= 0 && this.blocks[last] === block) return;
    lists[value] = this.blocks.length;
    this.blocks.push(block);
    this.before.push(last);
  }

  visit(value: Inst | Argument, visit: (block: number) => void): void {
    let entry = value.valueKind === "inst" ? this.ofInst[value.id]! : (this.ofArgument[value.index] ?? -1);
    for (; entry >= 0; entry = this.before[entry]!) visit(this.blocks[entry]!);
  }
}
