/**
 * FunctionCompilers in one thread or several, seen alike: what the driver needs of those who compile.
 *
 * The outcome is the same for any number of compilers, since every step's inputs are fixed by the call graph. Errors
 * too: of several functions that cannot be compiled, the one that comes first in the order asked for is reported.
 */

import type { PassReport } from "../../pass/report.js";
import type { DescribedCall } from "../debug/call-sites.js";
import type { Composed } from "../debug/expressions.js";
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
  readonly variables?: PrintedVariables;
  /** Calls, and jumps to other functions, by places that are marked in the text. */
  readonly calls?: readonly PrintedCall[];
}

/** A call behind which is a mark. */
export interface PrintedCall extends DescribedCall {
  readonly mark: number;
}

/** Where source variables are in the text. Plain data. */
export interface PrintedVariables {
  /** Rows as in `VariableField`, of what lies in `places`. */
  readonly variables: Int32Array;
  /** Rows, those of each variable in the order of the text and apart from each other. */
  readonly places: Int32Array;
  /** What numbers of locations mean. */
  readonly locations: readonly Composed[];
}

/** What stands where in a row of places: where a variable is between two marks. */
export const enum PlaceField {
  /** -1: where the code begins. */
  From,
  /** -1: where the code ends. */
  To,
  /** 1: before `To` is a call that changes the place: while it runs, nothing is there. */
  EndsInCall,
  /** Number of a location of the function. */
  Location,
  Count,
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
