/** Reads the numbers of DWARF from bytes of a section, with its bounds checked. */
import { InputError } from "../../lto/ir/errors.js";

export class ByteCursor {
  private readonly view: DataView;

  /** @param what names the section in errors */
  constructor(
    bytes: Uint8Array,
    private readonly what: string,
    public at = 0,
    private readonly end = bytes.length,
  ) {
    this.view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  }

  get done(): boolean {
    return this.at >= this.end;
  }

  private take(size: number): number {
    const at = this.at;
    if (at + size > this.end) throw new InputError(`malformed ELF file: ${this.what} ends early`);
    this.at += size;
    return at;
  }

  u8(): number {
    return this.view.getUint8(this.take(1));
  }
  u16(): number {
    return this.view.getUint16(this.take(2), true);
  }
  u32(): number {
    return this.view.getUint32(this.take(4), true);
  }
  i32(): number {
    return this.view.getInt32(this.take(4), true);
  }
  skip(bytes: number): void {
    this.take(bytes);
  }

  /** Unsigned LEB128, of up to 53 bits. */
  uleb(): number {
    let value = 0;
    let scale = 1;
    for (;;) {
      const byte = this.u8();
      value += (byte & 127) * scale;
      scale *= 128;
      if ((byte & 128) === 0) return value;
    }
  }

  /** Signed LEB128, of up to 53 bits. */
  sleb(): number {
    let value = 0;
    let scale = 1;
    for (;;) {
      const byte = this.u8();
      value += (byte & 127) * scale;
      scale *= 128;
      if ((byte & 128) === 0) return (byte & 64) !== 0 ? value - scale : value;
    }
  }

  /** Text up to a zero byte. */
  text(): string {
    let out = "";
    for (let byte = this.u8(); byte !== 0; byte = this.u8()) out += String.fromCharCode(byte);
    return out;
  }
}
