/**
 * Keys of compiled functions: digests of all that compiling asks (lto/codegen/program/code-cache.ts). They tell builds by
 * their contents, so they are the same on every machine that has this build, whatever the time is there.
 */
import { bodyCodec, EncodedBody } from "../../formats/object/body-codec.js";
import { hashBody } from "../../formats/object/body-hash.js";
import { ByteReader, ByteWriter } from "../../formats/object/bytes.js";
import { moduleNumbers, PoolWriter, readOutside } from "../../formats/object/pool.js";
import type { CodeCache, CodeEntry, FunctionIdentity } from "../../lto/codegen/program/code-cache.js";
import type { CodegenOptions } from "../../lto/codegen/program/options.js";
import { AttributeList, AttributeSet, noAttributes } from "../../lto/ir/attributes.js";
import type { BodyCodec, Func, GlobalValue, Module } from "../../lto/ir/module.js";
import type { Type } from "../../lto/ir/types.js";
import type { Constant } from "../../lto/ir/values.js";
import { buildId, digestOf } from "./cache-files.js";

/** For what mentions no symbols. */
const withoutSymbols = moduleNumbers(() => {
  throw new Error("a symbol among types and attributes");
});

/**
 * Attributes that only passes on the program ask for, which leave what came of them in the bodies. Clang's passes find them for
 * declarations, and LLVM's tools drop them from intrinsics when they read a module.
 * Breaks if: lowering or a target asks for one (test/farm/code-keys.test.ts looks).
 */
export const unasked: readonly string[] = ["mustprogress"];

/** What is in a pool, a character a byte. */
function encoded(pool: PoolWriter, numbers = withoutSymbols): string {
  const out = new ByteWriter(256);
  pool.write(out, numbers);
  const bytes = out.finish();
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString("latin1");
}

/** The options that code depends on, as text; they can be read again (JSON). */
export function keyedOptions(options: CodegenOptions): string {
  const { skipPass, onlyPasses, skipRule } = options.passes;
  return JSON.stringify({ ...options, passes: { skipPass, onlyPasses, skipRule } });
}

export class CodeKeys {
  /** Of this build of the program. */
  protected readonly build = buildId();
  /** Of options, target and flags: what all functions have in common. */
  protected readonly told: string;
  private readonly base: Buffer;
  private readonly codec: BodyCodec = bodyCodec();
  private readonly byName = new Map<string, GlobalValue | null>();
  private readonly headers = new Map<GlobalValue, string>();
  /** How types and attributes are encoded, which are shared by many symbols. */
  private readonly types = new Map<Type, string>();
  private readonly sets = new Map<AttributeSet, string>();

  /** @param options as `keyedOptions` writes them */
  constructor({ triple, dataLayout, flags, globals }: Module, options: string) {
    this.told = JSON.stringify([triple, dataLayout.text, flags, options]);
    this.base = digestOf(this.build, this.told);
    for (const global of globals) this.byName.set(global.name, this.byName.has(global.name) ? null : global);
  }

  identify(fn: Func): FunctionIdentity | null {
    const source =
      fn.source instanceof EncodedBody ? fn.source : (this.codec.encode(fn, fn.view()) as EncodedBody);
    const { symbols, origins: runs, records } = readOutside(new ByteReader(source.bytes));
    // What code says of source variables has numbers of one link.
    if (records.length > 0) return null;
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
    // Written modules keep no empty sets at the end.
    while (texts.length > 2 && texts.at(-1) === this.setText(noAttributes)) texts.pop();
    return texts;
  }

  private setText(set: AttributeSet): string {
    let text = this.sets.get(set);
    if (text === undefined) {
      const pool = new PoolWriter();
      const kinds = new Map([...set.kinds].filter(([kind]) => !unasked.includes(kind)));
      pool.attributes.index(new AttributeList(new AttributeSet(kinds, set.strings), noAttributes, []));
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
}

/** What helpers make for one link, until that has taken it. */
export class MemoryCodeCache extends CodeKeys implements CodeCache {
  private readonly entries = new Map<string, CodeEntry>();

  has(key: string): boolean {
    return this.entries.has(key);
  }
  get(key: string): CodeEntry | undefined {
    const entry = this.entries.get(key);
    // Nobody asks for a completed function twice.
    if (entry?.kind === "completed") this.entries.delete(key);
    return entry;
  }
  put(key: string, entry: CodeEntry): void {
    this.entries.set(key, entry);
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
