/** Debug information of a program whose code is written: while it is, labels and line tables; and what follows the code. */
import type { PrintedFunction } from "../../lto/codegen/program/function-compilers.js";
import type { Func, Module } from "../../lto/ir/module.js";
import { Origins } from "../../lto/ir/origins.js";
import { CodeDebug } from "./code-debug.js";
import { LineTables } from "./line-tables.js";

/** LLVM's own where nobody says. */
const defaultVersion = 5;

export class DebugWriter {
  private readonly lines: LineTables;
  private readonly code: CodeDebug;

  /** @param symbol the name of a function in assembly */
  constructor(module: Module, symbol: (fn: Func) => string) {
    const version = module.flag("Dwarf Version");
    this.lines = new LineTables(typeof version === "number" ? version : defaultVersion);
    const functions = new Map(
      module.functions.filter((fn) => !fn.isDeclaration).map((fn) => [symbol(fn), fn] as const),
    );
    this.code = new CodeDebug(module.origins ?? new Origins(), functions, this.lines);
  }

  /** A function's text, in the order of the file. */
  resolved(printed: PrintedFunction): PrintedFunction {
    return this.code.resolved(printed);
  }

  /** What follows all code and data. */
  text(): string {
    this.code.close();
    return this.lines.text();
  }
}
