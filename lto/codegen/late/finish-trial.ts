/**
 * A way back for a function that is finished to see how large it gets. Linear in the function.
 */
import type { MFunction } from "../mir.js";
import { packFunction } from "../pack/pack.js";
import type { SymbolNumbers } from "../pack/symbol-numbers.js";
import { restoreFunction } from "../pack/unpack.js";
import { OpFact } from "../target.js";

/** Inline assembly may be as long as it likes: there is no use in comparing sizes. */
export const isMeasurable = (mf: MFunction): boolean =>
  mf.blocks.every((block) =>
    block.insts.every((inst) => (mf.target.instructions.facts[inst.op]! & OpFact.Asm) === 0),
  );

/** Notes the state of the function. @returns what brings it back, any number of times */
export function checkpoint(mf: MFunction, symbols: SymbolNumbers): () => void {
  const packed = packFunction(mf, symbols);
  return () => restoreFunction(mf, packed, symbols);
}
