/**
 * Bits of an LLVM bitstream, as they are written: blocks of records without abbreviations, but for the text that only a
 * blob can hold. Source: LLVM's "Bitcode File Format", "Bitstream Format".
 */
import { bytesOfText } from "../../lto/ir/byte-text.js";

const endBlock = 0;
const enterBlock = 1;
const defineAbbreviation = 2;
const unabbreviated = 3;
/** The first abbreviation that a block defines. */
const firstAbbreviation = 4;
/** Bits of the numbers that tell entries apart: in a file, and in blocks of records without abbreviations or with one. */
const outerWidth = 2;
const blockWidth = 3;

export class BitWriter {
  private bytes = new Uint8Array(1 << 16);
  private view = new DataView(this.bytes.buffer);
  /** Bytes that are complete. */
  private size = 0;
  private pending = 0;
  private pendingBits = 0;
  private width = outerWidth;
  /** Outer widths, and the places of lengths. */
  private readonly blocks: { readonly width: number; readonly lengthAt: number }[] = [];

  /** @param bits up to 32 */
  fixed(value: number, bits: number): void {
    const { pendingBits } = this;
    this.pending |= value << pendingBits;
    if (pendingBits + bits < 32) {
      this.pendingBits += bits;
      return;
    }
    this.word(this.pending);
    const taken = 32 - pendingBits;
    this.pending = taken === 32 ? 0 : value >>> taken;
    this.pendingBits = bits - taken;
    if (this.pendingBits === 0) this.pending = 0;
  }

  private word(value: number): void {
    if (this.size + 4 > this.bytes.length) {
      const larger = new Uint8Array(this.bytes.length * 2);
      larger.set(this.bytes);
      this.bytes = larger;
      this.view = new DataView(larger.buffer);
    }
    this.view.setUint32(this.size, value >>> 0, true);
    this.size += 4;
  }

  private vbr(value: number | bigint, bits: number): void {
    const high = 1 << (bits - 1);
    if (typeof value === "number" && value < 0x80000000) {
      let rest = value;
      for (; rest >= high; rest >>>= bits - 1) this.fixed((rest & (high - 1)) | high, bits);
      this.fixed(rest, bits);
      return;
    }
    let rest = BigInt(value);
    for (; rest >= BigInt(high); rest >>= BigInt(bits - 1))
      this.fixed(Number(rest & BigInt(high - 1)) | high, bits);
    this.fixed(Number(rest), bits);
  }

  private align(): void {
    if (this.pendingBits > 0) this.fixed(0, 32 - this.pendingBits);
  }

  block(id: number, content: () => void): void {
    this.fixed(enterBlock, this.width);
    this.vbr(id, 8);
    this.vbr(blockWidth, 4);
    this.align();
    this.blocks.push({ width: this.width, lengthAt: this.size });
    this.word(0);
    this.width = blockWidth;
    content();
    this.fixed(endBlock, blockWidth);
    this.align();
    const { width, lengthAt } = this.blocks.pop()!;
    this.view.setUint32(lengthAt, (this.size - lengthAt) / 4 - 1, true);
    this.width = width;
  }

  /** @param operands not negative, below 2^64 */
  record(code: number, operands: readonly (number | bigint)[]): void {
    this.fixed(unabbreviated, this.width);
    this.vbr(code, 6);
    this.vbr(operands.length, 6);
    for (let i = 0; i < operands.length; i++) this.vbr(operands[i]!, 6);
  }

  /** A record whose operands are the bytes of a text, after others. */
  text(code: number, text: string, ...before: readonly number[]): void {
    this.record(code, [...before, ...bytesOfText(text)]);
  }

  /** Defines the abbreviation of `blob`: [code, numbers, blob]. Once in a block. */
  defineBlob(code: number, numbers: number): void {
    this.fixed(defineAbbreviation, this.width);
    this.vbr(2 + numbers, 5);
    this.fixed(1, 1);
    this.vbr(code, 8);
    const variableWidth = 2;
    const blob = 5;
    for (let i = 0; i < numbers; i++) {
      this.fixed(0, 1);
      this.fixed(variableWidth, 3);
      this.vbr(6, 5);
    }
    this.fixed(0, 1);
    this.fixed(blob, 3);
  }

  /** A record in the abbreviation that the block defines. */
  blob(numbers: readonly number[], bytes: Uint8Array): void {
    this.fixed(firstAbbreviation, this.width);
    for (const number of numbers) this.vbr(number, 6);
    this.vbr(bytes.length, 6);
    this.align();
    for (let i = 0; i < bytes.length; i += 4)
      this.word(
        bytes[i]! | ((bytes[i + 1] ?? 0) << 8) | ((bytes[i + 2] ?? 0) << 16) | ((bytes[i + 3] ?? 0) << 24),
      );
  }

  /** What was written, up to a multiple of four bytes. */
  finish(): Uint8Array {
    this.align();
    return this.bytes.subarray(0, this.size);
  }
}

/** Numbers of six bits each, or more of these, one after the other: lengths of strings of metadata. */
export function packedLengths(lengths: readonly number[]): Uint8Array {
  const bits: number[] = [];
  for (const length of lengths) {
    let rest = length;
    for (; rest >= 32; rest = Math.floor(rest / 32)) bits.push((rest & 31) | 32);
    bits.push(rest);
  }
  const bytes = new Uint8Array(Math.ceil((bits.length * 6) / 32) * 4);
  bits.forEach((chunk, i) => {
    const at = i * 6;
    bytes[at >> 3]! |= chunk << (at & 7);
    if ((at & 7) > 2) bytes[(at >> 3) + 1]! |= chunk >> (8 - (at & 7));
  });
  return bytes;
}

/** A signed number as LLVM writes such, its sign in the lowest bit. */
export function signed(value: bigint): bigint {
  if (value >= 0n) return value << 1n;
  // The smallest number of 64 bits has no other form.
  return value === -(1n << 63n) ? 1n : (-value << 1n) | 1n;
}
