/**
 * Writes relocatable ELF files: sections, symbols, and relocations by name. What differs between machines comes
 * with the call. Layouts: System V ABI (gABI), chapter 4, for both classes.
 */
import { bytesOfText } from "../lto/ir/byte-text.js";
import {
  ELFOSABI_GNU,
  ET_REL,
  SHF_INFO_LINK,
  SHN_UNDEF,
  SHT_REL,
  SHT_RELA,
  SHT_STRTAB,
  SHT_SYMTAB,
  STB_LOCAL,
  STT_GNU_IFUNC,
} from "./elf-constants.js";

/** What a machine's relocatable files have in their own way. */
export interface ElfMachine {
  /** The e_machine field. */
  readonly machine: number;
  /** The e_flags field. */
  readonly flags: number;
  /** The class: width of addresses. */
  readonly bits: 32 | 64;
  readonly littleEndian: boolean;
  /** Relocations have addends of their own (RELA), or take them from the section (REL). */
  readonly rela: boolean;
}

export interface ElfSection {
  readonly name: string;
  readonly type: number;
  readonly flags: number;
  /** In bytes, a power of two. */
  readonly align: number;
  readonly bytes: Uint8Array;
  readonly relocations?: readonly ElfRelocation[];
}

export interface ElfRelocation {
  readonly offset: number;
  readonly type: number;
  /** The name of a global symbol. */
  readonly symbol: string;
}

export interface ElfSymbol {
  readonly name: string;
  /** STB_*. */
  readonly binding: number;
  /** STT_*. */
  readonly type: number;
  /** STV_*. */
  readonly visibility: number;
  /** A section by name, or SHN_*. */
  readonly section: string | number;
  readonly value: number;
  /** In bytes. */
  readonly size: number;
}

/** A string table that has each string once. */
class Strings {
  private readonly offsets = new Map<string, number>([["", 0]]);
  private readonly parts: Uint8Array[] = [new Uint8Array(1)];
  private size = 1;

  offset(text: string): number {
    let offset = this.offsets.get(text);
    if (offset === undefined) {
      const bytes = bytesOfText(`${text}\0`);
      offset = this.size;
      this.offsets.set(text, offset);
      this.parts.push(bytes);
      this.size += bytes.length;
    }
    return offset;
  }
  bytes(): Uint8Array {
    return Buffer.concat(this.parts);
  }
}

/** A growing sequence of fields, of the width and the byte order of the machine. */
class Fields {
  private readonly view: DataView;
  private at = 0;
  constructor(
    readonly bytes: Uint8Array,
    private readonly machine: ElfMachine,
  ) {
    this.view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  }
  u8(value: number): void {
    this.view.setUint8(this.at++, value);
  }
  u16(value: number): void {
    this.view.setUint16(this.at, value, this.machine.littleEndian);
    this.at += 2;
  }
  u32(value: number): void {
    this.view.setUint32(this.at, value, this.machine.littleEndian);
    this.at += 4;
  }
  /** An address, an offset or a size. */
  word(value: number): void {
    if (this.machine.bits === 32) this.u32(value);
    else {
      this.view.setBigUint64(this.at, BigInt(value), this.machine.littleEndian);
      this.at += 8;
    }
  }
}

interface Header {
  readonly name: string;
  readonly type: number;
  readonly flags: number;
  readonly link: number;
  readonly info: number;
  readonly align: number;
  readonly entrySize: number;
  readonly bytes: Uint8Array;
}

const emptyBytes: Uint8Array = new Uint8Array(0);

/**
 * A relocatable file. Local symbols come first, as they must; else all is in the order that it is given in.
 * Sections have numbers from 1 on; the tables follow them.
 */
export function writeRelocatable(
  machine: ElfMachine,
  sections: readonly ElfSection[],
  symbols: readonly ElfSymbol[],
): Uint8Array {
  const is64 = machine.bits === 64;
  const strings = new Strings();
  const numbers = new Map(sections.map(({ name }, i) => [name, i + 1]));
  const ordered = [
    ...symbols.filter(({ binding }) => binding === STB_LOCAL),
    ...symbols.filter(({ binding }) => binding !== STB_LOCAL),
  ];
  const numberOfSection = (section: string | number): number => {
    const number = typeof section === "number" ? section : numbers.get(section);
    if (number === undefined) throw new Error(`no section ${section}`);
    return number;
  };
  const symbolSize = is64 ? 24 : 16;
  const table = new Fields(new Uint8Array(symbolSize * (ordered.length + 1)), machine);
  for (const symbol of [nullSymbol, ...ordered]) {
    const { name, binding, type, visibility, section, value, size } = symbol;
    const info = binding * 16 + type;
    table.u32(strings.offset(name));
    if (!is64) {
      table.u32(value);
      table.u32(size);
    }
    table.u8(info);
    table.u8(visibility);
    table.u16(numberOfSection(section));
    if (is64) {
      table.word(value);
      table.word(size);
    }
  }

  const relocated = sections.filter(({ relocations }) => relocations !== undefined);
  const symbolTable = sections.length + relocated.length + 1;
  const stringTable = symbolTable + 1;
  const entrySize = (is64 ? 8 : 4) * (machine.rela ? 3 : 2);
  const headers: Header[] = [
    { name: "", type: 0, flags: 0, link: 0, info: 0, align: 0, entrySize: 0, bytes: emptyBytes },
    ...sections.map((section) => ({ ...section, link: 0, info: 0, entrySize: 0 })),
    ...relocated.map(
      ({ name, relocations }): Header => ({
        name: `${machine.rela ? ".rela" : ".rel"}${name}`,
        type: machine.rela ? SHT_RELA : SHT_REL,
        flags: SHF_INFO_LINK,
        link: symbolTable,
        info: numbers.get(name)!,
        align: is64 ? 8 : 4,
        entrySize,
        bytes: relocationTable(relocations!, machine, ordered, entrySize),
      }),
    ),
  ];
  const locals = ordered.filter(({ binding }) => binding === STB_LOCAL).length + 1;
  headers.push({
    name: ".symtab",
    type: SHT_SYMTAB,
    flags: 0,
    link: stringTable,
    info: locals,
    align: is64 ? 8 : 4,
    entrySize: symbolSize,
    bytes: table.bytes,
  });
  for (const { name } of headers) strings.offset(name);
  strings.offset(".strtab");
  headers.push({
    name: ".strtab",
    type: SHT_STRTAB,
    flags: 0,
    link: 0,
    info: 0,
    align: 1,
    entrySize: 0,
    bytes: strings.bytes(),
  });
  // Only files with such symbols are of this system.
  const isOfGnu = symbols.some(({ type }) => type === STT_GNU_IFUNC);
  return assemble(machine, isOfGnu ? ELFOSABI_GNU : 0, headers, strings);
}

const nullSymbol: ElfSymbol = {
  name: "",
  binding: 0,
  type: 0,
  visibility: 0,
  section: SHN_UNDEF,
  value: 0,
  size: 0,
};

function relocationTable(
  relocations: readonly ElfRelocation[],
  machine: ElfMachine,
  symbols: readonly ElfSymbol[],
  entrySize: number,
): Uint8Array {
  const fields = new Fields(new Uint8Array(entrySize * relocations.length), machine);
  for (const { offset, type, symbol } of relocations) {
    const number = symbols.findIndex(({ name, binding }) => name === symbol && binding !== STB_LOCAL) + 1;
    if (number === 0) throw new Error(`no global symbol ${symbol}`);
    fields.word(offset);
    // Both halves are numbers of 32 bits; of class 32, 24 and 8.
    if (machine.bits === 32) fields.u32(number * 256 + type);
    else if (machine.littleEndian) {
      fields.u32(type);
      fields.u32(number);
    } else {
      fields.u32(number);
      fields.u32(type);
    }
    if (machine.rela) fields.word(0);
  }
  return fields.bytes;
}

function assemble(
  machine: ElfMachine,
  osAbi: number,
  headers: readonly Header[],
  strings: Strings,
): Uint8Array {
  const is64 = machine.bits === 64;
  const fileHeaderSize = is64 ? 64 : 52;
  const headerSize = is64 ? 64 : 40;
  const aligned = (at: number, align: number): number =>
    Math.ceil(at / Math.max(align, 1)) * Math.max(align, 1);
  let end = fileHeaderSize;
  const offsets = headers.map(({ bytes, align, type }) => {
    if (type === 0) return 0;
    const offset = aligned(end, align);
    end = offset + bytes.length;
    return offset;
  });
  const tableAt = aligned(end, is64 ? 8 : 4);
  const out = new Uint8Array(tableAt + headerSize * headers.length);
  const head = new Fields(out, machine);
  for (const byte of [0x7f, 0x45, 0x4c, 0x46, is64 ? 2 : 1, machine.littleEndian ? 1 : 2, 1, osAbi])
    head.u8(byte);
  for (let i = 0; i < 8; i++) head.u8(0);
  head.u16(ET_REL);
  head.u16(machine.machine);
  head.u32(1);
  head.word(0);
  head.word(0);
  head.word(tableAt);
  head.u32(machine.flags);
  for (const half of [fileHeaderSize, 0, 0, headerSize, headers.length, headers.length - 1]) head.u16(half);
  headers.forEach(({ bytes }, i) => {
    out.set(bytes, offsets[i]!);
  });
  const table = new Fields(out.subarray(tableAt), machine);
  headers.forEach(({ name, type, flags, link, info, align, entrySize, bytes }, i) => {
    table.u32(strings.offset(name));
    table.u32(type);
    table.word(flags);
    table.word(0);
    table.word(offsets[i]!);
    table.word(bytes.length);
    table.u32(link);
    table.u32(info);
    table.word(align);
    table.word(entrySize);
  });
  return out;
}
