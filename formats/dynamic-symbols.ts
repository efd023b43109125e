/**
 * What a shared library mentions by name: its dynamic symbols, asked one name at a time. Of a library only the tables
 * are read, and a definition is found by its hash, so a question costs the same whatever the library has.
 *
 * Layouts: System V ABI (gABI), chapters 4 and 5; `.gnu.hash`: a Bloom filter, then buckets and chains of the symbols
 * from a first one on (the others, which have no definition, stand before it), as GNU ld and lld write it.
 */
import { bytesOfText } from "../lto/ir/byte-text.js";
import { InputError } from "../lto/ir/errors.js";
import type { Mention } from "../lto/link/input.js";

/** Gives bytes of the file, fewer where it ends. */
export type ReadAt = (offset: number, size: number) => Uint8Array;

/** A name with what looking it up takes. */
export interface HashedName {
  readonly bytes: Uint8Array;
  /** As `.gnu.hash` has it, unsigned. */
  readonly hash: number;
}

/** The name's bytes and hash, for any number of libraries. */
export function hashedName(name: string): HashedName {
  const bytes = bytesOfText(name);
  let hash = 5381;
  for (const byte of bytes) hash = (Math.imul(hash, 33) + byte) | 0;
  return { bytes, hash: hash >>> 0 };
}

const SHT_DYNSYM = 11;
const SHT_GNU_HASH = 0x6ffffff6;
const STB_LOCAL = 0;
const ET_DYN = 3;
const EM_X86_64 = 62;
const headerSize = 64;
const sectionHeaderSize = 64;
const symbolSize = 24;
const hashHeaderSize = 16;

interface HashTable {
  readonly view: DataView;
  readonly filterWords: number;
  readonly shift: number;
  readonly buckets: number;
  /** Number of the first symbol in it. */
  readonly first: number;
}

export class DynamicSymbols {
  private readonly symbols: DataView;
  private readonly strings: Uint8Array;
  private readonly table: HashTable | null;
  /** Symbols that are in no hash table, by their names' hashes. */
  private readonly others = new Map<number, number[]>();

  /** @throws InputError for what is no shared library for x86-64, or is malformed */
  constructor(private readonly read: ReadAt) {
    const header = this.bytes(0, headerSize);
    const isOurs = header.getUint32(0, false) === 0x7f454c46 && header.getUint16(4, false) === 0x0201;
    if (!isOurs || header.getUint16(16, true) !== ET_DYN || header.getUint16(18, true) !== EM_X86_64)
      throw new InputError("not a shared library for x86-64");
    const count = header.getUint16(0x3c, true);
    const sections = this.bytes(offsetAt(header, 0x28), count * sectionHeaderSize);
    const find = (type: number): number => {
      for (let at = 0; at < sections.byteLength; at += sectionHeaderSize)
        if (sections.getUint32(at + 4, true) === type) return at;
      return -1;
    };
    const contents = (at: number): DataView =>
      this.bytes(offsetAt(sections, at + 0x18), offsetAt(sections, at + 0x20));
    const symbols = find(SHT_DYNSYM);
    if (symbols < 0) throw new InputError("no dynamic symbols");
    this.symbols = contents(symbols);
    const strings = sections.getUint32(symbols + 0x28, true) * sectionHeaderSize;
    if (strings >= sections.byteLength) throw malformed("no names of symbols");
    const { buffer, byteOffset, byteLength } = contents(strings);
    this.strings = new Uint8Array(buffer, byteOffset, byteLength);
    const hashes = find(SHT_GNU_HASH);
    this.table = hashes < 0 ? null : hashTable(contents(hashes));
    const all = Math.floor(this.symbols.byteLength / symbolSize);
    for (let number = 1; number < Math.min(all, this.table?.first ?? all); number++) this.enter(number);
  }

  /** Whether the library defines the name, wants it defined, or neither; of several versions one will do. */
  mention(name: HashedName): Mention {
    const number = this.hashed(name) ?? this.others.get(name.hash)?.find((n) => this.isNamed(n, name.bytes));
    if (number === undefined) return null;
    return this.symbols.getUint16(number * symbolSize + 6, true) === 0 ? "undefined" : "defined";
  }

  private bytes(offset: number, size: number): DataView {
    const bytes = this.read(offset, size);
    if (bytes.length < size) throw malformed("a table lies outside of the file");
    return new DataView(bytes.buffer, bytes.byteOffset, size);
  }

  private enter(number: number): void {
    if (this.symbols.getUint8(number * symbolSize + 4) >> 4 === STB_LOCAL) return;
    const start = this.nameAt(number);
    let hash = 5381;
    for (let at = start; at < this.strings.length && this.strings[at] !== 0; at++)
      hash = (Math.imul(hash, 33) + this.strings[at]!) | 0;
    const list = this.others.get(hash >>> 0);
    if (list === undefined) this.others.set(hash >>> 0, [number]);
    else list.push(number);
  }

  private nameAt(number: number): number {
    return this.symbols.getUint32(number * symbolSize, true);
  }

  private isNamed(number: number, name: Uint8Array): boolean {
    const at = this.nameAt(number);
    if (this.strings[at + name.length] !== 0) return false;
    for (let i = 0; i < name.length; i++) if (this.strings[at + i] !== name[i]) return false;
    return true;
  }

  /** The number of a symbol in the hash table. */
  private hashed({ bytes, hash }: HashedName): number | undefined {
    const { table } = this;
    if (table === null) return undefined;
    const { view, filterWords, shift, buckets, first } = table;
    const word = hashHeaderSize + 8 * ((hash >>> 6) % filterWords);
    const hasBit = (bit: number): boolean =>
      ((view.getUint32(word + (bit >> 5) * 4, true) >>> (bit & 31)) & 1) === 1;
    if (!hasBit(hash & 63) || !hasBit((hash >>> shift) & 63)) return undefined;
    const chains = hashHeaderSize + 8 * filterWords + 4 * buckets;
    let number = view.getUint32(chains - 4 * buckets + 4 * (hash % buckets), true);
    if (number < first) return undefined;
    for (; ; number++) {
      const at = chains + 4 * (number - first);
      if (at + 4 > view.byteLength || (number + 1) * symbolSize > this.symbols.byteLength) return undefined;
      const chained = view.getUint32(at, true);
      // The lowest bit ends a chain.
      if (chained >>> 1 === hash >>> 1 && this.isNamed(number, bytes)) return number;
      if ((chained & 1) === 1) return undefined;
    }
  }
}

/** @throws InputError when it is none */
function hashTable(view: DataView): HashTable {
  if (view.byteLength < hashHeaderSize) throw malformed("truncated hash table");
  const buckets = view.getUint32(0, true);
  const first = view.getUint32(4, true);
  const filterWords = view.getUint32(8, true);
  const shift = view.getUint32(12, true) & 31;
  if (buckets === 0 || filterWords === 0) throw malformed("empty hash table");
  if (hashHeaderSize + 8 * filterWords + 4 * buckets > view.byteLength)
    throw malformed("truncated hash table");
  return { view, filterWords, shift, buckets, first };
}

const malformed = (what: string): InputError => new InputError(`malformed shared library: ${what}`);

/** A 64-bit field that says where something is in the file, or how large. */
function offsetAt(view: DataView, at: number): number {
  const value = view.getBigUint64(at, true);
  if (value > 0x7fffffffn) throw malformed("a number is out of range");
  return Number(value);
}
