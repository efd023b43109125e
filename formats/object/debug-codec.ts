/**
 * Nodes of debug information; OBJECT.md describes the bytes. They are numbered from 1 in the order in which they are first
 * mentioned; 0 is none.
 */
import type { DebugNode, FieldNode } from "../../lto/ir/debug/nodes.js";
import { blankNode, isBlank } from "../../lto/ir/debug/nodes.js";
import { type Field, fieldsOf, schemaKinds } from "../../lto/ir/debug/schema.js";
import { InputError } from "../../lto/ir/errors.js";
import type { GlobalValue } from "../../lto/ir/module.js";
import { pointerType, type Type } from "../../lto/ir/types.js";
import { type Constant, ConstFloat, ConstInt, ConstUndef, ConstZero } from "../../lto/ir/values.js";
import { type ByteReader, ByteWriter } from "./bytes.js";
import { readTypeTable, TypeTableWriter } from "./type-codec.js";

/** Kinds of entries; those from `FirstKind` on are kinds of the schema. */
const enum Entry {
  String = 0,
  Int = 1,
  Float = 2,
  Null = 3,
  Unknown = 4,
  Global = 5,
  FirstKind = 8,
}
const kindNumbers = new Map(schemaKinds.map((kind, i) => [kind, i]));
type Fields = Record<string, unknown>;

export class DebugTableWriter {
  private readonly numbers = new Map<DebugNode, number>();
  private readonly nodes: DebugNode[] = [];
  private readonly strings = new Map<string, number>();
  private readonly types = new TypeTableWriter();
  private readonly out = new ByteWriter(1 << 12);

  /** @param symbol the number of a global, -1 where the module has it no more */
  constructor(private readonly symbol: (global: GlobalValue) => number) {}

  /** The number by which the reader knows a node. */
  numberOf(node: DebugNode | null): number {
    if (node === null) return 0;
    let number = this.numbers.get(node);
    if (number === undefined) this.numbers.set(node, (number = this.nodes.push(node)));
    return number;
  }

  /** Writes all nodes that were asked for, with all that they lead to. */
  write(out: ByteWriter): void {
    const kinds = new ByteWriter();
    // More may come while it runs.
    for (const node of this.nodes) this.node(node, kinds);
    this.types.write(out);
    out.uint(this.strings.size);
    for (const text of this.strings.keys()) out.string(text);
    out.uint(this.nodes.length);
    out.append(kinds);
    out.append(this.out);
  }

  private string(text: string): number {
    let number = this.strings.get(text);
    if (number === undefined) this.strings.set(text, (number = this.strings.size));
    return number;
  }

  private node(node: DebugNode, kinds: ByteWriter): void {
    if (node.kind === "constant") this.constant(node.value, kinds);
    else if (node.kind === "string") {
      kinds.byte(Entry.String);
      this.out.uint(this.string(node.text));
    } else {
      kinds.byte(Entry.FirstKind + 2 * kindNumbers.get(node.kind)! + (node.distinct ? 1 : 0));
      this.fields(node);
    }
  }

  private constant(value: Constant, kinds: ByteWriter): void {
    const { out } = this;
    switch (value.valueKind) {
      case "int":
        kinds.byte(Entry.Int);
        out.uint(this.types.index(value.type));
        this.bigint(value.value);
        return;
      case "float":
        kinds.byte(Entry.Float);
        out.uint(this.types.index(value.type));
        this.bigint(value.bits);
        return;
      case "zero":
        kinds.byte(value.type.kind === "ptr" ? Entry.Null : Entry.Unknown);
        return;
      case "global": {
        const number = this.symbol(value);
        kinds.byte(number < 0 ? Entry.Unknown : Entry.Global);
        if (number >= 0) out.uint(number);
        return;
      }
      default:
        kinds.byte(Entry.Unknown);
    }
  }

  /** The number of bytes, twice, plus 1 for a negative one; then the bytes of its magnitude. */
  private bigint(value: bigint): void {
    const magnitude = value < 0n ? -value : value;
    const bytes = magnitude === 0n ? 0 : Math.ceil(magnitude.toString(16).length / 2);
    this.out.uint(2 * bytes + (value < 0n ? 1 : 0));
    this.out.bigint(magnitude, bytes);
  }

  /** Which fields say something, as the bits of a number, then what they say. */
  private fields(node: FieldNode): void {
    const values = node as unknown as Fields;
    const list = fieldsOf(node.kind);
    let mask = 0;
    list.forEach(([name, field], i) => {
      if (!isBlank(values[name], field)) mask += 2 ** i;
    });
    this.out.uint(mask);
    for (const [name, field] of list) if (!isBlank(values[name], field)) this.value(values[name], field);
  }

  private value(value: unknown, { type }: Field): void {
    const { out } = this;
    switch (type) {
      case "node":
        out.uint(this.numberOf(value as DebugNode));
        return;
      case "string":
        out.uint(this.string(value as string));
        return;
      case "number":
        out.uint(value as number);
        return;
      case "signed":
        out.int(value as number);
        return;
      case "boolean":
        return;
      case "bigint":
        this.bigint(value as bigint);
        return;
      case "size":
        if (typeof value === "number") out.uint(2 * value);
        else out.uint(2 * this.numberOf(value as DebugNode) + 1);
        return;
      case "bigints": {
        const list = value as readonly bigint[];
        out.uint(list.length);
        for (const item of list) this.bigint(item);
        return;
      }
      case "nodes": {
        const list = value as readonly (DebugNode | null)[];
        out.uint(list.length);
        for (const item of list) out.uint(this.numberOf(item));
        return;
      }
    }
  }
}

/** Reads what `DebugTableWriter.write` wrote. */
export class DebugTable {
  private readonly nodes: DebugNode[] = [];
  private readonly types: readonly Type[];
  private readonly strings: string[] = [];

  /**
   * @param symbols what is said for a global by its number, null for nothing; throws InputError for one that there is not
   * @throws InputError on malformed data
   */
  constructor(
    private readonly reader: ByteReader,
    private readonly symbols: (index: number) => GlobalValue | null,
  ) {
    this.types = readTypeTable(reader);
    for (let left = reader.count("strings"); left > 0; left--) this.strings.push(reader.string());
    const count = reader.count("nodes");
    const kinds = reader.raw(count);
    for (const kind of kinds) this.nodes.push(this.shell(kind));
    for (let i = 0; i < count; i++) this.fill(i, kinds[i]!);
  }

  /** All nodes, by number less 1. */
  get all(): readonly DebugNode[] {
    return this.nodes;
  }

  /** A node by the number that `numberOf` gave it; null for 0. @throws InputError */
  node(number: number): DebugNode | null {
    if (number === 0) return null;
    const node = this.nodes[number - 1];
    if (node === undefined) throw new InputError(`debug node ${number} is out of range`);
    return node;
  }

  /** One of a kind. @throws InputError */
  nodeOf<K extends DebugNode["kind"]>(number: number, kind: K): Extract<DebugNode, { kind: K }> {
    const node = this.node(number);
    if (node?.kind !== kind) throw new InputError(`debug node ${number} is no ${kind}`);
    return node as Extract<DebugNode, { kind: K }>;
  }

  private shell(kind: number): DebugNode {
    switch (kind) {
      case Entry.String:
        return { kind: "string", text: "" };
      case Entry.Int:
      case Entry.Float:
      case Entry.Null:
      case Entry.Unknown:
      case Entry.Global:
        return { kind: "constant", value: unknown };
    }
    const name = kind < Entry.FirstKind ? undefined : schemaKinds[(kind - Entry.FirstKind) >> 1];
    if (name === undefined) throw new InputError(`unknown kind ${kind} of debug node`);
    return blankNode(name, (kind & 1) !== 0, fieldsOf(name));
  }

  private fill(index: number, kind: number): void {
    const node = this.nodes[index]!;
    if (node.kind === "string") (node as { text: string }).text = this.string();
    else if (node.kind === "constant") (node as { value: Constant }).value = this.constant(kind);
    else this.fields(node);
  }

  private string(): string {
    return this.strings[this.reader.below(this.strings.length, "string")]!;
  }

  private constant(kind: number): Constant {
    const { reader } = this;
    switch (kind) {
      case Entry.Int: {
        const type = this.type();
        const value = this.bigint();
        if (type.kind !== "int") throw new InputError(`an integer of type ${type}`);
        return new ConstInt(type, BigInt.asIntN(type.bits, value));
      }
      case Entry.Float: {
        const type = this.type();
        const bits = this.bigint();
        if (!type.isFloat) throw new InputError(`a floating-point constant of type ${type}`);
        return new ConstFloat(type, bits);
      }
      case Entry.Null:
        return new ConstZero(pointerType(0));
      case Entry.Global:
        return this.symbols(reader.uint()) ?? unknown;
      default:
        return unknown;
    }
  }

  private type(): Type {
    return this.types[this.reader.below(this.types.length, "type")]!;
  }

  private bigint(): bigint {
    const head = this.reader.uint();
    const magnitude = this.reader.bigint(head >> 1);
    return (head & 1) === 0 ? magnitude : -magnitude;
  }

  private fields(node: FieldNode): void {
    const list = fieldsOf(node.kind);
    const mask = this.reader.uint();
    if (mask >= 2 ** list.length) throw new InputError(`a ${node.kind} with unknown fields`);
    const values = node as unknown as Fields;
    for (let i = 0; i < list.length; i++)
      if ((mask & (1 << i)) !== 0) values[list[i]![0]] = this.value(list[i]![1], node);
  }

  private operand({ of }: Field, user: FieldNode): DebugNode | null {
    const node = this.node(this.reader.uint());
    if (node !== null && of.length > 0 && !(of as readonly string[]).includes(node.kind))
      throw new InputError(`${node.kind} in a field of ${user.kind}`);
    return node;
  }

  private value(field: Field, user: FieldNode): unknown {
    const { reader } = this;
    switch (field.type) {
      case "node":
        return this.operand(field, user);
      case "string":
        return this.string();
      case "number":
        return reader.long();
      case "signed":
        return reader.int();
      case "boolean":
        return field.otherwise !== true;
      case "bigint":
        return this.bigint();
      case "size": {
        const value = reader.long();
        return value % 2 === 0 ? value / 2 : this.node((value - 1) / 2);
      }
      case "bigints": {
        const items: bigint[] = [];
        for (let left = reader.count("operations"); left > 0; left--) items.push(this.bigint());
        return items;
      }
      case "nodes": {
        const items: (DebugNode | null)[] = [];
        for (let left = reader.count("operands"); left > 0; left--) items.push(this.operand(field, user));
        return items;
      }
    }
  }
}

const unknown = new ConstUndef(pointerType(0), false);
