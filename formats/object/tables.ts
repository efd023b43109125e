/**
 * MessagePack tables, read defensively.
 *
 * Only nil-free plain data is allowed: integers, doubles, strings, binary and arrays. `checkTables` walks the
 * bytes before the library sees them and refuses everything else (maps, extensions and the library's own
 * record definitions, which it would compile into code) as well as counts that the bytes left cannot hold
 * and deep nesting. `Row` then checks the type and range of each field as it is taken.
 */
// Not the package's main entry: that looks for a native addon, which takes longer than small tables gain by it.
import { Packr } from "msgpackr/pack";
import { Unpackr } from "msgpackr/unpack";
import { bytesOfText, textOfBytes } from "../../lto/ir/byte-text.js";
import { InputError } from "../../lto/ir/errors.js";
import type { Vocabulary } from "./enums.js";

export type Table = number | string | Uint8Array | readonly Table[];

const options = { useRecords: false, mapsAsObjects: true, variableMapSize: true, bundleStrings: false };

export function packTables(tables: Table): Uint8Array {
  return new Packr(options).pack(isPlain(tables) ? tables : asBytes(tables));
}

/** Whether MessagePack's texts can hold all texts. */
const isPlain = (table: Table): boolean =>
  typeof table === "string" ? isPlainText(table) : !Array.isArray(table) || table.every(isPlain);

/** A byte-order mark at the start would be lost in reading. */
const isPlainText = (text: string): boolean => text.isWellFormed() && !text.startsWith("\ufeff");

/** With the texts that are not Unicode (byte-text.ts) as bytes. */
function asBytes(table: Table): Table {
  if (typeof table === "string") return isPlainText(table) ? table : bytesOfText(table);
  return typeof table === "number" || table instanceof Uint8Array ? table : table.map(asBytes);
}

const maxNesting = 8;

/** Field widths of MessagePack's headers, from its specification ("Formats"). */
class Checker {
  private pos = 0;
  constructor(private readonly bytes: Uint8Array) {}

  private skip(count: number): void {
    if (count > this.bytes.length - this.pos) throw new InputError("truncated tables");
    this.pos += count;
  }

  private number(width: number): number {
    const start = this.pos;
    this.skip(width);
    let value = 0;
    for (let i = 0; i < width; i++) value = value * 256 + this.bytes[start + i]!;
    return value;
  }

  /** Walks one value and what it contains. */
  value(nesting: number): void {
    const head = this.number(1);
    if (head < 0x80 || head >= 0xe0) return; // Small integer.
    const elements = this.arrayLength(head);
    if (elements < 0) {
      this.skip(this.payload(head));
      return;
    }
    if (nesting === maxNesting) throw new InputError("tables are nested too deep");
    if (elements > this.bytes.length - this.pos) throw new InputError("truncated tables");
    for (let i = 0; i < elements; i++) this.value(nesting + 1);
  }

  /** Element count when `head` starts an array, else -1. */
  private arrayLength(head: number): number {
    if (head >= 0x90 && head < 0xa0) return head & 0x0f;
    if (head === 0xdc) return this.number(2);
    return head === 0xdd ? this.number(4) : -1;
  }

  /** Bytes that follow the header of anything but an array. */
  private payload(head: number): number {
    if (head >= 0xa0 && head < 0xc0) return head & 0x1f; // Short string.
    switch (head) {
      case 0xc4: // bin 8, str 8
      case 0xd9:
        return this.number(1);
      case 0xc5: // bin 16, str 16
      case 0xda:
        return this.number(2);
      case 0xc6: // bin 32, str 32
      case 0xdb:
        return this.number(4);
      case 0xcc: // uint 8
      case 0xd0: // int 8
        return 1;
      case 0xcd: // uint 16
      case 0xd1: // int 16
        return 2;
      case 0xca: // float 32
      case 0xce: // uint 32
      case 0xd2: // int 32
        return 4;
      case 0xcb: // float 64
        return 8;
      default:
        throw new InputError("unexpected kind of data in the tables");
    }
  }

  end(): void {
    if (this.pos !== this.bytes.length) throw new InputError("trailing bytes after the tables");
  }
}

/** @throws InputError unless the bytes are one value of the allowed kinds */
export function unpackTables(bytes: Uint8Array): Table {
  const checker = new Checker(bytes);
  checker.value(0);
  checker.end();
  try {
    return new Unpackr(options).unpack(bytes) as Table;
  } catch {
    throw new InputError("malformed tables");
  }
}

/** Takes the fields of one array in order, checking each. All methods throw InputError. */
export class Row {
  private next = 0;
  private readonly fields: readonly unknown[];

  constructor(
    table: unknown,
    private readonly what: string,
  ) {
    if (!Array.isArray(table)) throw new InputError(`malformed ${what}`);
    this.fields = table;
  }

  private take(): unknown {
    if (this.next >= this.fields.length) throw new InputError(`malformed ${this.what}: too few fields`);
    return this.fields[this.next++];
  }

  /** An integer in 0 … limit-1. */
  int(limit: number): number {
    const value = this.take();
    if (typeof value !== "number" || !Number.isInteger(value) || value < 0 || value >= limit)
      throw new InputError(`malformed ${this.what}: a number is out of range`);
    return value;
  }

  bool(): boolean {
    return this.int(2) === 1;
  }

  /** 0, or a power of two up to 2^32. */
  align(): number {
    const shift = this.int(34);
    return shift === 0 ? 0 : 2 ** (shift - 1);
  }

  /** Element `int - 1` of a list; null for 0. */
  optional<T>(list: readonly T[]): T | null {
    const index = this.int(list.length + 1);
    return index === 0 ? null : list[index - 1]!;
  }

  element<T>(list: readonly T[]): T {
    return list[this.int(list.length)]!;
  }

  oneOf<T extends string>(vocabulary: Vocabulary<T>): T {
    return this.element(vocabulary.names);
  }

  string(): string {
    const value = this.take();
    if (value instanceof Uint8Array) return textOfBytes(value);
    if (typeof value !== "string") throw new InputError(`malformed ${this.what}: a text is expected`);
    return value;
  }

  /** A text without the zero byte, which no symbol or section name can hold. */
  name(): string {
    const value = this.string();
    if (value.includes("\0")) throw new InputError(`malformed ${this.what}: a name holds a zero byte`);
    return value;
  }

  /** An integer of at most 53 bits, or a text. */
  intOrString(): number | string {
    const value = this.take();
    if (value instanceof Uint8Array) return textOfBytes(value);
    if (typeof value === "string" || Number.isSafeInteger(value)) return value as number | string;
    throw new InputError(`malformed ${this.what}: a number or text is expected`);
  }

  bytes(): Uint8Array {
    const value = this.take();
    if (!(value instanceof Uint8Array)) throw new InputError(`malformed ${this.what}: bytes are expected`);
    return value;
  }

  list(): readonly unknown[] {
    const value = this.take();
    if (!Array.isArray(value)) throw new InputError(`malformed ${this.what}: a list is expected`);
    return value;
  }

  end(): void {
    if (this.next !== this.fields.length) throw new InputError(`malformed ${this.what}: too many fields`);
  }
}
