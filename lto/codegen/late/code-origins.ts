/**
 * Bytes of a laid-out function by where their code was written (`MInst.origin`).
 *
 * Steps behind selection say nothing of the origin of what they make. That is as what follows it in its block: what
 * reloads, copies and spills there are is for an instruction they stand in front of, and epilogues stand in front of
 * returns; where nothing follows, as what came before. What the entry begins with is the function's own prologue.
 */
import type { MFunction } from "../mir.js";
import { OpFact } from "../target.js";
import { BranchSizes } from "./branch-sizes.js";

/** Pairs of an origin, from 1 on, and its bytes; what is missing to the function's size it has of itself. */
export type OriginBytes = readonly (readonly [origin: number, bytes: number])[];

const none: OriginBytes = [];

export function codeOrigins(mf: MFunction): OriginBytes {
  if (!mf.blocks.some(({ insts }) => insts.some(({ origin }) => origin > 0))) return none;
  const { instructions } = mf.target;
  const { facts } = instructions;
  const sizes = new BranchSizes([mf.blocks], instructions);
  sizes.relaxed([0]);
  const branches = sizes.branchBytes;
  const sums = new Map<number, number>();
  let branch = 0;
  for (const [b, { insts }] of mf.blocks.entries()) {
    let pending = 0;
    let last = -1;
    for (const inst of insts) {
      const isBranch = (facts[inst.op]! & (OpFact.Jump | OpFact.Branch)) !== 0 && inst.symbol === null;
      const bytes = isBranch ? branches[branch++]! : instructions.length(inst);
      pending += bytes;
      if (inst.origin < 0) continue;
      if (last < 0 && b === 0) pending = bytes;
      last = inst.origin;
      if (last > 0) sums.set(last, (sums.get(last) ?? 0) + pending);
      pending = 0;
    }
    if (last > 0) sums.set(last, (sums.get(last) ?? 0) + pending);
  }
  return [...sums];
}
