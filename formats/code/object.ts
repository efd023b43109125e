/**
 * The machine code of an ELF64 relocatable object: sections, all symbols, relocations. What linking needs of
 * native objects is read by `formats/elf.ts`; this is for looking at code.
 *
 * Every offset and size is checked against the file. Layouts: System V gABI, chapter 4; relocation types:
 * System V ABI AMD64, section 4.4.
 */
import { InputError } from "../../lto/ir/errors.js";

export interface CodeSection {
  readonly name: string;
  readonly index: number;
  /** SHF_ALLOC: part of the program. */
  readonly allocated: boolean;
  /** SHF_EXECINSTR. */
  readonly executable: boolean;
  /** Member of a section group: another file's group may be kept instead. */
  readonly grouped: boolean;
  /** Empty for sections without contents in the file. */
  readonly bytes: Uint8Array;
  readonly relocations: readonly CodeRelocation[];
}

export interface CodeSymbol {
  readonly name: string;
  /** Index of its section, or -1 when it is undefined, absolute or common. */
  readonly section: number;
  /** Offset in its section. */
  readonly value: number;
  readonly size: number;
  readonly binding: "local" | "global" | "weak";
  readonly kind: "function" | "section" | "other";
  readonly visibility: "default" | "hidden" | "protected";
}

export interface CodeRelocation {
  /** Offset in the section that is patched. */
  readonly offset: number;
  readonly type: number;
  readonly symbol: CodeSymbol;
  readonly addend: number;
}

export interface CodeObject {
  readonly sections: readonly CodeSection[];
  readonly symbols: readonly CodeSymbol[];
}

const headerSize = 64;
const sectionHeaderSize = 64;
const symbolSize = 24;
const relocationSize = 24;
const SHT_SYMTAB = 2;
const SHT_RELA = 4;
const SHT_NOBITS = 8;
const SHF_ALLOC = 2;
const SHF_EXECINSTR = 4;
const SHF_GROUP = 0x200;
const SHN_LORESERVE = 0xff00;
const SHN_XINDEX = 0xffff;

interface RawSection {
  readonly name: number;
  readonly type: number;
  readonly flags: number;
  readonly link: number;
  readonly info: number;
  readonly bytes: Uint8Array;
}

/** @throws InputError when the bytes are not a well-formed relocatable object for x86-64 */
export function readCodeObject(bytes: Uint8Array): CodeObject {
  const view = viewOf(bytes);
  const magic = bytes.length >= headerSize && view.getUint32(0, false) === 0x7f454c46;
  if (!magic || bytes[4] !== 2 || bytes[5] !== 1 || view.getUint16(16, true) !== 1)
    throw new InputError("not a relocatable ELF64 object");
  if (view.getUint16(18, true) !== 62) throw new InputError("not an object for x86-64");
  const raw = rawSections(bytes, view);
  const table = raw.find((s) => s.type === SHT_SYMTAB);
  const symbols = table === undefined ? [] : readSymbols(table, raw);
  const relocations = raw.map(() => [] as CodeRelocation[]);
  for (const section of raw)
    if (section.type === SHT_RELA && relocations[section.info] !== undefined)
      readRelocations(section, symbols, relocations[section.info]!);
  const names = raw[nameTable(view, raw)]?.bytes ?? new Uint8Array(1);
  const sections = raw.map((s, index) => ({
    name: textAt(names, s.name),
    index,
    allocated: (s.flags & SHF_ALLOC) !== 0,
    executable: (s.flags & SHF_EXECINSTR) !== 0,
    grouped: (s.flags & SHF_GROUP) !== 0,
    bytes: s.bytes,
    relocations: relocations[index]!.sort((a, b) => a.offset - b.offset),
  }));
  return { sections, symbols };
}

const viewOf = (bytes: Uint8Array): DataView =>
  new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);

/** A 64-bit field that has to fit a file offset. */
function number64(view: DataView, at: number): number {
  const value = view.getBigUint64(at, true);
  if (value > 0xffffffffffffn) throw new InputError("malformed ELF file: a number is out of range");
  return Number(value);
}

function rawSections(bytes: Uint8Array, view: DataView): RawSection[] {
  const offset = number64(view, 0x28);
  if (view.getUint16(0x3a, true) !== sectionHeaderSize)
    throw new InputError("malformed ELF file: unexpected size of section headers");
  const inside = (at: number, size: number): void => {
    if (at + size > bytes.length) throw new InputError("malformed ELF file: a section lies outside of it");
  };
  inside(offset, sectionHeaderSize);
  // A count that does not fit the header lies in the first section header instead.
  const count = view.getUint16(0x3c, true) || number64(view, offset + 0x20);
  inside(offset, count * sectionHeaderSize);
  return Array.from({ length: count }, (_, i) => {
    const at = offset + i * sectionHeaderSize;
    const type = view.getUint32(at + 4, true);
    const empty = i === 0 || type === SHT_NOBITS;
    const start = empty ? 0 : number64(view, at + 0x18);
    const size = empty ? 0 : number64(view, at + 0x20);
    inside(start, size);
    return {
      name: view.getUint32(at, true),
      type,
      flags: view.getUint32(at + 8, true),
      link: view.getUint32(at + 0x28, true),
      info: view.getUint32(at + 0x2c, true),
      bytes: bytes.subarray(start, start + size),
    };
  });
}

function nameTable(view: DataView, raw: readonly RawSection[]): number {
  const index = view.getUint16(0x3e, true);
  return index === SHN_XINDEX ? (raw[0]?.link ?? 0) : index;
}

function readSymbols(table: RawSection, raw: readonly RawSection[]): CodeSymbol[] {
  const strings = raw[table.link];
  if (strings === undefined || table.bytes.length % symbolSize !== 0)
    throw new InputError("malformed ELF file: malformed symbol table");
  const extended = raw.find((s) => s.type === 18 && raw[s.link] === table);
  const view = viewOf(table.bytes);
  const symbols: CodeSymbol[] = [];
  for (let at = 0; at < table.bytes.length; at += symbolSize) {
    const info = view.getUint8(at + 4);
    const index = view.getUint16(at + 6, true);
    let section = index === 0 || index >= SHN_LORESERVE ? -1 : index;
    const place = (at / symbolSize) * 4;
    if (index === SHN_XINDEX && extended !== undefined && place + 4 <= extended.bytes.length)
      section = viewOf(extended.bytes).getUint32(place, true);
    const type = info & 15;
    symbols.push({
      name: textAt(strings.bytes, view.getUint32(at, true)),
      section,
      value: section < 0 ? 0 : number64(view, at + 8),
      size: number64(view, at + 16),
      binding: info >> 4 === 0 ? "local" : info >> 4 === 2 ? "weak" : "global",
      kind: type === 2 || type === 10 ? "function" : type === 3 ? "section" : "other",
      visibility: (["default", "hidden", "hidden", "protected"] as const)[view.getUint8(at + 5) & 3]!,
    });
  }
  return symbols;
}

function readRelocations(
  { bytes }: RawSection,
  symbols: readonly CodeSymbol[],
  into: CodeRelocation[],
): void {
  if (bytes.length % relocationSize !== 0)
    throw new InputError("malformed ELF file: malformed relocation table");
  const view = viewOf(bytes);
  for (let at = 0; at < bytes.length; at += relocationSize) {
    const symbol = symbols[view.getUint32(at + 12, true)];
    if (symbol === undefined) throw new InputError("malformed ELF file: relocation without its symbol");
    into.push({
      offset: number64(view, at),
      type: view.getUint32(at + 8, true),
      symbol,
      addend: Number(view.getBigInt64(at + 16, true)),
    });
  }
}

/** The zero-terminated string at an offset of a string table. */
function textAt(table: Uint8Array, offset: number): string {
  const zero = table.indexOf(0, offset);
  if (zero < 0) throw new InputError("malformed ELF file: a name lies outside of its table");
  return Buffer.from(table.buffer, table.byteOffset + offset, zero - offset).toString("utf8");
}
