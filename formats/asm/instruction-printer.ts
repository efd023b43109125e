/** What printing machine code asks of a target, and what it tells it. */
import type { JumpTable, MBlock, MInst, PoolConstant, SymbolRef } from "../../lto/codegen/mir.js";
import type { GlobalValue, Module } from "../../lto/ir/module.js";

/** How a target's instructions are written. */
export interface InstructionPrinter {
  /** One instruction, without a line break at its end; "" for what is no code. */
  text(inst: MInst, names: OperandNames): string;
  /** What the module needs besides its functions and data: routines, notes. */
  closing(module: Module): string;
  /** What tells a function's type, right before its entry and what may be patched there. */
  readonly typeNumber: { readonly bytes: number; text(type: number): string };
}

/** What the operands of one function are printed with. */
export interface OperandNames {
  symbol(global: GlobalValue): string;
  /** The symbol where it is reached by its distance or address, with neither GOT nor PLT. */
  direct(global: GlobalValue): string;
  /** The label of a word with the symbol's address, for one that cannot have an entry of the GOT; else null. */
  addressWord(global: GlobalValue): string | null;
  block(block: MBlock): string;
  foreignBlock(fn: GlobalValue, block: number): string;
  constant(constant: PoolConstant): string;
  jumpTable(table: JumpTable): string;
  /** The label of the instructions that a tool may replace. */
  patchLabel(): string;
  /** The directive of the section that lists the function's checks of types. */
  trapSection(): string;
  /** A number that no other inline assembly statement of the output gets. */
  asmId(): string;
}

/** The symbol that a reference names, without what the target adds for a relocation. */
export function targetText(symbol: SymbolRef, names: OperandNames): string {
  const { target } = symbol;
  switch (target.kind) {
    case "global":
      return symbol.kind === "direct" ? names.direct(target.global) : names.symbol(target.global);
    case "block":
      return names.block(target.block);
    case "foreign-block":
      return names.foreignBlock(target.global, target.block);
    case "constant":
      return names.constant(target.constant);
    case "jump-table":
      return names.jumpTable(target.table);
    case "external":
      return target.name;
  }
}
