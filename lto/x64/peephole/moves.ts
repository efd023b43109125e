/**
 * Register moves at minimum size.
 *
 *   mov %r, %eax  (2, 3 with REX)  → xchg %r, %eax (1, 2)   if the source is dead afterwards
 *   mov %r, %r' of 64 bits (3)     → push %r; pop %r' (2)   between low registers, where something may be pushed
 *
 * Runs last: an exchange looks like a use of its dead half.
 * Linear in the function.
 * Proof obligations: the register that receives garbage is dead; xchg and push/pop change no flags.
 */

import { type PostLiveness, stepBack } from "../../codegen/late/liveness.js";
import { type MFunction, MInst } from "../../codegen/mir.js";
import { hasRegister, type RegisterSet } from "../../codegen/register-set.js";
import { physical, pop, push } from "../isa/build.js";
import { X } from "../isa/ops.js";
import { RAX, RBP, RSP } from "../isa/registers.js";

function exchange(size: number, a: number, b: number): MInst {
  const inst = new MInst(X.Xchg, size);
  inst.defs = [physical(a), physical(b)];
  inst.uses = [physical(b), physical(a)];
  return inst;
}

/** The shorter form of a copy; null if it stays. `live` is what is live after it. */
function shorten(inst: MInst, live: RegisterSet, pushes: boolean, framePointer: boolean): MInst[] | null {
  const to = inst.defs[0]!.loc;
  const from = inst.uses[0]!.loc;
  if (to >= 16 || from >= 16 || to === RSP || to === from) return null;
  // push of rsp pushes its old value; rbp = rsp is the frame's.
  if (from === RSP) return inst.size === 8 && pushes && to < 8 && to !== RBP ? [push(from), pop(to)] : null;
  // An unwinder looks for the frame where rbp points until it is popped.
  const isTaken = hasRegister(live, from) || (framePointer && from === RBP);
  if (!isTaken && (to === RAX || from === RAX)) return [exchange(inst.size < 8 ? 4 : 8, to, from)];
  if (inst.size === 8 && pushes && to < 8 && from < 8) return [push(from), pop(to)];
  return null;
}

/** Rewrites the copies of every block; `liveness` must hold at the block boundaries. */
export function shortenMoves(mf: MFunction, liveness: PostLiveness, pushes: boolean): void {
  for (const block of mf.blocks) {
    let live = liveness.liveOut[block.id]!;
    const { insts } = block;
    const out: MInst[] = [];
    for (let i = insts.length - 1; i >= 0; i--) {
      const inst = insts[i]!;
      const shorter = inst.op === X.Copy ? shorten(inst, live, pushes, mf.framePointer) : null;
      live = stepBack(inst, live, liveness);
      if (shorter === null) out.push(inst);
      else for (let k = shorter.length - 1; k >= 0; k--) out.push(shorter[k]!);
    }
    block.insts = out.reverse();
  }
}
