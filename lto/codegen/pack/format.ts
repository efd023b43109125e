/**
 * A compact form of a machine function after allocation: for the time it waits for the rest of the program, for the
 * way between threads, and to compare functions.
 *
 * One array of 32-bit words, with nothing for the garbage collector to walk. First what is the function's own (its
 * blocks' identities, frequencies and edges; slots; flags), then, from `code` on, jump tables and instructions. There
 * blocks go by position, globals by number, constants and texts by content: equal words mean equal code. What
 * allocation alone needed (virtual registers, constraints, block parameters) is forgotten: of an operand there
 * remain its location and its tie. About a twentieth of the size of the objects. Linear both ways.
 *
 * Breaks if: a function, block or instruction gets a field that is not listed here, or a pass after allocation looks
 * at virtual registers.
 */

import type { FrameSlot, MFunction, SymbolKind } from "../mir.js";
import type { PackedDebug } from "./debug.js";

/** Plain data. */
export interface PackedFunction {
  /** The function's number among the globals. */
  readonly symbol: number;
  readonly words: Int32Array;
  /** Where the code starts in `words`, and after its tables the blocks. */
  readonly code: number;
  readonly blocks: number;
  /**
   * `MInst.origin` of each instruction, beside the words, since equal code may be written anywhere; absent where all code is
   * the function's own.
   */
  readonly origins?: Int32Array;
  /** What is known of source variables; absent where nothing is. */
  readonly debug?: PackedDebug;
}

export const unwindTables = ["none", "sync", "async"] as const satisfies MFunction["unwind"][];
export const goals = ["none", "speed", "size", "minsize"] as const satisfies MFunction["goal"][];
export const slotKinds = ["local", "spill", "incoming"] as const satisfies FrameSlot["kind"][];
export const symbolKinds = [
  "direct",
  "got",
  "plt",
  "tls-offset",
  "tls-offset-entry",
  "tls-dynamic",
  "far",
  "far-offset",
  "far-got",
  "high",
] as const;
/** Bits of a symbol's first word that hold its kind; the kind of its target is above. */
export const symbolKindBits = 4;
// Fails to compile when a kind is missing.
symbolKinds satisfies readonly SymbolKind[];
export const symbolTargets = [
  "global",
  "block",
  "foreign-block",
  "constant",
  "jump-table",
  "external",
] as const;
export const asmOperands = ["def", "use", "mem", "imm", "symbol", "block", "text"] as const;
export const tableOrigins = ["zero", "table", "block"] as const;
export const extras = ["asm", "call", "landing-pad", "jump-table", "unwind", "number"] as const;

/** Bits of an instruction's first word that are its opcode. */
export const opcodeMask = 1023;
/* Further bits of that word, above 5 of size. */
export const HasMem = 1 << 15;
export const HasImm = 1 << 16;
export const HasWideImm = 1 << 17;
export const HasSymbol = 1 << 18;
export const HasExtra = 1 << 19;
export const HasClobbers = 1 << 20;
/**
 * Size and numbers of operands do not fit their fields (calls, inline assembly), or registers beyond 31 are
 * clobbered: these follow as words.
 */
export const IsLarge = 1 << 21;
export const HasTargets = 1 << 22;
/** A condition or marks: one word. */
export const HasDetail = 1 << 23;
/** The condition, one higher so that 0 is none, and above `marksShift` the marks. */
export const marksShift = 8;
export const defsShift = 24;
export const maxDefs = 7;
export const usesShift = 27;
export const maxUses = 31;

/** Position of the word of a function's properties. */
export const propertiesAt = 1;
/** Its bits. */
export const enum Property {
  DynamicAlloca = 1 << 1,
  Calls = 1 << 2,
  NoRedZone = 1 << 3,
  NeedsFramePointer = 1 << 4,
  ReturnsTwice = 1 << 5,
  FramePointer = 1 << 6,
  RedZone = 1 << 10,
  Profiled = 1 << 11,
  FallsThrough = 1 << 12,
  /** Position of two bits: an index into `unwindTables`. */
  Unwind = 7,
  /** Position of four bits: 0, or one more than the logarithm. */
  StackAlignment = 13,
}
