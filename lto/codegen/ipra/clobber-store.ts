/**
 * What is known of the registers that calls change, as LLVM's PhysicalRegisterUsageInfo keeps it. A mask has bit 1 for a register
 * that the function preserves, as LLVM's; callers ask for the complement, the clobbers.
 */
import type { GlobalValue } from "../../ir/module.js";
import type { RegMask } from "../mir.js";

export class ClobberStore {
  private readonly preserved = new Map<GlobalValue, RegMask>();

  /** @param defaultClobbers what a call of the platform's convention may change */
  constructor(readonly defaultClobbers: RegMask) {}

  /** Records that `fn` preserves the registers of the mask, and no others for sure. */
  publish(fn: GlobalValue, preserved: RegMask): void {
    this.preserved.set(fn, preserved);
  }

  /** Registers that a call may change; the convention's for an unknown or unpublished callee. */
  clobbersOf(callee: GlobalValue | null): RegMask {
    const preserved = callee === null ? undefined : this.preserved.get(callee);
    return preserved === undefined ? this.defaultClobbers : ~preserved;
  }

  isKnown(fn: GlobalValue): boolean {
    return this.preserved.has(fn);
  }
}
