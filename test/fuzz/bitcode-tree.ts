/**
 * Bitcode as a tree of blocks and records, to be damaged where a flipped bit would only derail the reader:
 * written back, every record is whole and unabbreviated, and every length is right.
 */

import { BitReader, Entry } from "../../frontend/llvm/bitcode/bitstream.js";
import type { Random } from "../support/random.js";

export interface BitRecord {
  code: number;
  operands: bigint[];
  blob: Uint8Array | null;
}
export interface BitBlock {
  id: number;
  items: (BitRecord | BitBlock)[];
}

const isBlock = (item: BitRecord | BitBlock): item is BitBlock => "items" in item;

const rawMagic = 0xdec04342;

/** The top-level blocks of a raw bitcode file. */
export function readTree(bytes: Uint8Array): BitBlock[] {
  const reader = BitReader.of(bytes);
  if (reader.fixed(32) !== rawMagic) throw new Error("not raw bitcode");
  const blocks: BitBlock[] = [];
  while (!reader.atEnd) {
    if (reader.advance() !== Entry.SubBlock) throw new Error("a record outside of any block");
    const block = readBlock(reader);
    if (block !== null) blocks.push(block);
  }
  return blocks;
}

/** Abbreviations are not needed to write, so BLOCKINFO gives null. */
function readBlock(reader: BitReader): BitBlock | null {
  const id = reader.blockId;
  if (id === 0) {
    reader.readBlockInfo();
    return null;
  }
  const block: BitBlock = { id, items: [] };
  reader.enter();
  for (;;) {
    const entry = reader.advance();
    if (entry === Entry.End) return block;
    if (entry === Entry.SubBlock) {
      const inner = readBlock(reader);
      if (inner !== null) block.items.push(inner);
      continue;
    }
    const operands = Array.from({ length: reader.count }, (_, i) => reader.big(i));
    const blob = reader.blobEnd === 0 ? null : reader.bytes.slice(reader.blobStart, reader.blobEnd);
    block.items.push({ code: reader.code, operands, blob });
  }
}

/** Appends fields of bits to a growing buffer. */
class Writer {
  private bytes = new Uint8Array(4096);
  private bit = 0;

  private grow(bits: number): void {
    if ((this.bit + bits) / 8 + 8 <= this.bytes.length) return;
    const bytes = new Uint8Array(this.bytes.length * 2 + bits / 8);
    bytes.set(this.bytes);
    this.bytes = bytes;
  }
  fixed(value: number, bits: number): void {
    this.grow(bits);
    for (let i = 0; i < bits; i++, this.bit++)
      this.bytes[this.bit >> 3]! |= (Math.floor(value / 2 ** i) & 1) << (this.bit & 7);
  }
  vbr(value: bigint, bits: number): void {
    let rest = BigInt.asUintN(64, value);
    const mask = (1n << BigInt(bits - 1)) - 1n;
    for (; rest > mask; rest >>= BigInt(bits - 1)) this.fixed(Number((rest & mask) | (mask + 1n)), bits);
    this.fixed(Number(rest), bits);
  }
  align(): void {
    this.bit = (this.bit + 31) & ~31;
    this.grow(32);
  }
  get words(): number {
    return this.bit / 32;
  }
  patch(word: number, value: number): void {
    new DataView(this.bytes.buffer).setUint32(word * 4, value, true);
  }
  blob(bytes: Uint8Array): void {
    this.align();
    this.grow(bytes.length * 8 + 64);
    this.bytes.set(bytes, this.bit / 8);
    this.bit += bytes.length * 8;
    this.align();
  }
  take(): Uint8Array {
    return this.bytes.slice(0, this.bit / 8);
  }
}

const width = 4;

export function writeTree(blocks: readonly BitBlock[]): Uint8Array {
  const out = new Writer();
  out.fixed(rawMagic, 32);
  for (const block of blocks) writeBlock(out, block, 2);
  return out.take();
}

function writeBlock(out: Writer, block: BitBlock, outerWidth: number): void {
  out.fixed(1, outerWidth);
  out.vbr(BigInt(block.id), 8);
  out.vbr(BigInt(width), 4);
  out.align();
  const lengthAt = out.words;
  out.fixed(0, 32);
  for (const item of block.items)
    if (isBlock(item)) writeBlock(out, item, width);
    else if (item.blob !== null) writeBlobRecord(out, item, item.blob);
    else {
      out.fixed(3, width);
      out.vbr(BigInt(item.code), 6);
      out.vbr(BigInt(item.operands.length), 6);
      for (const operand of item.operands) out.vbr(operand, 6);
    }
  out.fixed(0, width);
  out.align();
  out.patch(lengthAt, out.words - lengthAt - 1);
}

/** Defines an abbreviation for the record first; only as many as ids of `width` bits allow are to be expected. */
function writeBlobRecord(out: Writer, { code, operands }: BitRecord, blob: Uint8Array): void {
  out.fixed(2, width);
  out.vbr(BigInt(operands.length + 2), 5);
  out.fixed(1, 1);
  out.vbr(BigInt(code), 8);
  for (let i = 0; i < operands.length; i++) {
    out.fixed(0, 1);
    out.fixed(2, 3);
    out.vbr(6n, 5);
  }
  out.fixed(0, 1);
  out.fixed(5, 3);
  out.fixed(4, width);
  for (const operand of operands) out.vbr(operand, 6);
  out.vbr(BigInt(blob.length), 6);
  out.blob(blob);
}

function allBlocks(blocks: readonly BitBlock[]): BitBlock[] {
  return blocks.flatMap((block) => [block, ...allBlocks(block.items.filter(isBlock))]);
}

const extremes = [0n, 1n, 2n, 3n, 31n, 64n, 255n, 1n << 31n, (1n << 32n) - 1n, 1n << 53n, (1n << 64n) - 1n];

/** Damages one record or block of the tree. */
export function damageTree(blocks: BitBlock[], donor: readonly BitBlock[], random: Random): void {
  const all = allBlocks(blocks).filter((block) => block.items.length > 0);
  if (all.length === 0) return;
  const { items } = random.pick(all);
  const at = random.below(items.length);
  const item = items[at]!;
  switch (random.below(12)) {
    case 0:
      items.splice(at, 1);
      return;
    case 1:
      items.splice(at, 0, structuredClone(item));
      return;
    case 2: {
      const other = random.below(items.length);
      [items[at], items[other]] = [items[other]!, item];
      return;
    }
    case 3: {
      const from = random.pick(allBlocks(donor)).items;
      if (from.length > 0) items.splice(at, random.below(2), structuredClone(random.pick(from)));
      return;
    }
    default:
      if (isBlock(item)) {
        if (random.oneIn(4)) item.id = random.below(27);
      } else damageRecord(item, items, random);
  }
}

function damageRecord(record: BitRecord, siblings: readonly (BitRecord | BitBlock)[], random: Random): void {
  const { operands } = record;
  if (record.blob !== null && record.blob.length > 0 && random.oneIn(2)) {
    record.blob[random.below(record.blob.length)] = random.below(256);
    return;
  }
  const at = random.below(operands.length + 1);
  const old = operands[at];
  if (old === undefined || random.oneIn(12)) {
    record.code = random.oneIn(2) ? random.below(70) : record.code + 1;
    return;
  }
  switch (random.below(8)) {
    case 0:
      operands.splice(at, 1);
      return;
    case 1:
      operands.splice(at, 0, BigInt(random.below(16)));
      return;
    case 2:
      operands[at] = random.pick(extremes);
      return;
    case 3: {
      const other = random.pick(siblings);
      if (!isBlock(other) && other.operands.length > 0) operands[at] = random.pick(other.operands);
      return;
    }
    case 4:
      operands[at] = BigInt.asUintN(64, old ^ (1n << BigInt(random.below(random.oneIn(8) ? 64 : 8))));
      return;
    default:
      operands[at] = BigInt.asUintN(64, old + BigInt(random.below(9) - 4));
  }
}
