/**
 * A machine function as assembly text: section, symbol, code, tables.
 *
 * The text depends on nothing but the function and the names of symbols, so functions can be printed by
 * workers in any order. Literal-pool entries are named by their bytes and only collected here: the printer
 * writes each of them once for the whole output.
 */
import { describeFrames } from "../../lto/codegen/late/cfi.js";
import { liveTables } from "../../lto/codegen/late/jump-tables.js";
import { fallingExit, type JumpTarget } from "../../lto/codegen/late/tail-jumps.js";
import {
  CfiKind,
  type JumpTable,
  type MBlock,
  type MFunction,
  type MInst,
  type PoolConstant,
} from "../../lto/codegen/mir.js";
import type {
  FunctionExit,
  PrintedFunction,
  SharedUnwind,
} from "../../lto/codegen/program/function-compilers.js";
import { OpFact } from "../../lto/codegen/target.js";
import { kcfiAttribute, sanitizeAttribute } from "../../lto/ir/attributes.js";
import { UnsupportedError } from "../../lto/ir/errors.js";
import { noLabel } from "../../lto/ir/instructions.js";
import type { Func, GlobalValue } from "../../lto/ir/module.js";
import { CodeMarks } from "./code-marks.js";
import { dataImage } from "./data-image.js";
import { imageText } from "./data-text.js";
import { ExceptionTable } from "./exception-table.js";
import type { OperandNames } from "./instruction-printer.js";
import { addressTakenLabel, type SymbolNames } from "./names.js";
import type { AsmOptions } from "./options.js";
import type { PoolSet } from "./pool.js";
import {
  exceptionSection,
  functionSection,
  type NamedSections,
  patchSection,
  tableSection,
  trapSection,
} from "./sections.js";
import { bindingText } from "./symbols.js";
import { instructionPrinter } from "./targets.js";

/** `p2align` for an alignment in bytes; "" for none. */
export const alignText = (align: number): string =>
  align <= 1 ? "" : `\t.p2align\t${31 - Math.clz32(align)}\n`;

class FunctionNames implements OperandNames {
  private asmCount = 0;
  /** Symbols that operands name by a label. */
  readonly aliased = new Map<string, GlobalValue>();
  constructor(
    private readonly mf: MFunction,
    private readonly names: SymbolNames,
    private readonly pool: PoolSet,
    readonly number: number,
  ) {}
  symbol(global: GlobalValue): string {
    return this.label(this.names.operand(global), global);
  }
  direct(global: GlobalValue): string {
    return this.label(this.names.direct(global), global);
  }
  private label(operand: string, global: GlobalValue): string {
    if (operand !== this.names.symbol(global)) this.aliased.set(operand, global);
    return operand;
  }
  /** The symbol itself, where code may use a label for it. */
  definition(to: JumpTarget): string {
    return typeof to === "string" ? to : this.names.symbol(to);
  }
  addressWord(global: GlobalValue): string | null {
    if (!global.isDeclaration || !this.names.absolute.has(global.name)) return null;
    return this.pool.reference({ symbol: this.names.symbol(global), isLocal: true });
  }
  block(block: MBlock): string {
    return `.LBB${this.number}_${block.id}`;
  }
  foreignBlock(fn: GlobalValue, block: number): string {
    return addressTakenLabel(fn.name, block);
  }
  constant(constant: PoolConstant): string {
    return this.pool.label(constant);
  }
  jumpTable(table: JumpTable): string {
    return `.LJTI${this.number}_${this.mf.jumpTables.indexOf(table)}`;
  }
  patchLabel(): string {
    return `.Lpatch${this.number}`;
  }
  trapSection(): string {
    const fn = this.mf.fn as Func;
    return trapSection(fn, this.names.symbol(fn)).directive;
  }
  asmId(): string {
    return `${this.number}${String(this.asmCount++).padStart(4, "0")}`;
  }
}

/** Blocks that need a label, by id. */
function labelledBlocks(mf: MFunction): Uint8Array {
  let maxId = 0;
  for (const block of mf.blocks) maxId = Math.max(maxId, block.id);
  const labelled = new Uint8Array(maxId + 1);
  for (const block of mf.blocks) {
    if (block.addressTaken || block.landingPad) labelled[block.id] = 1;
    for (const inst of block.insts) {
      for (const target of inst.targets) labelled[target.id] = 1;
      const symbol = inst.symbol ?? inst.mem?.symbol;
      if (symbol?.target.kind === "block") labelled[symbol.target.block.id] = 1;
      if (inst.extra?.kind === "asm")
        for (const operand of inst.extra.operands)
          if (operand.kind === "block") labelled[operand.block.id] = 1;
    }
  }
  for (const { targets } of mf.jumpTables) for (const block of targets) labelled[block.id] = 1;
  return labelled;
}

/** A state is remembered only for a neighbour of the same description. */
const servesNeighbours = ({ extra }: MInst): boolean =>
  extra?.kind === "unwind" && extra.directive === CfiKind.RememberState && extra.offset === 1;

/** The code, and apart from it the jump at its end if that may be left out. */
function blocksText(
  mf: MFunction,
  names: FunctionNames,
  exceptions: ExceptionTable | null,
  shared: boolean,
  marks: CodeMarks | null,
): { readonly code: string; readonly exit: Pick<FunctionExit, "into" | "jump"> | null } {
  const labelled = labelledBlocks(mf);
  const { facts, length } = mf.target.instructions;
  const printer = instructionPrinter(mf.target);
  // Joined, not appended to one string: that would stay a tree of all its pieces until the file is written.
  const lines: string[] = [];
  const final = fallingExit(mf);
  // Without any, a function would have the address of another.
  let bytes = 0;
  let exit: Pick<FunctionExit, "into" | "jump"> | null = null;
  for (const block of mf.blocks) {
    const isLabelled = labelled[block.id] === 1;
    if (isLabelled) lines.push(names.block(block), ":\n");
    marks?.enter(block, isLabelled);
    if (block.label !== noLabel && block.addressTaken)
      lines.push(addressTakenLabel(mf.fn.name, block.label), ":\n");
    for (let i = 0; i < block.insts.length; i++) {
      const inst = block.insts[i]!;
      if ((facts[inst.op]! & OpFact.Jump) !== 0 && inst.targets.length === 0)
        throw new Error(`jump without target in @${mf.name}`);
      if (!shared && servesNeighbours(inst)) continue;
      const mark = marks === null ? "" : marks.before(inst, i);
      const text = mark + printer.text(inst, names) + (marks?.after(inst, i) ?? "");
      const labels = exceptions?.labelsOf(inst);
      const isExit = inst === final?.inst && bytes > 0;
      if (final !== null && (facts[inst.op]! & OpFact.Asm) === 0) bytes += length(inst);
      if (labels !== undefined) lines.push(labels.start, ":\n", text, "\n", labels.end, ":\n");
      else if (isExit) exit = { into: names.definition(final!.to), jump: `${text}\n` };
      else if (text !== "") lines.push(text, "\n");
    }
  }
  return { code: lines.join(""), exit };
}

function jumpTablesText(
  mf: MFunction,
  fn: Func,
  symbol: string,
  names: FunctionNames,
  options: AsmOptions,
): string {
  if (mf.jumpTables.length === 0) return "";
  if (mf.jumpTables.length === 0) return "";
  const tables = liveTables(mf).sort((a, b) => b.entryBytes - a.entryBytes);
  if (tables.length === 0) return "";
  const align = isSmall(mf) ? 1 : tables[0]!.entryBytes;
  let out = `${tableSection(fn, symbol, options).directive}\n${alignText(align)}`;
  for (const table of tables) {
    const label = names.jumpTable(table);
    const { targets, entryBytes, origin } = table;
    const start = origin === "zero" ? "" : `-${origin === "table" ? label : names.block(origin)}`;
    out += `${label}:\n`;
    for (const block of targets) out += `\t${entryDirective[entryBytes]}\t${names.block(block)}${start}\n`;
  }
  return out;
}

const entryDirective = { 1: ".byte", 2: ".short", 4: ".long", 8: ".quad" } as const;

const isSmall = ({ goal }: MFunction): boolean => goal === "size" || goal === "minsize";

/** Alignment of a function in bytes: its own, else 16 except for small code. */
function functionAlign(mf: MFunction, fn: Func): number {
  return Math.max(fn.align, isSmall(mf) ? 1 : 16);
}

/** Bytes of no operation that a tool may replace, before the entry and after it. */
function patchesOf({ attributes: { fn } }: Func): { before: number; inside: number } {
  const bytes = (name: string): number => Number(fn.string(name) ?? 0);
  return { before: bytes("patchable-function-prefix"), inside: bytes("patchable-function-entry") };
}

/** Something of the function's lies before its entry. */
const startsEarly = ({ prefix, attributes: { fn } }: Func): boolean =>
  prefix !== null || earlyAttributes.some((name) => fn.string(name) !== undefined);
const earlyAttributes = ["patchable-function-prefix", sanitizeAttribute, kcfiAttribute];

/**
 * The number of the function's type, for checks at calls through pointers: with a symbol of its own, and after bytes
 * that keep the entry aligned.
 */
function typeText(mf: MFunction, fn: Func, symbol: string, patched: number): string {
  const written = fn.attributes.fn.string(kcfiAttribute);
  if (written === undefined) return "";
  const { typeNumber } = instructionPrinter(mf.target);
  const align = functionAlign(mf, fn);
  const used = typeNumber.bytes + patched;
  const pad = Math.ceil(used / align) * align - used;
  const name = symbol.startsWith('"') ? `"__cfi_${symbol.slice(1)}` : `__cfi_${symbol}`;
  const code = `${pad > 0 ? `\t.nops\t${pad}, 1\n` : ""}${typeNumber.text(Number(written) | 0)}`;
  return `${bindingText(fn, name)}\t.type\t${name},@function\n${name}:\n${code}\t.size\t${name}, .-${name}\n`;
}

/** Nothing in the code tells the unwinder anything, and nothing belongs to the function's description alone. */
function sharesUnwind(mf: MFunction, fn: Func): boolean {
  if (startsEarly(fn) || fn.prologue !== null || fn.attributes.fn.has("naked")) return false;
  return !mf.blocks.some((block) =>
    block.insts.some(({ extra }) => extra?.kind === "asm" && extra.template.includes(".cfi")),
  );
}

/** What neighbours have to know of it, once its directives are made. */
function sharedUnwind(mf: MFunction, names: FunctionNames): SharedUnwind {
  const { directive } = mf.target.frame;
  const printer = instructionPrinter(mf.target);
  // Each directive is an operation, and before most of them is a step to its place.
  let operations = 1;
  for (const block of mf.blocks) for (const inst of block.insts) if (inst.op === directive) operations += 2;
  const reset = mf.unwindReset.map((inst) => `${printer.text(inst, names)}\n`).join("");
  return { operations: operations + mf.unwindReset.length, reset };
}

/** The head starts with a section directive, the text ends with a newline. */
export function functionText(
  mf: MFunction,
  names: SymbolNames,
  named: NamedSections,
  pool: PoolSet,
  options: AsmOptions,
  layoutOf: Parameters<typeof dataImage>[1],
): PrintedFunction {
  const fn = mf.fn as Func;
  const symbol = names.symbol(fn);
  const number = names.number(fn);
  const operandNames = new FunctionNames(mf, names, pool, number);
  const describes = options.debugFrames === true && mf.unwind === "none";
  if (describes) describeFrames(mf, mf.framePointer);
  const cfi = !(options.omitCfi === true || (mf.unwind === "none" && !describes));
  const section = functionSection(fn, symbol, named, options).directive;
  let head = `${section}\n`;
  head += bindingText(fn, symbol);
  const align = functionAlign(mf, fn);
  head += alignText(align);
  const patches = patchesOf(fn);
  head += typeText(mf, fn, symbol, patches.before);
  head += `\t.type\t${symbol},@function\n`;
  if (patches.before > 0) head += `${operandNames.patchLabel()}:\n\t.nops\t${patches.before}\n`;
  for (const number of fn.attributes.fn.string(sanitizeAttribute)?.split(",") ?? [])
    head += `\t.long\t${number}\n`;
  if (fn.prefix !== null) head += imageText(dataImage(fn.prefix, layoutOf), names, fn);
  if (mf.remark !== "") head += `# ${mf.remark}\n`;
  head += `${symbol}:\n`;
  let out = "";
  const exceptions = ExceptionTable.of(mf, number, names, pool, options);
  const shared =
    cfi && !describes && options.sharedUnwind === true && exceptions === null && sharesUnwind(mf, fn);
  if (exceptions !== null && !cfi)
    throw new UnsupportedError("exceptions without unwind tables", `function '${mf.name}'`);
  const ownUnwind = cfi && !shared;
  if (ownUnwind) out += "\t.cfi_startproc\n";
  if (exceptions !== null) out += exceptions.header();
  if (fn.prologue !== null) out += imageText(dataImage(fn.prologue, layoutOf), names, fn);
  const marks = options.debugInfo === true ? new CodeMarks(mf, (to) => operandNames.definition(to)) : null;
  if (marks !== null) out += marks.begin();
  const { code, exit } = blocksText(mf, operandNames, exceptions, shared, marks);
  out += code;
  let behind = marks === null ? "" : marks.end();
  if (exceptions !== null) behind += exceptions.footer();
  if (ownUnwind) behind += "\t.cfi_endproc\n";
  behind += `\t.size\t${symbol}, .-${symbol}\n`;
  if (patches.before + patches.inside > 0)
    behind += `${patchSection(fn, symbol).directive}\n\t.p2align\t3\n\t.quad\t${operandNames.patchLabel()}\n`;
  behind += jumpTablesText(mf, fn, symbol, operandNames, options);
  if (exceptions !== null)
    behind += `${exceptionSection(fn, symbol, options).directive}\n${exceptions.text((b) => operandNames.block(b))}`;
  return {
    symbol,
    section,
    head,
    aliases: [...operandNames.aliased].map(([operand, global]) => names.alias(global, operand)),
    align,
    startsEarly: startsEarly(fn),
    text: exit === null ? out + behind : out,
    exit: exit === null ? null : { ...exit, behind },
    unwind: shared ? sharedUnwind(mf, operandNames) : null,
    ...(marks === null ? {} : { ...marks.variables, calls: marks.calls }),
  };
}
