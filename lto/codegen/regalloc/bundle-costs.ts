/**
 * Costs of a bundle: spilling it, naming it, and each register's suitability for it.
 *
 * Kept apart from the allocators that compare these numbers and from the policy that supplies the unit prices.
 */
import { isDefKind, isSingle, UseKind } from "../liveness.js";
import type { MInst } from "../mir.js";
import { type Bundle, SplitLevel } from "./bundle.js";
import { type AllocationProblem, popCount, registersIn } from "./problem.js";
import { occurrenceCost } from "./spill-cost.js";

export class BundleCosts {
  /** Policy weight of each block by layout position. */
  readonly blockWeight: Float64Array;
  constructor(private readonly problem: AllocationProblem) {
    const { fn, policy } = problem;
    this.blockWeight = Float64Array.from(fn.blocks, (block) => policy.weight(block));
  }

  /** The instruction at `index`; null for the head of a block. */
  instAt(index: number): MInst | null {
    const { fn, liveness } = this.problem;
    const block = liveness.numbering.blockAt[index]!;
    const offset = index - liveness.numbering.head[block]! - 1;
    return offset < 0 ? null : fn.blocks[block]!.insts[offset]!;
  }

  /** Fills in size, permitted and unblocked registers, spill cost, weight and mentions of `bundle`. */
  measure(bundle: Bundle): void {
    const { fn, liveness, reservations, allocatable, policy, target } = this.problem;
    const { useIndex, useKind, useOperand, numbering } = liveness;
    const all = allocatable[bundle.cls]!;
    let permitted = all;
    let points = 0;
    let cost = 0;
    let mentions = 0;
    let blocked = 0;
    for (const range of bundle.ranges) {
      points += range.end - range.start;
      if (blocked !== all) blocked |= reservations.blocked(range.vreg, range.start, range.end, all);
    }
    for (const range of bundle.all()) {
      const info = fn.vregs[range.vreg]!;
      const remat = info.remat !== null;
      let reloadedIn = -1;
      for (let u = range.useLow; u < range.useHigh; u++) {
        const kind = useKind[u]! as UseKind;
        const block = numbering.blockAt[useIndex[u]!]!;
        const weight = this.blockWeight[block]!;
        let price = occurrenceCost(policy, kind, info.size, remat);
        const operand = useOperand[u]!;
        if (kind === UseKind.Reg || kind === UseKind.Def || kind === UseKind.Any || kind === UseKind.AnyDef) {
          if (operand.allowed !== 0) permitted &= operand.allowed;
          if (bundle.cls === 0) {
            const inst = this.instAt(useIndex[u]!)!;
            mentions += (target.mentionWeight?.(inst) ?? 1) * weight;
          } else mentions += weight;
          // Later uses in the block will often find the reloaded value.
          if (kind === UseKind.Reg) {
            if (reloadedIn === block) price *= 0.4;
            reloadedIn = block;
          }
        }
        cost += price * weight;
      }
    }
    bundle.size = points / 4;
    bundle.permitted = permitted;
    bundle.unblocked = all & ~blocked;
    bundle.spillCost = cost;
    bundle.mentions = mentions;
    bundle.weight =
      bundle.level === SplitLevel.Minimal
        ? 1e12 * (33 - popCount(permitted))
        : Math.max(0, cost) / (bundle.size + policy.inertia);
  }

  /**
   * Adds to `gain[register]` what moves a bundle saves by being in that register, as far as its own fixed
   * operands tell.
   */
  fixedGains(bundle: Bundle, gain: Float64Array): void {
    const { fn, liveness, policy } = this.problem;
    const { useIndex, useKind, useOperand, numbering } = liveness;
    for (const range of bundle.all()) {
      const price = policy.move(fn.vregs[range.vreg]!.size);
      for (let u = range.useLow; u < range.useHigh; u++) {
        const kind = useKind[u]! as UseKind;
        let mask = 0;
        if (kind === UseKind.Fixed || kind === UseKind.FixedDef) mask = useOperand[u]!.allowed;
        else if (kind === UseKind.Tied) mask = this.tiedMask(u);
        if (mask === 0 || !isSingle(mask)) continue;
        gain[registersIn(mask)[0]!]! += price * this.blockWeight[numbering.blockAt[useIndex[u]!]!]!;
      }
    }
  }

  /** Register set of the definition that a consumed use is tied to. */
  private tiedMask(use: number): number {
    const { useIndex, useOperand } = this.problem.liveness;
    const inst = this.instAt(useIndex[use]!)!;
    const position = inst.uses.indexOf(useOperand[use]!);
    for (const def of inst.defs) if (def.tiedTo >= 0 && def.tiedTo === position) return def.allowed;
    return 0;
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
