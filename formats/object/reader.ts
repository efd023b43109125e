/**
 * Reads IR objects; OBJECT.md describes the bytes.
 *
 * Globals and initialisers are made at once, bodies stay encoded views into the input (`EncodedBody`). Each
 * field is checked by hand; the summary is checked against the bodies' symbol tables, so that code which
 * relies on the summary cannot be led to drop a global that a body mentions.
 */

import { baseObject } from "../../lto/analysis/references.js";
import { type ModuleSummary, type SymbolSummary, symbolSummary } from "../../lto/analysis/summary.js";
import { DataLayout } from "../../lto/ir/data-layout.js";
import type { DICompileUnit } from "../../lto/ir/debug/nodes.js";
import { attributed, InputError } from "../../lto/ir/errors.js";
import type { TbaaTag } from "../../lto/ir/hints/tbaa.js";
import {
  Alias,
  Comdat,
  Func,
  type GlobalValue,
  GlobalVariable,
  IFunc,
  Module,
  type ModuleFlag,
  type TypeId,
  variableCodeModels,
} from "../../lto/ir/module.js";
import type { Type } from "../../lto/ir/types.js";
import type { Constant } from "../../lto/ir/values.js";
import { bodySymbols, EncodedBody, remapped } from "./body-codec.js";
import { ByteReader } from "./bytes.js";
import type { Leaf } from "./constant-codec.js";
import { splitParts } from "./container.js";
import { type AttachedNodes, readAttachments } from "./debug-attachments.js";
import {
  Bit,
  globalKinds,
  linkages,
  selections,
  threadLocalModes,
  unnamedAddrs,
  visibilities,
} from "./enums.js";
import { type ModuleTables, moduleTables, type PoolHead, readPoolHead, readPoolTail } from "./pool.js";
import { Row, unpackTables } from "./tables.js";
import { readTagTable } from "./tag-codec.js";

export interface ObjectContents {
  readonly module: Module;
  readonly summary: ModuleSummary;
}

/**
 * Reads an object: the module with bodies still encoded, and its summary. The module keeps views into
 * `bytes`, which must not change.
 * @throws InputError when the bytes are foreign, newer, truncated or malformed
 */
export function readObjectContents(bytes: Uint8Array, file: string): ObjectContents {
  return attributed(file, () => new ObjectReader(bytes, file).run());
}

/** As `readObjectContents`, the module only. */
export function readObject(bytes: Uint8Array, file: string): Module {
  return readObjectContents(bytes, file).module;
}

/** As `readObjectContents`, the summary only; constants are not read. */
export function readSummary(bytes: Uint8Array, file: string): ModuleSummary {
  return attributed(file, () => new ObjectReader(bytes, file).summaryOnly());
}

/** The tables of an object, still to be checked row by row. */
interface Header {
  readonly sourceName: string;
  readonly triple: string;
  readonly dataLayout: string;
  readonly moduleAsm: string;
  readonly flags: readonly unknown[];
  readonly libraries: readonly unknown[];
  readonly comdats: readonly unknown[];
  readonly globals: readonly unknown[];
  readonly summaries: readonly unknown[];
}

function readHeader(tables: Uint8Array): Header {
  const row = new Row(unpackTables(tables), "object tables");
  row.string(); // The producer: for people.
  const header = {
    sourceName: row.string(),
    triple: row.string(),
    dataLayout: row.string(),
    moduleAsm: row.string(),
    flags: row.list(),
    libraries: row.list(),
    comdats: row.list(),
    globals: row.list(),
    summaries: row.list(),
  };
  row.end();
  if (header.summaries.length !== header.globals.length)
    throw new InputError("the summary does not fit the symbol table");
  return header;
}

/** The rows of globals up to the field that differs by kind. */
function startRow(table: unknown): {
  row: Row;
  kind: GlobalValue["kind"];
  name: string;
  linkage: GlobalValue["linkage"];
  visibility: GlobalValue["visibility"];
} {
  const row = new Row(table, "symbol");
  return {
    row,
    kind: row.oneOf(globalKinds),
    name: row.name(),
    linkage: row.oneOf(linkages),
    visibility: row.oneOf(visibilities),
  };
}

class ObjectReader {
  private readonly header: Header;
  private readonly pool: ByteReader;
  private readonly bodies: Uint8Array;
  private readonly debug: Uint8Array;
  private readonly globals: GlobalValue[] = [];
  private bodyOffset = 0;
  /** Sets the constants of each global, once those are read. */
  private readonly later: (() => void)[] = [];
  private leaves: readonly Leaf[] = [];
  private tags: readonly TbaaTag[] = [];
  private readonly tables = moduleTables(
    (index) => this.symbol(index),
    undefined,
    (index) => this.tag(index),
    (index, fn) => this.origin(index, fn),
    (index) => this.variable(index),
  );

  constructor(
    bytes: Uint8Array,
    private readonly file: string,
  ) {
    const parts = splitParts(bytes);
    this.header = readHeader(parts.tables);
    this.pool = new ByteReader(parts.pool);
    this.bodies = parts.bodies;
    this.debug = parts.debug;
  }

  run(): ObjectContents {
    const { header, pool, file } = this;
    const module = new Module(file, header.sourceName, header.triple, new DataLayout(header.dataLayout));
    module.moduleAsm = header.moduleAsm;
    module.flags = header.flags.map(readFlag);
    module.dependentLibraries = header.libraries.map((library) =>
      new Row([library], "list of libraries").string(),
    );
    const comdats = header.comdats.map((table) => {
      const row = new Row(table, "comdat");
      return new Comdat(row.name(), row.oneOf(selections));
    });
    const head = readPoolHead(pool);
    const names = new Set<string>();
    for (const table of header.globals) {
      const global = this.global(table, head, comdats);
      if (global.name !== "" && names.size === names.add(global.name).size)
        throw new InputError(`symbol '${global.name}' is there twice`);
      this.globals.push(global);
    }
    if (this.bodyOffset !== this.bodies.length) throw new InputError("trailing bytes after the last body");
    this.leaves = readPoolTail(pool, head, this.tables).leaves;
    this.tags = readTagTable(pool);
    if (pool.remaining !== 0) throw new InputError("trailing bytes after the constants");
    for (const set of this.later) set();
    for (const global of this.globals) checkGlobal(global);
    for (const global of this.globals) module.globals.push(global);
    const summary = this.summary(this.globals);
    this.checkSummary(summary);
    if (this.debug.length > 0) module.debugLoader = (map) => this.loadDebug(module, map);
    return { module, summary };
  }

  private loadDebug(module: Module, map: (global: GlobalValue) => GlobalValue | null): DICompileUnit[] {
    const read = (): AttachedNodes => readAttachments(this.debug, (index) => this.symbol(index), map);
    const { units, table } = attributed(this.file, read);
    const { origins } = module;
    this.locate = (index, fn) => (index === 0 ? 0 : origins!.located(fn, table.nodeOf(index, "DILocation")));
    this.nodeOf = (index) => {
      const isLabel = table.node(index)?.kind === "DILabel";
      return origins!.variable(table.nodeOf(index, isLabel ? "DILabel" : "DILocalVariable"));
    };
    return units;
  }

  /** Likewise; -1: nobody wants to know. */
  private variable(index: number): number {
    return this.nodeOf === null ? (this.debug.length === 0 ? index : -1) : this.nodeOf(index);
  }
  private nodeOf: ModuleTables["variables"] | null = null;

  /** Of code: a location where it has been loaded, or a number of the link whose thread reads the object. */
  private origin(index: number, fn: Func): number {
    return this.locate === null ? (this.debug.length === 0 ? index : 0) : this.locate(index, fn);
  }
  private locate: ModuleTables["origins"] | null = null;

  summaryOnly(): ModuleSummary {
    const isDeclaration = this.header.globals.map((table) => {
      const { row, kind } = startRow(table);
      for (let i = 0; i < 6; i++) row.int(2 ** 32);
      row.align();
      row.name();
      if (kind !== "function") return kind === "variable" && row.int(2 ** 32) === 0;
      for (let i = 0; i < 2; i++) row.int(2 ** 32);
      row.string();
      for (let i = 0; i < 3; i++) row.int(2 ** 32);
      return row.int(2 ** 32) === 0;
    });
    return this.summary(
      this.header.globals.map((table, i) => ({ ...startRow(table), isDeclaration: isDeclaration[i]! })),
    );
  }

  private tag(index: number): TbaaTag {
    const tag = this.tags[index];
    if (tag === undefined) throw new InputError(`type tag ${index} is out of range`);
    return tag;
  }

  private symbol(index: number): GlobalValue {
    const global = this.globals[index];
    if (global === undefined) throw new InputError(`symbol ${index} is out of range`);
    return global;
  }

  private global(table: unknown, head: PoolHead, comdats: readonly Comdat[]): GlobalValue {
    const { row, kind, name, linkage, visibility } = startRow(table);
    const unnamedAddr = row.oneOf(unnamedAddrs);
    const threadLocal = row.oneOf(threadLocalModes);
    const bits = row.int(Bit.CodeModel * (1 + variableCodeModels.length));
    const comdat = row.optional(comdats);
    const valueType = row.element(head.types);
    const type = row.element(head.types);
    const align = row.align();
    const section = row.name();
    if (type.kind !== "ptr") throw new InputError(`symbol '${name}' has an address of type ${type}`);
    const global = this.specific(kind, name, valueType, type, row, head);
    row.end();
    if (global.kind === "function" || global.kind === "variable") {
      global.align = align;
      global.section = section;
    }
    if (global.kind === "variable") {
      global.isConstant = (bits & Bit.Constant) !== 0;
      global.externallyInitialized = (bits & Bit.ExternallyInitialized) !== 0;
      global.codeModel = variableCodeModels[Math.trunc(bits / Bit.CodeModel) - 1] ?? null;
    }
    global.linkage = linkage;
    global.visibility = visibility;
    global.unnamedAddr = unnamedAddr;
    global.threadLocal = threadLocal;
    global.dsoLocal = (bits & Bit.DsoLocal) !== 0;
    global.comdat = comdat;
    return global;
  }

  private specific(
    kind: GlobalValue["kind"],
    name: string,
    valueType: Type,
    type: Type,
    row: Row,
    head: PoolHead,
  ): GlobalValue {
    const mustBeSized = (): void => {
      if (valueType.kind === "function" || valueType.kind === "void" || valueType.kind === "label")
        throw new InputError(`symbol '${name}' is a variable of type ${valueType}`);
    };
    switch (kind) {
      case "function":
        if (valueType.kind !== "function")
          throw new InputError(`symbol '${name}' is a function of type ${valueType}`);
        return this.function(new Func(name, valueType, type), row, head);
      case "variable": {
        mustBeSized();
        const variable = new GlobalVariable(name, valueType, type);
        const index = row.int(2 ** 32);
        variable.typeIds = readTypeIds(row);
        variable.vcallVisibility = row.int(3);
        this.later.push(() => {
          variable.initializer = this.constant(index);
        });
        return variable;
      }
      case "alias": {
        const alias = new Alias(name, valueType, type);
        const index = row.int(2 ** 32);
        this.later.push(() => {
          alias.aliasee = this.required(index);
        });
        return alias;
      }
      case "ifunc": {
        const ifunc = new IFunc(name, valueType, type);
        const index = row.int(2 ** 32);
        this.later.push(() => {
          ifunc.resolver = this.required(index);
        });
        return ifunc;
      }
    }
  }

  private function(fn: Func, row: Row, head: PoolHead): Func {
    fn.callingConvention = row.int(1024);
    fn.attributes = row.element(head.attributes);
    fn.gc = row.string();
    const prefix = row.int(2 ** 32);
    const prologue = row.int(2 ** 32);
    const personality = row.int(2 ** 32);
    const length = row.int(2 ** 32);
    const entries = row.int(Number.MAX_SAFE_INTEGER);
    if (entries > 0) fn.entryCount = entries - 1;
    fn.typeIds = readTypeIds(row);
    this.later.push(() => {
      fn.prefix = this.constant(prefix);
      fn.prologue = this.constant(prologue);
      fn.personality = this.constant(personality);
    });
    if (length !== 0) {
      const end = this.bodyOffset + length;
      if (end > this.bodies.length) throw new InputError(`the body of '${fn.name}' is cut short`);
      const bytes = this.bodies.subarray(this.bodyOffset, end);
      this.bodyOffset = end;
      fn.defineEncoded(new ObjectBody(bytes, this.tables, this.file));
    }
    return fn;
  }

  private constant(index: number): Constant | null {
    return index === 0 ? null : this.required(index);
  }

  private required(index: number): Constant {
    const leaf = this.leaves[index - 1];
    if (leaf === undefined || leaf.valueKind === "metadata")
      throw new InputError("a constant is out of range");
    return leaf;
  }

  private summary(
    globals: readonly Pick<SymbolSummary, "name" | "kind" | "linkage" | "visibility" | "isDeclaration">[],
  ): ModuleSummary {
    const { summaries } = this.header;
    const symbols = globals.map((global, i): SymbolSummary => {
      const row = new Row(summaries[i], "summary");
      const instructions = row.int(2 ** 32);
      const traits = row.int(2 ** 16);
      const mentions = new ByteReader(row.bytes());
      const hash = Buffer.from(row.bytes()).toString("hex");
      row.end();
      const calls = readAscending(mentions, globals.length);
      const references = readAscending(mentions, globals.length);
      // A body as it was read: nothing has changed it.
      const revision = 0;
      return symbolSummary(global, calls, references, instructions, traits, hash, revision);
    });
    return { symbols };
  }

  /** Each symbol that a body mentions must be in its summary. */
  private checkSummary(summary: ModuleSummary): void {
    this.globals.forEach((global, i) => {
      if (global.kind !== "function" || global.source === null) return;
      const { calls, references } = summary.symbols[i]!;
      const known = new Set([...calls, ...references]);
      for (const index of bodySymbols((global.source as ObjectBody).bytes))
        if (!known.has(index)) throw new InputError(`the summary of '${global.name}' is incomplete`);
    });
  }
}

/** A body in an object: its errors name the file and the function. */
class ObjectBody extends EncodedBody {
  constructor(
    bytes: Uint8Array,
    module: ModuleTables,
    private readonly file: string,
  ) {
    super(bytes, module);
  }
  override decode(fn: Func): ReturnType<EncodedBody["decode"]> {
    try {
      return super.decode(fn);
    } catch (error) {
      if (!(error instanceof InputError)) throw error;
      throw new InputError(`function '${fn.name}': ${error.message}`, this.file);
    }
  }
  override remap(map: (symbol: GlobalValue) => GlobalValue): ObjectBody {
    return new ObjectBody(this.bytes, remapped(this.module, map), this.file);
  }
}

function readAscending(reader: ByteReader, limit: number): number[] {
  const list: number[] = [];
  let value = 0;
  for (let left = reader.count("mentions"); left > 0; left--) {
    value += reader.uint();
    if (value >= limit) throw new InputError("a summary names a symbol out of range");
    list.push(value);
  }
  return list;
}

function readTypeIds(row: Row): TypeId[] {
  return row.list().map((table) => {
    const id = new Row(table, "type of a global");
    const offset = id.int(Number.MAX_SAFE_INTEGER);
    const name = id.string();
    id.end();
    return { offset, name };
  });
}

function readFlag(table: unknown): ModuleFlag {
  const row = new Row(table, "module flag");
  return { behavior: row.int(256), key: row.string(), value: row.intOrString() };
}

/** Rules between the fields of a global that code working on modules relies on. */
function checkGlobal(global: GlobalValue): void {
  const fail = (what: string): never => {
    throw new InputError(`symbol '${global.name}' ${what}`);
  };
  if (global.isDeclaration && global.linkage !== "external" && global.linkage !== "extern_weak")
    fail(`has ${global.linkage} linkage but no definition`);
  if (!global.isDeclaration && global.linkage === "extern_weak")
    fail("has extern_weak linkage and a definition");
  if (global.linkage === "appending" && (global.kind !== "variable" || global.valueType.kind !== "array"))
    fail("has appending linkage but is no array");
  switch (global.kind) {
    case "variable":
      if (global.initializer !== null && global.initializer.type !== global.valueType)
        fail("has an initialiser of another type");
      break;
    case "alias":
      if (global.aliasee.type.kind !== "ptr" || baseObject(global.aliasee) === null)
        fail("is an alias of nothing");
      break;
    case "ifunc":
      if (global.resolver.type.kind !== "ptr") fail("has no resolver");
      break;
    case "function":
      break;
  }
}
