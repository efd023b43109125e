/**
 * What is known of the registers that calls change: the work of LLVM's PhysicalRegisterUsageInfo, which keeps the
 * complement.
 */

import type { GlobalValue } from "../../ir/module.js";
import type { RegisterSet } from "../register-set.js";

export class ClobberStore {
  private readonly clobbers = new Map<GlobalValue, RegisterSet>();

  /** @param defaultClobbers what a call of the platform's convention may change */
  constructor(readonly defaultClobbers: RegisterSet) {}

  /** Records that a call of `fn` changes no registers but these. */
  publish(fn: GlobalValue, clobbers: RegisterSet): void {
    this.clobbers.set(fn, clobbers);
  }

  /** Registers that a call may change; the convention's for an unknown or unpublished callee. */
  clobbersOf(callee: GlobalValue | null): RegisterSet {
    const known = callee === null ? undefined : this.clobbers.get(callee);
    return known ?? this.defaultClobbers;
  }

  isKnown(fn: GlobalValue): boolean {
    return this.clobbers.has(fn);
  }
}
