/**
 * Bytes of a section in the making, with places that only the assembler can fill: differences of labels, addresses, offsets
 * into other sections.
 */

type HoleSize = 1 | 2 | 4 | 8;
const directives = { 1: ".byte", 2: ".short", 4: ".long", 8: ".quad" } as const;

interface Hole {
  readonly at: number;
  readonly size: HoleSize;
  /** As the assembler takes it. */
  readonly text: string;
}

const lineBytes = 48;
const empty = new Uint8Array(0);

export class SectionBytes {
  private buffer: Uint8Array = empty;
  private readonly holes: Hole[] = [];
  length = 0;

  private grow(more: number): void {
    if (this.length + more <= this.buffer.length) return;
    const larger = new Uint8Array(Math.max(16, this.buffer.length * 2, this.length + more));
    larger.set(this.buffer.subarray(0, this.length));
    this.buffer = larger;
  }

  byte(value: number): void {
    this.grow(1);
    this.buffer[this.length++] = value;
  }

  /** The `size` low bytes of an integer, least significant first. */
  fixed(value: number | bigint, size: number): void {
    this.grow(size);
    if (typeof value === "number" && size <= 4) {
      for (let i = 0; i < size; i++) this.buffer[this.length++] = (value >>> (8 * i)) & 0xff;
      return;
    }
    let rest = BigInt.asUintN(8 * size, BigInt(value));
    for (let i = 0; i < size; i++) {
      this.buffer[this.length++] = Number(rest & 0xffn);
      rest >>= 8n;
    }
  }

  uleb(value: number | bigint): void {
    if (typeof value === "number" && value < 0x4000) {
      if (value < 0x80) this.byte(value);
      else {
        this.byte((value & 0x7f) | 0x80);
        this.byte(value >> 7);
      }
      return;
    }
    let rest = BigInt(value);
    for (; rest >= 0x80n; rest >>= 7n) this.byte(Number(rest & 0x7fn) | 0x80);
    this.byte(Number(rest));
  }

  sleb(value: number | bigint): void {
    let rest = BigInt(value);
    for (;;) {
      const low = Number(rest & 0x7fn);
      rest >>= 7n;
      const isLast = (rest === 0n && (low & 0x40) === 0) || (rest === -1n && (low & 0x40) !== 0);
      this.byte(isLast ? low : low | 0x80);
      if (isLast) return;
    }
  }

  raw(bytes: Uint8Array): void {
    this.grow(bytes.length);
    this.buffer.set(bytes, this.length);
    this.length += bytes.length;
  }

  /** What the assembler says of an expression. */
  hole(text: string, size: HoleSize): void {
    this.holes.push({ at: this.length, size, text });
    this.fixed(0, size);
  }

  append(other: SectionBytes): void {
    for (const { at, size, text } of other.holes) this.holes.push({ at: this.length + at, size, text });
    this.raw(other.buffer.subarray(0, other.length));
  }

  /** Of a section without places for the assembler. */
  bytes(): readonly number[] {
    return [...this.buffer.subarray(0, this.length)];
  }

  /** The same bytes have the same key. */
  key(): string {
    return `${Buffer.from(this.buffer.subarray(0, this.length)).toString("latin1")}${JSON.stringify(this.holes)}`;
  }

  /** As directives. */
  text(): string {
    const parts: string[] = [];
    let from = 0;
    for (const { at, size, text } of this.holes) {
      this.lines(from, at, parts);
      parts.push(`\t${directives[size]}\t${text}\n`);
      from = at + size;
    }
    this.lines(from, this.length, parts);
    return parts.join("");
  }

  private lines(from: number, to: number, parts: string[]): void {
    for (let at = from; at < to; at += lineBytes)
      parts.push(`\t.byte\t${this.buffer.subarray(at, Math.min(to, at + lineBytes)).join(",")}\n`);
  }
}

/** Bytes that `sleb` takes. */
export function slebSize(value: number | bigint): number {
  let size = 1;
  for (let rest = BigInt(value); rest < -0x40n || rest > 0x3fn; rest >>= 7n) size++;
  return size;
}

/** Bytes that `uleb` takes. */
export function ulebSize(value: number | bigint): number {
  if (typeof value === "number" && value < 0x4000) return value < 0x80 ? 1 : 2;
  let size = 1;
  for (let rest = BigInt(value) >> 7n; rest !== 0n; rest >>= 7n) size++;
  return size;
}
