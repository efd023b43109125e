/**
 * The tables that a packed stream refers to by index: symbols, strings, types, attribute lists, leaf values
 * and inline assembly. A body has its own pool, so it decodes without the rest of its module; a module has
 * one for its globals.
 *
 * What depends on the module around a body comes first, as numbers: symbols, functions that hints name, type tags. It is
 * the part that `hashBody` replaces by names, and that changes when a body goes into another module.
 */
import type { AttributeList } from "../../lto/ir/attributes.js";
import { InputError } from "../../lto/ir/errors.js";
import { type TbaaTag, tagOfId } from "../../lto/ir/hints/tbaa.js";
import type { Hints } from "../../lto/ir/hints.js";
import type { GepData } from "../../lto/ir/instructions.js";
import type { Func, GlobalValue } from "../../lto/ir/module.js";
import type { Type } from "../../lto/ir/types.js";
import { InlineAsm } from "../../lto/ir/values.js";
import { AttributeTableWriter, readAttributeTable } from "./attribute-codec.js";
import { type ByteReader, ByteWriter } from "./bytes.js";
import { type Leaf, LeafTableWriter, readLeafTable } from "./constant-codec.js";
import { renumberedRecords } from "./debug-records.js";
import { HintTableWriter, readHintTable } from "./hint-codec.js";
import { readTypeTable, TypeTableWriter } from "./type-codec.js";

/** Flag bits of an inline-assembly entry. */
const Asm = { SideEffects: 1, AlignStack: 2, IntelDialect: 4, CanUnwind: 8 } as const;

/** The numbers by which a module knows what a pool mentions. */
export interface ModuleNumbers {
  symbol(symbol: GlobalValue): number;
  /** The number of a function that a hint names; -1 if the module has it no more. */
  callee(fn: Func): number;
  tag(tag: TbaaTag): number;
  /** Of an origin (lto/ir/origins.ts). */
  origin(origin: number): number;
  /** Whether the symbol has a number; absent: all have. */
  knows?(symbol: GlobalValue): boolean;
  /** Of a source variable. */
  variable(variable: number): number;
}

/** The inverse. */
export interface ModuleTables {
  /** Must throw InputError for a number it does not know, as must the others. */
  symbols(index: number): GlobalValue;
  /** Where a linker replaced globals, those before; they own blocks whose address is taken. */
  originals(index: number): GlobalValue;
  tags(index: number): TbaaTag;
  /** The origin of code of a function. */
  origins(index: number, fn: Func): number;
  /** A source variable; -1: what is said of variables is not wanted. */
  variables(index: number): number;
}

/** Numbering of what is in memory, for bodies that do not leave the process. */
export const moduleNumbers = (symbol: (symbol: GlobalValue) => number): ModuleNumbers => ({
  symbol,
  callee: symbol,
  tag: (tag) => tag.id,
  origin: (origin) => origin,
  variable: (variable) => variable,
});
export const moduleTables = (
  symbols: (index: number) => GlobalValue,
  originals = symbols,
  tags: (index: number) => TbaaTag = tagInMemory,
  origins: ModuleTables["origins"] = (index) => index,
  variables: ModuleTables["variables"] = (index) => index,
): ModuleTables => ({ symbols, originals, tags, origins, variables });

function tagInMemory(id: number): TbaaTag {
  const tag = tagOfId(id);
  if (tag === undefined) throw new InputError(`type tag ${id} is out of range`);
  return tag;
}

export class PoolWriter {
  readonly types = new TypeTableWriter();
  readonly attributes = new AttributeTableWriter(this.types);
  readonly leaves = new LeafTableWriter(this.types, (symbol) => this.symbol(symbol));
  readonly hints = new HintTableWriter(
    (text) => this.string(text),
    (tag) => numberIn(this.tags, tag),
    (fn) => numberIn(this.callees, fn),
  );
  /** Of a body's instructions: see `OutsideNumbers`. */
  origins: readonly number[] = [];
  records: readonly number[] = [];
  private readonly callees = new Map<Func, number>();
  private readonly tags = new Map<TbaaTag, number>();
  private readonly symbols = new Map<GlobalValue, number>();
  private readonly strings = new Map<string, number>();
  private readonly texts: string[] = [];
  private readonly asmEntries: InlineAsm[] = [];
  private readonly asmByObject = new Map<InlineAsm, number>();
  private readonly asmByKey = new Map<string, number>();
  private readonly asms = new ByteWriter();

  private symbol(symbol: GlobalValue): number {
    return numberIn(this.symbols, symbol);
  }

  string(text: string): number {
    const number = numberIn(this.strings, text);
    if (number === this.texts.length) this.texts.push(text);
    return number;
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
      this.asmEntries.push(asm);
      this.asms.uint(type);
      this.asms.byte(flags);
      this.asms.string(asm.template);
      this.asms.string(asm.constraints);
    }
    this.asmByObject.set(asm, index);
    return index;
  }

  /** What has numbers, as objects; it grows with the numbers. */
  entries(): Pool {
    const { types, attributes, leaves, hints } = this;
    return {
      outside: { symbols: [], callees: [], tags: [], origins: [], records: [] },
      strings: this.texts,
      types: types.entries,
      attributes: attributes.entries,
      leaves: leaves.entries,
      asms: this.asmEntries,
      hints: hints.entries,
      geps: [],
    };
  }

  /** @param numbers those by which the reader will ask for what is outside */
  write(out: ByteWriter, numbers: ModuleNumbers): void {
    this.hints.enterStrings();
    out.uint(this.symbols.size);
    for (const symbol of this.symbols.keys()) out.uint(numbers.symbol(symbol));
    out.uint(this.callees.size);
    for (const callee of this.callees.keys()) out.uint(1 + numbers.callee(callee));
    out.uint(this.tags.size);
    for (const tag of this.tags.keys()) out.uint(numbers.tag(tag));
    const origins = renumberedOrigins(this.origins, numbers.origin);
    out.uint(origins.length);
    for (const number of origins) out.uint(number);
    const records = renumberedRecords(this.records, numbers.variable, numbers.origin);
    out.uint(records.length);
    for (const number of records) out.uint(number);
    out.uint(this.strings.size);
    for (const text of this.strings.keys()) out.string(text);
    this.types.write(out);
    this.attributes.write(out);
    this.leaves.write(out);
    out.uint(this.asmByKey.size);
    out.append(this.asms);
    this.hints.write(out);
  }
}

/** The number of a key, which gets the next one on first use. */
function numberIn<K>(table: Map<K, number>, key: K): number {
  let number = table.get(key);
  if (number === undefined) table.set(key, (number = table.size));
  return number;
}

/** The part of a pool that mentions no symbol. */
export interface PoolHead {
  readonly outside: OutsideNumbers;
  readonly strings: readonly string[];
  readonly types: readonly Type[];
  readonly attributes: readonly AttributeList[];
}

export interface Pool extends PoolHead {
  readonly leaves: readonly Leaf[];
  readonly asms: readonly InlineAsm[];
  readonly hints: readonly (Hints | null)[];
  /** What instructions share, by the number of the type; made where it is first asked for. */
  readonly geps: GepData[];
}

/** What a pool mentions of its module, by the module's numbers. */
export interface OutsideNumbers {
  readonly symbols: readonly number[];
  /** Symbols that hints name, plus 1; 0 for one that is gone. */
  readonly callees: readonly number[];
  readonly tags: readonly number[];
  /**
   * Of a body: numbers of instructions in a row, and their origin; together all of them, or none where all code is its
   * function's and has no location. They say nothing of what the code does.
   */
  readonly origins: readonly number[];
  /** Of a body: its debug records (`debug-records.ts`). */
  readonly records: readonly number[];
}

/** Runs of origins with other numbers of these; none where all are 0. */
export function renumberedOrigins(runs: readonly number[], number: (origin: number) => number): number[] {
  const numbers = runs.map((value, i) => ((i & 1) === 0 ? value : number(value)));
  return numbers.some((value, i) => (i & 1) === 1 && value !== 0) ? numbers : [];
}

/** Reads the module's numbers that a pool begins with; the reader is left after them. */
export function readOutside(reader: ByteReader): OutsideNumbers {
  return {
    symbols: readNumbers(reader, "symbols"),
    callees: readNumbers(reader, "callees"),
    tags: readNumbers(reader, "type tags"),
    origins: readNumbers(reader, "origins"),
    records: readNumbers(reader, "debug records"),
  };
}

export function writeOutside(
  out: ByteWriter,
  { symbols, callees, tags, origins, records }: OutsideNumbers,
): void {
  for (const list of [symbols, callees, tags, origins, records]) {
    out.uint(list.length);
    for (const number of list) out.uint(number);
  }
}

function readNumbers(reader: ByteReader, what: string): number[] {
  const numbers: number[] = [];
  for (let left = reader.count(what); left > 0; left--) numbers.push(reader.uint());
  return numbers;
}

/** Reads a pool up to its leaves. @throws InputError on malformed data */
export function readPoolHead(reader: ByteReader): PoolHead {
  const outside = readOutside(reader);
  const strings: string[] = [];
  for (let left = reader.count("strings"); left > 0; left--) strings.push(reader.string());
  const types = readTypeTable(reader);
  return { outside, strings, types, attributes: readAttributeTable(reader, types) };
}

/** Reads what `PoolWriter.write` wrote. @throws InputError on malformed data */
export function readPool(reader: ByteReader, module: ModuleTables): Pool {
  return readPoolTail(reader, readPoolHead(reader), module);
}

/** Reads the rest of a pool. @throws InputError on malformed data */
export function readPoolTail(
  reader: ByteReader,
  head: PoolHead,
  { symbols, originals, tags }: ModuleTables,
): Pool {
  const { outside } = head;
  const globals: GlobalValue[] = [];
  for (const index of outside.symbols) globals.push(symbols(index));
  const owners = originals === symbols ? globals : outside.symbols.map((index) => originals(index));
  const leaves = readLeafTable(reader, head.types, globals, owners);
  const asms: InlineAsm[] = [];
  for (let left = reader.count("inline assembly strings", 4); left > 0; left--)
    asms.push(readAsm(reader, head.types));
  const { strings, types, attributes } = head;
  const hints = readHintTable(reader, strings, {
    tags: outside.tags.map((index) => tags(index)),
    callees: outside.callees.map((index) => {
      const callee = index === 0 ? null : symbols(index - 1);
      return callee?.kind === "function" ? callee : null;
    }),
  });
  return { outside, strings, types, attributes, leaves, asms, hints, geps: [] };
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
