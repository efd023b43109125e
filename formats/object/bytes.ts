/**
 * Packed byte streams: LEB128 varints, length-prefixed byte runs and strings.
 *
 * The reader is the only place where the object format touches raw memory: every read is bounds-checked, and
 * a claimed element count is accepted only when that many elements could still follow, so no allocation is
 * larger than the input. All failures are `InputError`.
 */
import { bytesOfText, textOfBytes } from "../../lto/ir/byte-text.js";
import { InputError } from "../../lto/ir/errors.js";

/** The bytes of a text. @throws InputError when it holds an unpaired surrogate that stands for no byte */
function encodeText(text: string): Uint8Array {
  if (!text.isWellFormed() && /(?![\u{dc80}-\u{dcff}])\p{Surrogate}/u.test(text))
    throw new InputError("a name or text is not valid Unicode");
  return bytesOfText(text);
}

const noBytes = new Uint8Array(0);

/** A growing byte buffer. */
export class ByteWriter {
  private buffer: Uint8Array;
  length = 0;

  /** @param capacity bytes to make room for now; without it, room is made on the first write */
  constructor(capacity = 0) {
    this.buffer = capacity === 0 ? noBytes : new Uint8Array(capacity);
  }

  private grow(extra: number): void {
    const needed = this.length + extra;
    if (needed <= this.buffer.length) return;
    const larger = new Uint8Array(Math.max(needed, this.buffer.length * 2, 64));
    larger.set(this.buffer.subarray(0, this.length));
    this.buffer = larger;
  }

  byte(value: number): void {
    if (this.length === this.buffer.length) this.grow(1);
    this.buffer[this.length++] = value;
  }

  /** Unsigned LEB128 of an integer 0 … 2^53-1. */
  uint(value: number): void {
    if (value < 0x80) {
      if (!(value >= 0)) throw new Error(`uint: ${value} is not encodable`);
      this.byte(value);
      return;
    }
    if (!Number.isSafeInteger(value)) throw new Error(`uint: ${value} is not encodable`);
    this.grow(8);
    while (value >= 0x80) {
      this.buffer[this.length++] = (value % 128) | 0x80;
      value = Math.floor(value / 128);
    }
    this.buffer[this.length++] = value;
  }

  /** Zigzag-coded integer, |value| < 2^52. */
  int(value: number): void {
    this.uint(value >= 0 ? value * 2 : -value * 2 - 1);
  }

  raw(bytes: Uint8Array): void {
    this.grow(bytes.length);
    this.buffer.set(bytes, this.length);
    this.length += bytes.length;
  }

  /** A length and that many bytes. */
  bytes(bytes: Uint8Array): void {
    this.uint(bytes.length);
    this.raw(bytes);
  }

  string(text: string): void {
    this.bytes(encodeText(text));
  }

  /** `count` low bytes of a non-negative bigint, least significant first. */
  bigint(value: bigint, count: number): void {
    this.grow(count);
    for (let i = 0; i < count; i++) {
      this.buffer[this.length++] = Number(value & 0xffn);
      value >>= 8n;
    }
  }

  /** Appends what another writer holds. */
  append(other: ByteWriter): void {
    if (other.length === 0) return;
    if (other.length > 64) {
      this.raw(other.view());
      return;
    }
    this.grow(other.length);
    for (let i = 0; i < other.length; i++) this.buffer[this.length++] = other.buffer[i]!;
  }

  /** What was written, a character a byte: a key for maps. */
  key(): string {
    let text = "";
    for (let i = 0; i < this.length; i++) text += String.fromCharCode(this.buffer[i]!);
    return text;
  }

  /** What was written, without a copy; valid until the next write. */
  view(): Uint8Array {
    return this.buffer.subarray(0, this.length);
  }

  /** A copy of exactly what was written. */
  finish(): Uint8Array {
    return this.buffer.slice(0, this.length);
  }

  clear(): void {
    this.length = 0;
  }
}

/** A bounds-checked cursor over bytes. */
export class ByteReader {
  pos = 0;
  constructor(readonly bytes: Uint8Array) {}

  get remaining(): number {
    return this.bytes.length - this.pos;
  }

  byte(): number {
    if (this.pos >= this.bytes.length) throw new InputError("truncated");
    return this.bytes[this.pos++]!;
  }

  /** Unsigned LEB128 below 2^32. */
  uint(): number {
    const { bytes, pos } = this;
    // One-byte values dominate. A read past the end falls through to the slow path, which reports it.
    if (pos < bytes.length) {
      const first = bytes[pos]!;
      if (first < 0x80) {
        this.pos = pos + 1;
        return first;
      }
    }
    const value = this.long();
    if (value > 0xffffffff) throw new InputError("a number is out of range");
    return value;
  }

  /** Unsigned LEB128 below 2^53. */
  long(): number {
    let value = 0;
    let scale = 1;
    for (let i = 0; i < 8; i++) {
      const byte = this.byte();
      value += (byte & 0x7f) * scale;
      if (byte < 0x80) {
        if (!Number.isSafeInteger(value)) break;
        return value;
      }
      scale *= 128;
    }
    throw new InputError("a number is out of range");
  }

  /** Inverse of `ByteWriter.int`. */
  int(): number {
    const value = this.long();
    return value % 2 === 0 ? value / 2 : -(value + 1) / 2;
  }

  /** An unsigned number below `limit`; `what` names it in the error. */
  below(limit: number, what: string): number {
    const value = this.uint();
    if (value >= limit) throw new InputError(`${what} ${value} is out of range`);
    return value;
  }

  /** An element count, checked against the bytes left given the least bytes an element takes. */
  count(what: string, leastBytes = 1): number {
    const value = this.uint();
    if (value * leastBytes > this.remaining)
      throw new InputError(`${value} ${what} claimed, but the data ends before`);
    return value;
  }

  /** `length` bytes as a view into the input. */
  raw(length: number): Uint8Array {
    if (length > this.remaining) throw new InputError("truncated");
    const start = this.pos;
    this.pos = start + length;
    return this.bytes.subarray(start, this.pos);
  }

  bytesRun(): Uint8Array {
    return this.raw(this.long());
  }

  string(): string {
    return textOfBytes(this.bytesRun());
  }

  /** Little-endian unsigned integer of `count` bytes. */
  bigint(count: number): bigint {
    const bytes = this.raw(count);
    let value = 0n;
    let i = count;
    // Eight bytes at a time keep wide integers linear.
    while (i % 8 !== 0) value = (value << 8n) | BigInt(bytes[--i]!);
    if (i > 0) {
      const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
      while (i > 0) {
        i -= 8;
        value = (value << 64n) | view.getBigUint64(i, true);
      }
    }
    return value;
  }
}
