/**
 * Debugging information entries of `.debug_info`: what they have, how long they are, and where they come to lie.
 *
 * All units share one table of abbreviations, one of strings, and one of addresses. Sizes don't depend on what the assembler
 * knows, so that places of entries are numbers here.
 */
import { bytesOfText } from "../../lto/ir/byte-text.js";
import { Abbreviations } from "./abbreviations.js";
import { SectionBytes, ulebSize } from "./bytes.js";
import { type At, Form, Tag } from "./constants.js";

/** What an attribute says. */
export type Value =
  /** Of a form that says how long it is; 0 for `FlagPresent`. */
  | { readonly form: Form; readonly number: number | bigint }
  | { readonly form: Form.Strp; readonly text: string }
  /** The address of a label. */
  | { readonly form: Form.Addr; readonly label: string }
  /** An expression of labels. */
  | { readonly form: Form.Data1 | Form.Data2 | Form.Data4 | Form.SecOffset; readonly label: string }
  | { readonly form: Form.Ref4; readonly entry: Entry }
  | { readonly form: Form.Exprloc | Form.Block; readonly bytes: SectionBytes };

/** One entry. Which form a reference or a string has in the end depends on where it leads. */
export class Entry {
  readonly attributes: [At, Value][] = [];
  readonly children: Entry[] = [];
  /** From the start of its unit; known once that is laid out. */
  offset = -1;
  unit: Unit | null = null;
  parent: Entry | null = null;
  abbreviation = 0;
  /** Which attribute the abbreviation says already, by its position; -1: none. */
  said = -1;

  constructor(readonly tag: Tag) {}

  add(child: Entry): Entry {
    child.parent = this;
    this.children.push(child);
    return child;
  }
  moveTo(parent: Entry): void {
    const siblings = this.parent!.children;
    siblings.splice(siblings.indexOf(this), 1);
    parent.add(this);
  }

  put(attribute: At, value: Value): void {
    this.attributes.push([attribute, value]);
  }
  flag(attribute: At): void {
    this.put(attribute, { form: Form.FlagPresent, number: 0 });
  }
  /** An unsigned number in the fewest whole bytes. */
  number(attribute: At, number: number | bigint): void {
    const big = BigInt(number);
    const form =
      big < 0x100n ? Form.Data1 : big < 0x10000n ? Form.Data2 : big <= 0xffffffffn ? Form.Data4 : Form.Data8;
    this.put(attribute, { form, number });
  }
  udata(attribute: At, number: number | bigint): void {
    this.put(attribute, { form: Form.Udata, number });
  }
  sdata(attribute: At, number: number | bigint): void {
    this.put(attribute, { form: Form.Sdata, number });
  }
  /** Nothing where the text is empty. */
  text(attribute: At, text: string): void {
    if (text !== "") this.put(attribute, { form: Form.Strp, text });
  }
  entry(attribute: At, entry: Entry): void {
    this.put(attribute, { form: Form.Ref4, entry });
  }
  address(attribute: At, label: string): void {
    this.put(attribute, { form: Form.Addr, label });
  }
  expression(attribute: At, bytes: SectionBytes): void {
    this.put(attribute, { form: Form.Exprloc, bytes });
  }
}

/** A unit: its first entry, and where it begins in the section. */
export class Unit {
  readonly root: Entry;
  start = -1;
  size = 0;
  /** Form of references within it. */
  references: Form.Ref2 | Form.Ref4 = Form.Ref4;
  constructor(tag: Tag = Tag.CompileUnit) {
    this.root = new Entry(tag);
  }
}

/** Strings, by the number that entries have for them. */
class StringPool {
  private readonly counts = new Map<string, number>();
  private numbers = new Map<string, number>();

  count(text: string): void {
    this.counts.set(text, (this.counts.get(text) ?? 0) + 1);
  }
  /** The most frequent get the smallest numbers. Equal counts: in the order in which they came. */
  close(): void {
    const sorted = [...this.counts].sort(([, a], [, b]) => b - a);
    this.numbers = new Map(sorted.map(([text], number) => [text, number]));
  }
  of(text: string): number {
    return this.numbers.get(text)!;
  }
  label(text: string): string {
    return `.Ldebug_string${this.of(text)}`;
  }
  get isEmpty(): boolean {
    return this.numbers.size === 0;
  }

  /** @param base the label that numbers count from; null: entries have the places of strings themselves */
  section(base: string | null): string {
    let text = '\t.section\t.debug_str,"MS",@progbits,1\n';
    for (const [string, number] of this.numbers)
      text += `.Ldebug_string${number}:\n\t.asciz\t${quoted(string)}\n`;
    if (base === null) return text;
    text += `\t.section\t.debug_str_offsets,"",@progbits\n\t.long\t${4 + 4 * this.numbers.size}\n\t.short\t5\n\t.short\t0\n${base}:\n`;
    for (let number = 0; number < this.numbers.size; number++) text += `\t.long\t.Ldebug_string${number}\n`;
    return text;
  }
}

const quoted = (text: string): string => {
  let out = '"';
  for (const byte of bytesOfText(text))
    if (byte === 0x22 || byte === 0x5c) out += `\\${String.fromCharCode(byte)}`;
    else if (byte >= 0x20 && byte < 0x7f) out += String.fromCharCode(byte);
    else out += `\\${byte.toString(8).padStart(3, "0")}`;
  return `${out}"`;
};

/** Addresses of labels, by number. */
export class AddressPool {
  private readonly numbers = new Map<string, number>();
  of(label: string): number {
    let number = this.numbers.get(label);
    if (number === undefined) this.numbers.set(label, (number = this.numbers.size));
    return number;
  }
  get isEmpty(): boolean {
    return this.numbers.size === 0;
  }
  section(base: string): string {
    let text = `\t.section\t.debug_addr,"",@progbits\n\t.long\t${4 + 8 * this.numbers.size}\n\t.short\t5\n\t.byte\t8\n\t.byte\t0\n${base}:\n`;
    for (const label of this.numbers.keys()) text += `\t.quad\t${label}\n`;
    return text;
  }
}

/** Lays units out and writes them. */
export class InfoWriter {
  private readonly strings = new StringPool();
  /** @param version DWARF's: 4 or 5 */
  constructor(
    private readonly version: number,
    private readonly addresses: AddressPool,
  ) {}

  /** The sections `.debug_info`, `.debug_abbrev`, `.debug_str` and what goes with it. */
  text(units: readonly Unit[], bases: { info: string; abbreviations: string; strings: string }): string {
    for (const unit of units) this.visit(unit.root, (entry) => this.prepare(entry, unit));
    this.strings.close();
    const abbreviations = new Abbreviations(this.version);
    for (const unit of units) {
      if (this.longest(unit) < 0x10000) unit.references = Form.Ref2;
      this.visit(unit.root, (entry) => abbreviations.count(entry, this.forms(entry)));
    }
    abbreviations.close();
    let start = 0;
    for (const unit of units) {
      unit.start = start;
      unit.size = this.place(unit.root, this.version >= 5 ? 12 : 11);
      start += unit.size;
    }
    const out = new SectionBytes();
    for (const unit of units) this.unit(unit, out, bases);
    return (
      `\t.section\t.debug_abbrev,"",@progbits\n${bases.abbreviations}:\n${abbreviations.text()}` +
      `\t.section\t.debug_info,"",@progbits\n${bases.info}:\n${out.text()}` +
      (this.strings.isEmpty ? "" : this.strings.section(this.version >= 5 ? bases.strings : null))
    );
  }

  private visit(root: Entry, look: (entry: Entry) => void): void {
    const work = [root];
    for (let entry = work.pop(); entry !== undefined; entry = work.pop()) {
      look(entry);
      for (let i = entry.children.length - 1; i >= 0; i--) work.push(entry.children[i]!);
    }
  }

  private prepare(entry: Entry, unit: Unit): void {
    entry.unit = unit;
    for (const [, value] of entry.attributes) if ("text" in value) this.strings.count(value.text);
  }

  /** The form that is written. */
  private form(value: Value, user: Entry): Form {
    if ("entry" in value) return value.entry.unit === user.unit ? user.unit!.references : Form.RefAddr;
    if ("text" in value && this.version >= 5) {
      const number = this.strings.of(value.text);
      return number < 0x100
        ? Form.Strx1
        : number < 0x10000
          ? Form.Strx2
          : number < 0x1000000
            ? Form.Strx3
            : Form.Strx4;
    }
    // 0 needs no place in a table.
    if (value.form === Form.Addr && this.version >= 5 && !("label" in value && value.label === "0"))
      return Form.Addrx;
    return value.form;
  }

  private size(value: Value, form: Form): number {
    switch (form) {
      case Form.FlagPresent:
        return 0;
      case Form.Data1:
      case Form.Strx1:
        return 1;
      case Form.Data2:
      case Form.Strx2:
      case Form.Ref2:
        return 2;
      case Form.Strx3:
        return 3;
      case Form.Data8:
      case Form.Addr:
        return 8;
      case Form.Data16:
        return 16;
      case Form.Addrx:
        return ulebSize(this.addresses.of((value as { label: string }).label));
      case Form.Exprloc:
      case Form.Block: {
        const { length } = (value as { bytes: SectionBytes }).bytes;
        return ulebSize(length) + length;
      }
      case Form.Udata:
      case Form.Rnglistx:
        return ulebSize((value as { number: number | bigint }).number);
      case Form.Sdata: {
        const bytes = new SectionBytes();
        bytes.sleb((value as { number: number | bigint }).number);
        return bytes.length;
      }
      default:
        return 4;
    }
  }

  private forms(entry: Entry): Form[] {
    return entry.attributes.map(([, value]) => this.form(value, entry));
  }

  private sizeOf(entry: Entry): number {
    let size = 0;
    entry.attributes.forEach(([, value], i) => {
      if (i !== entry.said) size += this.size(value, this.form(value, entry));
    });
    return size;
  }

  /** More bytes than a unit has, whatever its abbreviations are. */
  private longest(unit: Unit): number {
    let bytes = 64;
    this.visit(unit.root, (entry) => (bytes += this.sizeOf(entry) + 4));
    return bytes;
  }

  /** Gives an entry and those in it their places. @returns where they end */
  private place(entry: Entry, offset: number): number {
    entry.offset = offset;
    let end = offset + ulebSize(entry.abbreviation) + this.sizeOf(entry);
    if (entry.children.length === 0) return end;
    for (const child of entry.children) end = this.place(child, end);
    return end + 1;
  }

  private unit(unit: Unit, out: SectionBytes, bases: { info: string; abbreviations: string }): void {
    const start = out.length;
    out.fixed(unit.size - 4, 4);
    out.fixed(this.version, 2);
    if (this.version >= 5) {
      out.byte(1); // A compile unit.
      out.byte(8);
    }
    out.hole(bases.abbreviations, 4);
    if (this.version < 5) out.byte(8);
    this.entry(unit.root, out, bases.info);
    if (out.length - start !== unit.size) throw new Error("a unit of debug information has another size");
  }

  private entry(entry: Entry, out: SectionBytes, info: string): void {
    out.uleb(entry.abbreviation);
    entry.attributes.forEach(([, value], i) => {
      if (i !== entry.said) this.value(value, entry, out, info);
    });
    if (entry.children.length === 0) return;
    for (const child of entry.children) this.entry(child, out, info);
    out.byte(0);
  }

  private value(value: Value, user: Entry, out: SectionBytes, info: string): void {
    const form = this.form(value, user);
    if ("entry" in value) {
      const { unit, offset } = value.entry;
      if (unit === null) throw new Error("an entry of debug information is in no unit");
      if (form !== Form.RefAddr) out.fixed(offset, this.size(value, form));
      else out.hole(`${info}+${unit.start + offset}`, 4);
    } else if ("text" in value) {
      if (form === Form.Strp) out.hole(this.strings.label(value.text), 4);
      else out.fixed(this.strings.of(value.text), form - Form.Strx1 + 1);
    } else if ("bytes" in value) {
      out.uleb(value.bytes.length);
      out.append(value.bytes);
    } else if ("label" in value) {
      if (form === Form.Addrx) out.uleb(this.addresses.of(value.label));
      else out.hole(value.label, this.size(value, form) as 1 | 2 | 4 | 8);
    } else if (form === Form.Udata || form === Form.Rnglistx) out.uleb(value.number);
    else if (form === Form.Sdata) out.sleb(value.number);
    else out.fixed(value.number, this.size(value, form));
  }
}
