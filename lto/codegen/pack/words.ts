/** Plain values as 32-bit words, written one after the other and read in the same order. */

/** Grows to the largest function and is used again for each. */
let buffer = new Int32Array(1 << 14);
const float = new Float64Array(1);
const floatWords = new Int32Array(float.buffer);
const wide = new BigInt64Array(1);
const wideWords = new Int32Array(wide.buffer);

/** Only one at a time. */
export class WordWriter {
  private used = 0;

  /** Words written so far. */
  get length(): number {
    return this.used;
  }

  finish(): Int32Array {
    return buffer.slice(0, this.used);
  }

  word(value: number): void {
    if (this.used === buffer.length) {
      const larger = new Int32Array(buffer.length * 2);
      larger.set(buffer);
      buffer = larger;
    }
    buffer[this.used++] = value;
  }

  float(value: number): void {
    float[0] = value;
    this.word(floatWords[0]!);
    this.word(floatWords[1]!);
  }

  /** A number or big integer of up to 64 bits, which comes back as what it was. */
  wide(value: number | bigint): void {
    if (typeof value === "number") {
      this.word(0);
      this.float(value);
      return;
    }
    const signed = BigInt.asIntN(64, value);
    if (signed !== value && BigInt.asUintN(64, value) !== value)
      throw new Error("an integer of over 64 bits");
    this.word(signed === value ? 1 : 2);
    wide[0] = signed;
    this.word(wideWords[0]!);
    this.word(wideWords[1]!);
  }

  /** Two characters a word. */
  text(text: string): void {
    this.word(text.length);
    for (let i = 0; i < text.length; i += 2)
      this.word(text.charCodeAt(i) | (i + 1 < text.length ? text.charCodeAt(i + 1) << 16 : 0));
  }

  bytes(bytes: Uint8Array): void {
    this.word(bytes.length);
    for (let i = 0; i < bytes.length; i += 4)
      this.word(
        bytes[i]! | ((bytes[i + 1] ?? 0) << 8) | ((bytes[i + 2] ?? 0) << 16) | ((bytes[i + 3] ?? 0) << 24),
      );
  }
}

export class WordReader {
  constructor(
    private readonly words: Int32Array,
    /** Of the word that is read next. */
    public position = 0,
  ) {}

  word(): number {
    return this.words[this.position++]!;
  }

  skip(count: number): void {
    this.position += count;
  }

  float(): number {
    floatWords[0] = this.word();
    floatWords[1] = this.word();
    return float[0]!;
  }

  wide(): number | bigint {
    const kind = this.word();
    if (kind === 0) return this.float();
    wideWords[0] = this.word();
    wideWords[1] = this.word();
    return kind === 1 ? wide[0]! : BigInt.asUintN(64, wide[0]!);
  }

  text(): string {
    const length = this.word();
    let text = "";
    for (let i = 0; i < length; i += 2) {
      const pair = this.word();
      text += String.fromCharCode(pair & 0xffff);
      if (i + 1 < length) text += String.fromCharCode(pair >>> 16);
    }
    return text;
  }

  bytes(): Uint8Array {
    const bytes = new Uint8Array(this.word());
    for (let i = 0; i < bytes.length; i += 4) {
      const word = this.word();
      for (let k = 0; k < 4 && i + k < bytes.length; k++) bytes[i + k] = word >> (8 * k);
    }
    return bytes;
  }
}
