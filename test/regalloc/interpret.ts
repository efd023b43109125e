/**
 * Runs generated functions before and after allocation and records what every instruction reads.
 *
 * Before: values by virtual register. After: values by location, with clobbered registers made unusable. Results
 * are hashes of operands. Branches are taken by a random sequence that is the same for both runs. Two runs agree
 * if the allocation kept the meaning, at least on this path.
 */

import { collectUses } from "../../lto/codegen/liveness.js";
import type { MBlock, MFunction, MInst, RegOperand } from "../../lto/codegen/mir.js";
import { slotLocation } from "../../lto/codegen/mir.js";
import { minus, registersIn } from "../../lto/codegen/register-set.js";
import { Random } from "../support/random.js";
import { Op } from "./mock-target.js";

const mix = (a: number, b: number): number => {
  let h = Math.imul(a ^ (b + 0x9e3779b9), 0x85ebca6b);
  h ^= h >>> 13;
  return Math.imul(h, 0xc2b2ae35) ^ (h >>> 16);
};

/** What instructions read, in order: identity and hash of the operands. */
export function trace(fn: MFunction, seed: number, allocated: boolean, limit = 400): number[] {
  const { all, calleeSaved } = fn.target.registers;
  const random = new Random(seed);
  const values = new Map<number, number>();
  const out: number[] = [];
  const keyOf = (operand: RegOperand): number => (allocated ? operand.loc : operand.vreg);
  const read = (operand: RegOperand): number => values.get(keyOf(operand)) ?? 0x0bad;
  let block = fn.blocks[0]!;
  const buffer: RegOperand[] = [];
  for (;;) {
    let next: MBlock | null = null;
    let unwound = false;
    for (const inst of block.insts) {
      if (executeMove(inst)) continue;
      if (inst.op === Op.LandingPad) {
        if (!allocated)
          for (let d = 0; d < inst.defs.length; d++) values.set(inst.defs[d]!.vreg, values.get(-1 - d)!);
        continue;
      }
      const count = collectUses(inst, buffer);
      let hash = inst.imm as number;
      for (let k = 0; k < count; k++) hash = mix(hash, read(buffer[k]!));
      out.push(inst.imm as number, hash);
      if (out.length > limit) return out;
      if (inst.op === Op.Return) return out;
      if (allocated) {
        for (const r of registersIn(inst.clobbers)) values.set(r, mix(0xdead, out.length));
      }
      if (
        inst.extra !== null &&
        inst.extra.kind === "call" &&
        inst.extra.unwind !== null &&
        random.chance(0.4)
      ) {
        next = inst.extra.unwind;
        unwound = true;
        // Frames in between put back the callee-saved registers, and nothing else.
        if (allocated)
          for (const r of registersIn(minus(all, calleeSaved))) values.set(r, mix(0xdead, out.length + r));
        for (let d = 0; d < 2; d++) values.set(allocated ? d : -1 - d, mix(hash, 77 + d));
        break;
      }
      const results = inst.defs.map((_, d) => mix(hash, d));
      for (let d = 0; d < results.length; d++) values.set(keyOf(inst.defs[d]!), results[d]!);
      if (inst.op === Op.Jump) next = inst.targets[0]!;
      else if (inst.op === Op.Branch) next = random.pick(inst.targets.filter((t) => !t.landingPad));
    }
    if (next === null) throw new Error(`block ${block.id} does not end (${unwound})`);
    if (!allocated) {
      const args = block.succArgs[block.succs.indexOf(next)]!.map((arg) => values.get(arg.vreg)!);
      for (let p = 0; p < args.length; p++) values.set(next.params[p]!.vreg, args[p]!);
    }
    block = next;
  }

  function executeMove(inst: MInst): boolean {
    switch (inst.op) {
      case Op.Copy:
        values.set(keyOf(inst.defs[0]!), read(inst.uses[0]!));
        return true;
      case Op.Const:
        values.set(keyOf(inst.defs[0]!), mix(0xc0de, inst.imm as number));
        return true;
      case Op.Store:
        values.set(
          slotLocation(inst.mem!.slot),
          inst.uses.length > 0 ? read(inst.uses[0]!) : mix(0xc0de, inst.imm as number),
        );
        return true;
      case Op.Load:
        values.set(inst.defs[0]!.loc, values.get(slotLocation(inst.mem!.slot)) ?? 0x0bad);
        return true;
      case Op.Swap: {
        const a = read(inst.defs[0]!);
        values.set(inst.defs[0]!.loc, read(inst.defs[1]!));
        values.set(inst.defs[1]!.loc, a);
        return true;
      }
      default:
        return false;
    }
  }
}
