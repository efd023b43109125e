/** Writes a module as an IR object; OBJECT.md describes the bytes. */

import {
  globalIndices,
  type ModuleSummary,
  type SymbolSummary,
  summarizeGlobal,
  symbolSummary,
} from "../../lto/analysis/summary.js";
import { InputError } from "../../lto/ir/errors.js";
import type { TbaaTag } from "../../lto/ir/hints/tbaa.js";
import { Block, Body, makeInst, Op } from "../../lto/ir/instructions.js";
import {
  type Comdat,
  Func,
  type GlobalValue,
  type GlobalVariable,
  type Module,
  type TypeId,
  variableCodeModels,
} from "../../lto/ir/module.js";
import { functionType, voidType } from "../../lto/ir/types.js";
import { type Constant, ConstUndef } from "../../lto/ir/values.js";
import { EncodedBody, encodeBody } from "./body-codec.js";
import { hashBody, type ModuleNames } from "./body-hash.js";
import { ByteWriter } from "./bytes.js";
import { joinParts } from "./container.js";
import { writeAttachments } from "./debug-attachments.js";
import { DebugTableWriter } from "./debug-codec.js";
import {
  Bit,
  globalKinds,
  linkages,
  selections,
  threadLocalModes,
  unnamedAddrs,
  visibilities,
} from "./enums.js";
import { type ModuleNumbers, moduleNumbers, PoolWriter } from "./pool.js";
import { packTables, type Table } from "./tables.js";
import { TagTableWriter } from "./tag-codec.js";

/** Recorded in each object; readers do not depend on it. */
const producer = "tsc-lto 0.1.0";

/**
 * Encodes a module. Bodies are decoded one at a time and released again if they were not decoded before; with
 * a summary, those of objects are copied without being decoded. The same module gives the same bytes.
 * @param summary of this very module, when it is known; what was edited since is looked at again
 */
export function writeObject(module: Module, summary?: ModuleSummary, options: WriteOptions = {}): Uint8Array {
  return new ObjectWriter(module, summary, options).run();
}

export interface WriteOptions {
  /** Other threads of the link read it: without debug information, and origins are numbers that only the first one understands. */
  readonly forThreads?: boolean;
  /**
   * A part of a module, in which only these have contents: other functions have a body that does nothing, and variables any
   * value. So whoever must know that they are definitions does, and nothing more.
   */
  readonly only?: ReadonlySet<GlobalValue>;
}

/** In place of a body that nobody is to look at. */
function stubBody(): Uint8Array {
  const fn = new Func("", functionType(voidType, []));
  const body = new Body();
  const block = new Block();
  block.append(makeInst(Op.Unreachable, voidType, [], null));
  body.blocks.push(block);
  return encodeBody(
    fn,
    moduleNumbers(() => 0),
    body,
  );
}

class ObjectWriter {
  private readonly indices: Map<GlobalValue, number>;
  private readonly pool: PoolWriter;
  private readonly bodies = new ByteWriter(1 << 14);
  private readonly comdats = new Map<Comdat, number>();
  private readonly tags = new TagTableWriter();
  /** Tags by number. */
  private readonly tagList: TbaaTag[] = [];
  private readonly numbers: ModuleNumbers = {
    symbol: (symbol) => this.indexOf(symbol),
    callee: (fn) => this.indices.get(fn) ?? -1,
    tag: (tag) => {
      const number = this.tags.index(tag);
      this.tagList[number] = tag;
      return number;
    },
    origin: (origin) => this.originNumber(origin),
    knows: (symbol) => this.indices.has(symbol),
    variable: (variable) => this.variableNumber(variable),
  };

  private readonly debugTable = new DebugTableWriter((global) => this.indices.get(global) ?? -1);

  private readonly names: ModuleNames = {
    symbol: (index) => this.module.globals[index]!.name,
    tag: (index) => this.tagList[index]!,
  };

  constructor(
    private readonly module: Module,
    private readonly known: ModuleSummary | undefined,
    private readonly options: WriteOptions,
  ) {
    this.indices = globalIndices(module);
    this.pool = new PoolWriter();
  }

  private indexOf(symbol: GlobalValue): number {
    const index = this.indices.get(symbol);
    if (index === undefined) throw new Error(`writeObject: @${symbol.name} is not in the module`);
    return index;
  }

  run(): Uint8Array {
    const { module } = this;
    const rows: Table[] = [];
    const summaries: Table[] = [];
    for (const global of module.globals) {
      refuseZeros(global.name, module);
      if (global.comdat !== null) refuseZeros(global.comdat.name, module);
      if ("section" in global) refuseZeros(global.section, module);
      const { row, summary } = this.global(global);
      rows.push(row);
      summaries.push(packSummary(summary));
    }
    const comdats = [...this.comdats.keys()].map((c) => [c.name, selections.code(c.selection)]);
    const tables = packTables([
      producer,
      module.sourceName,
      module.triple,
      module.dataLayout.text,
      module.moduleAsm,
      module.flags.map((flag) => [flag.behavior, flag.key, flag.value]),
      module.dependentLibraries,
      comdats,
      rows,
      summaries,
    ]);
    const pool = new ByteWriter(1 << 12);
    this.pool.write(pool, this.numbers);
    this.tags.write(pool);
    return joinParts({ tables, pool: pool.view(), bodies: this.bodies.view(), debug: this.debug() });
  }

  /** In files, locations with all calls that led there; where code is from otherwise is known in one link only. */
  private originNumber(origin: number): number {
    const { module, debugTable, options } = this;
    if (options.forThreads === true) return origin;
    return module.debugUnits === null ? 0 : debugTable.numberOf(module.origins?.locationOf(origin) ?? null);
  }

  private variableNumber(variable: number): number {
    const { module, debugTable, options } = this;
    if (options.forThreads === true || module.origins === null) return variable;
    return debugTable.numberOf(module.origins.variableOf(variable));
  }

  private debug(): Uint8Array {
    const { module, debugTable } = this;
    if (module.debugUnits === null || this.options.forThreads === true) return new Uint8Array(0);
    const nodes = new ByteWriter(1 << 12);
    writeAttachments(nodes, module, debugTable);
    // What it mentions has numbers now.
    const table = new ByteWriter(1 << 12);
    debugTable.write(table);
    const out = new ByteWriter(table.length + nodes.length);
    out.append(table);
    out.append(nodes);
    return out.view();
  }

  private comdat(comdat: Comdat | null): number {
    if (comdat === null) return 0;
    let index = this.comdats.get(comdat);
    if (index === undefined) {
      index = this.comdats.size + 1;
      this.comdats.set(comdat, index);
    }
    return index;
  }

  private constant(constant: Constant | null): number {
    return constant === null ? 0 : 1 + this.pool.leaves.index(constant);
  }

  private global(global: GlobalValue): { row: Table; summary: SymbolSummary } {
    let bits = global.dsoLocal ? Bit.DsoLocal : 0;
    let align = 0;
    let section = "";
    if (global.kind === "function" || global.kind === "variable") ({ align, section } = global);
    if (global.kind === "variable") {
      if (global.isConstant) bits |= Bit.Constant;
      if (global.externallyInitialized) bits |= Bit.ExternallyInitialized;
      if (global.codeModel !== null)
        bits |= Bit.CodeModel * (1 + variableCodeModels.indexOf(global.codeModel));
    }
    const row: Table[] = [
      globalKinds.code(global.kind),
      global.name,
      linkages.code(global.linkage),
      visibilities.code(global.visibility),
      unnamedAddrs.code(global.unnamedAddr),
      threadLocalModes.code(global.threadLocal),
      bits,
      this.comdat(global.comdat),
      this.pool.types.index(global.valueType),
      this.pool.types.index(global.type),
      align === 0 ? 0 : 1 + Math.round(Math.log2(align)),
      section,
    ];
    switch (global.kind) {
      case "function":
        return { row, summary: this.function(global, row) };
      case "variable":
        row.push(
          this.constant(this.initializer(global)),
          packTypeIds(global.typeIds),
          global.vcallVisibility,
        );
        break;
      case "alias":
        row.push(this.constant(global.aliasee));
        break;
      case "ifunc":
        row.push(this.constant(global.resolver));
        break;
    }
    return { row, summary: this.summary(global) };
  }

  private has(global: GlobalValue): boolean {
    return this.options.only?.has(global) !== false;
  }

  private initializer(variable: GlobalVariable): Constant | null {
    const { initializer } = variable;
    return initializer === null || this.has(variable)
      ? initializer
      : new ConstUndef(variable.valueType, false);
  }

  private summary(global: GlobalValue): SymbolSummary {
    return this.has(global)
      ? summarizeGlobal(global, this.indices)
      : symbolSummary(global, [], [], 0, 0, "", 0);
  }

  private header(fn: Func, row: Table[]): void {
    row.push(
      fn.callingConvention,
      this.pool.attributes.index(fn.attributes),
      fn.gc,
      this.constant(fn.prefix),
      this.constant(fn.prologue),
      this.constant(fn.personality),
    );
  }

  private stub(fn: Func, row: Table[]): SymbolSummary {
    this.header(fn, row);
    this.stubBytes ??= stubBody();
    row.push(this.stubBytes.length, fn.entryCount === null ? 0 : fn.entryCount + 1, packTypeIds(fn.typeIds));
    this.bodies.raw(this.stubBytes);
    return this.summary(fn);
  }
  private stubBytes: Uint8Array | null = null;

  private function(fn: Func, row: Table[]): SymbolSummary {
    const decoded = fn.isDecoded;
    if (!fn.isDeclaration && !this.has(fn)) return this.stub(fn, row);
    // What is attached to the function may come with the body.
    if (!fn.isDeclaration && !(fn.source instanceof EncodedBody)) fn.view();
    this.header(fn, row);
    if (fn.isDeclaration) {
      row.push(0, 0, packTypeIds(fn.typeIds));
      return summarizeGlobal(fn, this.indices);
    }
    // An owned body has no source: what is copied is always what the body is now.
    const encoded = fn.source instanceof EncodedBody ? fn.source.renumber(fn, this.numbers) : null;
    const bytes = encoded ?? encodeBody(fn, this.numbers);
    row.push(bytes.length, fn.entryCount === null ? 0 : fn.entryCount + 1, packTypeIds(fn.typeIds));
    this.bodies.raw(bytes);
    const hash = hashBody(bytes, this.names);
    const known = this.known?.symbols[this.indexOf(fn)];
    const summary =
      known === undefined || known.revision !== fn.revision
        ? summarizeGlobal(fn, this.indices, hash)
        : { ...known, hash };
    if (!decoded) fn.release();
    return summary;
  }
}

const packTypeIds = (ids: readonly TypeId[]): Table => ids.map(({ offset, name }) => [offset, name]);

/** [instructions, traits, mentions, hash]; the mentions are two ascending lists as counts and differences. */
function packSummary(summary: SymbolSummary): Table {
  const mentions = new ByteWriter();
  for (const list of [summary.calls, summary.references]) {
    mentions.uint(list.length);
    let previous = 0;
    for (const index of list) {
      mentions.uint(index - previous);
      previous = index;
    }
  }
  return [summary.instructions, summary.traits, mentions.finish(), Buffer.from(summary.hash, "hex")];
}

/** Readers refuse such names. @throws InputError */
function refuseZeros(name: string, { file }: Module): void {
  if (name.includes("\0")) throw new InputError(`a name holds a zero byte: ${JSON.stringify(name)}`, file);
}
