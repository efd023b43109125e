/**
 * The bitstream container under LLVM bitcode: bits, abbreviations, records and nested blocks
 * (LLVM's "Bitcode File Format" document, section "Bitstream Format").
 *
 * Method: the input is seen as little-endian 32-bit words and a bit position. A record is decoded into
 * reused buffers: `lo[i]`, `hi[i]` are the two halves of its 64-bit operand i, so that the usual 32-bit
 * operand costs no allocation. Nested blocks are kept on a stack; leaving one restores the abbreviations
 * of its parent. O(bits read).
 *
 * Every read is checked against the end of the innermost block, and buffers grow with the bits that are
 * there, never with a count that the input claims.
 *
 * Breaks if: the host is big-endian, or the input has 2^32 bits or more (rejected).
 */
import { textOfBytes } from "../../../lto/ir/byte-text.js";
import { InputError } from "../../../lto/ir/errors.js";

const enum Encoding {
  Literal = 0,
  Fixed = 1,
  Vbr = 2,
  Array = 3,
  Char6 = 4,
  Blob = 5,
}

/** One abbreviation: encodings of the operands, the record code first. */
export interface Abbreviation {
  readonly kinds: readonly number[];
  /** Width of `Fixed` and `Vbr`; low word of a literal. */
  readonly values: readonly number[];
  /** High word of a literal. */
  readonly highs: readonly number[];
}

/** What `advance` met. */
export const Entry = { End: 0, SubBlock: 1, Record: 3 } as const;

const char6 = new Uint8Array(64);
for (let i = 0; i < 64; i++)
  char6[i] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._".charCodeAt(i);

const blockInfoId = 0;
const maxWidth = 32;
const noAbbreviations: readonly Abbreviation[] = [];

interface Frame {
  readonly scope: AbbreviationScope;
  readonly end: number;
}

/** What abbreviation ids mean inside one block: ids 4, 5, … are `inherited`, then `own`. */
export interface AbbreviationScope {
  /** Bits of an abbreviation id. */
  readonly width: number;
  /** From BLOCKINFO; shared. */
  readonly inherited: readonly Abbreviation[];
  /** Defined in the block so far. */
  readonly own: Abbreviation[];
}

/** Abbreviations that BLOCKINFO blocks define for blocks of each id. */
export type BlockInfo = Map<number, Abbreviation[]>;

export class BitReader {
  /** Next bit to read. */
  pos = 0;
  /** Where the entry that `advance` last met begins; definitions of abbreviations before it are behind. */
  entryPos = 0;
  /** First bit past the innermost block. */
  end: number;
  /** Abbreviations of the innermost block. */
  scope: AbbreviationScope = { width: 2, inherited: noAbbreviations, own: [] };
  /** Id of the block that `advance` met last. */
  blockId = 0;
  /** Where the abbreviations of each kind of block are found and stored. */
  blockInfo: BlockInfo = new Map();

  // The record read last.
  code = 0;
  /** Number of its operands, without a blob. */
  count = 0;
  lo = new Uint32Array(64);
  hi = new Uint32Array(64);
  /** Some operand has a non-zero high half. */
  wide = false;
  /** Byte range of its blob; empty when it has none. */
  blobStart = 0;
  blobEnd = 0;

  private readonly frames: Frame[] = [];

  private constructor(
    private readonly words: Uint32Array,
    readonly bytes: Uint8Array,
  ) {
    this.end = words.length * 32;
  }

  /** A reader of `bytes`, which are copied only when they are not aligned to words. */
  static of(bytes: Uint8Array): BitReader {
    if (bytes.length >= 1 << 29) throw new InputError("bitcode of 512 MiB or more");
    if (bytes.byteOffset % 4 !== 0 || bytes.length % 4 !== 0) {
      const copy = new Uint8Array((bytes.length + 3) & ~3);
      copy.set(bytes);
      bytes = copy;
    }
    return new BitReader(new Uint32Array(bytes.buffer, bytes.byteOffset, bytes.length >> 2), bytes);
  }

  /** Another reader of the same input and block information, at its start. */
  fork(): BitReader {
    const other = new BitReader(this.words, this.bytes);
    other.blockInfo = this.blockInfo;
    return other;
  }

  private truncated(): never {
    throw new InputError("malformed bitcode: unexpected end of a block");
  }

  /** An unsigned field of 0 to 32 bits. */
  fixed(bits: number): number {
    const pos = this.pos;
    const next = pos + bits;
    if (next > this.end) this.truncated();
    this.pos = next;
    const index = pos >>> 5;
    const shift = pos & 31;
    let value = this.words[index]! >>> shift;
    if (shift + bits > 32) value |= this.words[index + 1]! << (32 - shift);
    return bits === 32 ? value >>> 0 : value & ((1 << bits) - 1);
  }

  /** A variable-width number in chunks of `bits`; inexact above 2^53. */
  vbr(bits: number): number {
    const high = 1 << (bits - 1);
    let chunk = this.fixed(bits);
    if ((chunk & high) === 0) return chunk;
    let value = chunk & (high - 1);
    let scale = 2 ** (bits - 1);
    do {
      if (scale >= 2 ** 70) throw new InputError("malformed bitcode: number of more than 64 bits");
      chunk = this.fixed(bits);
      value += (chunk & (high - 1)) * scale;
      scale *= 2 ** (bits - 1);
    } while ((chunk & high) !== 0);
    return value;
  }

  /** Reads a variable-width number into operand `i`. */
  private vbrInto(i: number, bits: number): void {
    const high = 1 << (bits - 1);
    const mask = high - 1;
    let chunk = this.fixed(bits);
    if ((chunk & high) === 0) {
      this.lo[i] = chunk;
      this.hi[i] = 0;
      return;
    }
    let lo = chunk & mask;
    let hi = 0;
    let shift = bits - 1;
    do {
      if (shift >= 70) throw new InputError("malformed bitcode: number of more than 64 bits");
      chunk = this.fixed(bits);
      const payload = chunk & mask;
      if (shift < 32) {
        lo |= payload << shift;
        hi |= payload >>> (32 - shift);
      } else if (shift < 64) hi |= payload << (shift - 32);
      shift += bits - 1;
    } while ((chunk & high) !== 0);
    this.lo[i] = lo;
    this.hi[i] = hi;
    if (hi !== 0) this.wide = true;
  }

  private align(): void {
    this.pos = (this.pos + 31) & ~31;
    if (this.pos < 0) this.pos += 2 ** 32;
    if (this.pos > this.end) this.truncated();
  }

  get atEnd(): boolean {
    return this.pos >= this.end;
  }

  /**
   * Goes on to the next record (decoded), nested block (`blockId` set; call `enter` or `skip`) or end of
   * the innermost block (left). Definitions of abbreviations are absorbed.
   */
  advance(): number {
    for (;;) {
      this.entryPos = this.pos;
      const id = this.fixed(this.scope.width);
      if (id >= 3) {
        if (id === 3) this.readUnabbreviated();
        else this.readAbbreviated(this.abbreviationOf(id));
        return Entry.Record;
      }
      if (id === 1) {
        this.blockId = this.vbr(8);
        return Entry.SubBlock;
      }
      if (id === 0) {
        this.leave();
        return Entry.End;
      }
      this.scope.own.push(this.readDefinition());
    }
  }

  private abbreviationOf(id: number): Abbreviation {
    const { inherited, own } = this.scope;
    const index = id - 4;
    const abbreviation = index < inherited.length ? inherited[index] : own[index - inherited.length];
    if (abbreviation === undefined)
      throw new InputError(`malformed bitcode: undefined abbreviation ${id} in block ${this.blockId}`);
    return abbreviation;
  }

  private leave(): void {
    const frame = this.frames.pop();
    if (frame === undefined) throw new InputError("malformed bitcode: end of block outside any block");
    this.align();
    if (this.pos !== this.end) throw new InputError("malformed bitcode: block is longer than its content");
    this.scope = frame.scope;
    this.end = frame.end;
  }

  /** Reads a block's header; @returns its abbreviation width, and leaves `pos` at its content. */
  private header(): { width: number; end: number } {
    const width = this.vbr(4);
    this.align();
    const words = this.fixed(32);
    const end = this.pos + words * 32;
    if (end > this.end) throw new InputError("malformed bitcode: block is longer than its container");
    return { width, end };
  }

  /** Enters the block that `advance` met. */
  enter(): void {
    const { width, end } = this.header();
    if (width < 2 || width > maxWidth) throw new InputError("malformed bitcode: bad abbreviation width");
    this.frames.push({ scope: this.scope, end: this.end });
    this.end = end;
    this.scope = { width, inherited: this.blockInfo.get(this.blockId) ?? noAbbreviations, own: [] };
  }

  /** Skips the block that `advance` met. */
  skip(): void {
    this.pos = this.header().end;
  }

  /** Enters a block of id `blockId` whose header is at `pos`, forgetting all enclosing blocks. */
  enterAt(pos: number, blockId: number): void {
    this.frames.length = 0;
    this.end = this.words.length * 32;
    this.pos = pos;
    this.blockId = blockId;
    this.enter();
  }

  /** Reads the record at `pos` of a block whose abbreviations are `scope` and which ends at `end`. */
  recordAt(pos: number, scope: AbbreviationScope, end: number): void {
    this.frames.length = 0;
    this.pos = pos;
    this.end = end;
    this.scope = scope;
    const id = this.fixed(scope.width);
    if (id === 3) this.readUnabbreviated();
    else if (id > 3) this.readAbbreviated(this.abbreviationOf(id));
    else throw new InputError("malformed bitcode: no record where an index says there is one");
  }

  /** Reads the content of the BLOCKINFO block that `advance` met into `blockInfo`. */
  readBlockInfo(): void {
    this.blockId = blockInfoId;
    this.enter();
    let target: Abbreviation[] | undefined;
    for (;;) {
      const id = this.fixed(this.scope.width);
      if (id === 0) {
        this.leave();
        return;
      }
      if (id === 1) {
        this.blockId = this.vbr(8);
        this.skip();
      } else if (id === 2) {
        const abbreviation = this.readDefinition();
        if (target === undefined) throw new InputError("malformed bitcode: BLOCKINFO without a block id");
        target.push(abbreviation);
      } else {
        if (id === 3) this.readUnabbreviated();
        else this.readAbbreviated(this.abbreviationOf(id));
        if (this.code === 1) {
          if (this.count < 1 || this.wide) throw new InputError("malformed bitcode: BLOCKINFO block id");
          const block = this.lo[0]!;
          target = this.blockInfo.get(block);
          if (target === undefined) this.blockInfo.set(block, (target = []));
        }
      }
    }
  }

  private readDefinition(): Abbreviation {
    const operands = this.vbr(5);
    if (operands < 1 || operands > this.end - this.pos)
      throw new InputError("malformed bitcode: abbreviation without operands");
    const kinds: number[] = [];
    const values: number[] = [];
    const highs: number[] = [];
    for (let i = 0; i < operands; i++) {
      if (this.fixed(1) === 1) {
        this.vbrInto(0, 8);
        kinds.push(Encoding.Literal);
        values.push(this.lo[0]!);
        highs.push(this.hi[0]!);
        continue;
      }
      let kind = this.fixed(3);
      let value = 0;
      if (kind === Encoding.Fixed || kind === Encoding.Vbr) {
        value = this.vbr(5);
        if (value > maxWidth || (kind === Encoding.Vbr && value === 1))
          throw new InputError("malformed bitcode: field width in an abbreviation");
        if (value === 0) kind = Encoding.Literal;
      } else if (kind < Encoding.Array || kind > Encoding.Blob)
        throw new InputError("malformed bitcode: operand encoding in an abbreviation");
      kinds.push(kind);
      values.push(value);
      highs.push(0);
    }
    checkDefinition(kinds);
    return { kinds, values, highs };
  }

  private reserve(count: number): void {
    if (count <= this.lo.length) return;
    const size = Math.max(count, this.lo.length * 2);
    const lo = new Uint32Array(size);
    lo.set(this.lo);
    this.lo = lo;
    const hi = new Uint32Array(size);
    hi.set(this.hi);
    this.hi = hi;
  }

  private startRecord(): void {
    this.wide = false;
    this.blobStart = 0;
    this.blobEnd = 0;
  }

  private readUnabbreviated(): void {
    this.startRecord();
    this.code = this.vbr(6);
    const count = this.vbr(6);
    if (count * 6 > this.end - this.pos) this.truncated();
    this.reserve(count);
    for (let i = 0; i < count; i++) this.vbrInto(i, 6);
    this.count = count;
  }

  private readAbbreviated(abbreviation: Abbreviation): void {
    this.startRecord();
    const { kinds, values, highs } = abbreviation;
    this.scalar(0, kinds[0]!, values[0]!, highs[0]!);
    this.code = this.hi[0] === 0 ? this.lo[0]! : -1;
    this.wide = false;
    const operands = kinds.length;
    this.reserve(operands);
    let count = 0;
    for (let i = 1; i < operands; i++) {
      const kind = kinds[i]!;
      if (kind === Encoding.Array) {
        count = this.readArray(count, kinds[i + 1]!, values[i + 1]!);
        break;
      }
      if (kind === Encoding.Blob) {
        this.readBlob();
        break;
      }
      this.scalar(count++, kind, values[i]!, highs[i]!);
    }
    this.count = count;
  }

  private scalar(i: number, kind: number, value: number, high: number): void {
    if (kind === Encoding.Vbr) {
      this.vbrInto(i, value);
      return;
    }
    let hi = 0;
    let lo: number;
    if (kind === Encoding.Fixed) lo = this.fixed(value);
    else if (kind === Encoding.Char6) lo = char6[this.fixed(6)]!;
    else {
      lo = value;
      hi = high;
      if (hi !== 0) this.wide = true;
    }
    this.lo[i] = lo;
    this.hi[i] = hi;
  }

  private readArray(first: number, kind: number, width: number): number {
    const length = this.vbr(6);
    const bits = kind === Encoding.Char6 ? 6 : width;
    if (length * bits > this.end - this.pos) this.truncated();
    const count = first + length;
    this.reserve(count);
    if (kind === Encoding.Vbr) for (let i = first; i < count; i++) this.vbrInto(i, width);
    else {
      const lo = this.lo;
      if (kind === Encoding.Fixed) for (let i = first; i < count; i++) lo[i] = this.fixed(width);
      else for (let i = first; i < count; i++) lo[i] = char6[this.fixed(6)]!;
      this.hi.fill(0, first, count);
    }
    return count;
  }

  private readBlob(): void {
    const length = this.vbr(6);
    this.align();
    if (length * 8 > this.end - this.pos) this.truncated();
    this.blobStart = this.pos / 8;
    this.blobEnd = this.blobStart + length;
    this.pos += length * 8;
    this.align();
  }

  /** Operand `i` as a number; inexact above 2^53. */
  number(i: number): number {
    return this.hi[i]! * 4294967296 + this.lo[i]!;
  }

  /** Operand `i` as a bigint. */
  big(i: number): bigint {
    const hi = this.hi[i]!;
    return hi === 0 ? BigInt(this.lo[i]!) : (BigInt(hi) << 32n) | BigInt(this.lo[i]!);
  }

  /** Operands `from` … `to`, one byte each, as bytes. */
  byteOperands(from: number, to: number): Uint8Array {
    const bytes = new Uint8Array(to - from);
    const lo = this.lo;
    for (let i = from; i < to; i++) bytes[i - from] = lo[i]!;
    return bytes;
  }

  /** Operands `from` … `to` (all that remain when omitted), one byte each, as text. */
  text(from: number, to = this.count): string {
    return textOfBytes(this.byteOperands(from, Math.max(from, to)));
  }
}

/** Literals cost a record no bits, so only a few are allowed; LLVM uses up to three. */
const maxLiterals = 16;

function checkDefinition(kinds: readonly number[]): void {
  const count = kinds.length;
  if (kinds.filter((kind) => kind === Encoding.Literal).length > maxLiterals)
    throw new InputError("malformed bitcode: too many literals in an abbreviation");
  for (let i = 0; i < count; i++) {
    const kind = kinds[i]!;
    if (kind === Encoding.Array) {
      const element = kinds[i + 1];
      const scalar = element === Encoding.Fixed || element === Encoding.Vbr || element === Encoding.Char6;
      if (i === 0 || i + 2 !== count || !scalar)
        throw new InputError("malformed bitcode: misplaced array in an abbreviation");
    } else if (kind === Encoding.Blob && (i === 0 || i + 1 !== count))
      throw new InputError("malformed bitcode: misplaced blob in an abbreviation");
  }
}
