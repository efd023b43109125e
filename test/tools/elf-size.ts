/** Sizes inside ELF64 executables: sections by name, functions by symbol. Enough of ELF for measuring our own output. */
import { readFileSync } from "node:fs";

export interface ProgramSizes {
  /** Bytes of each section. */
  readonly sections: ReadonlyMap<string, number>;
  /** Bytes of code: all executable sections but those of the linker and the C run-time files (.init, .fini, .plt*). */
  readonly code: number;
  /** Bytes of each function by name; the sum where a name occurs several times. */
  readonly functions: ReadonlyMap<string, number>;
  /** Descriptions of functions (FDEs) in .eh_frame. */
  readonly descriptions: number;
}

/** What is loaded of a program besides its writable data. */
export interface LoadedSizes {
  readonly text: number;
  /** .eh_frame, .eh_frame_hdr and .gcc_except_table. */
  readonly unwind: number;
  readonly rodata: number;
}

/** Linked programs and objects alike; in an object the header that the linker makes is still missing. */
export function loadedSizes({ sections, code }: ProgramSizes): LoadedSizes {
  let unwind = 0;
  let rodata = 0;
  for (const [name, size] of sections)
    if (/^\.(eh_frame|eh_frame_hdr|gcc_except_table)(\.|$)/.test(name)) unwind += size;
    else if (/^\.rodata(\.|$)/.test(name)) rodata += size;
  return { text: code, unwind, rodata };
}

/**
 * What will be loaded of an assembled program once it is linked, with the header that the linker makes.
 * `data` is what of writable data is in the file; the sum is without it.
 */
export function assembledSizes(file: string): LoadedSizes & { readonly sum: number; readonly data: number } {
  const sizes = programSizes(file);
  const { text, unwind: tables, rodata } = loadedSizes(sizes);
  // An encoding, a pointer and a count; then where each description's code and the description itself are.
  const unwind = sizes.descriptions === 0 ? tables : tables + 12 + 8 * sizes.descriptions;
  let data = 0;
  for (const [name, size] of sizes.sections) if (/^\.data(\.|$)/.test(name)) data += size;
  return { text, unwind, rodata, sum: text + unwind + rodata, data };
}

/** Reads the section table and the symbol table (if it was not stripped). @throws Error for other files */
export function programSizes(file: string): ProgramSizes {
  const bytes = readFileSync(file);
  if (bytes.readUInt32BE(0) !== 0x7f454c46 || bytes[4] !== 2) throw new Error(`${file}: not an ELF64 file`);
  const table = Number(bytes.readBigUInt64LE(0x28));
  const entry = bytes.readUInt16LE(0x3a);
  const count = bytes.readUInt16LE(0x3c);
  const header = (i: number) => {
    const at = table + i * entry;
    return {
      name: bytes.readUInt32LE(at),
      type: bytes.readUInt32LE(at + 4),
      flags: Number(bytes.readBigUInt64LE(at + 8)),
      offset: Number(bytes.readBigUInt64LE(at + 24)),
      size: Number(bytes.readBigUInt64LE(at + 32)),
      link: bytes.readUInt32LE(at + 40),
    };
  };
  const text = (offset: number) => bytes.toString("latin1", offset, bytes.indexOf(0, offset));
  const names = header(bytes.readUInt16LE(0x3e)).offset;
  const sections = new Map<string, number>();
  const functions = new Map<string, number>();
  let code = 0;
  let descriptions = 0;
  for (let i = 1; i < count; i++) {
    const h = header(i);
    const name = text(names + h.name);
    if (/^\.eh_frame(\.|$)/.test(name)) descriptions += descriptionsIn(bytes, h.offset, h.size);
    sections.set(name, (sections.get(name) ?? 0) + h.size);
    if ((h.flags & 4) !== 0 && !/^\.(init|fini|plt.*)$/.test(name)) code += h.size; // SHF_EXECINSTR
    if (h.type !== 2) continue; // SHT_SYMTAB
    const strings = header(h.link).offset;
    for (let at = h.offset; at < h.offset + h.size; at += 24) {
      const kind = bytes[at + 4]! & 15;
      const size = Number(bytes.readBigUInt64LE(at + 16));
      if (kind !== 2 || size === 0) continue; // STT_FUNC
      const symbol = text(strings + bytes.readUInt32LE(at));
      functions.set(symbol, (functions.get(symbol) ?? 0) + size);
    }
  }
  return { sections, code, functions, descriptions };
}

/** Records are a length, what tells a common part (0) from a description, and the rest; a length of 0 ends them. */
function descriptionsIn(bytes: Buffer, offset: number, size: number): number {
  let count = 0;
  for (let at = offset; at + 8 <= offset + size; ) {
    const length = bytes.readUInt32LE(at);
    if (length === 0) break;
    if (bytes.readUInt32LE(at + 4) !== 0) count++;
    at += 4 + length;
  }
  return count;
}
