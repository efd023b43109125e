/**
 * The symbols in assembly text — `module asm`, and templates of inline assembly — found by scanning.
 *
 * An assembler would know exactly; this needs only to err on the safe side: a symbol that the text defines or
 * mentions keeps its name and its definition, and unknown code may enter it. Mnemonics (the first word of a
 * statement) and registers do not count as mentions; any other name does, quoted or not. Macros are not expanded:
 * text that has any is opaque, and mentions whatever its module knows of. Directives: GNU as manual, "Assembler
 * Directives".
 */
import { type AsmToken, readAsm } from "./asm-lexer.js";
import { asmSyntax } from "./asm-syntax.js";

export interface AsmSymbols {
  /** Defined by a label, an assignment or .comm, and visible outside. */
  readonly globals: ReadonlySet<string>;
  /** Of those, the ones marked .weak. */
  readonly weak: ReadonlySet<string>;
  /** Defined, but not visible outside. */
  readonly locals: ReadonlySet<string>;
  /** Mentioned, and not defined here. */
  readonly references: ReadonlySet<string>;
  /** Referenced with .weak only, or perhaps: need not be defined anywhere. */
  readonly weakReferences: ReadonlySet<string>;
  /** Assigned a number. */
  readonly absolute: ReadonlySet<string>;
  /** It has macros, repetitions or includes: it may define or mention any name besides. */
  readonly opaque: boolean;
}

const none: ReadonlySet<string> = new Set();
const noSymbols: AsmSymbols = {
  globals: none,
  weak: none,
  locals: none,
  references: none,
  weakReferences: none,
  absolute: none,
  opaque: false,
};

/** Directives whose operands are not symbols. */
const plainDirectives = new Set([
  ".section",
  ".pushsection",
  ".popsection",
  ".previous",
  ".subsection",
  ".text",
  ".data",
  ".bss",
  ".ident",
  ".file",
  ".loc",
  ".intel_syntax",
  ".att_syntax",
  ".arch",
  ".attribute",
  ".string",
  ".ascii",
  ".asciz",
  ".incbin",
  ".include",
  ".align",
  ".p2align",
  ".balign",
  ".endm",
  ".endr",
  ".option",
  ".code16",
  ".code32",
  ".code64",
  ".print",
  ".error",
  ".warning",
  ".version",
  ".syntax",
  ".fpu",
  ".cpu",
  ".arch_extension",
  ".eabi_attribute",
  ".thumb",
  ".arm",
  ".code",
]);

/** Directives after which a name need not be spelled out where it is mentioned or defined. */
const opaqueDirectives = new Set([
  ".macro",
  ".irp",
  ".irpc",
  ".rept",
  ".rep",
  ".include",
  ".altmacro",
  ".purgem",
]);

interface Scan {
  readonly defined: Set<string>;
  readonly global: Set<string>;
  readonly weak: Set<string>;
  readonly local: Set<string>;
  readonly mentioned: Set<string>;
  readonly absolute: Set<string>;
  /** Words that are operands of instructions unless they are symbols. */
  readonly possible: Set<string>;
  readonly isOperand: (name: string) => boolean;
  opaque: boolean;
}

const instructionPrefixes = new Set(
  "lock rep repe repne repz repnz notrack data16 addr32 bnd xacquire xrelease cs ds es fs gs ss rex64".split(
    " ",
  ),
);

/**
 * Lists the symbols of assembly text. Never fails; the assembler reports what is wrong in it.
 * @param triple of the target that it is for; of one whose assembly is not known, text is opaque
 */
export function scanModuleAsm(text: string, triple: string): AsmSymbols {
  if (text === "") return noSymbols;
  const syntax = asmSyntax(triple);
  const { statements, backslashes } = readAsm(text, syntax);
  const scan: Scan = {
    defined: new Set(),
    global: new Set(),
    weak: new Set(),
    local: new Set(),
    mentioned: new Set(),
    absolute: new Set(),
    possible: new Set(),
    isOperand: syntax.isOperand,
    opaque: backslashes || !syntax.isKnown,
  };
  for (const tokens of statements) statement(tokens, scan);
  const globals = new Set<string>();
  const locals = new Set<string>();
  for (const name of scan.defined)
    if (scan.weak.has(name) || (scan.global.has(name) && !scan.local.has(name))) globals.add(name);
    else if (!name.startsWith(".L")) locals.add(name);
  const references = new Set<string>();
  for (const name of [...scan.mentioned, ...scan.global])
    if (!scan.defined.has(name) && !scan.weak.has(name)) references.add(name);
  const weakReferences = new Set(
    [...scan.weak, ...scan.possible].filter((name) => !scan.defined.has(name) && !references.has(name)),
  );
  return {
    globals,
    weak: new Set([...scan.weak].filter((name) => scan.defined.has(name))),
    locals,
    references,
    weakReferences,
    absolute: scan.absolute,
    opaque: scan.opaque,
  };
}

const isMark = (token: AsmToken | undefined, text: string): boolean =>
  token?.kind === "mark" && token.text === text;

/** Not a number, not the location counter. */
const isName = ({ kind, text }: AsmToken): boolean =>
  kind === "string" || (kind === "word" && text !== "." && !/^\d/.test(text));

function statement(tokens: readonly AsmToken[], scan: Scan): void {
  let first = 0;
  while (tokens[first] !== undefined && tokens[first]!.kind !== "mark" && isMark(tokens[first + 1], ":")) {
    // Numeric labels are local to their surroundings.
    if (isName(tokens[first]!)) scan.defined.add(tokens[first]!.text);
    first += 2;
  }
  const start = tokens[first];
  if (start === undefined) return;
  if (isName(start) && isMark(tokens[first + 1], "=")) {
    assign(start.text, tokens.slice(first + 2), scan);
  } else if (start.kind !== "word") mention(tokens.slice(first), scan);
  else if (start.text.startsWith(".")) directive(start.text.toLowerCase(), tokens.slice(first + 1), scan);
  else if (instructionPrefixes.has(start.text.toLowerCase())) statement(tokens.slice(first + 1), scan);
  else mention(tokens.slice(first + 1), scan);
}

function assign(name: string, value: readonly AsmToken[], scan: Scan): void {
  scan.defined.add(name);
  const isNumber = value.every((token) =>
    token.kind === "word" ? /^\d/.test(token.text) || scan.absolute.has(token.text) : token.kind === "mark",
  );
  if (isNumber) scan.absolute.add(name);
  else scan.absolute.delete(name);
  mention(value, scan);
}

function mention(tokens: readonly AsmToken[], scan: Scan): void {
  tokens.forEach((token, i) => {
    if (!isName(token)) return;
    const before = token.spaced ? undefined : tokens[i - 1];
    // `%reg`, `name@PLT`.
    if (token.kind === "word" && (isMark(before, "%") || isMark(before, "@"))) return;
    const isOperand = token.kind === "word" && scan.isOperand(token.text);
    (isOperand ? scan.possible : scan.mentioned).add(token.text);
  });
}

/** The tokens between commas. */
function operandsOf(tokens: readonly AsmToken[]): AsmToken[][] {
  const operands: AsmToken[][] = [[]];
  for (const token of tokens)
    if (isMark(token, ",")) operands.push([]);
    else operands[operands.length - 1]!.push(token);
  return operands;
}

function directive(name: string, tokens: readonly AsmToken[], scan: Scan): void {
  if (opaqueDirectives.has(name)) scan.opaque = true;
  const operands = operandsOf(tokens);
  const names = operands.flatMap(([token]) => (token !== undefined && isName(token) ? [token.text] : []));
  const enter = (set: Set<string>, list: readonly string[]): void => {
    for (const symbol of list) set.add(symbol);
  };
  switch (name) {
    case ".globl":
    case ".global":
      enter(scan.global, names);
      return;
    case ".weak":
      enter(scan.weak, names);
      return;
    case ".local":
      enter(scan.local, names);
      enter(scan.mentioned, names);
      return;
    case ".set":
    case ".equ":
    case ".equiv":
      if (names[0] !== undefined) assign(names[0], operands.slice(1).flat(), scan);
      return;
    case ".comm":
    case ".lcomm":
      enter(scan.defined, names.slice(0, 1));
      if (name === ".comm") enter(scan.global, names.slice(0, 1));
      return;
    case ".symver": // The second operand is a versioned name of the first.
    case ".type":
    case ".size":
    case ".hidden":
    case ".protected":
    case ".internal":
      mention(operands[0]!, scan);
      return;
    default:
      if (!plainDirectives.has(name) && !name.startsWith(".cfi_")) mention(tokens, scan);
      else if (name === ".cfi_personality" || name === ".cfi_lsda") mention(tokens, scan);
  }
}
