/**
 * The size report: what is known of each symbol of a program, as JSON. There are two kinds of one form:
 *
 *  - `link`, written by `tsc-lto --size-report`: where symbols come from, what made them, who may use them and why, what
 *    calls of them change. Bytes are as code generation counts them, before the assembler and the linker.
 *  - `program`, written by `tsc-lto size --json`: bytes as they are in the finished file, all of them, with what a `link`
 *    report says of the symbols where there is one.
 *
 * A field that is absent is not known, or has nothing to say. Readers ignore fields that they do not know; a field that
 * is there has the same meaning in all reports of one `version`, which is raised when that has to change. Bytes are
 * numbers of bytes, paths are as the link was given them.
 */
import type { Use } from "../program/parts.js";

export const reportFormat = "tsc-lto size report";
export const reportVersion = 1;

/** Bytes by what they are for; what is absent is 0. */
export type Bytes = { readonly [use in Use]?: number };

export interface SizeReport {
  readonly format: typeof reportFormat;
  readonly version: number;
  readonly kind: "link" | "program";
  /** The file that it is of. */
  readonly file: string;
  /** Of a `program`: every section that is loaded, in the order of the file. */
  readonly sections: readonly SectionReport[];
  /** Of a `program` its bytes are all bytes of the sections; of a `link` functions and variables of the linked module. */
  readonly symbols: readonly SymbolReport[];
  /** Functions whose code stands in other ones, which symbols name by position. */
  readonly origins?: readonly OriginReport[];
  /** Of a `link`: definitions of its inputs that are not in its output. */
  readonly dropped?: readonly DroppedReport[];
  /** What passes and code generation count, as `--stats` prints it; of a `link`, and of a `program` that was joined with one. */
  readonly decisions: readonly Decision[];
}

export interface SectionReport {
  readonly name: string;
  readonly size: number;
  readonly use: Use;
}

/** Code that stands in another function than it was written in. */
export interface OriginReport {
  /** The function it was written in, and where that is from. */
  readonly name: string;
  readonly file?: string;
  readonly object?: string;
  /** It was called in code of this other origin, by position; absent: in code of the function that it stands in. */
  readonly into?: number;
}

export interface DroppedReport {
  readonly name: string;
  readonly file?: string;
  readonly object?: string;
  readonly why: string;
}

export interface Decision {
  /** A pass, or `code generation`. */
  readonly by: string;
  readonly counter: string;
  readonly count: number;
}

/** Registers and calls, by the names of registers. */
export interface RegistersReport {
  /** What a call of the function may leave changed. */
  readonly changes: readonly string[];
  /** Of these what its own instructions change; the others its callees do, or code that is not known. */
  readonly own: readonly string[];
  /** What it saves on entry and restores. */
  readonly saves: readonly string[];
  /** What the platform's convention lets a call change, and calls of this function do not. */
  readonly preserves: readonly string[];
  /** What the convention has functions preserve, and this one does not: no caller needs it. */
  readonly gives: readonly string[];
  /** It calls code that is not known: by pointer without known callees, assembly, or other programs' functions. */
  readonly callsUnknown: readonly string[];
  /** Where arguments and results are, if not where the platform has them. */
  readonly convention?: string;
}

export interface SymbolReport {
  readonly name: string;
  /** `rest`: bytes that are no symbol's, named after what they are in brackets. */
  readonly kind: "function" | "variable" | "alias" | "rest";
  readonly bytes: Bytes;
  /** Of its code what was written in other functions: position among the report's `origins`, and bytes. The rest is its own. */
  readonly origins?: readonly (readonly [origin: number, bytes: number])[];
  /** Section of the program that the symbol itself is in. */
  readonly section?: string;
  /** Further names of the same bytes. */
  readonly aliases?: readonly string[];
  /** Not visible to other files. */
  readonly local?: boolean;
  /** Source that it comes from, else its object; absent where it is made of several files' code. */
  readonly file?: string;
  /** The object, or the member `lib.a(member.o)`, where `file` is a source. */
  readonly object?: string;
  /** The pass that made it, and the names of those whose code it has; absent for what inputs define. */
  readonly madeBy?: string;
  readonly madeOf?: readonly string[];
  /** Names of equal ones that are gone or lead to it. */
  readonly standsFor?: readonly string[];
  /** Why unknown code may enter a function or use a variable; empty: none may. */
  readonly open?: readonly string[];
  /** Why it is kept although nothing in the program mentions it. */
  readonly root?: readonly string[];
  /** Functions that it calls or jumps to, and what else it mentions. */
  readonly calls?: readonly string[];
  readonly mentions?: readonly string[];
  readonly registers?: RegistersReport;
  /** The most that the function itself has on the stack, with its return address; absent: not known before run time. */
  readonly stack?: number;
  /** Hash of the code without what depends on where it lies: equal code, equal hash. */
  readonly hash?: string;
}

/** Sum of bytes that take room in memory; `.bss` too, as `size` has it. */
export function totalOf(bytes: Bytes): number {
  let sum = 0;
  for (const count of Object.values(bytes)) sum += count ?? 0;
  return sum;
}
