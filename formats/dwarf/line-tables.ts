/**
 * Line tables of compile units (`.debug_line`), as data for an assembler.
 *
 * Not by the assembler's own `.loc`: GNU as drops rows of line 0, which say that code is of no line, and makes one table of
 * what belongs to many units. Distances between labels are for the assembler to fill in; where code between two rows is
 * surely short, row and distance are one byte, an expression. Rows go on from one function to the next while units and
 * sections stay the same.
 * A function's rows lead up to its end, where the sequence ends unless the next one's begins there.
 *
 * Source: DWARF 5, section 6.2 ("Line Number Information"); DWARF 4, the same section.
 */
import type { DICompileUnit, DIFile } from "../../lto/ir/debug/nodes.js";
import { quoteText } from "../asm/names.js";
import { LineStrings } from "./line-strings.js";

export interface LineRow {
  /** Where it begins. */
  readonly label: string;
  /** Bytes of code that may lie between the row before and this one; infinite: any number. */
  readonly distance: number;
  /** Null: the one before. */
  readonly file: DIFile | null;
  readonly line: number;
  readonly column: number;
  readonly isStatement: boolean;
  readonly endsPrologue: boolean;
}

/* Parameters of special opcodes. LLVM's are -5 and 14; these make tables a twentieth smaller, as rows often go far ahead. */
const lineBase = -3;
const lineRange = 10;
const opcodeBase = 13;
const operandCounts = [0, 1, 1, 1, 1, 0, 0, 0, 1, 0, 0, 1];

const enum Standard {
  Copy = 1,
  AdvancePc = 2,
  AdvanceLine = 3,
  SetFile = 4,
  SetColumn = 5,
  NegateStatement = 6,
  SetPrologueEnd = 10,
}

const leb = (value: number): string => (value < 128 ? String(value) : ulebBytes(value).join(","));

function ulebBytes(value: number): number[] {
  const bytes: number[] = [];
  for (let rest = value; ; ) {
    const byte = rest & 127;
    rest = Math.floor(rest / 128);
    bytes.push(rest === 0 ? byte : byte | 128);
    if (rest === 0) return bytes;
  }
}

function slebBytes(value: number): number[] {
  const bytes: number[] = [];
  for (let rest = value; ; ) {
    const byte = rest & 127;
    rest >>= 7;
    const isLast = (rest === 0 && (byte & 64) === 0) || (rest === -1 && (byte & 64) !== 0);
    bytes.push(isLast ? byte : byte | 128);
    if (isLast) return bytes;
  }
}

/** The table of one unit. */
class UnitTable {
  /** Program of the table, but for what is in `pending`. */
  private readonly pieces: string[] = [];
  /** Bytes of one directive. */
  private pending: string[] = [];
  private readonly files = new Map<string, number>();
  private readonly ofFile = new Map<DIFile, number>();
  private readonly listed: DIFile[] = [];
  /* The registers of the machine that runs the program. */
  private label: string | null = null;
  private file = 1;
  private line = 1;
  private column = 0;
  private isStatement = true;

  constructor(
    private readonly unit: DICompileUnit,
    readonly number: number,
    private readonly version: number,
  ) {
    // Version 5 counts from 0, the unit's own file.
    if (version >= 5 && unit.file !== null) this.fileNumber(unit.file);
  }

  fileNumber(file: DIFile): number {
    let number = this.ofFile.get(file);
    if (number !== undefined) return number;
    const key = this.pathOf(file);
    number = this.files.get(key);
    if (number === undefined) {
      number = this.listed.push(file) - (this.version >= 5 ? 1 : 0);
      this.files.set(key, number);
    }
    this.ofFile.set(file, number);
    return number;
  }

  /** A file is listed once, however its source was named. */
  private pathOf({ directory, filename }: DIFile): string {
    if (filename.startsWith("/")) return filename;
    const own = this.unit.file?.directory ?? "";
    const folder = directory === "" ? own : directory.startsWith("/") ? directory : `${own}/${directory}`;
    return `${folder}/${filename}`;
  }

  private bytes(...bytes: (number | string)[]): void {
    for (const byte of bytes) this.pending.push(String(byte));
  }
  private flush(): void {
    if (this.pending.length > 0) this.pieces.push(`\t.byte\t${this.pending.join(",")}\n`);
    this.pending = [];
  }
  private advance(from: string, to: string): void {
    this.bytes(Standard.AdvancePc);
    this.flush();
    this.pieces.push(`\t.uleb128\t${to}-${from}\n`);
  }

  add(row: LineRow): void {
    const { label, distance, line, column } = row;
    if (this.label === null) {
      // Extended opcode 2: the address, 8 bytes.
      this.bytes(0, 9, 2);
      this.flush();
      this.pieces.push(`\t.quad\t${label}\n`);
    }
    const file = row.file === null ? this.file : this.fileNumber(row.file);
    if (file !== this.file) this.bytes(Standard.SetFile, leb(file));
    this.file = file;
    if (column !== this.column) this.bytes(Standard.SetColumn, leb(column));
    this.column = column;
    if (row.isStatement !== this.isStatement) this.bytes(Standard.NegateStatement);
    this.isStatement = row.isStatement;
    if (row.endsPrologue) this.bytes(Standard.SetPrologueEnd);
    let lines = line - this.line;
    this.line = line;
    if (lines < lineBase || lines >= lineBase + lineRange) {
      this.bytes(Standard.AdvanceLine, ...slebBytes(lines));
      lines = 0;
    }
    const opcode = lines - lineBase + opcodeBase;
    if (this.label === null || this.label === label) this.bytes(opcode);
    else if (opcode + lineRange * distance <= 255)
      this.bytes(`(${label}-${this.label})*${lineRange}+${opcode}`);
    else {
      this.advance(this.label, label);
      this.bytes(opcode);
    }
    this.label = label;
    if (this.pending.length > bytesOfLine) this.flush();
  }

  /** There are no rows from here on to the next sequence. */
  end(label: string): void {
    if (this.label === null) return;
    if (this.label !== label) this.advance(this.label, label);
    this.bytes(0, 1, 1);
    this.flush();
    this.label = null;
    this.file = 1;
    this.line = 1;
    this.column = 0;
    this.isStatement = true;
  }

  text(strings: LineStrings): string {
    const { version, number } = this;
    const start = `${tableLabel(number)}_start`;
    const end = `${tableLabel(number)}_end`;
    const header = `${tableLabel(number)}_header`;
    const out = [`${tableLabel(number)}:\n\t.long\t${end}-${start}\n${start}:\n\t.short\t${version}\n`];
    if (version >= 5) out.push("\t.byte\t8,0\n");
    out.push(
      `\t.long\t${header}_end-${header}\n${header}:\n\t.byte\t1,1,1,${lineBase},${lineRange},${opcodeBase}`,
    );
    out.push(`,${operandCounts.join(",")}\n`);
    out.push(version >= 5 ? this.fileTables(strings) : this.oldFileTables());
    out.push(`${header}_end:\n`, ...this.pieces, `${end}:\n`);
    return out.join("");
  }

  /** Directories, the unit's own first, and the directory of each file. */
  private directories(): { readonly list: readonly string[]; readonly numbers: readonly number[] } {
    const own = this.unit.file?.directory ?? "";
    const list = [own];
    const numbers = this.listed.map(({ directory }) => {
      const known = list.indexOf(directory === "" ? own : directory);
      return known >= 0 ? known : list.push(directory) - 1;
    });
    return { list, numbers };
  }

  private fileTables(strings: LineStrings): string {
    const { list, numbers } = this.directories();
    const checksums = this.listed.map((file) =>
      file.checksumkind === md5 && /^[0-9a-f]{32}$/i.test(file.checksum) ? file.checksum : null,
    );
    const hasChecksums = checksums.every((sum) => sum !== null);
    // Content types and forms: a path by reference; its directory; a checksum.
    const out = [`\t.byte\t1,1,0x1f,${leb(list.length)}\n`];
    for (const directory of list) out.push(`\t.long\t${strings.label(directory)}\n`);
    out.push(
      `\t.byte\t${hasChecksums ? "3,1,0x1f,2,0xf,5,0x1e" : "2,1,0x1f,2,0xf"},${leb(this.listed.length)}\n`,
    );
    this.listed.forEach(({ filename }, i) => {
      out.push(`\t.long\t${strings.label(filename)}\n\t.byte\t${leb(numbers[i]!)}`);
      if (hasChecksums) out.push(checksums[i]!.replace(/../g, ",0x$&"));
      out.push("\n");
    });
    return out.join("");
  }

  private oldFileTables(): string {
    const { list, numbers } = this.directories();
    const out: string[] = [];
    for (const directory of list.slice(1)) out.push(`\t.asciz\t${quoteText(directory)}\n`);
    out.push("\t.byte\t0\n");
    this.listed.forEach(({ filename }, i) => {
      out.push(`\t.asciz\t${quoteText(filename)}\n\t.byte\t${leb(numbers[i]!)},0,0\n`);
    });
    out.push("\t.byte\t0\n");
    return out.join("");
  }
}

/** DWARF's kinds of checksums as LLVM numbers them. */
const md5 = 1;
const bytesOfLine = 24;

const tableLabel = (number: number): string => `.Lline_table${number}`;

export class LineTables {
  private readonly tables = new Map<DICompileUnit, UnitTable>();
  readonly strings = new LineStrings();

  /** @param version of DWARF */
  constructor(readonly version: number) {}

  private table(unit: DICompileUnit): UnitTable {
    let table = this.tables.get(unit);
    if (table === undefined)
      this.tables.set(unit, (table = new UnitTable(unit, this.tables.size, this.version)));
    return table;
  }

  /** Of the unit's table, which there is from now on. */
  label(unit: DICompileUnit): string {
    return tableLabel(this.table(unit).number);
  }
  /** The number of a file in the unit's table. */
  file(unit: DICompileUnit, file: DIFile): number {
    return this.table(unit).fileNumber(file);
  }
  add(unit: DICompileUnit, row: LineRow): void {
    this.table(unit).add(row);
  }
  end(unit: DICompileUnit, label: string): void {
    this.table(unit).end(label);
  }

  /** Writes all tables: to be asked for when nobody asks for numbers of files any more. */
  write(write: (text: string) => void): void {
    if (this.tables.size === 0) return;
    write('\t.section\t.debug_line,"",@progbits\n');
    for (const table of this.tables.values()) write(table.text(this.strings));
    write(this.strings.text());
  }
}
