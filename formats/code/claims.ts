/**
 * Claims of code generation that the checker of interprocedural register allocation (check.ts) holds against the
 * code. Apart from it, since the checker's decoder takes longer to load than a small program to link.
 */
import type { SiteKind } from "./functions.js";

/** The name of code that is not known. */
export const unknownTarget = "";

/** What code generation says about a call or jump. Registers are bits: 0–15 general purpose, 16–31 xmm. */
export interface SiteClaim {
  readonly kind: SiteKind;
  /** Symbol of the callee; null if it is a pointer. */
  readonly callee: string | null;
  /**
   * Of an indirect call: symbols of the functions it can reach, `unknownTarget` among them if it can reach others
   * that follow the convention; null when nothing is known.
   */
  readonly targets: readonly string[] | null;
  /** Registers that the caller lets the call change. */
  readonly clobbers: number;
  readonly results: number;
  readonly arguments: number;
  readonly returns: boolean;
  /** An exception may leave it. */
  readonly throws: boolean;
}

/** What code generation says about a function. */
export interface FunctionClaim {
  readonly symbol: string;
  /** In the order of the code; null when inline assembly calls or jumps, so that they cannot be matched. */
  readonly sites: readonly SiteClaim[] | null;
  /** Registers that hold its results. */
  readonly results: number;
  /** Registers that hold values without meaning (undefined in the IR): what calls change in them may be read. */
  readonly undefinedRegisters: number;
  /** Entered only by calls that the claims list, although its address is taken. */
  readonly closed: boolean;
  /** Unknown code cannot enter it: nothing but compiled code knows its symbol or its address. */
  readonly sealed: boolean;
  /** Callee-saved registers that the function's own convention gives away; absent: none. */
  readonly givenAway?: number;
  /** Code in one piece that several functions share: it obeys no convention. */
  readonly outlined: boolean;
  /** Symbol of the function that its last jump leads to, which may be left out before that; absent: there is none. */
  readonly fallsInto?: string;
  /** Its unwind tables: none, exact at calls, or at every instruction. */
  readonly unwind: "none" | "sync" | "async";
}
