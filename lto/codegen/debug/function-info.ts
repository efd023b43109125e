/**
 * What is known of a function's final code for debuggers: where it begins and ends, and which parts of it belong to which
 * scopes. Made by what writes the text of code (formats/dwarf/code-scopes.ts), read by what writes DWARF's entries.
 */
import type {
  DILabel,
  DILexicalBlock,
  DILocalVariable,
  DILocation,
  DISubprogram,
} from "../../ir/debug/nodes.js";
import type { GlobalValue } from "../../ir/module.js";
import type { DescribedCall } from "./call-sites.js";

/** Between two labels of one section, which only the assembler knows. */
export interface CodeRange {
  readonly begin: string;
  readonly end: string;
  /** It has fewer bytes; none where nothing is known of that. */
  readonly most?: number;
}

/** A scope where it has code: a block, or a subprogram that was inlined, is another one at each call. */
export interface ScopeInstance {
  /** Blocks that only change the file are looked through. */
  readonly scope: DISubprogram | DILexicalBlock;
  /** Of an inlined subprogram, where it was called; null: the function itself, or a block. */
  readonly call: DILocation | null;
  /** In the order of the code, with those of its children. */
  readonly ranges: readonly CodeRange[];
  readonly children: readonly ScopeInstance[];
  /** Variables of the scope whose places are known, somewhere at least. */
  readonly variables: readonly LocatedVariable[];
  readonly labels: readonly LocatedLabel[];
}

/** A label of the source, and one of the assembly. */
export interface LocatedLabel {
  readonly label: DILabel;
  readonly place: string;
}

export interface LocatedVariable {
  readonly variable: DILocalVariable;
  /** Where its rows in the program's places begin and end, in numbers. */
  readonly first: number;
  readonly end: number;
}

export interface FunctionDebugInfo {
  /** Null: code that was outlined, and has only a name. */
  readonly fn: GlobalValue | null;
  /** As the assembler takes it. */
  readonly symbol: string;
  readonly range: CodeRange;
  /** The function's own scope; null: nothing is known of its source. */
  readonly root: ScopeInstance | null;
  /** In the order of the code. */
  readonly calls: readonly CallSite[];
}

/** A call in the code. */
export interface CallSite extends DescribedCall {
  /** The label behind it. */
  readonly end: string;
}

/** Where variables of a program are. */
export interface VariablePlaces {
  /**
   * Rows as in `PlaceField`, those of each variable in the order of the code, apart from each other: between numbers of labels, or
   * (-1) from where the function begins, or to where it ends; locations by the number of an expression.
   */
  readonly rows: ArrayLike<number>;
  /** DWARF's operations, complete, where the base of the frame is the CFA. */
  readonly expressions: readonly (readonly number[])[];
}

/** All code of a program. */
export interface ProgramDebugInfo {
  /** What has code, in the order of the code. */
  readonly functions: readonly FunctionDebugInfo[];
  readonly places: VariablePlaces;
}
