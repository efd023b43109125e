/**
 * A machine function as assembly text: section, symbol, code, tables.
 *
 * The text depends on nothing but the function and the names of symbols, so functions can be printed by
 * workers in any order. Literal-pool entries are named by their bytes and only collected here: the printer
 * writes each of them once for the whole output.
 */
import type { JumpTable, MBlock, MFunction, PoolConstant } from "../../lto/codegen/mir.js";
import { OpFact } from "../../lto/codegen/target.js";
import { UnsupportedError } from "../../lto/ir/errors.js";
import { noLabel } from "../../lto/ir/instructions.js";
import type { Func, GlobalValue } from "../../lto/ir/module.js";
import { dataImage } from "./data-image.js";
import { imageText } from "./data-text.js";
import { ExceptionTable } from "./exception-table.js";
import type { OperandNames } from "./instruction-printer.js";
import { addressTakenLabel, type SymbolNames } from "./names.js";
import type { AsmOptions } from "./options.js";
import type { PoolSet } from "./pool.js";
import { exceptionSection, functionSection, type NamedSections, tableSection } from "./sections.js";
import { bindingText } from "./symbols.js";
import { instructionPrinter } from "./targets.js";

/** `p2align` for an alignment in bytes; "" for none. */
export const alignText = (align: number): string =>
  align <= 1 ? "" : `\t.p2align\t${31 - Math.clz32(align)}\n`;

class FunctionNames implements OperandNames {
  private asmCount = 0;
  constructor(
    private readonly mf: MFunction,
    private readonly names: SymbolNames,
    private readonly pool: PoolSet,
    readonly number: number,
  ) {}
  symbol(global: GlobalValue): string {
    return this.names.symbol(global);
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

function blocksText(mf: MFunction, names: FunctionNames, exceptions: ExceptionTable | null): string {
  const labelled = labelledBlocks(mf);
  const { facts } = mf.target.instructions;
  const printer = instructionPrinter(mf.target);
  // Joined, not appended to one string: that would stay a tree of all its pieces until the file is written.
  const lines: string[] = [];
  for (const block of mf.blocks) {
    if (labelled[block.id] === 1) lines.push(names.block(block), ":\n");
    if (block.label !== noLabel && block.addressTaken)
      lines.push(addressTakenLabel(mf.fn.name, block.label), ":\n");
    for (const inst of block.insts) {
      if ((facts[inst.op]! & OpFact.Jump) !== 0 && inst.targets.length === 0)
        throw new Error(`jump without target in @${mf.name}`);
      const text = printer.text(inst, names);
      const labels = exceptions?.labelsOf(inst);
      if (labels !== undefined) lines.push(labels.start, ":\n", text, "\n", labels.end, ":\n");
      else if (text !== "") lines.push(text, "\n");
    }
  }
  return lines.join("");
}

function jumpTablesText(
  mf: MFunction,
  fn: Func,
  symbol: string,
  names: FunctionNames,
  options: AsmOptions,
): string {
  if (mf.jumpTables.length === 0) return "";
  const relative = mf.jumpTableEntries === "relative4";
  let out = `${tableSection(fn, symbol, options).directive}\n${alignText(relative ? 4 : 8)}`;
  mf.jumpTables.forEach((table) => {
    // Tables that a pass emptied have no users left.
    if (table.targets.length === 0) return;
    const label = names.jumpTable(table);
    out += `${label}:\n`;
    for (const block of table.targets)
      out += relative ? `\t.long\t${names.block(block)}-${label}\n` : `\t.quad\t${names.block(block)}\n`;
  });
  return out;
}

/** Alignment of a function in bytes: its own, else 16 except for small code. */
function functionAlign(mf: MFunction, fn: Func): number {
  const small = mf.goal === "size" || mf.goal === "minsize";
  return Math.max(fn.align, small ? 1 : 16);
}

/** @returns text that starts with a section directive and ends with a newline */
export function functionText(
  mf: MFunction,
  names: SymbolNames,
  named: NamedSections,
  pool: PoolSet,
  options: AsmOptions,
  layoutOf: Parameters<typeof dataImage>[1],
): string {
  const fn = mf.fn as Func;
  const symbol = names.symbol(fn);
  const number = names.number(fn);
  const operandNames = new FunctionNames(mf, names, pool, number);
  const cfi = !(options.omitCfi === true || mf.omitCfi);
  let out = `${functionSection(fn, symbol, named, options).directive}\n`;
  out += bindingText(fn, symbol);
  out += alignText(functionAlign(mf, fn));
  out += `\t.type\t${symbol},@function\n`;
  if (fn.prefix !== null) out += imageText(dataImage(fn.prefix, layoutOf), names);
  if (mf.remark !== "") out += `# ${mf.remark}\n`;
  out += `${symbol}:\n`;
  const exceptions = ExceptionTable.of(mf, number, names, pool, options);
  if (exceptions !== null && !cfi)
    throw new UnsupportedError("exceptions without unwind tables", `function '${mf.name}'`);
  if (cfi) out += "\t.cfi_startproc\n";
  if (exceptions !== null) out += exceptions.header();
  if (fn.prologue !== null) out += imageText(dataImage(fn.prologue, layoutOf), names);
  out += blocksText(mf, operandNames, exceptions);
  if (exceptions !== null) out += exceptions.footer();
  if (cfi) out += "\t.cfi_endproc\n";
  out += `\t.size\t${symbol}, .-${symbol}\n`;
  out += jumpTablesText(mf, fn, symbol, operandNames, options);
  if (exceptions !== null)
    out += `${exceptionSection(fn, symbol, options).directive}\n${exceptions.text((b) => operandNames.block(b))}`;
  return out;
}
