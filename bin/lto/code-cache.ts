/**
 * `--cache-dir`: code of earlier links, a file a program.
 *
 * The file of a program has what its last link used, so it is bounded by the program, and a link that is done again
 * reads one file. It is read whole, and taken only if its checksum is right and this very build of tsc-lto wrote it; it
 * is written under a name of its own and then renamed, so that links at the same time and links that are killed leave a
 * whole file of one of them. Whatever is wrong with a file means that nothing is in it. Beyond the size that is
 * allowed for the directory the files that were not used for longest go.
 *
 * Form (little-endian): magic, checksum of what follows, build (16 bytes), number of entries, for each its key (16
 * bytes), offset and length; then the entries, in V8's serialisation.
 */
import * as fs from "node:fs";
import { basename, join, resolve } from "node:path";
import { deserialize, serialize } from "node:v8";
import { crc32 } from "node:zlib";
import { bodyCodec, EncodedBody } from "../../formats/object/body-codec.js";
import { hashBody } from "../../formats/object/body-hash.js";
import { ByteReader, ByteWriter } from "../../formats/object/bytes.js";
import { moduleNumbers, PoolWriter, readOutside } from "../../formats/object/pool.js";
import type { CodeCache, FunctionIdentity } from "../../lto/codegen/program/code-cache.js";
import type { CodegenOptions } from "../../lto/codegen/program/options.js";
import { AttributeList, type AttributeSet, noAttributes } from "../../lto/ir/attributes.js";
import type { BodyCodec, Func, GlobalValue, Module } from "../../lto/ir/module.js";
import type { Type } from "../../lto/ir/types.js";
import type { Constant } from "../../lto/ir/values.js";
import { reasonOf } from "../host/system-errors.js";
import { buildId, codeSuffix, digestOf, prune, writeWhole } from "./cache-files.js";

const magic = Buffer.from("tscltoC1");
const buildAt = 12;
const countAt = 28;
const entriesAt = 32;
const rowSize = 24;

/** For what mentions no symbols. */
const withoutSymbols = moduleNumbers(() => {
  throw new Error("a symbol among types and attributes");
});

/** What is in a pool, a character a byte. */
function encoded(pool: PoolWriter, numbers = withoutSymbols): string {
  const out = new ByteWriter(256);
  pool.write(out, numbers);
  const bytes = out.finish();
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString("latin1");
}

export class FileCodeCache implements CodeCache {
  private readonly file: string;
  private readonly build = buildId();
  private readonly base: Buffer;
  private readonly codec: BodyCodec = bodyCodec();
  private readonly byName = new Map<string, GlobalValue | null>();
  private readonly headers = new Map<GlobalValue, string>();
  /** How types and attributes are encoded, which are shared by many symbols. */
  private readonly types = new Map<Type, string>();
  private readonly sets = new Map<AttributeSet, string>();
  private readonly entries: ReadonlyMap<string, Buffer>;
  /** What this link used or made. */
  private readonly used = new Map<string, Buffer>();
  private isChanged = false;

  /** @param program what tells the link from others in the directory: the names of its files */
  constructor(
    private readonly directory: string,
    private readonly limit: number,
    program: string,
    module: Module,
    options: CodegenOptions,
  ) {
    const { triple, dataLayout, flags } = module;
    const { skipPass, onlyPasses, skipRule } = options.passes;
    const told = JSON.stringify([
      triple,
      dataLayout.text,
      flags,
      { ...options, passes: { skipPass, onlyPasses, skipRule } },
    ]);
    this.base = digestOf(this.build, told);
    this.file = join(directory, `${digestOf(program, told).toString("hex")}${codeSuffix}`);
    for (const global of module.globals)
      this.byName.set(global.name, this.byName.has(global.name) ? null : global);
    this.entries = readEntries(this.file, this.build);
  }

  identify(fn: Func): FunctionIdentity | null {
    const source =
      fn.source instanceof EncodedBody ? fn.source : (this.codec.encode(fn, fn.view()) as EncodedBody);
    const { symbols, callees, origins: runs, records } = readOutside(new ByteReader(source.bytes));
    // What code says of source variables has numbers of one link.
    if (records.length > 0) return null;
    // Hints name sets of functions, which mean something in one link only.
    if (callees.length > 0) return null;
    const mentioned = symbols.map((index) => source.module.symbols(index));
    for (const symbol of [fn, ...mentioned]) {
      if (this.find(symbol.name) !== symbol) return null;
      if (symbol.kind === "function" && symbol.hasDroppedLabels) return null;
    }
    const body = hashBody(source.bytes, {
      symbol: (index) => source.module.symbols(index).name,
      tag: (index) => source.module.tags(index),
    });
    const headers = mentioned.map((symbol) => this.headerOf(symbol)).join();
    const entered = String(fn.entryCount);
    const { origins, pattern } = originsIn(runs, (index) => source.module.origins(index, fn));
    return {
      digest: digestOf(this.base, body, this.headerOf(fn), headers, entered, pattern).toString("hex"),
      mentioned,
      origins,
    };
  }

  headerOf(symbol: GlobalValue): string {
    let header = this.headers.get(symbol);
    if (header === undefined) {
      // What leads back here finds the name.
      this.headers.set(symbol, symbol.name);
      header = this.describe(symbol);
      this.headers.set(symbol, header);
    }
    return header;
  }

  private describe(symbol: GlobalValue): string {
    // Symbols in constants are described by name; what an alias stands for, by its own header.
    const named: GlobalValue[] = [];
    let pool: PoolWriter | null = null;
    const constant = (value: Constant | null): number => {
      if (value === null) return -1;
      pool ??= new PoolWriter();
      return pool.leaves.index(value);
    };
    const { kind, name, linkage, visibility, dsoLocal, unnamedAddr, threadLocal, comdat } = symbol;
    const row: unknown[] = [kind, name, linkage, visibility, dsoLocal, unnamedAddr, threadLocal];
    row.push(comdat?.name ?? "", symbol.isDeclaration);
    row.push(this.typeText(symbol.valueType), this.typeText(symbol.type));
    switch (symbol.kind) {
      case "function":
        row.push(symbol.callingConvention, this.attributesText(symbol.attributes), symbol.align);
        row.push(symbol.section, symbol.gc, constant(symbol.prefix), constant(symbol.prologue));
        row.push(constant(symbol.personality), symbol.typeIds, symbol.intrinsic?.name ?? "");
        break;
      case "variable":
        row.push(symbol.align, symbol.section, symbol.isConstant, symbol.externallyInitialized);
        row.push(symbol.codeModel);
        break;
      case "alias":
        row.push(constant(symbol.aliasee));
        break;
      case "ifunc":
        row.push(constant(symbol.resolver));
        break;
    }
    const numbers = moduleNumbers((other) => named.push(other) - 1);
    const constants = pool === null ? "" : encoded(pool, numbers);
    const others = named.map((other) => (other === symbol ? "" : this.headerOf(other)));
    return digestOf(JSON.stringify(row), constants, others.join()).toString("hex", 0, 8);
  }

  private typeText(type: Type): string {
    let text = this.types.get(type);
    if (text === undefined) {
      const pool = new PoolWriter();
      pool.types.index(type);
      this.types.set(type, (text = encoded(pool)));
    }
    return text;
  }

  private attributesText({ fn, result, parameters }: AttributeList): string[] {
    const texts = [this.setText(fn), this.setText(result)];
    for (const set of parameters) texts.push(this.setText(set));
    return texts;
  }

  private setText(set: AttributeSet): string {
    let text = this.sets.get(set);
    if (text === undefined) {
      const pool = new PoolWriter();
      pool.attributes.index(new AttributeList(set, noAttributes, []));
      this.sets.set(set, (text = encoded(pool)));
    }
    return text;
  }

  find(name: string): GlobalValue | undefined {
    return this.byName.get(name) ?? undefined;
  }

  keyOf(digest: string, cacheKeyInputs: readonly number[]): string {
    return digestOf(digest, cacheKeyInputs.join()).toString("hex");
  }

  get(key: string): unknown {
    const bytes = this.used.get(key) ?? this.entries.get(key);
    if (bytes === undefined) return undefined;
    this.used.set(key, bytes);
    return deserialize(bytes);
  }

  put(key: string, entry: unknown): void {
    this.used.set(key, serialize(entry));
    this.isChanged = true;
  }

  /** Writes what a later link can use. @returns why it could not; null: all is well */
  close(): string | null {
    try {
      if (this.isChanged || this.used.size < this.entries.size) this.write();
      else if (this.entries.size === 0) return null;
      else {
        const now = new Date();
        fs.utimesSync(this.file, now, now);
      }
      prune(this.directory, this.limit);
      return null;
    } catch (e) {
      return reasonOf(e);
    }
  }

  private write(): void {
    const rows = Buffer.alloc(entriesAt + rowSize * this.used.size);
    magic.copy(rows);
    this.build.copy(rows, buildAt);
    rows.writeUInt32LE(this.used.size, countAt);
    let row = entriesAt;
    let offset = rows.length;
    for (const [key, bytes] of this.used) {
      rows.write(key, row, "hex");
      rows.writeUInt32LE(offset, row + 16);
      rows.writeUInt32LE(bytes.length, row + 20);
      row += rowSize;
      offset += bytes.length;
    }
    const bytes = Buffer.concat([rows, ...this.used.values()]);
    bytes.writeUInt32LE(crc32(bytes.subarray(buildAt)), magic.length);
    writeWhole(this.file, bytes);
  }
}

/** The origins of a body, each once, and which instructions have which, whatever their numbers. */
function originsIn(
  runs: readonly number[],
  number: (index: number) => number,
): { readonly origins: readonly number[]; readonly pattern: string } {
  const places = new Map<number, number>([[0, 0]]);
  const pattern = runs.map((value, i) => {
    if ((i & 1) === 0) return value;
    const origin = number(value);
    const known = places.get(origin);
    if (known === undefined) places.set(origin, places.size);
    return known ?? places.size - 1;
  });
  return { origins: [...places.keys()].slice(1), pattern: pattern.join() };
}

/** The entries of a file that is whole and of this build; of any other, none. */
function readEntries(file: string, build: Buffer): Map<string, Buffer> {
  const entries = new Map<string, Buffer>();
  let bytes: Buffer;
  try {
    bytes = fs.readFileSync(file);
  } catch {
    return entries;
  }
  if (bytes.length < entriesAt || !bytes.subarray(0, magic.length).equals(magic)) return entries;
  if (!bytes.subarray(buildAt, countAt).equals(build)) return entries;
  if (bytes.readUInt32LE(magic.length) !== crc32(bytes.subarray(buildAt))) return entries;
  const count = bytes.readUInt32LE(countAt);
  for (let i = 0, row = entriesAt; i < count; i++, row += rowSize) {
    const offset = bytes.readUInt32LE(row + 16);
    const end = offset + bytes.readUInt32LE(row + 20);
    entries.set(bytes.toString("hex", row, row + 16), bytes.subarray(offset, end));
  }
  return entries;
}

/** Whether an option asks for something that only compiling shows. */
const wantsToSee = ({ passes, checkAllocation, verify }: CodegenOptions): boolean =>
  checkAllocation ||
  verify ||
  passes.verifyEach ||
  passes.enabled.length > 0 ||
  passes.optBisectLimit !== null ||
  passes.ruleBisectLimit !== null ||
  passes.optRemarksFilename !== null ||
  passes.printChanged !== null ||
  passes.printBefore.length + passes.printAfter.length > 0;

/** The cache that a link can use; null for none. @param inputs names of the files */
export function openCodeCache(
  directory: string,
  limit: number,
  cwd: string,
  inputs: readonly string[],
  module: Module,
  options: CodegenOptions,
): FileCodeCache | null {
  if (wantsToSee(options)) return null;
  // Without folders: a driver's temporary files lie in another each time.
  const names = [cwd, ...inputs.map((name) => basename(name))].join("\0");
  return new FileCodeCache(resolve(cwd, directory), limit, names, module, options);
}
