/**
 * What a rule of the peepholes is. A rule is data that one engine works with: what it looks at, what must hold, what it
 * makes. It changes nothing itself; it says through its `Match` what should come in which place, and the engine does
 * that where it pays, counts it, and can leave it out by name.
 *
 * How a rule is added: an object in a file of `rules/` and in the group at its end, and a generator of what it is
 * for in `test/x64/prover/directed.ts`, which runs it on the machine.
 */
import type { X } from "../isa/ops.js";
import type { EdgeMatch } from "./edge-match.js";
import type { Match } from "./match.js";

/** When a result is taken. */
export const enum Gain {
  /** It has fewer bytes, those of asynchronous unwind tables included. */
  Shorter,
  /** The same, where it saves at least what the time of one more instruction is worth: it takes so much longer. */
  ShorterSlower,
  /** It has no more bytes, and is the form that further rules know, or has no REX prefix unless registers ask for one. */
  NotLonger,
  /** In functions for speed, however long: it takes work off a path that runs more often. */
  Faster,
  /** It may be longer: another rule takes more away for it. */
  Enabling,
}

/** What must hold for a rule to be asked, besides the opcode: bits. */
export const enum Needs {
  Nothing = 0,
  /** Nothing reads the flags as they are after the instruction. */
  DeadFlags = 1 << 0,
  /** The function is for minimum size. */
  Minsize = 1 << 1,
  /** Something may be pushed and popped again: the bytes below rsp are free, and unwind tables do not grow by it. */
  Pushes = 1 << 2,
  /** There is a number as immediate, and no symbol. */
  Immediate = 1 << 3,
  /** No operand is memory. */
  NoMemory = 1 << 4,
  Memory = 1 << 5,
}

export interface RuleInfo {
  /** Of options and reports; stays the same. */
  readonly name: string;
  /** The pattern, an arrow and the result; in AT&T syntax, operands as letters. */
  readonly description: string;
  readonly gain: Gain;
}

/** A rule about an instruction and others of its block that lie before it. */
export interface Rule extends RuleInfo {
  /** Of the instruction that it is asked about: the last of its pattern. */
  readonly opcodes: readonly X[];
  /** Bits of `Needs`. */
  readonly needs: number;
  /** How many instructions before that one it sees. */
  readonly window: number;
  /** Says what to make where the pattern is there; else nothing. */
  apply(match: Match): void;
}

/** Rules of one kind, in the order in which they are asked. */
export interface RuleGroup {
  /** Asked with what registers hold before the instruction. */
  readonly forward?: readonly Rule[];
  /** Asked with what is needed after it. */
  readonly backward?: readonly Rule[];
}

/** A rule about a block and the only one that leads to it. */
export interface EdgeRule extends RuleInfo {
  apply(edge: EdgeMatch): void;
}
