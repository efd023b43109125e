/**
 * The tables that a packed stream refers to by index: symbols, strings, types, attribute lists, leaf values
 * and inline assembly. A body has its own pool, so it decodes without the rest of its module; a module has
 * one for its globals.
 *
 * Symbols come first: they are the only part that depends on the module around a body, and so the part that
 * `hashBody` replaces by names.
 */
import type { AttributeList } from "../../lto/ir/attributes.js";
import { InputError } from "../../lto/ir/errors.js";
import type { GlobalValue } from "../../lto/ir/module.js";
import type { Type } from "../../lto/ir/types.js";
import { InlineAsm } from "../../lto/ir/values.js";
import { AttributeTableWriter, readAttributeTable } from "./attribute-codec.js";
import { type ByteReader, ByteWriter } from "./bytes.js";
import { type Leaf, LeafTableWriter, readLeafTable } from "./constant-codec.js";
import { readTypeTable, TypeTableWriter } from "./type-codec.js";

/** Flag bits of an inline-assembly entry. */
const Asm = { SideEffects: 1, AlignStack: 2, IntelDialect: 4, CanUnwind: 8 } as const;

export class PoolWriter {
  readonly types = new TypeTableWriter();
  readonly attributes = new AttributeTableWriter(this.types);
  readonly leaves = new LeafTableWriter(this.types, (symbol) => this.symbol(symbol));
  private readonly symbols = new Map<GlobalValue, number>();
  private readonly strings = new Map<string, number>();
  private readonly asmByObject = new Map<InlineAsm, number>();
  private readonly asmByKey = new Map<string, number>();
  private readonly asms = new ByteWriter();

  /** @param symbolIndex the index of a symbol in the module */
  constructor(private readonly symbolIndex: (symbol: GlobalValue) => number) {}

  private symbol(symbol: GlobalValue): number {
    let index = this.symbols.get(symbol);
    if (index === undefined) {
      index = this.symbols.size;
      this.symbols.set(symbol, index);
    }
    return index;
  }

  string(text: string): number {
    let index = this.strings.get(text);
    if (index === undefined) {
      index = this.strings.size;
      this.strings.set(text, index);
    }
    return index;
  }

  asm(asm: InlineAsm): number {
    const known = this.asmByObject.get(asm);
    if (known !== undefined) return known;
    const flags =
      (asm.sideEffects ? Asm.SideEffects : 0) |
      (asm.alignStack ? Asm.AlignStack : 0) |
      (asm.intelDialect ? Asm.IntelDialect : 0) |
      (asm.canUnwind ? Asm.CanUnwind : 0);
    const type = this.types.index(asm.functionType);
    const key = JSON.stringify([type, flags, asm.template, asm.constraints]);
    let index = this.asmByKey.get(key);
    if (index === undefined) {
      index = this.asmByKey.size;
      this.asmByKey.set(key, index);
      this.asms.uint(type);
      this.asms.byte(flags);
      this.asms.string(asm.template);
      this.asms.string(asm.constraints);
    }
    this.asmByObject.set(asm, index);
    return index;
  }

  write(out: ByteWriter): void {
    out.uint(this.symbols.size);
    for (const symbol of this.symbols.keys()) out.uint(this.symbolIndex(symbol));
    out.uint(this.strings.size);
    for (const text of this.strings.keys()) out.string(text);
    this.types.write(out);
    this.attributes.write(out);
    this.leaves.write(out);
    out.uint(this.asmByKey.size);
    out.append(this.asms);
  }
}

/** The part of a pool that mentions no symbol. */
export interface PoolHead {
  /** Module indices of the pool's symbols. */
  readonly symbols: readonly number[];
  readonly strings: readonly string[];
  readonly types: readonly Type[];
  readonly attributes: readonly AttributeList[];
}

export interface Pool extends PoolHead {
  readonly leaves: readonly Leaf[];
  readonly asms: readonly InlineAsm[];
}

/** Module indices of a pool's symbols; the reader is left after them. */
export function readSymbolIndices(reader: ByteReader): number[] {
  const count = reader.count("symbols");
  const indices: number[] = [];
  for (let i = 0; i < count; i++) indices.push(reader.uint());
  return indices;
}

/** Reads a pool up to its leaves. @throws InputError on malformed data */
export function readPoolHead(reader: ByteReader): PoolHead {
  const symbols = readSymbolIndices(reader);
  const strings: string[] = [];
  for (let left = reader.count("strings"); left > 0; left--) strings.push(reader.string());
  const types = readTypeTable(reader);
  return { symbols, strings, types, attributes: readAttributeTable(reader, types) };
}

/** Reads what `PoolWriter.write` wrote. @throws InputError on malformed data */
export function readPool(
  reader: ByteReader,
  symbols: (index: number) => GlobalValue,
  originals = symbols,
): Pool {
  return readPoolTail(reader, readPoolHead(reader), symbols, originals);
}

/** Reads the rest of a pool. @throws InputError on malformed data */
export function readPoolTail(
  reader: ByteReader,
  head: PoolHead,
  symbols: (index: number) => GlobalValue,
  originals = symbols,
): Pool {
  const globals: GlobalValue[] = [];
  for (const index of head.symbols) globals.push(symbols(index));
  const owners = originals === symbols ? globals : head.symbols.map((index) => originals(index));
  const leaves = readLeafTable(reader, head.types, globals, owners);
  const asms: InlineAsm[] = [];
  for (let left = reader.count("inline assembly strings", 4); left > 0; left--)
    asms.push(readAsm(reader, head.types));
  const { symbols: indices, strings, types, attributes } = head;
  return { symbols: indices, strings, types, attributes, leaves, asms };
}

function readAsm(reader: ByteReader, types: readonly Type[]): InlineAsm {
  const type = types[reader.below(types.length, "type")]!;
  if (type.kind !== "function") throw new InputError(`inline assembly of type ${type}`);
  const flags = reader.byte();
  const template = reader.string();
  return new InlineAsm(
    type,
    template,
    reader.string(),
    (flags & Asm.SideEffects) !== 0,
    (flags & Asm.AlignStack) !== 0,
    (flags & Asm.IntelDialect) !== 0,
    (flags & Asm.CanUnwind) !== 0,
  );
}
