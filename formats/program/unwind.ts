/**
 * Reads unwind tables: which bytes of `.eh_frame` describe which code, and where the tables of handlers (LSDAs) lie.
 *
 * Forms: LSB 5.0, chapter 10.6 "Exception Frames" (`.eh_frame`, `.eh_frame_hdr`, pointer encodings).
 */
import type { Addresses } from "./addresses.js";
import type { Image, ImageSection } from "./image.js";

/** One record of `.eh_frame`. */
export interface UnwindRecord {
  /** In the section. */
  readonly offset: number;
  /** With the field that gives it. */
  readonly size: number;
  /** What it describes; null: what several descriptions share (a CIE), or the end. */
  readonly code: { readonly start: number; readonly size: number } | null;
  /** Where the table of its handlers starts; null: it has none. */
  readonly handlers: number | null;
}

interface Common {
  readonly addresses: number;
  readonly handlers: number;
  readonly augmented: boolean;
}

const omitted = 0xff;
const noCommon: Common = { addresses: 0, handlers: omitted, augmented: false };

/** Reads the fields of one section in turn. */
class Fields {
  readonly view: DataView;
  private readonly targets: ReturnType<Addresses["targetsIn"]>;
  at = 0;
  constructor(
    private readonly image: Image,
    addresses: Addresses,
    section: ImageSection,
  ) {
    this.view = image.viewOf(section);
    this.targets = addresses.targetsIn(section);
    this.base = addresses.of(section);
  }
  private readonly base: number;

  byte(): number {
    return this.view.getUint8(this.at++);
  }
  u32(): number {
    this.at += 4;
    return this.view.getUint32(this.at - 4, this.image.littleEndian);
  }
  u64(): number {
    this.at += 8;
    return Number(this.view.getBigUint64(this.at - 8, this.image.littleEndian));
  }
  uleb(): number {
    let value = 0;
    for (let factor = 1; ; factor *= 128) {
      const byte = this.byte();
      value += (byte & 127) * factor;
      if (byte < 128) return value;
    }
  }

  /** A pointer as its encoding says, as an address; null where it is 0. @param isSize it is a length and so leads nowhere */
  pointer(encoding: number, isSize = false): number | null {
    if (encoding === omitted) return null;
    const start = this.at;
    const value = this.number(encoding & 15);
    const target = this.targets.get(start);
    if (target !== undefined && !isSize) return target.added ? target.to : target.to + value;
    if (isSize) return Math.abs(value);
    if (value === 0) return null;
    return (encoding & 0x70) === 0x10 ? this.base + start + value : value;
  }

  private number(form: number): number {
    const { view, at } = this;
    const little = this.image.littleEndian;
    const wide = form === 4 || form === 12 || ((form === 0 || form === 8) && this.image.is64);
    if (form === 1 || form === 9) return this.uleb();
    if (form === 2 || form === 10) {
      this.at += 2;
      return form === 2 ? view.getUint16(at, little) : view.getInt16(at, little);
    }
    this.at += wide ? 8 : 4;
    if (wide) return Number(view.getBigInt64(at, little));
    return form >= 8 ? view.getInt32(at, little) : view.getUint32(at, little);
  }
}

/** The records of `.eh_frame`, in order; together they are the whole section but for what is malformed. */
export function unwindRecords(image: Image, addresses: Addresses, section: ImageSection): UnwindRecord[] {
  const records: UnwindRecord[] = [];
  const commons = new Map<number, Common>();
  const fields = new Fields(image, addresses, section);
  const end = section.bytes.length;
  for (let offset = 0; offset + 4 <= end; ) {
    fields.at = offset;
    let length = fields.u32();
    if (length === 0xffffffff && offset + 12 <= end) length = fields.u64();
    const identity = fields.at;
    const size = identity + length - offset;
    if (length === 0 || offset + size > end) {
      records.push({
        offset,
        size: Math.min(length === 0 ? 4 : size, end - offset),
        code: null,
        handlers: null,
      });
      offset += length === 0 ? 4 : size;
      continue;
    }
    try {
      const back = fields.u32();
      if (back === 0) {
        commons.set(offset, readCommon(fields));
        records.push({ offset, size, code: null, handlers: null });
      } else
        records.push({ offset, size, ...readDescription(fields, commons.get(identity - back) ?? noCommon) });
    } catch (e) {
      // It says more than it has room for: nobody can unwind by it either.
      if (!(e instanceof RangeError)) throw e;
      records.push({ offset, size, code: null, handlers: null });
    }
    offset += size;
  }
  return records;
}

function readCommon(fields: Fields): Common {
  const version = fields.byte();
  let augmentation = "";
  for (let byte = fields.byte(); byte !== 0; byte = fields.byte()) augmentation += String.fromCharCode(byte);
  if (version >= 4) fields.at += 2;
  fields.uleb(); // alignment of code
  fields.uleb(); // and of data
  if (version === 1) fields.at++;
  else fields.uleb(); // where the return address is
  let addresses = 0;
  let handlers = omitted;
  if (augmentation.startsWith("z")) {
    fields.uleb();
    for (const letter of augmentation.slice(1))
      if (letter === "R") addresses = fields.byte();
      else if (letter === "L") handlers = fields.byte();
      else if (letter === "P") fields.pointer(fields.byte());
    // Others (S, B) have no data.
  }
  return { addresses, handlers, augmented: augmentation.startsWith("z") };
}

function readDescription(
  fields: Fields,
  { addresses, handlers, augmented }: Common,
): Pick<UnwindRecord, "code" | "handlers"> {
  const start = fields.pointer(addresses) ?? 0;
  const size = fields.pointer(addresses, true) ?? 0;
  if (augmented) fields.uleb();
  return { code: { start, size }, handlers: augmented ? fields.pointer(handlers) : null };
}

/** An entry of `.eh_frame_hdr`: which description there is for code from an address on. */
export interface HeaderEntry {
  readonly offset: number;
  readonly size: number;
  readonly start: number;
}

/** The entries of the table in `.eh_frame_hdr`; none where it has none or in another form than linkers write. */
export function headerEntries(image: Image, { bytes }: ImageSection, base: number): HeaderEntry[] {
  const [version, , count, table] = bytes;
  // 4-byte numbers, the entries relative to the start of the section.
  if (version !== 1 || table !== 0x3b || (count! & 15) !== 3 || bytes.length < 12) return [];
  const view = image.viewOf({ bytes });
  const entries: HeaderEntry[] = [];
  const number = image.u32(view, 8);
  for (let i = 0; i < number && 12 + 8 * i + 8 <= bytes.length; i++) {
    const offset = 12 + 8 * i;
    entries.push({ offset, size: 8, start: base + view.getInt32(offset, image.littleEndian) });
  }
  return entries;
}
