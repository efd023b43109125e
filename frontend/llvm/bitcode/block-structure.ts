/**
 * Structure of a decoded body: phis lead their block and agree with its predecessors, landing pads are
 * exactly the targets of unwind edges, nothing branches to the entry. O(instructions + edges).
 */
import { InputError } from "../../../lto/ir/errors.js";
import { type Block, type Body, type Inst, Op } from "../../../lto/ir/instructions.js";
import type { Func } from "../../../lto/ir/module.js";

/** Numbers the blocks. @throws InputError */
export function checkBlocks(body: Body, fn: Func): void {
  const { blocks } = body;
  const fail = (what: string): never => {
    throw new InputError(`malformed bitcode: ${what} (in function @${fn.name})`);
  };
  for (let i = 0; i < blocks.length; i++) blocks[i]!.id = i;
  const predecessors = new Int32Array(blocks.length);
  let hasPhis = false;
  for (const block of blocks) {
    const { insts } = block;
    const terminator = insts[insts.length - 1]!;
    for (const target of terminator.blocks) predecessors[target.id]!++;
    let leading = true;
    for (let i = 0; i < insts.length; i++) {
      const inst = insts[i]!;
      if (inst.op === Op.Phi) {
        hasPhis = true;
        if (!leading) fail("phi after another instruction");
        continue;
      }
      if (inst.op === Op.LandingPad && !leading) fail("landingpad after another instruction");
      leading = false;
    }
    if (terminator.op === Op.Invoke && firstAfterPhis(terminator.blocks[1]!)?.op !== Op.LandingPad)
      fail("invoke that unwinds to a block without landingpad");
  }
  if (predecessors[0] !== 0) fail("branch to the entry block");
  if (hasPhis) checkPhis(blocks, predecessors, fail);
}

function firstAfterPhis(block: Block): Inst | undefined {
  return block.insts.find((inst) => inst.op !== Op.Phi);
}

/** Every phi has one entry for each incoming edge. */
function checkPhis(blocks: readonly Block[], predecessors: Int32Array, fail: (what: string) => never): void {
  // For each block in turn: how many of its incoming edges come from each block.
  const edges = new Map<Block, Map<Block, number>>();
  for (const block of blocks) if (block.insts[0]!.op === Op.Phi) edges.set(block, new Map());
  for (const block of blocks)
    for (const target of block.terminator.blocks) {
      const from = edges.get(target);
      if (from !== undefined) from.set(block, (from.get(block) ?? 0) + 1);
    }
  for (const [block, from] of edges) {
    const total = predecessors[block.id]!;
    for (const inst of block.insts) {
      if (inst.op !== Op.Phi) break;
      if (inst.blocks.length !== total) fail("phi that does not match the predecessors of its block");
      if (from.size === total) {
        // The usual case, one edge from each: each predecessor once.
        const seen = new Set(inst.blocks);
        if (seen.size !== total) fail("phi that names a predecessor twice");
        for (const source of inst.blocks)
          if (!from.has(source)) fail("phi that names a block that is no predecessor");
      } else {
        const counts = new Map<Block, number>();
        for (const source of inst.blocks) counts.set(source, (counts.get(source) ?? 0) + 1);
        for (const [source, count] of counts)
          if (from.get(source) !== count) fail("phi that does not match the predecessors of its block");
      }
    }
  }
}
