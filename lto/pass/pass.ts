/**
 * What a pass is: data that the runner, the command line and the documentation read.
 *
 * A pass changes the IR of its unit (the module, a component of the call graph, a function) and says whether it did.
 * It asks for facts by naming analyses; those that it `requires` and no others. What stays true of the unit
 * although the pass changed it is in `preserves`; the runner forgets the rest, and with `--verify-each` it computes
 * what is left anew and compares. Verifying, timing, dumping, skipping, counting and bisecting are the
 * runner's: no pass has code for any of them.
 *
 * To add a pass: one file that exports it, a line where it runs in `pipeline/pipelines.ts`, and a folder
 * `fixtures/passes/NAME` with examples.
 */
import type { CloneMap } from "../ir/clone.js";
import type { DataLayout } from "../ir/data-layout.js";
import type { Body, BodyView } from "../ir/instructions.js";
import type { Func, Module } from "../ir/module.js";
import type { Origins } from "../ir/origins.js";
import type { Addresses } from "../target/addresses.js";
import type { TargetCosts } from "../target/costs.js";
import type { Remarks } from "./remarks.js";

/** What a function is compiled for. */
export type Goal = "none" | "minsize" | "size" | "speed";

export const isForSize = (goal: Goal): boolean => goal === "minsize" || goal === "size";

/** A fact about a function's body, computed when a pass asks, kept until an edit. Blocks and instructions are numbered. */
export interface FunctionAnalysis<Result> {
  readonly unit: "function";
  readonly name: string;
  readonly description: string;
  compute(body: BodyView, get: GetFunctionFact): Result;
  /** Whether two results say the same: with it, `--verify-each` checks those who claim to preserve this. */
  same?(a: Result, b: Result): boolean;
}
export type GetFunctionFact = <Result>(analysis: FunctionAnalysis<Result>) => Result;

/** A fact about the whole module. */
export interface ModuleAnalysis<Result> {
  readonly unit: "module";
  readonly name: string;
  readonly description: string;
  compute(module: Module, get: GetModuleFact): Result;
  /** The result after changes, from the one before them. */
  update?(module: Module, old: Result, get: GetModuleFact): Result;
  /** Is told a result that was computed elsewhere, so that it can be updated. */
  adopt?(module: Module, result: Result): void;
  same?(a: Result, b: Result): boolean;
}
export type GetModuleFact = <Result>(analysis: ModuleAnalysis<Result>) => Result;

// biome-ignore lint/suspicious/noExplicitAny: stands for analyses of every result; no value of the type is used.
export type Analysis = FunctionAnalysis<any> | ModuleAnalysis<any>;

/** What every pass gets beside its unit. */
export interface PassContext {
  readonly layout: DataLayout;
  /** What code costs on the machine that the program is for. */
  readonly costs: TargetCosts;
  /** What time is worth in code for size: the knob of `timeBytes` (analysis/heat.ts). */
  readonly sizeTime: number;
  /** A fact about the whole module, among those that the pass requires. */
  ofModule<Result>(analysis: ModuleAnalysis<Result>): Result;
  /** A fact about a body, among those that the pass requires; in function passes, the function's own body. */
  ofBody<Result>(analysis: FunctionAnalysis<Result>, body: BodyView): Result;
  /** Adds to one of the pass's counters, for `--stats`. */
  count(counter: string, by?: number): void;
  /** Adds to how often one of the pass's rules was applied, for `--stats`. */
  countRule(rule: string, by: number): void;
  /** Rules that options leave out, as they are called there: the pass's name, a colon, the rule's. */
  readonly skippedRules: readonly string[];
  /** Takes what the pass decided, and why; null if nobody wants to know. */
  readonly remarks: Remarks | null;
  /**
   * Where instructions are from: for what of several becomes one (`merged`, `standingFor`), and what runs where it was not
   * written (`unplaced`). What a pass puts in front of something is from there by itself, and copies from where the original
   * is. Null: nobody wants to know.
   */
  readonly origins: Origins | null;
}
/** Changes a function on trial. @param map from the function's own instructions to the copy's */
export type TrialChange = (copy: Func, map: CloneMap) => void;
export interface TrialSize {
  readonly code: number;
  /** Of what unwind tables say of this function alone. */
  readonly tables: number;
}
/**
 * Generates code to see how many bytes it takes, unwind tables included, within a budget. All answers are null for what
 * cannot be measured (inline assembly), and once nothing is left of the budget.
 */
export interface TrialCode {
  /** Functions of the program may be compiled, not only small ones alone. */
  readonly triesProgram: boolean;
  /**
   * Bytes of a function that is in no module, whatever the functions that it calls change; its body is gone then. For it
   * there is a budget of its own.
   */
  sizeAlone(fn: Func): TrialSize | null;
  /** Bytes of a function as it is. */
  sizeOf(fn: Func): number | null;
  /**
   * Bytes of a function once it is changed (null: as it is) and simplified. It stays as it is.
   * @param isUrgent the whole budget is there for it
   */
  sizeWith(fn: Func, change: TrialChange | null, isUrgent: boolean): number | null;
}
/** What passes on the program get. */
export interface ProgramContext extends PassContext {
  /** Null: there is no code generation to ask. */
  readonly trials: TrialCode | null;
  readonly addresses: Addresses;
  /** What a function is compiled for. */
  goalOf(fn: Func): Goal;
  /** A part of the pass's work is over, and what it needed is let go: garbage may be collected here. Costs microseconds. */
  partDone(): void;
  /** The pass has no more to do with the function's body, which may be encoded, or decoded anew for the next one. */
  bodyDone(fn: Func): void;
}
/** What a function pass gets; the function's body comes from here, and from nowhere else. */
export interface FunctionContext extends PassContext {
  readonly goal: Goal;
  /** The body to look at. */
  view(): BodyView;
  /** The body to be changed, without use lists. To be called before the first change, and only if there is one. */
  rewrite(): Body;
}

interface PassBase {
  /** As options spell it: words with dashes. */
  readonly name: string;
  /** One line for the manual, without a period. */
  readonly description: string;
  /** The counters, and what each counts. */
  readonly counters?: Readonly<Record<string, string>>;
  /** Rules that can be left out one by one, where the pass has such. */
  readonly rules?: readonly { readonly name: string; readonly description: string }[];
  readonly requires: readonly Analysis[];
  /** Facts that hold as before although the pass changed something. */
  readonly preserves: readonly Analysis[];
  /**
   * Code goes from one function to another, with origins that `Origins.moved` gives it. All other passes leave instructions the
   * origins that they have, and what they make has that of what it stands for, or none.
   */
  readonly movesCode?: true;
  /** The pass runs only where the option of its name is given, which this line describes. */
  readonly option?: string;
  /** The pass runs unless `--no-` and its name are given, which this line describes. */
  readonly offOption?: string;
}
/** `run` returns whether it changed anything. */
export interface ModulePass extends PassBase {
  readonly level: "module";
  run(module: Module, context: ProgramContext): boolean;
}
/** Its unit are the functions of a strongly connected component of the call graph, callees' components first. */
export type ComponentPass = PlainComponentPass | SummingComponentPass;
interface PlainComponentPass extends PassBase {
  readonly level: "component";
  run(functions: readonly Func[], context: ProgramContext): boolean;
}
/** What it learns from one component it uses for the next. */
interface SummingComponentPass extends PassBase {
  readonly level: "component";
  /** Begins a walk over the components of the module. */
  begin(module: Module, context: ProgramContext): ComponentWalk;
}
export interface ComponentWalk {
  /** @returns whether it changed anything */
  run(functions: readonly Func[]): boolean;
  /** After the last component. @returns whether it removed or added globals */
  finish(): boolean;
}
/** @typeParam Context what it has to be told; passes of the lowering pipeline ask for more */
export interface FunctionPass<Context extends FunctionContext = FunctionContext> extends PassBase {
  readonly level: "function";
  run(fn: Func, context: Context): boolean;
}
/** A pass whatever it asks for: what the registry holds and the manual lists. */
// biome-ignore lint/suspicious/noExplicitAny: see above.
export type AnyPass = ModulePass | ComponentPass | FunctionPass<any>;

/** A place in a pipeline. */
export interface Step<P extends AnyPass = AnyPass> {
  readonly pass: P;
  /** What follows relies on it: it cannot be skipped, and bisection does not count it. */
  readonly isRequired: boolean;
  /** It harvests what passes before it made possible, and leaves alone what none of them changed. */
  readonly isForChanged?: true;
}
/** A step that the following ones rely on. */
export const must = <P extends AnyPass>(pass: P): Step<P> => ({ pass, isRequired: true });
/** A step that only makes the program better. */
export const may = <P extends AnyPass>(pass: P): Step<P> => ({ pass, isRequired: false });
/** A step that only makes those functions better that others changed. */
export const ifChanged = <P extends FunctionPass>(pass: P): Step<P> => ({
  pass,
  isRequired: false,
  isForChanged: true,
});
