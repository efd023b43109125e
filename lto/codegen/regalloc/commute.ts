/**
 * Chooses which of two exchangeable sources a result is tied to.
 *
 * `d = a * b` with `d` in the place of `a` takes a copy if `a` is needed afterwards. If `b` is not, the sources
 * change places. If neither or both are needed, the one that a block parameter connects with `d` is preferred:
 * `acc' = x + acc` in a loop needs no copy if `d` is in the place of `acc`.
 * Needs liveness and keeps it right: only the last point of the two values' lives can move, by one gap. Linear.
 */

import { type Liveness, rangeAt, refreshUse } from "../liveness.js";
import { CopyOp, type MFunction, type MInst } from "../mir.js";
import { isEmptySet } from "../register-set.js";
import type { TargetRegisters } from "../target.js";
import { keepOneSlot } from "./normalize.js";

/** Exchanges sources of commutative instructions where that saves a copy, and updates `liveness`. */
export function commuteOperands(fn: MFunction, target: TargetRegisters, liveness: Liveness): void {
  if (target.commutes === undefined) return;
  const { numbering, defIndex } = liveness;
  let paramsOf: Map<number, number[]> | null = null;
  for (let b = 0; b < fn.blocks.length; b++) {
    let index = numbering.head[b]!;
    for (const inst of fn.blocks[b]!.insts) {
      index++;
      if (inst.op === CopyOp || inst.uses.length !== 2 || inst.defs.length !== 1) continue;
      if (inst.mem !== null || inst.extra !== null) continue;
      if (inst.defs[0]!.tiedTo !== 0 || !target.commutes(inst)) continue;
      const first = inst.uses[0]!;
      const second = inst.uses[1]!;
      if (first.vreg < 0 || second.vreg < 0 || first.vreg === second.vreg) continue;
      if (!isEmptySet(first.allowed) || !isEmptySet(second.allowed)) continue;
      if (fn.vregs[first.vreg]!.size !== fn.vregs[second.vreg]!.size) continue;
      const firstLives = rangeAt(liveness, first.vreg, 4 * index + 2) >= 0;
      const secondLives = rangeAt(liveness, second.vreg, 4 * index + 2) >= 0;
      let exchange = firstLives && !secondLives;
      if (firstLives === secondLives) {
        paramsOf ??= parametersFed(fn);
        const fed = paramsOf.get(inst.defs[0]!.vreg);
        exchange = fed?.includes(second.vreg) === true && !fed.includes(first.vreg);
      }
      if (!exchange) continue;
      exchangeSources(fn, target, inst, (vreg) => numbering.blockAt[defIndex[vreg]!] === b);
      refreshUse(liveness, inst, 0, index, secondLives);
      refreshUse(liveness, inst, 1, index, firstLives);
    }
  }
}

function exchangeSources(
  fn: MFunction,
  target: TargetRegisters,
  inst: MInst,
  isLocal: (vreg: number) => boolean,
): void {
  inst.uses = [inst.uses[1]!, inst.uses[0]!];
  target.exchanged?.(inst);
  for (const operand of [...inst.uses, ...inst.defs]) operand.mayBeSlot = false;
  target.permitSlots?.(fn, inst);
  keepOneSlot(inst, inst.uses, isLocal);
}

/** Which block parameters each register is passed to. */
function parametersFed(fn: MFunction): Map<number, number[]> {
  const result = new Map<number, number[]>();
  for (const block of fn.blocks) {
    for (let s = 0; s < block.succs.length; s++) {
      const params = block.succs[s]!.params;
      for (let p = 0; p < params.length; p++) {
        const arg = block.succArgs[s]![p]!.vreg;
        const list = result.get(arg);
        if (list === undefined) result.set(arg, [params[p]!.vreg]);
        else list.push(params[p]!.vreg);
      }
    }
  }
  return result;
}
