/**
 * Bytes of a laid-out function by where their code was written (`MInst.origin`), and those of them that only the layout of the
 * whole program decides: of jumps to other functions.
 *
 * Steps behind selection say nothing of the origin of what they make. That is as what follows it in its block: what
 * reloads, copies and spills there are is for an instruction they stand in front of, and epilogues stand in front of
 * returns; where nothing follows, as what came before. What the entry begins with is the function's own prologue.
 */
import type { MBlock, MFunction, MInst } from "../mir.js";
import { type BranchForms, OpFact, type Target } from "../target.js";
import { BranchSizes } from "./branch-sizes.js";
import { type JumpTarget, tailJumpTarget } from "./tail-jumps.js";

/** Pairs of an origin, from 1 on, and its bytes; what is missing to the function's size it has of itself. */
export type OriginBytes = readonly (readonly [origin: number, bytes: number])[];

/**
 * One instruction does for two: it is where both are, or nowhere in particular. Steps in threads cannot say more, such as the
 * scope that both are in (`Origins.merged`).
 */
export function mergeOrigins(kept: MInst, other: MInst): void {
  if (kept.origin < 0) kept.origin = other.origin;
  else if (other.origin >= 0 && other.origin !== kept.origin) kept.origin = 0;
}

/** A place in a function: bytes of other code, and branches, that stand before it. */
export interface CodePlace {
  readonly bytes: number;
  readonly branches: number;
}

/** A branch or jump that may be short. */
export interface OpenBranch extends BranchForms {
  /** Bytes of other code before it in the function. */
  readonly bytes: number;
  /** Its own, of those that `CodeSizes.code` counts. */
  readonly counted: number;
  /** A place in the function, or another function's name. */
  readonly to: CodePlace | string;
  /** Where its bytes count; 0: they are the function's own. */
  origin: number;
}

/** Plain data. */
export interface CodeSizes {
  /** With jumps to other functions at their longest. */
  readonly code: number;
  readonly origins: OriginBytes;
  /** All its branches in order; null: how long they are does not depend on other functions, or is not known. */
  readonly branches: readonly OpenBranch[] | null;
}

export function codeSizes({ blocks, target }: MFunction): CodeSizes {
  const { facts, length } = target.instructions;
  const sizes = new BranchSizes([blocks], target.instructions);
  const code = sizes.relaxed([0]);
  const branches = sizes.hasAssembly ? null : openBranches(blocks, target, sizes.branchBytes);
  const hasOrigins = blocks.some(({ insts }) => insts.some(({ origin }) => origin > 0));
  if (!hasOrigins) return { code, origins: [], branches };
  const sums = new Map<number, number>();
  let inner = 0;
  let open = 0;
  for (const [b, { insts }] of blocks.entries()) {
    let pending = 0;
    let first = open;
    let last = -1;
    const count = (): void => {
      if (last > 0) sums.set(last, (sums.get(last) ?? 0) + pending);
      if (last > 0 && branches !== null) for (; first < open; first++) branches[first]!.origin = last;
      pending = 0;
      first = open;
    };
    for (const inst of insts) {
      const isInner = isInnerBranch(inst, facts);
      const bytes = isInner ? sizes.branchBytes[inner++]! : length(inst);
      const isOpen = isInner || tailJumpTarget(inst, facts) !== null;
      pending += bytes;
      if (isOpen) open++;
      if (inst.origin < 0) continue;
      if (last < 0 && b === 0) {
        pending = bytes;
        first = isOpen ? open - 1 : open;
      }
      last = inst.origin;
      count();
    }
    count();
  }
  return { code, origins: [...sums], branches };
}

const isInnerBranch = ({ op, symbol }: MInst, facts: Uint32Array): boolean =>
  (facts[op]! & (OpFact.Jump | OpFact.Branch)) !== 0 && symbol === null;

/** Null: none leads to another function. */
function openBranches(
  blocks: readonly MBlock[],
  { instructions, costs }: Target,
  inner: readonly number[],
): OpenBranch[] | null {
  const { facts, length, branchForms } = instructions;
  const places = new Map<MBlock, CodePlace>();
  const found: { readonly inst: MInst; readonly bytes: number; readonly to: JumpTarget | null }[] = [];
  let bytes = 0;
  let leaves = false;
  for (const block of blocks) {
    places.set(block, { bytes, branches: found.length });
    for (const inst of block.insts) {
      const to = tailJumpTarget(inst, facts);
      if (to === null && !isInnerBranch(inst, facts)) {
        bytes += length(inst);
        continue;
      }
      leaves ||= to !== null;
      found.push({ inst, bytes, to });
    }
  }
  if (!leaves) return null;
  const { short, reach } = costs.branches;
  let next = 0;
  return found.map(({ inst, bytes: before, to }): OpenBranch => {
    const common = { bytes: before, origin: 0 };
    if (to === null)
      return {
        ...branchForms(inst),
        ...common,
        counted: inner[next++]!,
        to: places.get(inst.targets[0]!)!,
      };
    const near = length(inst);
    const forms = { short, back: reach + 1, ahead: reach, near };
    return { ...forms, ...common, counted: near, to: typeof to === "string" ? to : to.name };
  });
}
