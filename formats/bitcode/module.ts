/**
 * A module as LLVM bitcode ("LLVM Bitcode File Format"): identification, module, names. Bodies are looked at twice: first
 * for what the module numbers (types, attributes, metadata), then to be written.
 */
import { bytesOfText } from "../../lto/ir/byte-text.js";
import {
  type Comdat,
  type Func,
  type GlobalValue,
  type Module,
  variableCodeModels,
} from "../../lto/ir/module.js";
import type { Constant } from "../../lto/ir/values.js";
import { AttributeNumbers } from "./attributes.js";
import { BitWriter } from "./bit-stream.js";
import {
  BlockId,
  comdatSelections,
  ModuleCode,
  threadLocalModes,
  unnamedAddrs,
  visibilities,
} from "./codes.js";
import { ConstantTable } from "./constants.js";
import { VariableFunctions } from "./debug-records.js";
import { type BodyFacts, type FunctionTables, FunctionWriter, NameNumbers, scanBody } from "./function.js";
import { MetadataNumbers } from "./metadata.js";
import { Older } from "./older.js";
import { TypeNumbers } from "./types.js";

const magic = 0xdec04342;
const producer = "tsc-lto";
/** A compile unit has more than lines. */
const fullDebug = 1;

/** The numbers that LLVM writes now; readers know older ones besides. */
const linkageNumbers: Readonly<Record<GlobalValue["linkage"], number>> = {
  external: 0,
  appending: 2,
  internal: 3,
  extern_weak: 7,
  common: 8,
  private: 9,
  available_externally: 12,
  weak: 16,
  weak_odr: 17,
  linkonce: 18,
  linkonce_odr: 19,
};

/** Names one after the other, as the string table has them. */
class Strings {
  private readonly parts: Uint8Array[] = [];
  private size = 0;
  /** [offset, size] */
  add(text: string): [number, number] {
    const bytes = bytesOfText(text);
    const offset = this.size;
    this.parts.push(bytes);
    this.size += bytes.length;
    return [offset, bytes.length];
  }
  contents(): Uint8Array {
    return Buffer.concat(this.parts);
  }
}

/** From 1 on; 0 for none. */
const numberIn = <T>(list: readonly T[], item: T): number => list.indexOf(item) + 1;
const alignment = (bytes: number): number => (bytes === 0 ? 0 : Math.log2(bytes) + 1);

/**
 * @param version of the LLVM that is to read it: promises that it does not know are left out
 * @throws UnsupportedError for operations that it does not know
 */
export function moduleBitcode(module: Module, version: number): Uint8Array {
  return new ModuleWriter(module, version).run();
}

class ModuleWriter {
  private readonly w = new BitWriter();
  private readonly strings = new Strings();
  private readonly facts = new Map<Func, BodyFacts>();
  private readonly tables: FunctionTables;
  /** The module's, and those that are called for what is said of variables. */
  private readonly globals: readonly GlobalValue[];
  private readonly sections: string[];
  private readonly collectors: string[];
  private readonly comdats: Comdat[];

  constructor(
    private readonly module: Module,
    version: number,
  ) {
    const { origins, debugUnits } = module;
    const hasDebug = origins !== null && debugUnits !== null;
    const variables = debugUnits?.some(({ emissionKind }) => emissionKind === fullDebug)
      ? new VariableFunctions(module)
      : null;
    const globals = variables === null ? module.globals : [...module.globals, ...variables.added];
    this.globals = globals;
    const types = new TypeNumbers();
    const numbers = {
      types,
      globals: new Map(globals.map((global, i) => [global, i])),
      blockOf: (fn: Func, label: number): number => this.facts.get(fn)!.labels.get(label)!,
      version,
      older: new Older(version),
    };
    const metadata = new MetadataNumbers(numbers);
    this.tables = {
      ...numbers,
      attributes: new AttributeNumbers(types, version),
      metadata,
      constants: new ConstantTable(numbers, globals.length),
      bundles: new NameNumbers(),
      // The first two have these numbers in every module.
      scopes: new NameNumbers("singlethread", ""),
      origins: hasDebug ? origins : null,
      variables,
    };
    const unique = <T>(list: readonly T[]): T[] => [...new Set(list)];
    this.sections = unique(
      globals.flatMap((g) => (g.kind === "variable" || g.kind === "function" ? [g.section] : [])),
    ).filter((name) => name !== "");
    this.collectors = unique(module.functions.map((fn) => fn.gc)).filter((name) => name !== "");
    this.comdats = unique(globals.flatMap(({ comdat }) => (comdat === null ? [] : [comdat])));
  }

  run(): Uint8Array {
    this.scan();
    const { w } = this;
    w.fixed(magic, 32);
    w.block(BlockId.Identification, () => {
      w.text(1, producer);
      w.record(2, [0]);
    });
    w.block(BlockId.Module, () => this.writeModule());
    w.block(BlockId.Strtab, () => {
      w.defineBlob(1, 0);
      w.blob([], this.strings.contents());
    });
    return w.finish();
  }

  /** Numbers all that the module's tables hold. */
  private scan(): void {
    const { module, tables } = this;
    const { types, constants, metadata } = tables;
    for (const global of this.globals) {
      types.of(tables.older.typeOf(global));
      types.of(global.type);
      for (const constant of constantsOf(global)) constants.of(constant);
    }
    for (const fn of module.functions) {
      tables.attributes.of(tables.older.attributesOf(fn));
      for (const { type } of fn.args) types.of(type);
      if (fn.isDeclaration) metadata.addGlobal(fn);
      else fn.peek((body) => this.facts.set(fn, scanBody(fn, body, tables)));
    }
    for (const variable of module.variables) metadata.addGlobal(variable);
    metadata.close(module, constants);
  }

  private writeModule(): void {
    const { w, module, tables } = this;
    w.record(ModuleCode.Version, [2]);
    tables.types.write(w);
    tables.attributes.write(w);
    if (module.triple !== "") w.text(ModuleCode.Triple, module.triple);
    if (module.dataLayout.text !== "") w.text(ModuleCode.DataLayout, module.dataLayout.text);
    if (module.moduleAsm !== "") w.text(ModuleCode.Asm, module.moduleAsm);
    for (const section of this.sections) w.text(ModuleCode.SectionName, section);
    for (const collector of this.collectors) w.text(ModuleCode.GcName, collector);
    w.text(ModuleCode.SourceFilename, module.sourceName);
    for (const { name, selection } of this.comdats)
      w.record(ModuleCode.Comdat, [...this.strings.add(name), comdatSelections.lastIndexOf(selection)]);
    for (const global of this.globals) this.writeGlobal(global);
    tables.constants.write(w);
    tables.metadata.write(w);
    this.writeNames(BlockId.OperandBundleTags, tables.bundles);
    this.writeNames(BlockId.SyncScopeNames, tables.scopes);
    const users = this.usersOfBlocks();
    for (const [fn, facts] of this.facts)
      fn.peek((body) => new FunctionWriter(w, fn, body, tables).write(facts, users.get(fn) ?? []));
  }

  private writeNames(block: BlockId, { names }: NameNumbers): void {
    if (names.length === 0) return;
    this.w.block(block, () => {
      for (const name of names) this.w.text(1, name);
    });
  }

  /** Who takes addresses of a function's blocks elsewhere, in the order of the module. */
  private usersOfBlocks(): Map<Func, Func[]> {
    const users = new Map<Func, Func[]>();
    for (const [user, { takesFrom }] of this.facts)
      for (const fn of takesFrom) users.set(fn, [...(users.get(fn) ?? []), user]);
    return users;
  }

  /** The layouts are given at the reader's functions (frontend/llvm/bitcode/module.ts). */
  private writeGlobal(global: GlobalValue): void {
    const { w, tables } = this;
    const { types, constants, attributes } = tables;
    const name = this.strings.add(global.name);
    const linkage = linkageNumbers[global.linkage];
    const visibility = visibilities.indexOf(global.visibility);
    const threadLocal = threadLocalModes.indexOf(global.threadLocal);
    const unnamed = unnamedAddrs.indexOf(global.unnamedAddr);
    const local = global.dsoLocal ? 1 : 0;
    const comdat = global.comdat === null ? 0 : numberIn(this.comdats, global.comdat);
    const space = global.type.addressSpace;
    const type = types.of(tables.older.typeOf(global));
    const optional = (constant: Constant | null): number =>
      constant === null ? 0 : constants.of(constant) + 1;
    switch (global.kind) {
      case "variable": {
        const model = global.codeModel === null ? 0 : variableCodeModels.indexOf(global.codeModel) + 1;
        return w.record(ModuleCode.GlobalVar, [
          ...name,
          type,
          (global.isConstant ? 1 : 0) | 2 | (space << 2),
          optional(global.initializer),
          linkage,
          alignment(global.align),
          numberIn(this.sections, global.section),
          visibility,
          threadLocal,
          unnamed,
          global.externallyInitialized ? 1 : 0,
          0,
          comdat,
          0,
          local,
          ...(model === 0 ? [] : [0, 0, 0, model]),
        ]);
      }
      case "function":
        return w.record(ModuleCode.Function, [
          ...name,
          type,
          global.callingConvention,
          global.isDeclaration ? 1 : 0,
          linkage,
          attributes.of(tables.older.attributesOf(global)),
          alignment(global.align),
          numberIn(this.sections, global.section),
          visibility,
          numberIn(this.collectors, global.gc),
          unnamed,
          optional(global.prologue),
          0,
          comdat,
          optional(global.prefix),
          optional(global.personality),
          local,
          space,
        ]);
      case "alias":
        return w.record(ModuleCode.Alias, [
          ...name,
          type,
          space,
          constants.of(global.aliasee),
          linkage,
          visibility,
          0,
          threadLocal,
          unnamed,
          local,
        ]);
      case "ifunc":
        return w.record(ModuleCode.IFunc, [
          ...name,
          type,
          space,
          constants.of(global.resolver),
          linkage,
          visibility,
          local,
        ]);
    }
  }
}

/** Constants that a global is made of. */
function constantsOf(global: GlobalValue): Constant[] {
  switch (global.kind) {
    case "variable":
      return global.initializer === null ? [] : [global.initializer];
    case "function":
      return [global.prologue, global.prefix, global.personality].filter((constant) => constant !== null);
    case "alias":
      return [global.aliasee];
    case "ifunc":
      return [global.resolver];
  }
}
