/**
 * One MODULE block: its tables, globals and constants. Function bodies are left where they are; each
 * function gets a source that decodes its block on demand with the tables kept here.
 *
 * Method: one pass over the block, skipping function blocks and debug information by their length; then
 * initialisers, aliasees and the like are looked up, since they refer to constants that come later, and
 * modules of the older format get their names from the symbol table. O(size without function bodies).
 */

import {
  BlockId,
  ConstantCode,
  comdatSelections,
  FunctionCode,
  linkages,
  ModuleCode,
  threadLocalModes,
  unnamedAddrs,
  visibilities,
} from "../../../formats/bitcode/codes.js";
import type { AttributeSet } from "../../../lto/ir/attributes.js";
import { textOfBytes } from "../../../lto/ir/byte-text.js";
import { DataLayout } from "../../../lto/ir/data-layout.js";
import type { DICompileUnit } from "../../../lto/ir/debug/nodes.js";
import { attributed, InputError, UnsupportedError } from "../../../lto/ir/errors.js";
import { placeImplicitly } from "../../../lto/ir/implicit-sections.js";
import type { Body } from "../../../lto/ir/instructions.js";
import { isDebugIntrinsic } from "../../../lto/ir/intrinsics.js";
import { currentDataLayout } from "../../../lto/ir/layout-upgrade.js";
import { takeSymbolName, withoutEscape } from "../../../lto/ir/mangling.js";
import { refusedNode } from "../../../lto/ir/metadata-names.js";
import {
  Alias,
  type BodySource,
  Comdat,
  Func,
  type GlobalValue,
  GlobalVariable,
  IFunc,
  Module,
  variableCodeModels,
} from "../../../lto/ir/module.js";
import type { Origins } from "../../../lto/ir/origins.js";
import { pointerType, type Type } from "../../../lto/ir/types.js";
import { BlockAddress, type Constant } from "../../../lto/ir/values.js";
import { checkAliasCycles } from "./aliases.js";
import { AttributeTable } from "./attributes.js";
import { type BitReader, Entry } from "./bitstream.js";
import { ConstantReader } from "./constants.js";
import { DebugNodeReader } from "./debug-nodes.js";
import { FunctionReader } from "./function.js";
import { MetadataReader } from "./metadata.js";
import { readDependentLibraries, readModuleFlags } from "./module-flags.js";
import { isSized, TypeTable } from "./types.js";
import { ValueTable } from "./value-table.js";

const malformed = (what: string): InputError => new InputError(`malformed bitcode: ${what}`);

/** Bound on the parameters of all functions together: a short record may name a long function type. */
const maxParameters = 1 << 22;
const maxAlignment = 33;
/** Bound on all names together, as a multiple of the string table: records may share its text. */
const maxNameSharing = 16;

/** What a function record says about constants that are not read yet; 0 for none, else a value id + 1. */
interface FunctionOperands {
  readonly fn: Func;
  readonly prologue: number;
  readonly prefix: number;
  readonly personality: number;
}

export class ModuleReader {
  readonly types = new TypeTable();
  readonly attributes = new AttributeTable(this.types);
  readonly values = new ValueTable();
  readonly metadata: MetadataReader;
  readonly constants: ConstantReader;
  readonly bundleTags: string[] = [];
  readonly syncScopes: string[] = [];
  /** Blocks of each function whose address some constant takes. */
  readonly addressTaken = new Map<Func, Set<number>>();
  /** Debug-information intrinsics, calls to which are dropped. */
  readonly debugIntrinsics = new Set<Func>();
  /** Where the function block of each defined function is. */
  readonly bodyPositions = new Map<Func, number>();
  dataLayout = new DataLayout("");

  private readonly globals: GlobalValue[] = [];
  private readonly sectionNames: string[] = [];
  private readonly gcNames: string[] = [];
  private readonly comdats: Comdat[] = [];
  private readonly variableAttributes = new Map<GlobalVariable, AttributeSet>();
  private readonly implicitComdats: (Func | GlobalVariable)[] = [];
  private readonly initializers: { variable: GlobalVariable; id: number }[] = [];
  private readonly indirections: { symbol: Alias | IFunc; id: number }[] = [];
  private readonly functionOperands: FunctionOperands[] = [];
  private readonly defined: Func[] = [];
  private readonly bodies: number[] = [];
  private version = 0;
  private parameters = 0;
  private nameBytes = 0;
  private triple = "";
  private layout = "";
  private asm = "";
  private sourceName = "";
  private functionReader: FunctionReader | null = null;
  /** Reads debug information; null: there is none, or nobody has asked for it. */
  debug: DebugNodeReader | null = null;
  private module: Module | null = null;

  constructor(
    readonly reader: BitReader,
    private readonly strtab: Uint8Array,
    readonly file: string,
  ) {
    this.metadata = new MetadataReader(reader.fork(), this.values);
    this.constants = new ConstantReader(reader, this.types, this.values, (address) => this.take(address));
  }

  /** Reads the MODULE block whose header is at `pos`. */
  read(pos: number): Module {
    const { reader } = this;
    const metadataBlocks: number[] = [];
    let kinds = -1;
    reader.enterAt(pos, BlockId.Module);
    for (;;) {
      const entry = reader.advance();
      if (entry === Entry.End) break;
      if (entry === Entry.Record) this.record();
      else if (reader.blockId === BlockId.Metadata) {
        metadataBlocks.push(reader.pos);
        reader.skip();
      } else if (reader.blockId === BlockId.MetadataKind) {
        kinds = reader.pos;
        reader.skip();
      } else this.block();
    }
    this.dataLayout = currentDataLayout(this.layout, this.triple);
    this.constants.resolve(0);
    this.link();
    if (kinds >= 0) this.metadata.readKinds(kinds, BlockId.MetadataKind);
    this.metadata.source = this.sourceName;
    for (const block of metadataBlocks) this.metadata.index(block, BlockId.Metadata);
    this.attachToGlobals();
    return this.finish();
  }

  /** Where locations go; null: nobody wants them. */
  get origins(): Origins | null {
    return this.module?.origins ?? null;
  }

  private attachToGlobals(): void {
    const { metadata } = this;
    for (const record of metadata.globalAttachments) {
      const global = this.values.get(record[0] ?? -1);
      if (global?.valueKind !== "global" || global.kind === "alias" || global.kind === "ifunc")
        throw malformed("metadata of something that is no global");
      for (const [kind, entry] of metadata.attachments(record, 1))
        metadata.hints.attachToGlobal(global, kind, entry);
    }
  }

  private loadDebug(map: (global: GlobalValue) => GlobalValue | null): DICompileUnit[] {
    const { metadata } = this;
    const debug = new DebugNodeReader(metadata, map);
    for (const record of metadata.globalAttachments)
      debug.attach(
        this.values.get(record[0]!) as Func | GlobalVariable,
        metadata.debugAttachments(record, 1),
      );
    this.debug = debug;
    return debug.units();
  }

  private finish(): Module {
    const module = new Module(this.file, this.sourceName, this.triple, this.dataLayout);
    this.module = module;
    for (const global of this.globals) module.globals.push(global);
    module.moduleAsm = this.asm;
    if (this.metadata.named.has("llvm.dbg.cu"))
      module.debugLoader = (map) => attributed(this.file, () => this.loadDebug(map));
    module.flags = readModuleFlags(this.metadata);
    module.dependentLibraries = readDependentLibraries(this.metadata);
    for (const name of this.metadata.named.keys()) {
      const refused = refusedNode(name);
      if (refused !== null) throw new UnsupportedError(refused);
    }
    placeImplicitly(module, this.variableAttributes);
    return module;
  }

  private block(): void {
    const { reader } = this;
    switch (reader.blockId) {
      case BlockId.BlockInfo:
        reader.readBlockInfo();
        break;
      case BlockId.ParamAttrGroup:
        this.attributes.readGroups(reader);
        break;
      case BlockId.ParamAttr:
        this.attributes.readLists(reader);
        break;
      case BlockId.Type:
        this.types.read(reader);
        break;
      case BlockId.Constants:
        this.constants.read();
        break;
      case BlockId.Function:
        this.bodies.push(reader.pos);
        reader.skip();
        break;
      case BlockId.ValueSymtab:
        if (this.version < 2) this.readNames();
        else reader.skip();
        break;
      case BlockId.OperandBundleTags:
        this.readStrings(this.bundleTags);
        break;
      case BlockId.SyncScopeNames:
        this.readStrings(this.syncScopes);
        break;
      default:
        reader.skip();
    }
  }

  private readStrings(into: string[]): void {
    const { reader } = this;
    reader.enter();
    for (;;) {
      const entry = reader.advance();
      if (entry === Entry.End) return;
      if (entry === Entry.SubBlock) reader.skip();
      else into.push(reader.text(0));
    }
  }

  /** Names of an older module: entries [value, character…] and, of functions, [value, offset, character…]. */
  private readNames(): void {
    const { reader } = this;
    reader.enter();
    for (;;) {
      const entry = reader.advance();
      if (entry === Entry.End) return;
      if (entry === Entry.SubBlock) reader.skip();
      else if ((reader.code === 1 && reader.count >= 1) || (reader.code === 3 && reader.count >= 2)) {
        const value = this.values.get(reader.number(0));
        if (value?.valueKind !== "global") throw malformed("name of something that is not a global");
        value.name = reader.text(reader.code === 1 ? 1 : 2);
        takeSymbolName(value);
      }
    }
  }

  private record(): void {
    const { reader } = this;
    switch (reader.code) {
      case ModuleCode.Version:
        this.version = reader.count > 0 ? reader.number(0) : 0;
        if (this.version > 2) throw new InputError(`bitcode of an unknown version ${this.version}`);
        break;
      case ModuleCode.Triple:
        this.triple = reader.text(0);
        break;
      case ModuleCode.DataLayout:
        this.layout = reader.text(0);
        break;
      case ModuleCode.Asm: {
        const text = reader.text(0);
        this.asm += text === "" || text.endsWith("\n") ? text : `${text}\n`;
        break;
      }
      case ModuleCode.SectionName:
        this.sectionNames.push(reader.text(0));
        break;
      case ModuleCode.GcName:
        this.gcNames.push(reader.text(0));
        break;
      case ModuleCode.SourceFilename:
        this.sourceName = reader.text(0);
        break;
      case ModuleCode.Comdat:
        this.comdat();
        break;
      case ModuleCode.GlobalVar:
        this.variable();
        break;
      case ModuleCode.Function:
        this.func();
        break;
      case ModuleCode.Alias:
      case ModuleCode.AliasOld:
      case ModuleCode.IFunc:
        this.indirection(reader.code);
        break;
      default: // Hashes, offsets and whatever newer versions add.
        break;
    }
  }

  private field(i: number): number {
    return i < this.reader.count ? this.reader.number(i) : 0;
  }

  /** Where the operands proper of a global begin: from version 2 on, a place in the string table precedes. */
  private get firstField(): number {
    return this.version >= 2 ? 2 : 0;
  }

  private require(fields: number): void {
    if (this.version === 0) throw new UnsupportedError("bitcode of LLVM 3.2 or older");
    if (this.reader.count < this.firstField + fields) throw malformed("record of a global is too short");
  }

  /** Name at the start of the record, "" when the symbol table has it. */
  private name(): string {
    if (this.version < 2) return "";
    const offset = this.field(0);
    const size = this.field(1);
    if (!(offset + size <= this.strtab.length)) throw malformed("name outside the string table");
    this.nameBytes += size;
    if (this.nameBytes > this.strtab.length * maxNameSharing) throw malformed("names overlap");
    return textOfBytes(this.strtab.subarray(offset, offset + size));
  }

  /** [name…, kind], or [kind, length, character…] before version 2. */
  private comdat(): void {
    this.require(1);
    const first = this.firstField;
    const selection = comdatSelections[this.field(first)] ?? "any";
    const name =
      this.version >= 2 ? this.name() : this.reader.text(2, Math.min(2 + this.field(1), this.reader.count));
    this.comdats.push(new Comdat(withoutEscape(name), selection));
  }

  private comdatOf(id: number): Comdat | null {
    if (id === 0) return null;
    const comdat = this.comdats[id - 1];
    if (comdat === undefined) throw malformed("undefined comdat");
    return comdat;
  }

  private section(id: number): string {
    if (id === 0) return "";
    const name = this.sectionNames[id - 1];
    if (name === undefined) throw malformed("undefined section");
    return name;
  }

  private alignment(encoded: number): number {
    if (encoded > maxAlignment) throw malformed("alignment");
    return encoded === 0 ? 0 : 2 ** (encoded - 1);
  }

  private addGlobal(global: GlobalValue): void {
    takeSymbolName(global);
    this.globals.push(global);
    this.values.push(global);
  }

  private setLinkage(global: GlobalValue, linkage: number, visibility: number): void {
    global.linkage = linkages[linkage] ?? "external";
    if (!global.isLocal) global.visibility = visibilities[visibility] ?? "default";
  }

  private setLocality(global: GlobalValue, encoded: number): void {
    const implied = global.isLocal || (global.visibility !== "default" && global.linkage !== "extern_weak");
    global.dsoLocal = encoded === 1 || implied;
  }

  /**
   * [type, constant | explicit << 1 | address space << 2, initialiser + 1, linkage, alignment, section,
   * visibility, thread-local, unnamed_addr, externally initialised, dll storage, comdat, attributes,
   * dso_local, partition (2), sanitizers, code model + 1]
   */
  private variable(): void {
    this.require(6);
    const at = this.firstField;
    const bits = this.field(at + 1);
    if ((bits & 2) === 0) throw new UnsupportedError("global variable without its type");
    const type = this.types.get(this.field(at));
    if (!isSized(type)) throw malformed(`global variable of type ${type}`);
    const variable = new GlobalVariable(this.name(), type, this.pointer(Math.floor(bits / 4)));
    const linkage = this.field(at + 3);
    variable.isConstant = (bits & 1) !== 0;
    this.setLinkage(variable, linkage, this.field(at + 6));
    variable.align = this.alignment(this.field(at + 4));
    variable.section = this.section(this.field(at + 5));
    const mode = this.field(at + 7);
    variable.threadLocal = threadLocalModes[mode] ?? "generaldynamic";
    variable.unnamedAddr = unnamedAddrs[this.field(at + 8)] ?? "none";
    variable.externallyInitialized = this.field(at + 9) !== 0;
    variable.codeModel = variableCodeModels[this.field(at + 17) - 1] ?? null;
    if (this.reader.count > at + 11) variable.comdat = this.comdatOf(this.field(at + 11));
    else if (impliesComdat(linkage)) this.implicitComdats.push(variable);
    this.setLocality(variable, this.field(at + 13));
    const attributes = this.attributes.get(this.field(at + 12)).fn;
    if (!attributes.isEmpty) this.variableAttributes.set(variable, attributes);
    const initializer = this.field(at + 2);
    if (initializer !== 0) this.initializers.push({ variable, id: initializer - 1 });
    this.addGlobal(variable);
  }

  private pointer(addressSpace: number): Type {
    if (addressSpace >= 1 << 24) throw malformed("address space");
    return pointerType(addressSpace);
  }

  /**
   * [type, calling convention, declaration, linkage, attributes, alignment, section, visibility, gc,
   * unnamed_addr, prologue, dll storage, comdat, prefix, personality, dso_local, address space, …]
   */
  private func(): void {
    this.require(8);
    const at = this.firstField;
    const typeId = this.field(at);
    const type = this.types.pointee(typeId) ?? this.types.get(typeId);
    if (type.kind !== "function") throw malformed(`function of type ${type}`);
    this.parameters += type.elements.length;
    if (this.parameters > maxParameters) throw new InputError("too many parameters");
    const fn = new Func(this.name(), type, this.pointer(this.field(at + 16)));
    const linkage = this.field(at + 3);
    const convention = this.field(at + 1);
    if (convention > 1023) throw malformed("calling convention");
    fn.callingConvention = convention;
    this.setLinkage(fn, linkage, this.field(at + 7));
    fn.attributes = this.attributes.get(this.field(at + 4));
    fn.align = this.alignment(this.field(at + 5));
    fn.section = this.section(this.field(at + 6));
    const gc = this.field(at + 8);
    if (gc !== 0) {
      const name = this.gcNames[gc - 1];
      if (name === undefined) throw malformed("undefined garbage collector");
      fn.gc = name;
    }
    fn.unnamedAddr = unnamedAddrs[this.field(at + 9)] ?? "none";
    if (this.reader.count > at + 12) fn.comdat = this.comdatOf(this.field(at + 12));
    else if (impliesComdat(linkage)) this.implicitComdats.push(fn);
    this.setLocality(fn, this.field(at + 15));
    const prologue = this.field(at + 10);
    const prefix = this.field(at + 13);
    const personality = this.field(at + 14);
    if (prologue + prefix + personality !== 0)
      this.functionOperands.push({ fn, prologue, prefix, personality });
    if (this.field(at + 2) === 0) {
      this.defined.push(fn);
      // Constants are made before bodies are found, and want to know which functions have one.
      fn.defineEncoded(unplacedBody);
    }
    this.addGlobal(fn);
  }

  /**
   * [type, address space, aliasee, linkage, visibility, dll storage, thread-local, unnamed_addr, dso_local,
   * …]; an ifunc has [type, address space, resolver, linkage, visibility, dso_local, …].
   */
  private indirection(code: number): void {
    if (code === ModuleCode.AliasOld) throw new UnsupportedError("alias record of LLVM 3.8 or older");
    this.require(4);
    const at = this.firstField;
    const type = this.types.get(this.field(at));
    const pointer = this.pointer(this.field(at + 1));
    const name = this.name();
    let symbol: Alias | IFunc;
    if (code === ModuleCode.Alias) {
      symbol = new Alias(name, type, pointer);
      this.setLinkage(symbol, this.field(at + 3), this.field(at + 4));
      symbol.threadLocal = threadLocalModes[this.field(at + 6)] ?? "generaldynamic";
      symbol.unnamedAddr = unnamedAddrs[this.field(at + 7)] ?? "none";
      this.setLocality(symbol, this.field(at + 8));
    } else {
      symbol = new IFunc(name, type, pointer);
      this.setLinkage(symbol, this.field(at + 3), this.field(at + 4));
      this.setLocality(symbol, this.field(at + 5));
    }
    this.indirections.push({ symbol, id: this.field(at + 2) });
    this.addGlobal(symbol);
  }

  /** Looks up what globals refer to by value id, and pairs definitions with their bodies. */
  private link(): void {
    const { values } = this;
    for (const { variable, id } of this.initializers) {
      const initializer = values.moduleConstant(id);
      if (initializer.type !== variable.valueType)
        throw malformed(`initialiser of @${variable.name} has another type`);
      variable.initializer = initializer;
    }
    for (const { symbol, id } of this.indirections) {
      const target = values.moduleConstant(id);
      if (target.type.kind !== "ptr") throw malformed(`@${symbol.name} stands for something without address`);
      if (symbol.kind === "alias") symbol.aliasee = target;
      else symbol.resolver = target;
    }
    checkAliasCycles(this.indirections.map(({ symbol }) => symbol));
    const optional = (id: number): Constant | null => (id === 0 ? null : values.moduleConstant(id - 1));
    for (const { fn, prologue, prefix, personality } of this.functionOperands) {
      fn.prologue = optional(prologue);
      fn.prefix = optional(prefix);
      fn.personality = optional(personality);
    }
    for (const global of this.implicitComdats) global.comdat = this.comdatNamed(global.name);
    this.placeBodies();
    for (const global of this.globals)
      if (global.kind === "function" && isDebugIntrinsic(global.name)) this.debugIntrinsics.add(global);
  }

  private readonly comdatsByName = new Map<string, Comdat>();
  private comdatNamed(name: string): Comdat {
    if (this.comdatsByName.size === 0)
      for (const comdat of this.comdats) this.comdatsByName.set(comdat.name, comdat);
    let comdat = this.comdatsByName.get(name);
    if (comdat === undefined) this.comdatsByName.set(name, (comdat = new Comdat(name, "any")));
    return comdat;
  }

  /** Function blocks come in the order of the functions that they define. */
  private placeBodies(): void {
    if (this.bodies.length !== this.defined.length)
      throw malformed(`${this.defined.length} functions but ${this.bodies.length} bodies`);
    for (let i = 0; i < this.bodies.length; i++) {
      const fn = this.defined[i]!;
      this.bodyPositions.set(fn, this.bodies[i]!);
      fn.defineEncoded(new LazyBody(this, this.bodies[i]!));
    }
  }

  private take(address: BlockAddress): void {
    const { fn, label } = address;
    let blocks = this.addressTaken.get(fn);
    if (blocks === undefined) this.addressTaken.set(fn, (blocks = new Set()));
    blocks.add(label);
    // When the function is decoded already, what is noted above comes too late.
    if (fn.isDecoded) {
      const { blocks } = fn.view();
      // Labels are positions in the bitcode, which only a body that nobody has edited still has.
      const target = fn.source === null ? blocks.find((block) => block.label === label) : blocks[label];
      if (target === undefined) throw malformed("blockaddress of a missing block");
      target.label = label;
    }
  }

  private readonly scanned = new Set<Func>();
  /**
   * Notes the block addresses among the constants of a function that need not be decoded, so that the blocks
   * of another function are marked in time. Each function is scanned once.
   */
  scanBlockAddresses(user: Func): void {
    const pos = this.bodyPositions.get(user);
    if (pos === undefined || this.scanned.has(user)) return;
    this.scanned.add(user);
    const reader = this.reader.fork();
    reader.enterAt(pos, BlockId.Function);
    // Constants precede the instructions.
    for (;;) {
      const entry = reader.advance();
      if (entry === Entry.End) return;
      if (entry === Entry.Record) {
        if (reader.code !== FunctionCode.DeclareBlocks && reader.code !== FunctionCode.BlockAddrUsers) return;
      } else if (reader.blockId !== BlockId.Constants) reader.skip();
      else this.scanConstants(reader);
    }
  }

  private scanConstants(reader: BitReader): void {
    reader.enter();
    for (;;) {
      const entry = reader.advance();
      if (entry === Entry.End) return;
      if (entry === Entry.SubBlock) reader.skip();
      else if (reader.code === ConstantCode.BlockAddress && reader.count >= 3) {
        const fn = this.values.get(reader.number(1));
        if (fn instanceof Func) this.take(new BlockAddress(fn.type, fn, reader.number(2)));
      }
    }
  }

  /** Decodes the body of a function, whose block's header is at `pos`. */
  decode(fn: Func, pos: number): Body {
    this.functionReader ??= new FunctionReader(this);
    return this.functionReader.decode(fn, pos);
  }
}

/** Body of one function, decoded from its block. */
class LazyBody implements BodySource {
  readonly isForeign = true;
  constructor(
    private readonly module: ModuleReader,
    private readonly pos: number,
  ) {}
  decode(fn: Func): Body {
    return attributed(this.module.file, () => this.module.decode(fn, this.pos));
  }
}

const unplacedBody: BodySource = {
  decode() {
    throw new Error("body asked for while its module is being read");
  },
};

/** Linkage numbers that, in records without a comdat field, put a global in a comdat of its own name. */
const impliesComdat = (linkage: number): boolean =>
  linkage === 1 || linkage === 4 || linkage === 10 || linkage === 11;
