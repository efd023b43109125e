/** The machine blocks of a function's IR blocks. */
import type { LoopNest } from "../../analysis/loop-nest.js";
import { type Block, Op } from "../../ir/instructions.js";
import type { MBlock, MFunction } from "../mir.js";

export class BlockMap {
  /** Head machine block of each IR block, by `Block.id`. */
  private readonly heads: MBlock[] = [];

  constructor(
    private readonly mf: MFunction,
    private readonly irBlocks: readonly Block[],
  ) {}

  /** Makes the heads, with frequencies by how deep in loops they are. */
  make(order: readonly Block[], { depth }: LoopNest): void {
    const exceptional = exceptionalBlocks(order);
    for (const block of order) {
      const head = this.mf.newBlock();
      const cold = block.terminator.op === Op.Unreachable || exceptional?.has(block) === true;
      head.frequency = 8 ** Math.min(depth[block.id]!, 6) * (cold ? 1 / 64 : 1);
      head.addressTaken = block.addressTaken;
      head.label = block.label;
      this.heads[block.id] = head;
    }
  }

  /** The machine block that control enters the IR block by. */
  head(block: Block): MBlock {
    return this.heads[block.id]!;
  }

  /** The head of the block that block addresses call by this label. */
  labelled(label: number): MBlock {
    return this.head(this.irBlocks.find((block) => block.label === label)!);
  }

  /** A further machine block of the IR block whose head is `head`; laid out after it. */
  after(head: MBlock): MBlock {
    const block = this.mf.newBlock();
    block.frequency = head.frequency / 2;
    return block;
  }
}

/** Blocks that only exceptions lead to; null if there are none. */
function exceptionalBlocks(order: readonly Block[]): Set<Block> | null {
  if (!order.some((block) => block.terminator.op === Op.Invoke)) return null;
  const rest = new Set(order);
  const work = order.filter((block, i) => i === 0 || block.addressTaken);
  for (const block of work) rest.delete(block);
  for (let block = work.pop(); block !== undefined; block = work.pop()) {
    const { terminator } = block;
    for (const next of terminator.op === Op.Invoke ? [terminator.blocks[0]!] : block.successors)
      if (rest.delete(next)) work.push(next);
  }
  return rest;
}

/** Control may go from the one to the other. */
export function connect(from: MBlock, to: MBlock): void {
  if (from.succs.includes(to)) return;
  from.succs.push(to);
  from.succArgs.push([]);
  to.preds.push(from);
}
