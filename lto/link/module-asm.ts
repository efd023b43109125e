/**
 * The symbols in `module asm` text, found by scanning.
 *
 * An assembler would know exactly; this needs only to err on the safe side: a symbol that the text defines or
 * mentions keeps its name and its definition. Mnemonics (the first word of a statement) and registers do not
 * count as mentions; any other identifier does. Directives: GNU as manual, "Assembler Directives".
 */
export interface AsmSymbols {
  /** Defined by a label, an assignment or .comm, and visible outside. */
  readonly globals: ReadonlySet<string>;
  /** Of those, the ones marked .weak. */
  readonly weak: ReadonlySet<string>;
  /** Defined, but not visible outside. */
  readonly locals: ReadonlySet<string>;
  /** Mentioned, and not defined here. */
  readonly references: ReadonlySet<string>;
  /** Referenced with .weak only: need not be defined anywhere. */
  readonly weakReferences: ReadonlySet<string>;
}

const none: ReadonlySet<string> = new Set();
const noSymbols: AsmSymbols = {
  globals: none,
  weak: none,
  locals: none,
  references: none,
  weakReferences: none,
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
  ".macro",
  ".endm",
  ".option",
  ".code64",
]);

interface Scan {
  readonly defined: Set<string>;
  readonly global: Set<string>;
  readonly weak: Set<string>;
  readonly mentioned: Set<string>;
}

const identifier = /(?<![\w.%@])[A-Za-z_.][\w.$]*/g;
const labelled = /^([\w.$]+)\s*:/;
const instructionPrefixes = new Set(["lock", "rep", "repe", "repne", "repz", "repnz", "notrack", "data16"]);

/** Removes comments and the contents of strings, which hold no symbols. */
function strip(text: string): string {
  return text
    .replace(/"(?:[^"\\\n]|\\.)*"/g, '""')
    .replace(/\/\*[\s\S]*?\*\//g, " ")
    .replace(/(?:#|\/\/).*/g, "");
}

/** Lists the symbols of `module asm` text. Never fails; the assembler reports what is wrong in it. */
export function scanModuleAsm(text: string): AsmSymbols {
  if (text === "") return noSymbols;
  const scan: Scan = { defined: new Set(), global: new Set(), weak: new Set(), mentioned: new Set() };
  for (const line of quotedNames(text, scan).split(/[\n;]/)) statement(line.trim(), scan);
  const globals = new Set<string>();
  const locals = new Set<string>();
  for (const name of scan.defined)
    if (scan.global.has(name) || scan.weak.has(name)) globals.add(name);
    else if (!name.startsWith(".L")) locals.add(name);
  const references = new Set<string>();
  for (const name of [...scan.mentioned, ...scan.global])
    if (!scan.defined.has(name) && !scan.weak.has(name) && !name.startsWith(".")) references.add(name);
  const weakReferences = new Set([...scan.weak].filter((name) => !scan.defined.has(name)));
  return {
    globals,
    weak: new Set([...scan.weak].filter((name) => scan.defined.has(name))),
    locals,
    references,
    weakReferences,
  };
}

/** Symbols may be written in quotes; those that look like names count as mentioned. @returns stripped text */
function quotedNames(text: string, scan: Scan): string {
  for (const match of text.matchAll(/(?:^|[\n;])\s*\.(?:globl|global|weak|type|size|hidden)\s+"([^"\n]+)"/g))
    scan.mentioned.add(match[1]!);
  return strip(text);
}

function statement(text: string, scan: Scan): void {
  let rest = text;
  for (let label = labelled.exec(rest); label !== null; label = labelled.exec(rest)) {
    // Numeric labels are local to their surroundings.
    if (!/^\d/.test(label[1]!)) scan.defined.add(label[1]!);
    rest = rest.slice(label[0].length).trim();
  }
  const assignment = /^([A-Za-z_.$][\w.$]*)\s*==?\s*(.*)$/.exec(rest);
  if (assignment !== null) {
    scan.defined.add(assignment[1]!);
    mention(assignment[2]!, scan);
    return;
  }
  const [, word = "", operands = ""] = /^(\S+)\s*(.*)$/.exec(rest) ?? [];
  if (word === "") return;
  if (word.startsWith(".")) directive(word, operands, scan);
  else if (instructionPrefixes.has(word)) statement(operands, scan);
  else mention(operands, scan);
}

function mention(operands: string, scan: Scan): void {
  for (const match of operands.matchAll(identifier)) scan.mentioned.add(match[0]);
}

function directive(name: string, operands: string, scan: Scan): void {
  const list = operands.split(",").map((operand) => operand.trim());
  switch (name) {
    case ".globl":
    case ".global":
      for (const symbol of list) scan.global.add(symbol);
      return;
    case ".weak":
      for (const symbol of list) scan.weak.add(symbol);
      return;
    case ".set":
    case ".equ":
    case ".equiv":
      if (list[0] !== undefined && list[0] !== "") scan.defined.add(list[0]);
      mention(list.slice(1).join(","), scan);
      return;
    case ".comm":
    case ".lcomm":
      if (list[0] !== undefined && list[0] !== "") scan.defined.add(list[0]);
      if (name === ".comm" && list[0] !== undefined) scan.global.add(list[0]);
      return;
    case ".symver": // The second operand is a versioned name of the first.
    case ".type":
    case ".size":
    case ".hidden":
    case ".protected":
    case ".internal":
      mention(list[0] ?? "", scan);
      return;
    default:
      if (!plainDirectives.has(name) && !name.startsWith(".cfi_")) mention(operands, scan);
      else if (name === ".cfi_personality" || name === ".cfi_lsda") mention(operands, scan);
  }
}
