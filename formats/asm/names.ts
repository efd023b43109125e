/**
 * Symbol names and local labels in assembly text.
 *
 * Names come from input files and may contain anything: whatever is not a plain identifier is quoted, so that
 * no name can become an operator, a directive or another line. Private variables get the local-label prefix
 * `.L`, which the assembler keeps out of the symbol table; one that would then look like a label of ours gets
 * a suffix. Unnamed globals are numbered by their position in the module.
 */
import type { GlobalValue, Module } from "../../lto/ir/module.js";

/** What GNU as reads as one symbol without quotes, in operands as well as in directives. */
const plain = /^[A-Za-z_.][A-Za-z0-9_.$]*$/;
/** Labels that the printer makes: see `labels`. */
const reserved =
  /^(\.L(BB|JTI|C|func_|tmp|ba\.|unnamed\.|EH|ref\.|exception|GCC_except|globals\.|patch|retpoline_)|DW\.ref\.)/;

/** `name` as one symbol token. */
export function quoteSymbol(name: string): string {
  if (plain.test(name)) return name;
  return `"${escapeQuoted(name)}"`;
}

/** The inside of a quoted symbol or section name. */
function escapeQuoted(name: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what is replaced
  return name.replace(/[\\"]/g, "\\$&").replace(/[\x00-\x1f\x7f]/g, (c) => `_${c.charCodeAt(0)}_`);
}

/** A section name as the operand of `.section`. */
export function quoteSection(name: string): string {
  return /^[A-Za-z0-9_.$-]+$/.test(name) ? name : `"${escapeQuoted(name)}"`;
}

/** Text as the operand of `.file` or `.ident`. */
export const quoteText = (text: string): string => `"${escapeQuoted(text)}"`;

/** Names of a module's globals, computed once each. */
export class SymbolNames {
  private readonly names = new Map<GlobalValue, string>();
  private readonly numbers = new Map<GlobalValue, number>();

  constructor(module: Module) {
    module.globals.forEach((g, i) => {
      this.numbers.set(g, i);
    });
  }

  /**
   * Position in the module: the number in a function's local labels. Functions that code generation made of others
   * follow, as they come.
   */
  number(global: GlobalValue): number {
    let number = this.numbers.get(global);
    if (number === undefined) this.numbers.set(global, (number = this.numbers.size));
    return number;
  }

  /** The symbol as one token, quoted if need be. */
  symbol(global: GlobalValue): string {
    let text = this.names.get(global);
    if (text === undefined) {
      text = quoteSymbol(this.raw(global));
      this.names.set(global, text);
    }
    return text;
  }

  private raw(global: GlobalValue): string {
    const { name } = global;
    if (name === "") return `.Lunnamed.${this.number(global)}`;
    // A function has a symbol, since unwinding shows it in traces and checkers look at what symbols cover.
    if (global.linkage !== "private" || global.kind === "function")
      return reserved.test(name) ? `${name}.s` : name;
    const local = `.L${name}`;
    return reserved.test(local) ? `${local}.p` : local;
  }
}

/** Label of a basic block whose address a constant holds; the block by its index in the IR body. */
export const addressTakenLabel = (fn: string, block: number): string => quoteSymbol(`.Lba.${fn}.${block}`);
