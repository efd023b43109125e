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
  const count = blocks.length;
  // The sources of the edges into block b are sources[first[b] … first[b + 1] - 1].
  const first = new Int32Array(count + 1);
  for (let b = 0; b < count; b++) first[b + 1] = first[b]! + predecessors[b]!;
  const sources = new Int32Array(first[count]!);
  const next = first.slice();
  for (const block of blocks)
    for (const target of block.terminator.blocks) sources[next[target.id]!++] = block.id;

  const edges = new Int32Array(count);
  const entries = new Int32Array(count);
  for (const block of blocks) {
    if (block.insts[0]!.op !== Op.Phi) continue;
    const from = first[block.id]!;
    const to = first[block.id + 1]!;
    for (let e = from; e < to; e++) edges[sources[e]!]!++;
    for (const inst of block.insts) {
      if (inst.op !== Op.Phi) break;
      const incoming = inst.blocks;
      if (incoming.length !== to - from) fail("phi that does not match the predecessors of its block");
      // As many entries as edges, and nowhere too many: just enough everywhere.
      for (const { id } of incoming)
        if (++entries[id]! > edges[id]!) fail("phi that does not match the predecessors of its block");
      for (const { id } of incoming) entries[id] = 0;
    }
    for (let e = from; e < to; e++) edges[sources[e]!] = 0;
  }
}
