/**
 * Attribute tables: sets first, then lists (function, result, parameters) of set indices. Index 0 of either
 * is the empty one and is not written. Names within a set are sorted, so equal sets have equal bytes.
 */
import {
  AttributeList,
  AttributeSet,
  type AttributeValue,
  IntegerRange,
  noAttributeList,
  noAttributes,
} from "../../lto/ir/attributes.js";
import { InputError } from "../../lto/ir/errors.js";
import type { Type } from "../../lto/ir/types.js";
import { type ByteReader, ByteWriter } from "./bytes.js";
import { attributeNames } from "./enums.js";
import type { TypeTableWriter } from "./type-codec.js";

/** Forms of an attribute's value. */
const Form = { Flag: 0, Number: 1, BigInt: 2, Type: 3, Range: 4 } as const;

export class AttributeTableWriter {
  private readonly setsByObject = new Map<AttributeSet, number>([[noAttributes, 0]]);
  private readonly setsByBytes = new Map<string, number>();
  private readonly sets = new ByteWriter();
  private readonly listsByObject = new Map<AttributeList, number>([[noAttributeList, 0]]);
  private readonly listsByKey = new Map<string, number>();
  private readonly lists = new ByteWriter();
  private readonly scratch = new ByteWriter();

  /** By index. */
  readonly entries: AttributeList[] = [noAttributeList];

  constructor(private readonly types: TypeTableWriter) {}

  /** Index of an attribute list, entered on first use. */
  index(list: AttributeList): number {
    const known = this.listsByObject.get(list);
    return known !== undefined ? known : this.addList(list);
  }

  private addList(list: AttributeList): number {
    const parts = [this.setIndex(list.fn), this.setIndex(list.result)];
    for (const set of list.parameters) parts.push(this.setIndex(set));
    while (parts.length > 2 && parts[parts.length - 1] === 0) parts.pop();
    let index = 0;
    if (parts.length > 2 || parts[0] !== 0 || parts[1] !== 0) {
      const key = parts.join();
      const same = this.listsByKey.get(key);
      if (same !== undefined) index = same;
      else {
        index = this.listsByKey.size + 1;
        this.listsByKey.set(key, index);
        const { fn, result, parameters } = list;
        const used = parts.length - 2;
        this.entries.push(
          used === parameters.length ? list : new AttributeList(fn, result, parameters.slice(0, used)),
        );
        this.lists.uint(parts.length);
        for (const part of parts) this.lists.uint(part);
      }
    }
    this.listsByObject.set(list, index);
    return index;
  }

  private setIndex(set: AttributeSet): number {
    const known = this.setsByObject.get(set);
    if (known !== undefined) return known;
    let index = 0;
    if (!set.isEmpty) {
      this.encodeSet(set);
      const key = this.scratch.key();
      const same = this.setsByBytes.get(key);
      if (same !== undefined) index = same;
      else {
        index = this.setsByBytes.size + 1;
        this.setsByBytes.set(key, index);
        this.sets.append(this.scratch);
      }
    }
    this.setsByObject.set(set, index);
    return index;
  }

  /** Leaves the bytes of a set in `scratch`. */
  private encodeSet(set: AttributeSet): void {
    const { scratch: out } = this;
    out.clear();
    out.uint(set.kinds.size);
    for (const name of [...set.kinds.keys()].sort()) {
      const code = attributeNames.find(name);
      out.uint(code === undefined ? 0 : code + 1);
      if (code === undefined) out.string(name);
      this.encodeValue(set.kinds.get(name)!);
    }
    out.uint(set.strings.size);
    for (const name of [...set.strings.keys()].sort()) {
      out.string(name);
      out.string(set.strings.get(name)!);
    }
  }

  private encodeValue(value: AttributeValue): void {
    const { scratch: out } = this;
    if (value === true) out.byte(Form.Flag);
    else if (typeof value === "number") {
      out.byte(Form.Number);
      out.uint(value);
    } else if (typeof value === "bigint") {
      out.byte(Form.BigInt);
      out.bigint(BigInt.asUintN(64, value), 8);
    } else if (value instanceof IntegerRange) {
      const { type, from, to } = value;
      const bytes = Math.ceil(type.bits / 8);
      out.byte(Form.Range);
      out.uint(this.types.index(type));
      for (const bound of [from, to]) out.bigint(BigInt.asUintN(bytes * 8, bound), bytes);
    } else {
      out.byte(Form.Type);
      out.uint(this.types.index(value));
    }
  }

  write(out: ByteWriter): void {
    out.uint(this.setsByBytes.size);
    out.append(this.sets);
    out.uint(this.listsByKey.size);
    out.append(this.lists);
  }
}

/** Reads what `AttributeTableWriter.write` wrote. @throws InputError on malformed data */
export function readAttributeTable(reader: ByteReader, types: readonly Type[]): AttributeList[] {
  const setCount = reader.count("attribute sets", 2);
  const sets = [noAttributes];
  for (let i = 0; i < setCount; i++) sets.push(readSet(reader, types));
  const listCount = reader.count("attribute lists", 3);
  const lists = [noAttributeList];
  const set = (): AttributeSet => sets[reader.below(sets.length, "attribute set")]!;
  for (let i = 0; i < listCount; i++) {
    const length = reader.count("attribute list members");
    if (length < 2) throw new InputError("an attribute list is too short");
    const fn = set();
    const result = set();
    const parameters: AttributeSet[] = [];
    for (let p = 2; p < length; p++) parameters.push(set());
    lists.push(new AttributeList(fn, result, parameters));
  }
  return lists;
}

function readSet(reader: ByteReader, types: readonly Type[]): AttributeSet {
  const kinds = new Map<string, AttributeValue>();
  const kindCount = reader.count("attributes", 2);
  for (let i = 0; i < kindCount; i++) {
    const code = reader.below(attributeNames.names.length + 1, "attribute");
    kinds.set(code === 0 ? reader.string() : attributeNames.names[code - 1]!, readValue(reader, types));
  }
  const strings = new Map<string, string>();
  const stringCount = reader.count("string attributes", 2);
  for (let i = 0; i < stringCount; i++) {
    const name = reader.string();
    strings.set(name, reader.string());
  }
  return new AttributeSet(kinds, strings);
}

function readValue(reader: ByteReader, types: readonly Type[]): AttributeValue {
  const form = reader.byte();
  switch (form) {
    case Form.Flag:
      return true;
    case Form.Number:
      return reader.long();
    case Form.BigInt:
      return reader.bigint(8);
    case Form.Range: {
      const type = types[reader.below(types.length, "type")]!;
      if (type.kind !== "int") throw new InputError(`a range of type ${type}`);
      const bytes = Math.ceil(type.bits / 8);
      const bound = (): bigint => BigInt.asIntN(type.bits, reader.bigint(bytes));
      const from = bound();
      return new IntegerRange(type, from, bound());
    }
    case Form.Type:
      return types[reader.below(types.length, "type")]!;
    default:
      throw new InputError(`unknown attribute form ${form}`);
  }
}
