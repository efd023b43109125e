/**
 * Symbol names and local labels in assembly text.
 *
 * Names come from input files and may contain anything: whatever is not a plain identifier is quoted, so that
 * no name can become an operator, a directive or another line. Private variables get the local-label prefix
 * `.L`, which the assembler keeps out of the symbol table; one that would then look like a label of ours gets
 * a suffix. Unnamed globals are numbered by their position in the module.
 */
import { bytesOfText } from "../../lto/ir/byte-text.js";
import { type GlobalValue, hasLocalName, type Module } from "../../lto/ir/module.js";
import { scanModuleAsm } from "../../lto/link/module-asm.js";
import { escapeBytes } from "./escape.js";

/** What GNU as reads as one symbol without quotes, in operands as well as in directives. */
const plain = /^[A-Za-z_.][A-Za-z0-9_.$]*$/;
/** Labels that the printer makes: see `labels`. */
const reserved =
  /^(\.L(BB|JTI|C|func_|tmp|ba\.|unnamed\.|EH|ref\.|odd\.|local\.|exception|GCC_except|globals\.|patch|retpoline_)|DW\.ref\.)/;

/** What instructions' operands do not take in a quoted name, or not before a modifier such as `@PLT`. */
const awkward = /["\\,;@]/;

/** `name` as one symbol token of a directive. */
export const quoteSymbol = (name: string): string =>
  plain.test(name) ? name : `"${name.replace(/["\\]/g, "\\$&")}"`;

/** A local label may be anything: one that says which name it stands for. */
const spelled = (name: string): string => Buffer.from(bytesOfText(name)).toString("hex");

/**
 * What keeps a symbol from being written: GNU as has no escapes in names but those of quotes and backslashes. Names that
 * need a label of their own in operands (`SymbolNames.operand`) cannot be replaced by another file's definition.
 */
export function symbolRefusal(global: GlobalValue, executable: boolean): string | null {
  const { name, linkage } = global;
  if (plain.test(name) || (linkage === "private" && global.kind !== "function")) return null;
  if (/[\0\n]/.test(name)) return `line break or NUL in the symbol name "${printable(name)}"`;
  if (!awkward.test(name) || global.isDeclaration || global.isLocal || global.visibility !== "default")
    return null;
  if (linkage === "external" && (executable || global.dsoLocal)) return null;
  return `quote, backslash, comma, semicolon or @ in the name "${printable(name)}" of a symbol that may be replaced`;
}

/** A name on one line. */
const printable = (name: string): string => escapeBytes(bytesOfText(name), 0, bytesOfText(name).length);

/** The inside of a string of `.section`, `.file` or `.ident`. */
const quoteBytes = (text: string): string => `"${printable(text)}"`;

/** A section name as the operand of `.section`. */
export const quoteSection = (name: string): string =>
  /^[A-Za-z0-9_.$-]+$/.test(name) ? name : quoteBytes(name);

/** Text as the operand of `.file` or `.ident`. */
export const quoteText = quoteBytes;

/** Names of a module's globals, computed once each. */
export class SymbolNames {
  private readonly names = new Map<GlobalValue, string>();
  private readonly numbers = new Map<GlobalValue, number>();
  /** Names that the module's assembly makes numbers: GNU as refuses entries of the GOT for what it knows. */
  readonly absolute: ReadonlySet<string>;

  /** @param isReplaceable symbols of default visibility are taken for replaceable by the linker: in a shared library */
  constructor(
    module: Module,
    private readonly isReplaceable: boolean,
  ) {
    this.absolute = scanModuleAsm(module.moduleAsm, module.triple).absolute;
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

  /**
   * The symbol as one token of an instruction's operand. If that cannot be its name it is a local label, which `.set`
   * makes equal to it: `alias`.
   */
  operand(global: GlobalValue): string {
    const symbol = this.symbol(global);
    return symbol.startsWith('"') && awkward.test(global.name) ? `.Lodd.${spelled(global.name)}` : symbol;
  }

  /**
   * The symbol as one token of an operand that is reached directly. What the linker takes for replaceable although the
   * module says that it is not (`dso_local`: no semantic interposition) is a local label, too.
   */
  direct(global: GlobalValue): string {
    const isNamed = this.isReplaceable && global.dsoLocal && hasLocalName(global);
    return isNamed
      ? `.Llocal.${plain.test(global.name) ? global.name : `.${spelled(global.name)}`}`
      : this.operand(global);
  }

  /** The directive that an operand's token needs. */
  alias(global: GlobalValue, operand: string): string {
    return `\t.set\t${operand}, ${this.symbol(global)}\n`;
  }

  private raw(global: GlobalValue): string {
    const { name } = global;
    if (name === "") return `.Lunnamed.${this.number(global)}`;
    // A function has a symbol, since unwinding shows it in traces and checkers look at what symbols cover.
    if (global.linkage !== "private" || global.kind === "function")
      return reserved.test(name) ? `${name}.s` : name;
    const local = plain.test(name) ? `.L${name}` : `.Lodd.${spelled(name)}`;
    return reserved.test(local) ? `${local}.p` : local;
  }
}

/** Label of a basic block whose address a constant holds; the block by its index in the IR body. */
export const addressTakenLabel = (fn: string, block: number): string =>
  plain.test(fn) ? `.Lba.${fn}.${block}` : `.Lba..${spelled(fn)}.${block}`;
