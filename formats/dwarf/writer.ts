/** Debug information of a program whose code is written: while it is, labels and line tables; and what follows the code. */
import type { PrintedFunction } from "../../lto/codegen/program/function-compilers.js";
import type { DISubprogram } from "../../lto/ir/debug/nodes.js";
import { isReservedName } from "../../lto/ir/intrinsics.js";
import { type GlobalValue, isReference, type Module } from "../../lto/ir/module.js";
import { Origins } from "../../lto/ir/origins.js";
import { CodeDebug } from "./code-debug.js";
import { debugEntries, type ProgramEntries, writeEntries } from "./debug-entries.js";
import { LineTables } from "./line-tables.js";

/** LLVM's own where nobody says. */
const defaultVersion = 5;

export class DebugWriter {
  private readonly lines: LineTables;
  private readonly code: CodeDebug;
  private readonly version: number;

  /** @param symbol the name of a function in assembly */
  constructor(
    private readonly module: Module,
    private readonly symbol: (global: GlobalValue) => string,
  ) {
    const version = module.flag("Dwarf Version");
    this.version = typeof version === "number" ? version : defaultVersion;
    this.lines = new LineTables(this.version);
    const functions = new Map(
      module.functions.filter((fn) => !fn.isDeclaration).map((fn) => [symbol(fn), fn] as const),
    );
    this.code = new CodeDebug(module.origins ?? new Origins(), functions, this.lines);
  }

  /** A function's text, in the order of the file. */
  resolved(printed: PrintedFunction): PrintedFunction {
    return this.code.resolved(printed);
  }

  /** Subprograms of functions that other files have, by the names that calls have for them. */
  private elsewhere(): Map<string, DISubprogram> {
    const found = new Map<string, DISubprogram>();
    for (const fn of this.module.functions)
      if (fn.subprogram !== null && isReference(fn)) found.set(this.symbol(fn), fn.subprogram);
    return found;
  }

  /**
   * Writes what follows all code and data, a part at a time.
   * @param collect is called now and then, and when much of what was needed is not any more
   */
  write(write: (text: string) => void, collect: () => void): void {
    const entries = this.entries(collect);
    this.code.forget();
    collect();
    writeEntries(entries, write);
    this.lines.write(write);
  }

  private entries(collect: () => void): ProgramEntries {
    const globals = new Set(this.module.globals);
    return debugEntries(
      this.module,
      this.code.close(),
      this.elsewhere(),
      this.lines,
      this.version,
      (global) => (globals.has(global) && !isElsewhere(global) ? this.symbol(global) : null),
      collect,
    );
  }
}

/** What the program's own file has no address of. */
const isElsewhere = (global: GlobalValue): boolean =>
  isReference(global) || (global.kind === "variable" && isReservedName(global.name));
