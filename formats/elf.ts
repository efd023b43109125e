/**
 * Reads what linking needs of native objects: the symbols of little-endian ELF relocatable and shared files, of 32 and 64 bits, and whether they carry a compiler's intermediate code.
 *
 * Every offset and size is checked against the file. Layouts: System V ABI (gABI), chapters 4 and 5.
 */
import { textOfBytes } from "../lto/ir/byte-text.js";
import { attributed, InputError } from "../lto/ir/errors.js";
import type { NativeSymbol } from "../lto/link/input.js";
import {
  irSection,
  noteSection,
  SHF_ALLOC,
  SHN_COMMON,
  SHN_UNDEF,
  SHT_NOBITS,
  SHT_NOTE,
  STB_LOCAL,
  STB_WEAK,
  STT_FILE,
  STT_NOTYPE,
  STT_TLS,
} from "./elf-constants.js";

export interface ElfObject {
  readonly type: "relocatable" | "shared" | "executable";
  /** The e_machine field; 62 is x86-64. */
  readonly machine: number;
  /** Global and weak symbols: of .symtab for relocatable files, of .dynsym for shared ones. */
  readonly symbols: readonly NativeSymbol[];
  /** Contents of `.llvm.lto`: the bitcode of an object made with -ffat-lto-objects. */
  readonly fatBitcode: Uint8Array | null;
  /** Contents of `.llvmbc`: the bitcode of an object made with -fembed-bitcode, as those of Rust's libraries are. */
  readonly embeddedBitcode: Uint8Array | null;
  /** Contents of `.tsc_lto`: the IR of an object of tsc-cc, or of several that `ld -r` joined. */
  readonly ir: Uint8Array | null;
  /** It has the note of such an object, so it must have the IR. */
  readonly isShell: boolean;
  /** There are bytes that a program would load, besides notes. */
  readonly hasContents: boolean;
  /** Symbols of type FILE: how many objects a relocatable one was made of, if each has such a symbol. */
  readonly files: number;
  /** Has `.gnu.lto_*` sections: GCC's intermediate code. */
  readonly isGccLto: boolean;
  /** GCC's intermediate code only, no machine code (without -ffat-lto-objects). */
  readonly isSlimGccLto: boolean;
  /** DT_SONAME of a shared object, "" without one. */
  readonly soname: string;
}

interface Section {
  readonly name: string;
  readonly type: number;
  readonly flags: number;
  readonly link: number;
  readonly entrySize: number;
  /** In memory: of a section without bytes in the file, too. */
  readonly size: number;
  readonly bytes: Uint8Array;
}

const SHT_SYMTAB = 2;
const SHT_DYNAMIC = 6;
const SHT_DYNSYM = 11;
const STT_SECTION = 3;
const DT_SONAME = 14;
/** Where fields are in files of a class; sizes and offsets in bytes. Fields of a word's size are `word` bytes. */
interface Layout {
  readonly word: 4 | 8;
  readonly header: { readonly size: number; readonly sections: number; readonly entrySize: number };
  readonly section: Readonly<Record<"size" | "offset" | "bytes" | "link" | "entrySize", number>>;
  readonly symbol: Readonly<Record<"size" | "value" | "bytes" | "info" | "other" | "section", number>>;
}
const layout64: Layout = {
  word: 8,
  header: { size: 64, sections: 0x28, entrySize: 0x3a },
  section: { size: 64, offset: 0x18, bytes: 0x20, link: 0x28, entrySize: 0x38 },
  symbol: { size: 24, value: 8, bytes: 16, info: 4, other: 5, section: 6 },
};
const layout32: Layout = {
  word: 4,
  header: { size: 52, sections: 0x20, entrySize: 0x2e },
  section: { size: 40, offset: 0x10, bytes: 0x14, link: 0x18, entrySize: 0x24 },
  symbol: { size: 16, value: 4, bytes: 8, info: 12, other: 13, section: 14 },
};

/** Whether the bytes start with ELF's magic. */
export function isElf(bytes: Uint8Array): boolean {
  return (
    bytes.length >= 4 && bytes[0] === 0x7f && bytes[1] === 0x45 && bytes[2] === 0x4c && bytes[3] === 0x46
  );
}

/** @throws InputError when the file is not little-endian ELF or is malformed */
export function readElf(bytes: Uint8Array, file: string): ElfObject {
  return attributed(file, () => new ElfReader(bytes).run());
}

class ElfReader {
  private readonly view: DataView;
  private layout = layout64;
  constructor(private readonly bytes: Uint8Array) {
    this.view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  }

  /** A field of a word; anything that does not fit a file offset is refused. */
  private word(offset: number, view = this.view): number {
    if (this.layout.word === 4) return view.getUint32(offset, true);
    const value = view.getBigUint64(offset, true);
    if (value > 0x1fffffffffffffn) throw new InputError("malformed ELF file: a number is out of range");
    return Number(value);
  }

  private slice(offset: number, size: number, what: string): Uint8Array {
    if (offset > this.bytes.length || size > this.bytes.length - offset)
      throw new InputError(`malformed ELF file: ${what} lies outside of the file`);
    return this.bytes.subarray(offset, offset + size);
  }

  run(): ElfObject {
    const { bytes, view } = this;
    if (!isElf(bytes)) throw new InputError("not an ELF file");
    if (bytes.length > 5 && (bytes[5] !== 1 || bytes[4]! < 1 || bytes[4]! > 2))
      throw new InputError("only little-endian ELF files of 32 and 64 bits are supported");
    this.layout = bytes[4] === 1 ? layout32 : layout64;
    if (bytes.length < this.layout.header.size) throw new InputError("malformed ELF file: truncated header");
    const types: Record<number, ElfObject["type"]> = { 1: "relocatable", 2: "executable", 3: "shared" };
    const type = types[view.getUint16(16, true)];
    if (type === undefined) throw new InputError("unsupported kind of ELF file");
    const machine = view.getUint16(18, true);
    const sections = this.sections();
    const table = sections.find((s) => s.type === (type === "shared" ? SHT_DYNSYM : SHT_SYMTAB));
    const symbols = table === undefined ? [] : this.symbols(table, sections);
    const contentsOf = (name: string): Uint8Array | null =>
      sections.find((s) => s.name === name)?.bytes ?? null;
    const gccSections = sections.filter((s) => s.name.startsWith(".gnu.lto_"));
    return {
      type,
      machine,
      symbols,
      fatBitcode: contentsOf(".llvm.lto"),
      embeddedBitcode: contentsOf(".llvmbc"),
      ir: contentsOf(irSection),
      isShell: sections.some((s) => s.name === noteSection),
      hasContents: sections.some((s) => (s.flags & SHF_ALLOC) !== 0 && s.type !== SHT_NOTE && s.size > 0),
      files: table === undefined ? 0 : this.countFiles(table),
      isGccLto: gccSections.length > 0,
      // A slim object is marked by this common symbol, GCC's sign for tools that lack its plugin.
      isSlimGccLto: gccSections.length > 0 && symbols.some((s) => s.name === "__gnu_lto_slim"),
      soname: this.soname(sections),
    };
  }

  private sections(): Section[] {
    const { view, layout } = this;
    const { size: sectionHeaderSize } = layout.section;
    const { entrySize } = layout.header;
    const offset = this.word(layout.header.sections);
    if (offset === 0) return [];
    if (view.getUint16(entrySize, true) !== sectionHeaderSize)
      throw new InputError("malformed ELF file: unexpected size of section headers");
    let count = view.getUint16(entrySize + 2, true);
    let nameIndex = view.getUint16(entrySize + 4, true);
    this.slice(offset, sectionHeaderSize, "the section table");
    // Large numbers lie in the first section header instead.
    if (count === 0) count = this.word(offset + layout.section.bytes);
    if (nameIndex === 0xffff) nameIndex = view.getUint32(offset + layout.section.link, true);
    if (count > this.bytes.length) throw new InputError("malformed ELF file: too many sections");
    this.slice(offset, count * sectionHeaderSize, "the section table");
    const names: number[] = [];
    const sections: Section[] = [];
    for (let i = 0; i < count; i++) {
      const at = offset + i * sectionHeaderSize;
      names.push(view.getUint32(at, true));
      const type = view.getUint32(at + 4, true);
      const bytes =
        type === SHT_NOBITS || i === 0
          ? new Uint8Array(0)
          : this.slice(
              this.word(at + layout.section.offset),
              this.word(at + layout.section.bytes),
              "a section",
            );
      sections.push({
        name: "",
        type,
        flags: view.getUint32(at + 8, true),
        link: view.getUint32(at + layout.section.link, true),
        entrySize: this.word(at + layout.section.entrySize),
        size: i === 0 ? 0 : this.word(at + layout.section.bytes),
        bytes,
      });
    }
    const table = sections[nameIndex];
    if (table === undefined) throw new InputError("malformed ELF file: no section names");
    return sections.map((section, i) => ({ ...section, name: text(table.bytes, names[i]!) }));
  }

  private countFiles({ bytes }: Section): number {
    const { symbol } = this.layout;
    let count = 0;
    for (let at = symbol.size + symbol.info; at < bytes.length; at += symbol.size)
      if ((bytes[at]! & 15) === STT_FILE) count++;
    return count;
  }

  private symbols(table: Section, sections: readonly Section[]): NativeSymbol[] {
    const { symbol } = this.layout;
    const strings = sections[table.link];
    if (strings === undefined || table.bytes.length % symbol.size !== 0)
      throw new InputError("malformed ELF file: malformed symbol table");
    const view = new DataView(table.bytes.buffer, table.bytes.byteOffset, table.bytes.byteLength);
    const symbols: NativeSymbol[] = [];
    for (let at = symbol.size; at < view.byteLength; at += symbol.size) {
      const info = view.getUint8(at + symbol.info);
      const binding = info >> 4;
      const kind = info & 15;
      if (binding === STB_LOCAL || kind === STT_SECTION || kind === STT_FILE) continue;
      const name = text(strings.bytes, view.getUint32(at, true));
      if (name === "") continue;
      const section = view.getUint16(at + symbol.section, true);
      const visibility = (["default", "hidden", "hidden", "protected"] as const)[
        view.getUint8(at + symbol.other) & 3
      ]!;
      const defined = section !== SHN_UNDEF;
      symbols.push({
        name,
        defined,
        weak: binding === STB_WEAK,
        common: section === SHN_COMMON,
        visibility,
        tls: kind === STT_NOTYPE && !defined ? null : kind === STT_TLS,
        size: this.word(at + symbol.bytes, view),
        // The value of a common symbol is its alignment.
        align: section === SHN_COMMON ? this.word(at + symbol.value, view) : 0,
      });
    }
    return symbols;
  }

  private soname(sections: readonly Section[]): string {
    const dynamic = sections.find((s) => s.type === SHT_DYNAMIC);
    const strings = dynamic === undefined ? undefined : sections[dynamic.link];
    if (dynamic === undefined || strings === undefined) return "";
    const { bytes } = dynamic;
    const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    const { word } = this.layout;
    for (let at = 0; at + 2 * word <= view.byteLength; at += 2 * word)
      if (this.word(at, view) === DT_SONAME) return text(strings.bytes, this.word(at + word, view));
    return "";
  }
}

/** The zero-terminated string at an offset of a string table. */
function text(table: Uint8Array, offset: number): string {
  if (offset >= table.length && offset !== 0)
    throw new InputError("malformed ELF file: a name lies outside of its table");
  const zero = table.indexOf(0, offset);
  const end = zero < 0 ? table.length : zero;
  return textOfBytes(table.subarray(offset, end));
}
