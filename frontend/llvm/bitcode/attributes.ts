/**
 * Attribute groups and attribute lists of a bitcode module.
 *
 * Older spellings become the current ones, so that nothing later need know them: `nocapture` is
 * `captures(none)` (value 0), and a function's `readnone`, `readonly`, `argmemonly`, … become `memory`.
 *
 * The value of `memory` has two bits for each location (1 may read, 2 may write), from bit 0 on: argument
 * memory, inaccessible memory, other memory. That is LLVM's own encoding up to LLVM 20; later ones, which
 * tell errno and target-specific locations from other memory, are translated by joining them to it.
 *
 * Kinds that this reader does not know are skipped by the shape of their encoding, and so are ranges of more than 64
 * bits and `initializes`, which an AttributeSet does not hold.
 */

import { attributeKinds } from "../../../formats/bitcode/attribute-kinds.js";
import {
  AttributeList,
  AttributeSet,
  type AttributeValue,
  IntegerRange,
  noAttributeList,
  noAttributes,
} from "../../../lto/ir/attributes.js";
import { textOfBytes } from "../../../lto/ir/byte-text.js";
import { InputError } from "../../../lto/ir/errors.js";
import { intType } from "../../../lto/ir/types.js";
import { type BitReader, Entry } from "./bitstream.js";
import type { TypeTable } from "./types.js";

const functionIndex = 0xffffffff;
const maxParameters = 1 << 16;
/** Bound on the unused slots of all parameter lists together, which cost the input nothing. */
const maxPadding = 1 << 22;

const allMemory = 0x3f;
/** What each retired function attribute leaves of `memory`. */
const retiredMemory = new Map<string, number>([
  ["readnone", 0x00],
  ["readonly", 0x15],
  ["writeonly", 0x2a],
  ["argmemonly", 0x03],
  ["inaccessiblememonly", 0x0c],
  ["inaccessiblemem_or_argmemonly", 0x0f],
]);

interface Group {
  readonly index: number;
  readonly set: AttributeSet;
}

export class AttributeTable {
  private readonly groups = new Map<number, Group>();
  private readonly lists: AttributeList[] = [];
  private padding = 0;

  constructor(private readonly types: TypeTable) {}

  /** The list of a 1-based id; 0 stands for no attributes. */
  get(id: number): AttributeList {
    if (id === 0) return noAttributeList;
    const list = this.lists[id - 1];
    if (list === undefined) throw new InputError(`malformed bitcode: undefined attribute list ${id}`);
    return list;
  }

  /** Reads the PARAMATTR_GROUP block that `reader` met. */
  readGroups(reader: BitReader): void {
    reader.enter();
    for (;;) {
      const entry = reader.advance();
      if (entry === Entry.End) return;
      if (entry === Entry.SubBlock) reader.skip();
      else if (reader.code === 3) this.readGroup(reader);
    }
  }

  /** Reads the PARAMATTR block that `reader` met. */
  readLists(reader: BitReader): void {
    reader.enter();
    for (;;) {
      const entry = reader.advance();
      if (entry === Entry.End) return;
      if (entry === Entry.SubBlock) reader.skip();
      else if (reader.code === 2) this.lists.push(this.makeList(reader));
      else if (reader.code === 1) this.lists.push(noAttributeList); // A form that LLVM 3.2 was last to write.
    }
  }

  private makeList(reader: BitReader): AttributeList {
    let fn = noAttributes;
    let result = noAttributes;
    const parameters: AttributeSet[] = [];
    for (let i = 0; i < reader.count; i++) {
      const group = this.groups.get(reader.number(i));
      if (group === undefined) throw new InputError("malformed bitcode: undefined attribute group");
      if (group.index === functionIndex) fn = group.set;
      else if (group.index === 0) result = group.set;
      else {
        while (parameters.length < group.index) {
          parameters.push(noAttributes);
          if (++this.padding > maxPadding) throw new InputError("too many parameters");
        }
        parameters[group.index - 1] = group.set;
      }
    }
    return new AttributeList(fn, result, parameters);
  }

  private readGroup(reader: BitReader): void {
    if (reader.count < 2) throw new InputError("malformed bitcode: attribute group");
    const index = reader.number(1);
    if (index !== functionIndex && index > maxParameters)
      throw new InputError("malformed bitcode: attribute of a parameter that cannot exist");
    const set = new GroupParser(reader, this.types, index === functionIndex).parse();
    this.groups.set(reader.number(0), { index, set });
  }
}

/** One pass over the record of a group. */
class GroupParser {
  private at = 2;
  private readonly kinds = new Map<string, AttributeValue>();
  private readonly strings = new Map<string, string>();
  private memory = allMemory;

  constructor(
    private readonly reader: BitReader,
    private readonly types: TypeTable,
    private readonly ofFunction: boolean,
  ) {}

  parse(): AttributeSet {
    while (this.at < this.reader.count) this.attribute();
    if (this.memory !== allMemory) this.kinds.set("memory", this.memory);
    return new AttributeSet(this.kinds, this.strings);
  }

  private next(): number {
    if (this.at >= this.reader.count) throw new InputError("malformed bitcode: attribute group");
    return this.reader.number(this.at++);
  }

  private attribute(): void {
    const shape = this.next();
    switch (shape) {
      case 0:
        this.flag(attributeKinds[this.next()]);
        break;
      case 1:
        this.integer(attributeKinds[this.next()]);
        break;
      case 3:
      case 4: {
        const key = this.string();
        this.strings.set(key, shape === 4 ? this.string() : "");
        break;
      }
      case 5:
      case 6: {
        const name = attributeKinds[this.next()];
        if (shape === 5) break; // A type attribute without its type, as typed pointers allowed.
        const type = this.types.get(this.next());
        if (name !== undefined) this.kinds.set(name, type);
        break;
      }
      case 7: {
        const name = attributeKinds[this.next()];
        const width = this.next();
        const range = width >= 1 && width <= 64 ? this.narrowRange(width) : null;
        if (range === null) this.range(width);
        else if (name !== undefined) this.kinds.set(name, range);
        break;
      }
      case 8: {
        this.next();
        const ranges = this.next();
        const width = this.next();
        for (let i = 0; i < ranges; i++) this.range(width);
        break;
      }
      default:
        throw new InputError("malformed bitcode: attribute encoding");
    }
  }

  private flag(name: string | undefined): void {
    if (name === undefined) return;
    const memory = this.ofFunction ? retiredMemory.get(name) : undefined;
    if (memory !== undefined) this.memory &= memory;
    else if (name === "nocapture") this.kinds.set("captures", 0);
    else if (name === "uwtable") this.kinds.set(name, 2);
    else this.kinds.set(name, true);
  }

  private integer(name: string | undefined): void {
    const at = this.at;
    const value = this.next();
    if (name === undefined) return;
    if (name === "memory") this.memory &= memoryOf(this.reader.big(at));
    else this.kinds.set(name, Number.isSafeInteger(value) ? value : this.reader.big(at));
  }

  private string(): string {
    const bytes: number[] = [];
    for (;;) {
      const byte = this.next();
      if (byte === 0) return textOfBytes(Uint8Array.from(bytes));
      bytes.push(byte);
    }
  }

  private narrowRange(width: number): IntegerRange {
    const from = this.signed();
    const to = this.signed();
    return new IntegerRange(intType(width), BigInt.asIntN(width, from), BigInt.asIntN(width, to));
  }

  /** A number whose sign is in its lowest bit. */
  private signed(): bigint {
    const { at } = this;
    this.next();
    const bits = this.reader.big(at);
    if ((bits & 1n) === 0n) return bits >> 1n;
    return bits === 1n ? -(1n << 63n) : -(bits >> 1n);
  }

  /** Skips the bounds of a range: a count of words for each when wide, else one word each. */
  private range(width: number): void {
    if (width <= 64) {
      this.next();
      this.next();
      return;
    }
    const counts = this.next();
    const words = (counts % 2 ** 32) + Math.floor(counts / 2 ** 32);
    for (let i = 0; i < words; i++) this.next();
  }
}

/** The version is in the top byte. From version 1 on errno comes before the rest, and others after it. */
function memoryOf(encoded: bigint): number {
  const bits = Number(encoded & 0xffffn);
  if (encoded >> 56n === 0n) return bits & allMemory;
  const rest = (bits >> 4) | (bits >> 6) | (bits >> 8) | (bits >> 10);
  return (bits & 0x0f) | ((rest & 3) << 4);
}
