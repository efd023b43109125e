/**
 * What nothing enters is no code: in unreachable blocks a value may be defined by itself, or not at all, which
 * selection and allocation do not expect. Blocks whose addresses are taken keep their label, on a trap: addresses are
 * jumped to by indirect branches alone, which list them. Linear in blocks and edges.
 */
import type { MBlock, MFunction } from "../../codegen/mir.js";
import { MInst } from "../../codegen/mir.js";
import { type Block, type Body, makeInst, Op } from "../../ir/instructions.js";
import { raw } from "../../ir/raw.js";
import { voidType } from "../../ir/types.js";
import { X } from "../isa/ops.js";

/** Empties the blocks of a body that control cannot reach, and takes them out of the phis of the others. */
export function emptyUnreachableBlocks({ blocks }: Body): void {
  const seen = new Set<Block>([blocks[0]!]);
  const stack = [blocks[0]!];
  while (stack.length > 0)
    for (const next of stack.pop()!.successors)
      if (!seen.has(next)) {
        seen.add(next);
        stack.push(next);
      }
  if (seen.size === blocks.length) return;
  for (const block of blocks) {
    if (!seen.has(block)) {
      raw(block).insts = [];
      block.append(makeInst(Op.Unreachable, voidType, [], null));
      continue;
    }
    for (const phi of block.insts) {
      if (phi.op !== Op.Phi) break;
      if (phi.blocks.every((from) => seen.has(from))) continue;
      const kept = phi.blocks.map((from) => seen.has(from));
      raw(phi).operands = phi.operands.filter((_, i) => kept[i]);
      raw(phi).blocks = phi.blocks.filter((_, i) => kept[i]);
    }
  }
}

/** The same after selection, since branches on constants leave blocks that nothing enters. */
export function dropUnreachableBlocks(mf: MFunction): void {
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
    block.insts = [new MInst(X.Ud2, 8)];
    block.succs = [];
    block.params = [];
    block.succArgs = [];
  }
}
