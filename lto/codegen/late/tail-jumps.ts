/** Jumps by which functions leave for others, and where they lead. */
import type { GlobalValue } from "../../ir/module.js";
import type { MFunction, MInst } from "../mir.js";
import { OpFact } from "../target.js";

/** A function of the module, or the name of code that was outlined. */
export type JumpTarget = GlobalValue | string;

/** Where a jump leads that leaves the function for a symbol near by; null: it is something else. */
export function tailJumpTarget(inst: MInst | undefined, facts: Uint32Array): JumpTarget | null {
  if (inst?.symbol?.kind !== "direct" || (facts[inst.op]! & OpFact.TailCall) === 0) return null;
  const { target } = inst.symbol;
  if (target.kind === "external") return target.name;
  return target.kind === "global" ? target.global : null;
}

/** The last instruction of a function that is to fall through, if it is such a jump, and where that leads. */
export function fallingExit(mf: MFunction): { readonly inst: MInst; readonly to: JumpTarget } | null {
  const inst = mf.fallsThrough ? mf.blocks.at(-1)?.insts.at(-1) : undefined;
  const to = tailJumpTarget(inst, mf.target.instructions.facts);
  return inst === undefined || to === null ? null : { inst, to };
}
