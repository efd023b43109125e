/**
 * Branches on constants leave machine blocks that nothing enters, in which allocation finds values without definition.
 * Blocks whose addresses are taken keep their label, on a trap: addresses are jumped to by indirect branches alone,
 * which list them. Linear in blocks and edges.
 */
import type { MBlock, MFunction, MInst } from "../mir.js";

/**
 * Empties machine blocks that nothing enters.
 * @param trap an instruction that control does not get past
 */
export function dropUnreachableBlocks(mf: MFunction, trap: () => MInst): void {
  const entry = mf.blocks[0]!;
  const seen = new Set<MBlock>([entry]);
  const stack = [entry];
  while (stack.length > 0)
    for (const next of stack.pop()!.succs)
      if (!seen.has(next)) {
        seen.add(next);
        stack.push(next);
      }
  if (seen.size === mf.blocks.length) return;
  mf.blocks = mf.blocks.filter((b) => seen.has(b) || b.addressTaken);
  for (const block of mf.blocks) {
    block.preds = block.preds.filter((p) => seen.has(p));
    if (seen.has(block)) continue;
    block.insts = [trap()];
    block.succs = [];
    block.params = [];
    block.succArgs = [];
  }
}
