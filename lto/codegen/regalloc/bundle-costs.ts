/**
 * Costs of a bundle: spilling it, encoding its register, and each register's suitability for it.
 *
 * Kept apart from the allocators that compare these numbers and from the policy that supplies the unit prices.
 */

import { isDefKind, UseKind } from "../liveness.js";
import type { MInst } from "../mir.js";
import {
  equalSets,
  firstRegister,
  intersect,
  isEmptySet,
  isSingle,
  minus,
  noRegisters,
  overlaps,
  type RegisterSet,
  registerCount,
  union,
} from "../register-set.js";
import { type Bundle, SplitLevel } from "./bundle.js";
import type { AllocationProblem } from "./problem.js";
import { occurrenceCost } from "./spill-cost.js";

export class BundleCosts {
  /** Policy weight of each block by layout position. */
  readonly blockWeight: Float64Array;
  /** The same of bytes that registers are named in. */
  private readonly byteWeight: Float64Array;
  constructor(private readonly problem: AllocationProblem) {
    const { fn, policy } = problem;
    this.blockWeight = Float64Array.from(fn.blocks, (block) => policy.weight(block));
    this.byteWeight = Float64Array.from(fn.blocks, (block) => policy.byteWeight(block));
    this.seenBy = new Int32Array(fn.vregs.length);
    this.gain = new Float64Array(problem.target.count);
  }

  /** The instruction at `index`; null for the head of a block. */
  instAt(index: number): MInst | null {
    const { fn, liveness } = this.problem;
    const block = liveness.numbering.blockAt[index]!;
    const offset = index - liveness.numbering.head[block]! - 1;
    return offset < 0 ? null : fn.blocks[block]!.insts[offset]!;
  }

  /** Sums by register, all zero between calls, and the registers summed up, in order of appearance. */
  private readonly gain: Float64Array;
  private readonly gained: number[] = [];
  /** Number of the last call of `measure` that each virtual register was seen by. */
  private readonly seenBy: Int32Array;
  private calls = 0;

  /**
   * Fills in what is computed from the ranges of `bundle` and the occurrences in them: size, registers permitted
   * and unblocked, spill cost, weight, mentions, distinct virtual registers, and for each register that fixed
   * operands name the moves saved by being in it.
   */
  measure(bundle: Bundle): void {
    this.measureRanges(bundle);
    this.measureOccurrences(bundle);
    const { policy, target } = this.problem;
    bundle.weight =
      bundle.level === SplitLevel.Minimal
        ? 1e12 * (target.count + 1 - registerCount(bundle.permitted))
        : Math.max(0, bundle.spillCost) / (bundle.size + policy.inertia);
    this.takeGains(bundle);
  }

  /** How much of the code the ranges are, and which registers are free there. */
  private measureRanges(bundle: Bundle): void {
    const { reservations, allocatable } = this.problem;
    const all = allocatable[bundle.cls]!;
    let points = 0;
    let blocked = noRegisters;
    const { ranges } = bundle;
    for (let r = 0; r < ranges.length; r++) {
      const range = ranges[r]!;
      points += range.end - range.start;
      if (!equalSets(blocked, all))
        blocked = union(blocked, reservations.blocked(range.vreg, range.start, range.end, all));
    }
    bundle.size = points / 4;
    bundle.unblocked = minus(all, blocked);
  }

  /** What the occurrences permit and cost, and what of them names registers. */
  private measureOccurrences(bundle: Bundle): void {
    const { fn, liveness, allocatable, policy, target } = this.problem;
    const { useIndex, useKind, useOperand, numbering } = liveness;
    const { blockAt, head } = numbering;
    let permitted = allocatable[bundle.cls]!;
    let cost = 0;
    let mentions = 0;
    let forms: number[] | null = null;
    const call = ++this.calls;
    const vregs: number[] = [];
    const everything = bundle.all();
    for (let r = 0; r < everything.length; r++) {
      const { vreg, useLow, useHigh } = everything[r]!;
      if (this.seenBy[vreg] !== call) {
        this.seenBy[vreg] = call;
        vregs.push(vreg);
      }
      const info = fn.vregs[vreg]!;
      const remat = info.remat !== null;
      let reloadedIn = -1;
      for (let u = useLow; u < useHigh; u++) {
        const kind = useKind[u]! as UseKind;
        const index = useIndex[u]!;
        const block = blockAt[index]!;
        const weight = this.blockWeight[block]!;
        const named = this.byteWeight[block]!;
        let price = occurrenceCost(policy, kind, info.size, remat);
        switch (kind) {
          case UseKind.Reg:
          case UseKind.Def:
          case UseKind.Any:
          case UseKind.AnyDef: {
            const { allowed } = useOperand[u]!;
            if (!isEmptySet(allowed)) permitted = intersect(permitted, allowed);
            if (bundle.cls === 0) {
              const inst = fn.blocks[block]!.insts[index - head[block]! - 1]!;
              mentions += (target.mentionWeight?.(inst) ?? 1) * named;
              const form = target.encodingForm?.(inst, useOperand[u]!) ?? -1;
              if (form >= 0) forms = addForm(forms, form, named);
            } else mentions += named;
            // Later uses in the block will often find the reloaded value.
            if (kind === UseKind.Reg) {
              if (reloadedIn === block) price *= 0.4;
              reloadedIn = block;
            }
            break;
          }
          case UseKind.FixedDef: {
            const { allowed } = useOperand[u]!;
            if (overlaps(allowed, target.calleeSaved)) bundle.arrives = firstRegister(allowed);
            if (block === 0 && index === head[0]! + 1) bundle.enters = firstRegister(allowed);
            this.gainFrom(allowed, policy.move(info.size) * weight);
            break;
          }
          case UseKind.Fixed:
            this.gainFrom(useOperand[u]!.allowed, policy.move(info.size) * weight);
            break;
          case UseKind.Tied:
            this.gainFrom(this.tiedSet(u), policy.move(info.size) * weight);
            break;
        }
        cost += price * weight;
      }
    }
    bundle.permitted = permitted;
    bundle.spillCost = cost;
    bundle.mentions = mentions;
    if (forms !== null) bundle.forms = forms;
    bundle.vregs = vregs;
  }

  /** Hands over the sums by register. */
  private takeGains(bundle: Bundle): void {
    const { gained, gain } = this;
    if (gained.length > 0) {
      bundle.fixedRegisters = gained.slice();
      bundle.fixedGains = gained.map((register) => gain[register]!);
      for (const register of gained) gain[register] = 0;
      gained.length = 0;
    }
  }

  private gainFrom(set: RegisterSet, price: number): void {
    if (!isSingle(set)) return;
    const register = firstRegister(set);
    if (this.gain[register] === 0) this.gained.push(register);
    this.gain[register]! += price;
  }

  /** Register set of the definition that a consumed use is tied to. */
  private tiedSet(use: number): RegisterSet {
    const { useIndex, useOperand } = this.problem.liveness;
    const { defs, uses } = this.instAt(useIndex[use]!)!;
    for (let d = 0; d < defs.length; d++) {
      const { allowed, tiedTo } = defs[d]!;
      if (!isEmptySet(allowed) && tiedTo >= 0 && uses[tiedTo] === useOperand[use]) return allowed;
    }
    return noRegisters;
  }

  /** True if the occurrence needs a register even when its value is in memory. */
  needsRegister(use: number, remat: boolean): boolean {
    const kind = this.problem.liveness.useKind[use]! as UseKind;
    if (kind === UseKind.Reg) return true;
    if (kind === UseKind.Any) return remat;
    return kind === UseKind.Def && !remat;
  }

  isDefinition(use: number): boolean {
    return isDefKind(this.problem.liveness.useKind[use]! as UseKind);
  }
}

function addForm(forms: number[] | null, form: number, weight: number): number[] {
  const result = forms ?? [];
  while (result.length <= form) result.push(0);
  result[form]! += weight;
  return result;
}
