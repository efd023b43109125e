/**
 * A small writer of bitcode, for inputs that no compiler makes: every record is unabbreviated, every block
 * has ids of three bits unless told otherwise.
 */
const endBlock = 0;
const enterBlock = 1;
const defineAbbreviation = 2;
const unabbreviated = 3;

export class BitWriter {
  private readonly bits: number[] = [];
  private readonly blocks: { width: number; lengthAt: number }[] = [];
  private width = 2;

  constructor() {
    this.fixed(0xdec04342, 32);
  }

  fixed(value: number | bigint, bits: number): this {
    let rest = BigInt(value);
    for (let i = 0; i < bits; i++, rest >>= 1n) this.bits.push(Number(rest & 1n));
    return this;
  }

  vbr(value: number | bigint, bits: number): this {
    const high = 1n << BigInt(bits - 1);
    let rest = BigInt(value);
    for (; rest >= high; rest >>= BigInt(bits - 1)) this.fixed((rest & (high - 1n)) | high, bits);
    return this.fixed(rest, bits);
  }

  align(): this {
    while (this.bits.length % 32 !== 0) this.bits.push(0);
    return this;
  }

  block(id: number, content: () => void, width = 3): this {
    this.fixed(enterBlock, this.width).vbr(id, 8).vbr(width, 4).align();
    const lengthAt = this.bits.length;
    this.fixed(0, 32);
    this.blocks.push({ width: this.width, lengthAt });
    this.width = width;
    content();
    this.fixed(endBlock, width).align();
    const length = (this.bits.length - lengthAt) / 32 - 1;
    for (let i = 0; i < 32; i++) this.bits[lengthAt + i] = (length >>> i) & 1;
    this.width = this.blocks.pop()!.width;
    return this;
  }

  record(code: number, ...operands: (number | bigint | string)[]): this {
    const numbers = operands.flatMap((o) => (typeof o === "string" ? [...Buffer.from(o)] : [o]));
    this.fixed(unabbreviated, this.width).vbr(code, 6).vbr(numbers.length, 6);
    for (const number of numbers) this.vbr(number, 6);
    return this;
  }

  /** Defines an abbreviation [literal code, blob]. */
  defineBlob(code: number): this {
    this.fixed(defineAbbreviation, this.width).vbr(2, 5);
    return this.fixed(1, 1).vbr(code, 8).fixed(0, 1).fixed(5, 3);
  }

  /** Begins a definition of an abbreviation, whose operands the caller writes. */
  define(operands: number): this {
    return this.fixed(defineAbbreviation, this.width).vbr(operands, 5);
  }

  /** Uses abbreviation `id`, whose operands the caller writes. */
  use(id: number): this {
    return this.fixed(id, this.width);
  }

  blob(bytes: Uint8Array): this {
    this.vbr(bytes.length, 6).align();
    for (const byte of bytes) this.fixed(byte, 8);
    return this.align();
  }

  bytes(): Uint8Array {
    this.align();
    const bytes = new Uint8Array(this.bits.length / 8);
    for (let i = 0; i < this.bits.length; i++) bytes[i >> 3]! |= this.bits[i]! << (i & 7);
    return bytes;
  }
}

/** A file of one module of format `version` with a string table. */
export function moduleFile(content: (w: BitWriter) => void, names = "", version = 2): Uint8Array {
  const writer = new BitWriter();
  writer.block(8, () => {
    writer.record(1, version);
    content(writer);
  });
  writer.block(23, () => {
    writer.defineBlob(1);
    writer.use(4).blob(Buffer.from(names));
  });
  return writer.bytes();
}

/** Types: 0 i32, 1 ptr, 2 void, 3 void (), 4 i32 (i32). */
export function basicTypes(w: BitWriter): void {
  w.block(17, () => {
    w.record(1, 5).record(7, 32).record(25, 0).record(2).record(21, 0, 2).record(21, 0, 0, 0);
  });
}
