/**
 * Reads an ELF file of any class and byte order for measuring: sections, symbols and relocations, of finished programs,
 * shared libraries and objects.
 *
 * Every offset is checked against the file. Layouts: System V ABI (gABI), chapters 4 and 5.
 */
import { textOfBytes } from "../../lto/ir/byte-text.js";
import { InputError } from "../../lto/ir/errors.js";

export interface ImageSection {
  readonly index: number;
  readonly name: string;
  readonly type: number;
  readonly flags: number;
  /** Where it lies when it is loaded; 0 in objects. */
  readonly address: number;
  readonly size: number;
  /** Empty where the file has none (`.bss`). */
  readonly bytes: Uint8Array;
  readonly link: number;
  readonly info: number;
}

export interface ImageSymbol {
  readonly name: string;
  /** An address; in objects an offset in its section. */
  readonly value: number;
  readonly size: number;
  /** STT_…: 0 none, 1 object, 2 function, 3 section, 4 file, 6 thread-local, 10 indirect function. */
  readonly type: number;
  /** STB_…: 0 local, 1 global, 2 weak. */
  readonly binding: number;
  /** Of the section that it is defined in; 0 undefined, from 0xff00 on special. */
  readonly section: number;
  /** The source that the symbol table names before it; of local symbols only. */
  readonly file: string | null;
}

export interface ImageRelocation {
  /** An address; in objects an offset in its section. */
  readonly offset: number;
  /** In the symbol table of its section. */
  readonly symbol: number;
  readonly addend: number;
}

export const SectionType = {
  Symbols: 2,
  Strings: 3,
  Rela: 4,
  Nobits: 8,
  Rel: 9,
  DynamicSymbols: 11,
  Group: 17,
  IndexExtension: 18,
  Relr: 19,
} as const;
/** SHF_ALLOC, SHF_EXECINSTR, SHF_WRITE, SHF_TLS. */
export const SectionFlag = { Write: 1, Alloc: 2, Code: 4, ThreadLocal: 0x400 } as const;
/** Machines whose peculiarities matter here. */
export const Machine = { arm: 40, mips: 8 } as const;

const relocatable = 1;

/** An ELF file as it is on disk. */
export class Image {
  readonly is64: boolean;
  readonly littleEndian: boolean;
  readonly isObject: boolean;
  readonly machine: number;
  readonly sections: readonly ImageSection[];
  /** Of `.symtab`, or of `.dynsym` where the program was stripped. */
  readonly symbols: readonly ImageSymbol[];
  private readonly view: DataView;

  /** @throws InputError when it is not ELF or malformed */
  constructor(private readonly bytes: Uint8Array) {
    this.view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    const magic = bytes.length >= 52 && this.view.getUint32(0) === 0x7f454c46;
    if (!magic) throw new InputError("not an ELF file");
    this.is64 = bytes[4] === 2;
    this.littleEndian = bytes[5] === 1;
    this.isObject = this.view.getUint16(16, this.littleEndian) === relocatable;
    this.machine = this.view.getUint16(18, this.littleEndian);
    this.sections = this.readSections();
    const table =
      this.sections.find(({ type }) => type === SectionType.Symbols) ??
      this.sections.find(({ type }) => type === SectionType.DynamicSymbols);
    this.symbols = table === undefined ? [] : this.symbolsOf(table);
  }

  /** Bytes of an address. */
  get wordSize(): 4 | 8 {
    return this.is64 ? 8 : 4;
  }

  /** A view of a section's contents. */
  viewOf({ bytes }: Pick<ImageSection, "bytes">): DataView {
    return new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  }

  /** An address-sized number. @throws InputError when it is no possible size or address */
  word(view: DataView, at: number): number {
    if (at + this.wordSize > view.byteLength)
      throw new InputError("malformed ELF file: a table ends in an entry");
    if (!this.is64) return view.getUint32(at, this.littleEndian);
    // Addresses of kernels lie beyond what a number holds exactly: the low half then tells them apart as well.
    const value = view.getBigUint64(at, this.littleEndian);
    return value > 0x1fffffffffffffn ? Number(BigInt.asUintN(48, value)) : Number(value);
  }

  u32(view: DataView, at: number): number {
    if (at + 4 > view.byteLength) throw new InputError("malformed ELF file: a table ends in an entry");
    return view.getUint32(at, this.littleEndian);
  }

  private u16(at: number): number {
    return this.view.getUint16(at, this.littleEndian);
  }

  private slice(offset: number, size: number, what: string): Uint8Array {
    if (offset > this.bytes.length || size > this.bytes.length - offset)
      throw new InputError(`malformed ELF file: ${what} lies outside of the file`);
    return this.bytes.subarray(offset, offset + size);
  }

  private readSections(): ImageSection[] {
    const { is64, view } = this;
    const entry = is64 ? 64 : 40;
    const fields = is64 ? 0x28 : 0x20;
    const counts = is64 ? 0x3a : 0x2e;
    if (is64) this.slice(0, 64, "the header");
    const table = this.word(view, fields);
    if (table === 0) return [];
    if (this.u16(counts) !== entry)
      throw new InputError("malformed ELF file: unexpected size of section headers");
    this.slice(table, entry, "the section table");
    const word = (at: number, index: number): number => this.word(view, at + 8 + index * this.wordSize);
    // Large numbers lie in the first section header instead.
    const count = this.u16(counts + 2) || word(table, 3);
    const indexOfNames = this.u16(counts + 4);
    if (count > this.bytes.length) throw new InputError("malformed ELF file: too many sections");
    this.slice(table, count * entry, "the section table");
    const linkAt = is64 ? 0x28 : 0x18;
    const names: number[] = [];
    const sections = Array.from({ length: count }, (_, index): ImageSection => {
      const at = table + index * entry;
      names.push(this.u32(view, at));
      const type = this.u32(view, at + 4);
      // After name and type: flags, address, offset, size, one word each.
      const size = index === 0 ? 0 : word(at, 3);
      const isEmpty = index === 0 || type === SectionType.Nobits;
      return {
        index,
        name: "",
        type,
        flags: word(at, 0),
        address: word(at, 1),
        size,
        bytes: isEmpty ? new Uint8Array() : this.slice(word(at, 2), size, "a section"),
        link: this.u32(view, at + linkAt),
        info: this.u32(view, at + linkAt + 4),
      };
    });
    const strings = sections[indexOfNames === 0xffff ? (sections[0]?.link ?? 0) : indexOfNames];
    if (strings === undefined) throw new InputError("malformed ELF file: no section names");
    return sections.map((section, i) => ({ ...section, name: stringAt(strings.bytes, names[i]!) }));
  }

  /** The symbols of a table, the empty first one included, so that indices are the file's. */
  symbolsOf(table: ImageSection): ImageSymbol[] {
    const strings = this.sections[table.link];
    if (strings === undefined) throw new InputError("malformed ELF file: malformed symbol table");
    const extension = this.sections.find(
      ({ type, link }) => type === SectionType.IndexExtension && link === table.index,
    );
    const indices = extension === undefined ? null : this.viewOf(extension);
    const view = this.viewOf(table);
    const { is64 } = this;
    const entry = is64 ? 24 : 16;
    const symbols: ImageSymbol[] = [];
    let file: string | null = null;
    for (let at = 0; at + entry <= view.byteLength; at += entry) {
      const info = view.getUint8(at + (is64 ? 4 : 12));
      const short = view.getUint16(at + (is64 ? 6 : 14), this.littleEndian);
      const name = stringAt(strings.bytes, view.getUint32(at, this.littleEndian));
      const type = info & 15;
      const binding = info >> 4;
      // After the last source a table of a linked program has a nameless one, for what belongs to none.
      if (type === 4) file = name === "" ? null : name;
      const value = this.word(view, at + (is64 ? 8 : 4));
      symbols.push({
        name,
        value: this.machine === Machine.arm && type === 2 ? value - (value % 2) : value,
        size: this.word(view, at + (is64 ? 16 : 8)),
        type,
        binding,
        section: short === 0xffff && indices !== null ? this.u32(indices, (at / entry) * 4) : short,
        file: binding === 0 ? file : null,
      });
    }
    return symbols;
  }

  /** The relocations of a section with or without addends. */
  relocationsOf(table: ImageSection): ImageRelocation[] {
    const { is64, wordSize } = this;
    const hasAddend = table.type === SectionType.Rela;
    const entry = wordSize * (hasAddend ? 3 : 2);
    const view = this.viewOf(table);
    const result: ImageRelocation[] = [];
    for (let at = 0; at + entry <= view.byteLength; at += entry) {
      const info = at + wordSize;
      // 64 bits: the symbol in the upper half, which of MIPS stands first whatever the byte order.
      const symbol = is64
        ? this.u32(view, this.littleEndian && this.machine !== Machine.mips ? info + 4 : info)
        : this.u32(view, info) >>> 8;
      const low = hasAddend
        ? view.getInt32(info + wordSize + (is64 && !this.littleEndian ? 4 : 0), this.littleEndian)
        : 0;
      result.push({ offset: this.word(view, at), symbol, addend: low });
    }
    return result;
  }
}

/** The zero-terminated string at an offset of a string table; "" for one that lies outside. */
function stringAt(table: Uint8Array, offset: number): string {
  if (offset >= table.length) return "";
  const zero = table.indexOf(0, offset);
  return textOfBytes(table.subarray(offset, zero < 0 ? table.length : zero));
}
