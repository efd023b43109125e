/**
 * A way back for a function that is finished to see how large it gets.
 *
 * Instructions are kept packed (codegen/mir-pack.ts), edges and jump tables as copies of their lists; blocks stay
 * the same objects, so that what refers to them still does. Linear in the function.
 * Breaks if: a pass changes something of a function or block that is not listed here.
 */

import type { MBlock, MFunction } from "../mir.js";
import { packBody, unpackBody } from "../mir-pack.js";
import { OpFact } from "../target.js";

/** Inline assembly is not copied when it is packed: it cannot be finished twice. */
export const isRepeatable = (mf: MFunction): boolean =>
  mf.blocks.every((block) =>
    block.insts.every((inst) => (mf.target.instructions.facts[inst.op]! & OpFact.Asm) === 0),
  );

/** Notes the state of the function. @returns what brings it back, any number of times */
export function checkpoint(mf: MFunction): () => void {
  const blocks = [...mf.blocks];
  const edges = blocks.map(({ preds, succs, frequency }) => ({
    preds: [...preds],
    succs: [...succs],
    frequency,
  }));
  const tables: MBlock[][] = mf.jumpTables.map((table) => [...table]);
  const body = packBody(mf);
  const restore = (): void => {
    mf.blocks = [...blocks];
    blocks.forEach((block, b) => {
      block.preds = [...edges[b]!.preds];
      block.succs = [...edges[b]!.succs];
      block.frequency = edges[b]!.frequency;
    });
    mf.jumpTables.forEach((table, i) => {
      table.splice(0, table.length, ...tables[i]!);
    });
    unpackBody(mf, body);
  };
  restore();
  return restore;
}
