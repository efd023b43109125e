/**
 * FunctionCompilers in one thread or several, seen alike: what the driver needs of those who compile.
 *
 * The outcome is the same for any number of compilers, since every step's inputs are fixed by the call graph. Errors
 * too: of several functions that cannot be compiled, the one that comes first in the order asked for is reported.
 */

import type { PassReport } from "../../pass/report.js";
import type { DescribedCall } from "../debug/call-sites.js";
import type { PackedFunction } from "../pack/format.js";
import type { RegisterSet } from "../register-set.js";
import type { FunctionFacts } from "./facts.js";
import type { FunctionNumber } from "./numbering.js";
import type { FunctionStatistics } from "./statistics.js";

/** Functions that call each other; they are compiled by one compiler, one after the other. */
export type Component = readonly FunctionNumber[];

/** A function and the registers that a call of it may change. */
export type PublishedMask = readonly [number: FunctionNumber, clobbers: RegisterSet];

/** What the program as a whole decides about its functions, by number. Plain data. */
export interface Decisions {
  /** Callee-saved registers that the function saves and restores. */
  readonly saved: readonly RegisterSet[];
  /** Registers that it may change although it does not write them: no caller relies on them. */
  readonly scratch: readonly RegisterSet[];
  /** Callee-saved registers that a call may leave changed; of functions and, behind them, sets of callees. */
  readonly changed: readonly RegisterSet[];
  /** 1: a call needs an aligned stack; of functions and, after them, sets of callees. */
  readonly aligned: Uint8Array;
}

/** The text of a function. Plain data. */
export interface PrintedFunction {
  readonly symbol: string;
  /** The directive that leads to its section. */
  readonly section: string;
  /** What stands before the code, its label included. */
  readonly head: string;
  /** Directives that give symbols further names, which other functions may ask for, too. */
  readonly aliases: readonly string[];
  /** Of the entry, in bytes. */
  readonly align: number;
  /** Something of the function's lies before its entry. */
  readonly startsEarly: boolean;
  /** The code, and what follows it; if the function has an exit, up to that. */
  readonly text: string;
  /** The jump at its end, where that can be left out; null: there is none. */
  readonly exit: FunctionExit | null;
  /** What its unwind description takes to be part of its neighbours'; null: it has one of its own in its text, or none. */
  readonly unwind: SharedUnwind | null;
  /** Where source variables are, by places that are marked in the text; none where nothing is known. */
  readonly variables?: readonly PrintedVariable[];
  /** Calls, and jumps to other functions, by places that are marked in the text. */
  readonly calls?: readonly PrintedCall[];
}

/** A call behind which is a mark. */
export interface PrintedCall extends DescribedCall {
  readonly mark: number;
}

/** A source variable of one instance of its scope. */
export interface PrintedVariable {
  /** As in `DebugRecord`. */
  readonly variable: number;
  readonly origin: number;
  /** In the order of the text; apart from each other. */
  readonly places: readonly PrintedPlace[];
}

/** Where a variable is between two marks. */
export interface PrintedPlace {
  /** -1: where the code begins. */
  readonly from: number;
  /** -1: where the code ends. */
  readonly to: number;
  /** Before `to` is a call that changes the place: while it runs, nothing is there. */
  readonly endsInCall: boolean;
  /** DWARF's operations. */
  readonly bytes: readonly number[];
  /** Bits of the variable that they are about, from its start; infinite: all. */
  readonly described: number;
}

/** A jump to a function as the last instruction of another. */
export interface FunctionExit {
  /** The symbol that it jumps to. */
  readonly into: string;
  readonly jump: string;
  /** What follows the code. */
  readonly behind: string;
}

export interface SharedUnwind {
  /** Operations that the unwinder has to go through to get past the function. */
  readonly operations: number;
  /** Text of the directives that lead back to the state on entry. */
  readonly reset: string;
}

export interface FunctionCompilers {
  /**
   * Allocates components, none of which waits for another of them.
   * @returns for each component the facts of its functions
   */
  allocate(components: readonly Component[]): Promise<FunctionFacts[][]> | FunctionFacts[][];
  /** Makes masks known to what is allocated from now on. */
  publish(masks: readonly PublishedMask[]): void;
  /** Gives all functions their frames and final instructions. */
  complete(decisions: Decisions): Promise<void> | void;
  /** Takes all completed functions, by number; each compiler forgets them. */
  collect(): Promise<PackedFunction[]> | PackedFunction[];
  /** Gives them back, changed or not. */
  replace(functions: readonly PackedFunction[]): Promise<void> | void;
  /** Lays out and prints all functions. @param order all of them  @param write takes them, in that order */
  emit(order: readonly FunctionNumber[], write: (printed: PrintedFunction) => void): Promise<void> | void;
  /** Complete after `emit`. */
  readonly statistics: FunctionStatistics;
  /** Of the passes on single functions; likewise. */
  readonly passes: PassReport;
}
