/**
 * Symbol resolution: which files take part, and which definition of each name prevails.
 *
 * Files are taken in command-line order. Of each file the comdat groups are settled first, then its
 * definitions entered, then its references; a reference that an archive member can satisfy loads that member
 * at once, before the next reference, as lld does, so that interconnected symbols come from one file. Linear
 * in the symbols; loading uses an explicit stack, since members may pull in members without bound.
 */

import { baseObject } from "../analysis/references.js";
import { unwindingRoutine } from "../analysis/routines.js";
import type { Comdat, GlobalValue, Module } from "../ir/module.js";
import type { Diagnostics } from "./diagnostics.js";
import { compilePatterns } from "./exports.js";
import type { LazyMember, LinkInput, LinkOptions, ModuleInput, NativeInput } from "./input.js";
import { scanModuleAsm } from "./module-asm.js";
import { isRuntimeSymbol, RUNTIME_SYMBOLS } from "./runtime-symbols.js";
import {
  definitionState,
  isDefinition,
  isInlineOnly,
  isLinkable,
  LinkSymbol,
  type LoadedFile,
  type LoadedModule,
  nativeState,
  type SymbolState,
} from "./symbol-table.js";
import { SymbolVersions } from "./symbol-versions.js";

export interface Resolution {
  /** In the order in which they were loaded. */
  readonly files: readonly LoadedFile[];
  readonly symbols: ReadonlyMap<string, LinkSymbol>;
  /** Lazy members that were loaded. */
  readonly extracted: readonly LazyMember[];
  /**
   * By the name of a run-time routine: droppable names that native members mention which only a call of it that code generation makes
   * would load.
   */
  readonly unloaded: ReadonlyMap<string, ReadonlySet<string>>;
}

/** The comdat of a global; an alias belongs to that of what it names. */
export function comdatOf(global: GlobalValue): Comdat | null {
  return global.kind === "alias" ? (baseObject(global)?.comdat ?? null) : global.comdat;
}

/** Whether a global's definition fell away with its comdat group. */
export function isDropped(file: LoadedModule, global: GlobalValue): boolean {
  if (file.droppedComdats.size === 0) return false;
  const comdat = comdatOf(global);
  return comdat !== null && file.droppedComdats.has(comdat);
}

/** The name that a global resolves by, with `--wrap` applied to references. */
export function linkName(global: GlobalValue, wrapped: ReadonlySet<string>): string {
  const { name } = global;
  if (wrapped.size === 0 || isDefinition(global)) return name;
  if (wrapped.has(name)) return `__wrap_${name}`;
  return name.startsWith("__real_") && wrapped.has(name.slice(7)) ? name.slice(7) : name;
}

/** Resolves all symbols; conflicts go to `diagnostics`. */
export function resolve(
  inputs: readonly LinkInput[],
  options: LinkOptions,
  diagnostics: Diagnostics,
): Resolution {
  return new Resolver(options, diagnostics).run(inputs);
}

/** References of a file that are still to be looked at. */
interface Pending {
  readonly file: LoadedFile;
  readonly references: readonly { readonly name: string; readonly weak: boolean }[];
  next: number;
}

/** Who mentions what no input does, in words. */
const standardLibraries = "the C or C++ library";
/** What start-up code calls in the C library: glibc's, and musl's and others' for those at its end. */
const startUp = ["__libc_start_main", "__libc_csu_init", "exit", "_exit"];

interface Group {
  readonly file: LoadedModule;
  readonly comdat: Comdat;
}

class Resolver {
  private readonly files: LoadedFile[] = [];
  private readonly symbols = new Map<string, LinkSymbol>();
  private readonly groups = new Map<string, Group>();
  private readonly extracted = new Set<LazyMember>();
  private readonly pending: Pending[] = [];
  private readonly wrapped: ReadonlySet<string>;
  private readonly versions = new SymbolVersions();
  /** Members that are only looked at. */
  private readonly unloadedInputs = new Map<LazyMember, NativeInput | null>();

  constructor(
    private readonly options: LinkOptions,
    private readonly diagnostics: Diagnostics,
  ) {
    this.wrapped = new Set(options.wrap);
  }

  run(inputs: readonly LinkInput[]): Resolution {
    const { options } = this;
    for (const name of options.undefined) this.symbol(name).strongReference = true;
    for (const input of inputs) {
      if (input.kind === "archive") for (const member of input.members) this.offer(member);
      else this.load(input);
      this.settle();
    }
    if (options.entry !== "") this.require(options.entry);
    const isWanted = compilePatterns(options.undefinedGlobs ?? []);
    for (const name of [...this.symbols.keys()].filter(isWanted))
      if (this.symbols.get(name)!.state === "lazy") this.require(name);
    for (const name of options.wrap) {
      this.require(`__wrap_${name}`);
      for (const pinned of [name, `__wrap_${name}`]) {
        const symbol = this.symbols.get(pinned);
        symbol?.useOutside("--wrap");
      }
    }
    for (const name of options.redefined ?? []) {
      const symbol = this.symbols.get(name);
      if (symbol === undefined) continue;
      symbol.redefined = true;
      symbol.useOutside("assigned by --defsym or a linker script");
      symbol.constrainUnnamedAddr("none");
    }
    // Code generation may call these without any reference in the IR. A bitcode member must be known now; a
    // native one can still be found by the system linker.
    for (const name of this.runtimeSymbols()) {
      const symbol = this.symbols.get(name);
      if (symbol?.state === "lazy" && !symbol.member!.isNative) this.require(name);
    }
    const unloaded = this.openToUnloaded();
    this.openToLibraries();
    return { files: this.files, symbols: this.symbols, extracted: [...this.extracted], unloaded };
  }

  /** Those of fixed names, then those of families as far as somebody knows them. */
  private runtimeSymbols(): string[] {
    const others = [...this.symbols.keys()].filter(
      (name) => !RUNTIME_SYMBOLS.has(name) && isRuntimeSymbol(name),
    );
    return [...RUNTIME_SYMBOLS, ...others];
  }

  /**
   * What code generation and the C library's start-up code mention may load native members that nothing else does: those
   * the system linker finds, and what they mention stays. What can be dropped stays for those calls only that load the member, where it
   * will be known whether there are any.
   */
  private openToUnloaded(): Map<string, Set<string>> {
    const { droppable } = this.options;
    const unloaded = new Map<string, Set<string>>();
    for (const root of [...this.runtimeSymbols(), ...startUp]) {
      const isSeen = droppable !== undefined && (root === unwindingRoutine || droppable(root));
      for (const { input, mentioned } of this.mentionedBehind(root))
        if (!isSeen || !droppable(mentioned)) this.open(this.symbols.get(mentioned), input.file);
        else {
          this.symbols.get(mentioned)?.constrainUnnamedAddr("none");
          const names = unloaded.get(root);
          if (names === undefined) unloaded.set(root, new Set([mentioned]));
          else names.add(mentioned);
        }
    }
    return unloaded;
  }

  /** What native members mention that a reference to a name would load. */
  private *mentionedBehind(root: string): Generator<{ input: NativeInput; mentioned: string }> {
    const names = [root];
    const seen = new Set<LazyMember>();
    for (let name = names.pop(); name !== undefined; name = names.pop()) {
      const symbol = this.symbols.get(name);
      if (symbol?.state !== "lazy") continue;
      const member = symbol.member!;
      if (!member.isNative || this.extracted.has(member) || seen.has(member)) continue;
      seen.add(member);
      const input = this.unloadedInput(member);
      if (input === null) continue;
      for (const { name: mentioned, defined } of input.symbols) {
        yield { input, mentioned };
        if (!defined) names.push(mentioned);
      }
    }
  }

  private unloadedInput(member: LazyMember): NativeInput | null {
    let input = this.unloadedInputs.get(member);
    if (input === undefined) {
      const loaded = member.load();
      this.unloadedInputs.set(member, (input = loaded.kind === "native" ? loaded : null));
    }
    return input;
  }

  /**
   * Leaves open what libraries mention that are no inputs: they call it, or use it in the place of their own. A copy of
   * an inline function is not missed by a library that has one.
   */
  private openToLibraries(): void {
    const { mention } = this.options;
    if (mention === undefined || this.options.output !== "executable") return;
    for (const symbol of this.symbols.values()) {
      const { global } = symbol;
      if (global === null || symbol.usedOutside || symbol.name === this.options.entry) continue;
      const isInline =
        global.kind === "function" && global.linkage === "linkonce_odr" && symbol.unnamedAddr === "global";
      const how = mention(symbol.name);
      if (how === "undefined" || (how === "defined" && !isInline)) this.open(symbol, standardLibraries);
    }
  }

  /** @param by in words */
  private open(symbol: LinkSymbol | undefined, by: string): void {
    if (symbol === undefined) return;
    symbol.useOutside(by);
    symbol.constrainUnnamedAddr("none");
  }

  private symbol(name: string): LinkSymbol {
    let symbol = this.symbols.get(name);
    if (symbol === undefined) {
      symbol = new LinkSymbol(name);
      this.symbols.set(name, symbol);
    }
    return symbol;
  }

  /** Loads the member that offers a symbol, if any does. */
  private require(name: string): void {
    const symbol = this.symbols.get(name);
    if (symbol?.state === "lazy") {
      symbol.strongReference = true;
      this.extract(symbol.member!);
      this.settle();
    }
  }

  private extract(member: LazyMember): void {
    if (this.extracted.has(member)) return;
    this.extracted.add(member);
    this.load(member.load());
  }

  private offer(member: LazyMember): void {
    for (const { name, common } of member.defines) {
      if (this.extracted.has(member)) return;
      const symbol = this.symbol(name);
      const needed =
        (symbol.state === "undefined" && symbol.strongReference) ||
        (symbol.state === "common" && !common && this.options.fortranCommon === true);
      if (needed) {
        this.extract(member);
        this.settle();
      } else if (symbol.state === "undefined") {
        symbol.state = "lazy";
        symbol.member = member;
      }
    }
  }

  /** Works off references until none is left to look at. */
  private settle(): void {
    const { pending } = this;
    for (let top = pending[pending.length - 1]; top !== undefined; top = pending[pending.length - 1]) {
      if (top.next === top.references.length) {
        pending.pop();
        continue;
      }
      const { name, weak } = top.references[top.next++]!;
      const symbol = this.symbol(name);
      if (weak) continue;
      symbol.strongReference = true;
      if (symbol.state === "lazy") this.extract(symbol.member!);
    }
  }

  private load(input: ModuleInput | NativeInput): void {
    if (input.kind === "module") this.loadModule(input);
    else this.loadNative(input);
  }

  private loadModule(input: ModuleInput): void {
    const { module } = input;
    // Which libraries have these versions only the linker looks up.
    for (const name of this.versions.separate(module)) this.symbol(name).redefined = true;
    const file: LoadedModule = {
      kind: "module",
      file: module.file,
      module,
      input,
      asm: scanModuleAsm(module.moduleAsm, module.triple),
      sameSymbols: sameSymbols(module),
      droppedComdats: new Set(),
    };
    this.files.push(file);
    this.settleComdats(file);
    const references: { name: string; weak: boolean }[] = [];
    for (const global of module.globals) {
      if (!isLinkable(global) || file.sameSymbols.has(global)) continue;
      const name = linkName(global, this.wrapped);
      const symbol = this.symbol(name);
      symbol.constrainVisibility(global.visibility);
      symbol.constrainUnnamedAddr(global.unnamedAddr);
      const isThreadLocal = global.kind === "function" ? null : threadLocal(global);
      this.checkThreadLocal(symbol, isThreadLocal, file);
      if (isDefinition(global) && !isDropped(file, global)) {
        const state = definitionState(global);
        if (state === "common") this.defineCommon(symbol, file, global);
        else this.define(symbol, state, file, global);
      } else {
        references.push({ name, weak: global.linkage === "extern_weak" });
        if (isInlineOnly(global)) symbol.inlineOnly ??= global;
      }
    }
    this.enterAsm(file, references);
    this.pending.push({ file, references, next: 0 });
  }

  private enterAsm(file: LoadedModule, references: { name: string; weak: boolean }[]): void {
    const { asm, module } = file;
    if (module.moduleAsm === "") return;
    const byAssembly = `assembly in ${file.file}`;
    if (asm.opaque)
      for (const global of module.globals)
        if (isLinkable(global)) this.symbol(linkName(global, this.wrapped)).useOutside(byAssembly);
    // A name that the module's own IR defines locally is not a global symbol.
    const local = new Set(module.globals.filter((g) => g.isLocal).map((g) => g.name));
    for (const name of [...asm.globals, ...asm.locals]) {
      const symbol = this.symbol(name);
      symbol.useOutside(byAssembly);
      this.define(symbol, asm.weak.has(name) ? "weak" : "strong", file, null);
    }
    for (const name of [...asm.references, ...asm.weakReferences]) {
      if (local.has(name)) continue;
      this.symbol(name).useOutside(byAssembly);
      references.push({ name, weak: asm.weakReferences.has(name) });
    }
  }

  private loadNative(input: NativeInput): void {
    const file: LoadedFile = { kind: "native", file: input.file, input };
    this.files.push(file);
    const references: { name: string; weak: boolean }[] = [];
    for (const native of input.symbols) {
      const symbol = this.symbol(native.name);
      symbol.useOutside(input.file);
      symbol.constrainUnnamedAddr("none");
      this.checkThreadLocal(symbol, native.tls, file);
      if (!input.shared) symbol.constrainVisibility(native.visibility);
      if (!native.defined) references.push({ name: native.name, weak: native.weak });
      else if (input.shared) {
        // A symbol that must be satisfied inside the output cannot be satisfied by a library.
        if (symbol.visibility === "default" && (symbol.state === "undefined" || symbol.state === "lazy"))
          symbol.take("shared", file, null);
      } else if (native.common) this.define(symbol, "common", file, null);
      else this.define(symbol, nativeState(native), file, null);
    }
    this.pending.push({ file, references, next: 0 });
  }

  private define(symbol: LinkSymbol, state: SymbolState, file: LoadedFile, global: GlobalValue | null): void {
    const old = symbol.state;
    if (old === "strong") {
      if (state === "strong" && this.options.allowMultipleDefinition !== true) this.duplicate(symbol, file);
      return;
    }
    if (old === "common" && state !== "strong") return;
    if (old === "weak" && state === "weak") return;
    symbol.take(state, file, global);
  }

  /** The largest size, and the strictest alignment of all, win. */
  private defineCommon(symbol: LinkSymbol, file: LoadedModule, global: GlobalValue): void {
    const layout = file.module.dataLayout;
    const size = layout.allocSize(global.valueType);
    const given = global.kind === "variable" ? global.align : 0;
    symbol.commonAlign = Math.max(symbol.commonAlign, given || layout.preferredAlign(global.valueType));
    if (symbol.state === "common") {
      if (size > symbol.commonSize || symbol.global === null) symbol.take("common", file, global);
    } else this.define(symbol, "common", file, global);
    symbol.commonSize = Math.max(symbol.commonSize, size);
  }

  private duplicate(symbol: LinkSymbol, file: LoadedFile): void {
    this.diagnostics.error(
      `duplicate symbol: ${symbol.name}`,
      `defined in ${symbol.file!.file}`,
      `defined in ${file.file}`,
    );
  }

  private checkThreadLocal(symbol: LinkSymbol, isThreadLocal: boolean | null, file: LoadedFile): void {
    if (isThreadLocal === null) return;
    if (symbol.threadLocal === null) {
      symbol.threadLocal = isThreadLocal;
      symbol.threadLocalFile = file.file;
    } else if (symbol.threadLocal !== isThreadLocal)
      this.diagnostics.error(
        `TLS attribute mismatch: ${symbol.name}`,
        `in ${symbol.threadLocalFile}`,
        `in ${file.file}`,
      );
  }

  /** Decides for each comdat group of a file whether it is kept. */
  private settleComdats(file: LoadedModule): void {
    const seen = new Set<Comdat>();
    for (const { comdat } of file.module.globals) {
      if (comdat === null || seen.has(comdat)) continue;
      seen.add(comdat);
      if (comdat.selection === "nodeduplicate") continue;
      const rival = this.groups.get(comdat.name);
      if (rival === undefined) this.groups.set(comdat.name, { file, comdat });
      else this.settleRivals(rival, { file, comdat });
    }
  }

  private settleRivals(first: Group, second: Group): void {
    const { name, selection } = second.comdat;
    if (selection !== first.comdat.selection) {
      // `largest` and `any` agree on `largest`, as the COFF rules have it; anything else cannot be joined.
      const pair = [selection, first.comdat.selection];
      if (!pair.includes("any") || !pair.includes("largest"))
        this.diagnostics.error(
          `linking comdats named '${name}': invalid selection kinds`,
          `defined in ${first.file.file}`,
          `defined in ${second.file.file}`,
        );
    }
    let loser = second;
    if (selection !== "any" || first.comdat.selection !== "any") {
      const [a, b] = [leaderSize(first), leaderSize(second)];
      if (selection === "largest" || first.comdat.selection === "largest") {
        if (b > a) loser = first;
      } else if (a !== b)
        this.diagnostics.error(
          `linking comdats named '${name}': ${selection} violated`,
          `${a} bytes in ${first.file.file}`,
          `${b} bytes in ${second.file.file}`,
        );
    }
    loser.file.droppedComdats.add(loser.comdat);
    if (loser === first) {
      this.groups.set(name, second);
      for (const symbol of this.symbols.values())
        if (symbol.file === first.file && symbol.global !== null && comdatOf(symbol.global) === first.comdat)
          symbol.forget();
    }
  }
}

/** Only names with a mangling escape can occur twice in one module. */
function sameSymbols(module: Module): Map<GlobalValue, GlobalValue> {
  const same = new Map<GlobalValue, GlobalValue>();
  const locals = new Map<string, GlobalValue>();
  for (const global of module.globals) if (global.linkage === "internal") locals.set(global.name, global);
  if (locals.size === 0) return same;
  for (const global of module.globals) {
    const local = global.isDeclaration && isLinkable(global) ? locals.get(global.name) : undefined;
    if (local !== undefined) same.set(global, local);
  }
  return same;
}

/** Size in bytes of the variable that a group is named after, 0 when there is none. */
function leaderSize({ file, comdat }: Group): number {
  const leader = file.module.globals.find((g) => g.name === comdat.name);
  return leader?.kind === "variable" ? file.module.dataLayout.allocSize(leader.valueType) : 0;
}

/** Whether a variable, or what an alias names, is thread-local; null when that is not known. */
function threadLocal(global: GlobalValue): boolean | null {
  const base = global.kind === "alias" ? baseObject(global) : global;
  if (base === null || base.kind !== "variable") return global.threadLocal !== "none" ? true : null;
  return base.threadLocal !== "none";
}
