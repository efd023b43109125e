/**
 * Results of assembly that may jump, used where it jumped to. LLVM before 17 has them only where it did not jump: its verifier
 * rejects the module otherwise.
 */
import { UnsupportedError } from "../../lto/ir/errors.js";
import { type Block, type BodyView, type Inst, Op } from "../../lto/ir/instructions.js";
import type { Func } from "../../lto/ir/module.js";

const resultsVersion = 17;

/** @throws UnsupportedError where a version does not know what a body does */
export function checkJumpedResults(fn: Func, { blocks }: BodyView, version: number): void {
  if (version >= resultsVersion) return;
  for (const block of blocks) {
    const inst = block.terminator;
    if (inst.op !== Op.CallBr || inst.type.kind === "void") continue;
    if (isUsedOutside(inst, block, blocks))
      throw new UnsupportedError(
        `a result of assembly that jumped, in bitcode for LLVM ${version}`,
        `function '${fn.name}'`,
      );
  }
}

/** Whether there is a use that is reached without the edge on which nothing jumped. */
function isUsedOutside(inst: Inst, home: Block, blocks: readonly Block[]): boolean {
  const [next, ...jumps] = inst.blocks;
  const reached = new Set<Block>();
  const open = [blocks[0]!];
  for (let block = open.pop(); block !== undefined; block = open.pop()) {
    if (reached.has(block)) continue;
    reached.add(block);
    open.push(...(block === home ? jumps : block.successors));
  }
  return blocks.some((block) =>
    block.insts.some((user) =>
      user.operands.some((operand, i) => {
        if (operand !== inst) return false;
        if (user.op !== Op.Phi) return reached.has(block);
        const from = user.blocks[i]!;
        return from === home ? block !== next || jumps.includes(block) : reached.has(from);
      }),
    ),
  );
}
