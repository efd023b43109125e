/**
 * Debugging information entries of `.debug_info`: what they have, how long they are, and where they come to lie.
 *
 * All units share one table of abbreviations, one of strings, and one of addresses. Sizes don't depend on what the assembler
 * knows, so that places of entries are numbers here.
 */
import { bytesOfText } from "../../lto/ir/byte-text.js";
import { Abbreviations, attributeSize } from "./abbreviations.js";
import { SectionBytes, slebSize, ulebSize } from "./bytes.js";
import { type At, Form, Tag } from "./constants.js";

/**
 * What an attribute says, by its form: of `Strp` a text, of `Ref4` an entry, of `Exprloc` and `Block` bytes; of others a number, or for
 * the assembler a label or an expression of labels.
 */
export type Value = number | bigint | string | Entry | SectionBytes | readonly number[];

/** One entry. Which form a reference or a string has in the end depends on where it leads. */
export class Entry {
  /** Of each attribute its name, its form and its value: lists of lists would take three times as much. */
  readonly fields: Value[] = [];
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

  put(attribute: At, form: Form, value: Value): void {
    this.fields.push(attribute, form, value);
  }
  flag(attribute: At): void {
    this.put(attribute, Form.FlagPresent, 0);
  }
  /** An unsigned number in the fewest whole bytes. */
  number(attribute: At, number: number | bigint): void {
    const form =
      number < 0x100
        ? Form.Data1
        : number < 0x10000
          ? Form.Data2
          : number <= 0xffffffff
            ? Form.Data4
            : Form.Data8;
    this.put(attribute, form, number);
  }
  udata(attribute: At, number: number | bigint): void {
    this.put(attribute, Form.Udata, number);
  }
  sdata(attribute: At, number: number | bigint): void {
    this.put(attribute, Form.Sdata, number);
  }
  /** Nothing where the text is empty. */
  text(attribute: At, text: string): void {
    if (text !== "") this.put(attribute, Form.Strp, text);
  }
  entry(attribute: At, entry: Entry): void {
    this.put(attribute, Form.Ref4, entry);
  }
  address(attribute: At, label: string): void {
    this.put(attribute, Form.Addr, label);
  }
  expression(attribute: At, bytes: SectionBytes | readonly number[]): void {
    this.put(attribute, Form.Exprloc, bytes);
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

  /** Writes the sections `.debug_info`, `.debug_abbrev`, `.debug_str` and what goes with it. Entries have their final forms then. */
  write(
    units: readonly Unit[],
    bases: { info: string; abbreviations: string; strings: string },
    write: (text: string) => void,
  ): void {
    for (const unit of units) this.visit(unit.root, (entry) => this.prepare(entry, unit));
    this.strings.close();
    const abbreviations = new Abbreviations(this.version);
    for (const unit of units) {
      if (this.longest(unit) < 0x10000) unit.references = Form.Ref2;
      this.visit(unit.root, (entry) => {
        this.settle(entry);
        abbreviations.count(entry);
      });
    }
    abbreviations.close();
    let start = 0;
    for (const unit of units) {
      unit.start = start;
      unit.size = this.place(unit.root, this.version >= 5 ? 12 : 11);
      start += unit.size;
    }
    write(`\t.section\t.debug_abbrev,"",@progbits\n${bases.abbreviations}:\n${abbreviations.text()}`);
    write(`\t.section\t.debug_info,"",@progbits\n${bases.info}:\n`);
    for (const unit of units) {
      const out = new SectionBytes();
      this.unit(unit, out, bases);
      write(out.text());
    }
    if (!this.strings.isEmpty) write(this.strings.section(this.version >= 5 ? bases.strings : null));
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
    const { fields } = entry;
    for (let i = 0; i < fields.length; i += attributeSize)
      if (fields[i + 1] === Form.Strp) this.strings.count(fields[i + 2] as string);
  }

  /** The form that is written. */
  private form(form: Form, value: Value, user: Entry): Form {
    switch (form) {
      case Form.Ref4:
        return (value as Entry).unit === user.unit ? user.unit!.references : Form.RefAddr;
      case Form.Strp: {
        if (this.version < 5) return form;
        const number = this.strings.of(value as string);
        return number < 0x100
          ? Form.Strx1
          : number < 0x10000
            ? Form.Strx2
            : number < 0x1000000
              ? Form.Strx3
              : Form.Strx4;
      }
      case Form.Addr:
        // 0 needs no place in a table.
        return this.version >= 5 && value !== "0" ? Form.Addrx : form;
      default:
        return form;
    }
  }

  /** Gives all attributes of an entry the forms that are written, and strings and addresses their numbers. */
  private settle(entry: Entry): void {
    const { fields } = entry;
    for (let i = 0; i < fields.length; i += attributeSize) {
      const asked = fields[i + 1] as Form;
      const value = fields[i + 2]!;
      const form = this.form(asked, value, entry);
      if (form === asked) continue;
      fields[i + 1] = form;
      if (asked === Form.Strp) fields[i + 2] = this.strings.of(value as string);
      else if (asked === Form.Addr) fields[i + 2] = this.addresses.of(value as string);
    }
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
        return ulebSize(typeof value === "string" ? this.addresses.of(value) : (value as number));
      case Form.Exprloc:
      case Form.Block: {
        const { length } = value as SectionBytes | readonly number[];
        return ulebSize(length) + length;
      }
      case Form.Udata:
      case Form.Rnglistx:
        return ulebSize(value as number | bigint);
      case Form.Sdata:
        return slebSize(value as number | bigint);
      default:
        return 4;
    }
  }

  private sizeOf({ fields, said }: Entry): number {
    let size = 0;
    for (let i = 0; i < fields.length; i += attributeSize)
      if (i !== said) size += this.size(fields[i + 2]!, fields[i + 1] as Form);
    return size;
  }

  /** More bytes than a unit has, whatever its abbreviations are. */
  private longest(unit: Unit): number {
    let bytes = 64;
    this.visit(unit.root, (entry) => {
      const { fields } = entry;
      for (let i = 0; i < fields.length; i += attributeSize) {
        const value = fields[i + 2]!;
        bytes += this.size(value, this.form(fields[i + 1] as Form, value, entry));
      }
      bytes += 4;
    });
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
    const { fields, children, said } = entry;
    out.uleb(entry.abbreviation);
    for (let i = 0; i < fields.length; i += attributeSize)
      if (i !== said) this.value(fields[i + 1] as Form, fields[i + 2]!, out, info);
    if (children.length === 0) return;
    for (let i = 0; i < children.length; i++) this.entry(children[i]!, out, info);
    out.byte(0);
  }

  private value(form: Form, value: Value, out: SectionBytes, info: string): void {
    switch (form) {
      case Form.FlagPresent:
        return;
      case Form.Ref2:
      case Form.Ref4:
      case Form.RefAddr: {
        const { unit, offset } = value as Entry;
        if (unit === null) throw new Error("an entry of debug information is in no unit");
        if (form !== Form.RefAddr) out.fixed(offset, form === Form.Ref2 ? 2 : 4);
        else out.hole(`${info}+${unit.start + offset}`, 4);
        return;
      }
      case Form.Strp:
        out.hole(this.strings.label(value as string), 4);
        return;
      case Form.Exprloc:
      case Form.Block: {
        const bytes = value as SectionBytes | readonly number[];
        out.uleb(bytes.length);
        if (bytes instanceof SectionBytes) out.append(bytes);
        else for (let i = 0; i < bytes.length; i++) out.byte(bytes[i]!);
        return;
      }
      case Form.Addrx:
      case Form.Udata:
      case Form.Rnglistx:
        out.uleb(value as number | bigint);
        return;
      case Form.Sdata:
        out.sleb(value as number | bigint);
        return;
      default: {
        const size = this.size(value, form);
        if (typeof value === "string") out.hole(value, size as 1 | 2 | 4 | 8);
        else out.fixed(value as number | bigint, size);
      }
    }
  }
}
