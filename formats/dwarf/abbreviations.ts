/**
 * Abbreviations of entries: their tags, and the attributes and forms that they have. The most frequent have the smallest numbers.
 * Where many entries that are alike have the same file, from version 5 on an abbreviation of their own says it.
 */
import { SectionBytes } from "./bytes.js";
import { At, Form } from "./constants.js";
import type { Entry } from "./entries.js";

/** Fields of an attribute of an entry. */
export const attributeSize = 3;

/** Entries with the same attributes and forms: what these are leads from one to the next. */
interface Shape {
  readonly next: Map<number, Shape>;
  readonly key: string;
  /** By their files; -1: of those that have none. */
  readonly byFile: Map<number, Entry[]>;
}

interface Abbreviation {
  readonly key: string;
  /** What it says; null: nothing. */
  readonly file: number | null;
  readonly entries: readonly Entry[];
}

/** The number of a file is one byte, and the abbreviation's copy has to pay for itself. */
const isFile = (name: At, form: Form): boolean =>
  (name === At.DeclFile || name === At.CallFile) && form === Form.Data1;

export class Abbreviations {
  private readonly first: Shape = { next: new Map(), key: "", byFile: new Map() };
  /** Those that some entries have, in the order in which they came. */
  private readonly shapes: Shape[] = [];
  private readonly bytes = new SectionBytes();

  constructor(private readonly version: number) {}

  /** An entry whose attributes have their final forms. */
  count(entry: Entry): void {
    const { fields, tag, children } = entry;
    let shape = step(this.first, tag, children.length > 0 ? 1 : 0);
    let file = -1;
    for (let i = 0; i < fields.length; i += attributeSize) {
      const name = fields[i] as At;
      const form = fields[i + 1] as Form;
      shape = step(shape, name, form);
      if (this.version >= 5 && isFile(name, form)) {
        file = Number(fields[i + 2]);
        entry.said = i;
      }
    }
    if (shape.byFile.size === 0) this.shapes.push(shape);
    const list = shape.byFile.get(file);
    if (list === undefined) shape.byFile.set(file, [entry]);
    else list.push(entry);
  }

  /** All entries are counted: they get their abbreviations. */
  close(): void {
    const all: Abbreviation[] = [];
    for (const { key, byFile } of this.shapes) {
      const others: Entry[] = [];
      for (const [file, entries] of byFile) {
        // About what the abbreviation takes, which may save another byte each by a smaller number.
        if (file >= 0 && entries.length > key.split(" ").length) all.push({ key, file, entries });
        else others.push(...entries);
      }
      for (const entry of others) entry.said = -1;
      if (others.length > 0) all.push({ key, file: null, entries: others });
    }
    all.sort((a, b) => b.entries.length - a.entries.length);
    all.forEach(({ key, file, entries }, i) => {
      for (const entry of entries) entry.abbreviation = i + 1;
      this.write(i + 1, key, file);
    });
    this.bytes.byte(0);
  }

  private write(number: number, key: string, file: number | null): void {
    const { bytes } = this;
    const [tag, children, ...pairs] = key.split(" ").map(Number);
    bytes.uleb(number);
    bytes.uleb(tag!);
    bytes.byte(children!);
    for (let i = 0; i < pairs.length; i += 2) {
      const [name, form] = [pairs[i]!, pairs[i + 1]!];
      bytes.uleb(name);
      if (file === null || !isFile(name, form)) bytes.uleb(form);
      else {
        bytes.uleb(Form.ImplicitConst);
        bytes.sleb(file);
      }
    }
    bytes.fixed(0, 2);
  }

  text(): string {
    return this.bytes.text();
  }
}

function step({ next, key }: Shape, name: number, form: number): Shape {
  const number = name * 0x100 + form;
  let shape = next.get(number);
  if (shape === undefined)
    next.set(
      number,
      (shape = { next: new Map(), key: `${key}${key === "" ? "" : " "}${name} ${form}`, byFile: new Map() }),
    );
  return shape;
}
