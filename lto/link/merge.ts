/**
 * Merging: makes one module of the resolved files.
 *
 * The linked module takes over the globals of its inputs; nothing is copied. Of each name the prevailing
 * definition stays, or one declaration if no IR defines it, and `replacements` says what stands for the rest.
 * Afterwards every global that is mentioned is in the module, and every name occurs once. Bodies stay
 * encoded. Linear in globals and initialisers.
 */

import { baseObject } from "../analysis/references.js";
import { DataLayout } from "../ir/data-layout.js";
import type { DICompileUnit } from "../ir/debug/nodes.js";
import { isReservedName } from "../ir/intrinsics.js";
import { Func, type GlobalValue, GlobalVariable, isReference, Module } from "../ir/module.js";
import { Origins, type Place } from "../ir/origins.js";
import { ConstantRemapper, type Replacements, remapFunction } from "../ir/remap.js";
import { arrayType, type Type } from "../ir/types.js";
import { ConstAggregate, type Constant } from "../ir/values.js";
import { appendedElements, isUsedList } from "./appending.js";
import type { Diagnostics } from "./diagnostics.js";
import { gnuModuleAsm } from "./gnu-asm.js";
import type { LinkOptions } from "./input.js";
import { nameLocals } from "./local-names.js";
import { mergeModuleFlags } from "./module-flags.js";
import { isDropped, linkName, type Resolution } from "./resolve.js";
import {
  asAppending,
  isAppending,
  isDefinition,
  isLinkable,
  type LinkSymbol,
  type LoadedModule,
} from "./symbol-table.js";
import { checkTargets } from "./target.js";

export interface Merged {
  readonly module: Module;
  readonly replacements: Replacements;
  /** The file that each global of the linked module came from, with the global's number there. */
  readonly origins: ReadonlyMap<GlobalValue, Origin>;
  /** Globals that something outside of the IR needs under their names: module asm, `llvm.used`. */
  readonly pinned: ReadonlySet<GlobalValue>;
  /** Local globals that could not keep their names, with the names they had. */
  readonly renamed: ReadonlyMap<GlobalValue, string>;
  /** The file that each module flag has its value from. */
  readonly flagFiles: ReadonlyMap<string, string>;
}

export interface Origin {
  readonly file: LoadedModule;
  readonly index: number;
}

/** Merges the modules of a resolution. */
export function merge(resolution: Resolution, options: LinkOptions, diagnostics: Diagnostics): Merged {
  return new Merger(resolution, options, diagnostics).run();
}

/** The appending global of one name over all modules. */
interface Appended {
  elements: Constant[];
  element: Type | null;
  /** The globals that it is made of. */
  readonly parts: GlobalVariable[];
}

class Merger {
  private readonly modules: LoadedModule[];
  private readonly wrapped: ReadonlySet<string>;
  private readonly globals: GlobalValue[] = [];
  private readonly origins = new Map<GlobalValue, Origin>();
  private readonly replacements = new Map<GlobalValue, GlobalValue>();
  private readonly remapper = new ConstantRemapper(this.replacements);
  private readonly pinned = new Set<GlobalValue>();
  /** What stands for a name in the linked module. */
  private readonly representatives = new Map<string, GlobalValue>();
  /** Losing definitions that a winning alias names: they stay under another name. */
  private readonly kept = new Set<GlobalValue>();
  private readonly appended = new Map<string, Appended>();

  constructor(
    private readonly resolution: Resolution,
    private readonly options: LinkOptions,
    private readonly diagnostics: Diagnostics,
  ) {
    this.modules = resolution.files.filter((file) => file.kind === "module");
    this.wrapped = new Set(options.wrap);
  }

  run(): Merged {
    const sources = this.modules.map((file) => file.module);
    const { triple, layout } = checkTargets(sources, this.diagnostics);
    const first = sources[0] ?? null;
    const module = new Module(
      first?.file ?? "",
      first?.sourceName ?? "",
      (triple ?? first)?.triple ?? "",
      (layout ?? first)?.dataLayout ?? new DataLayout(""),
    );
    const flags = mergeModuleFlags(sources, this.diagnostics);
    module.flags = flags.map(({ flag }) => flag);
    const flagFiles = new Map(flags.map(({ flag, file }) => [flag.key, file]));
    module.dependentLibraries = [...new Set(sources.flatMap((source) => source.dependentLibraries))];
    for (const { moduleAsm } of sources)
      if (moduleAsm !== "") module.moduleAsm += gnuModuleAsm(moduleAsm, module.triple);

    for (const file of this.modules) this.keepAliased(file);
    for (const file of this.modules) this.place(file);
    for (const file of this.modules) this.append(file);
    this.addAppended();
    // Beyond this point `replacements` is complete.
    if (this.options.keepDebug === true) module.debugUnits = this.debugUnits();
    // Before any body is decoded that was not yet.
    module.origins = this.joinOrigins(sources);
    for (const file of this.modules) this.remapAliases(file);
    for (const global of this.globals) this.remap(global);
    for (const [name, global] of this.representatives) this.finish(name, global);
    const { symbols } = this.resolution;
    const renamed = nameLocals(this.globals, this.modules, symbols, this.pinned, this.diagnostics);
    // Not spread: there may be more than a call may have arguments.
    for (const global of this.globals) module.globals.push(global);
    const { replacements, origins, pinned } = this;
    for (const global of pinned) module.pinned.add(global);
    if (this.modules.length > 1) module.sources = this.sources();
    if (module.origins !== null && this.options.keepOrigins === true) {
      const places = new Map(
        this.modules.map((file): [LoadedModule, Place] => {
          const { sourceName } = file.module;
          return [file, { source: sourceName === "" ? file.file : sourceName, object: file.file }];
        }),
      );
      for (const [global, { file }] of origins)
        if (!global.isDeclaration) module.origins.cameFrom(global, places.get(file)!);
    }
    return { module, replacements, origins, pinned, renamed, flagFiles };
  }

  private sources(): NonNullable<Module["sources"]> {
    const of = new WeakMap<GlobalValue, number>();
    const numbers = new Map(this.modules.map((file, i) => [file, i]));
    for (const [global, { file }] of this.origins)
      if (!global.isDeclaration) of.set(global, numbers.get(file)!);
    return { names: this.modules.map(({ module, file }) => module.sourceName || file), of };
  }

  /** The compile units of all files; null when there are none. Nothing is kept alive by what they mention. */
  private debugUnits(): DICompileUnit[] | null {
    const units: DICompileUnit[] = [];
    for (const { module } of this.modules) {
      module.loadDebug((global) => this.replacements.get(global) ?? global);
      for (const unit of module.debugUnits ?? []) units.push(unit);
    }
    return units.length === 0 ? null : units;
  }

  /** The table of the linked module: of all inputs' locations, or none where nobody wants to know of any. */
  private joinOrigins(sources: readonly Module[]): Origins | null {
    if (this.options.keepOrigins !== true && sources.every(({ origins }) => origins === null)) return null;
    const joined = new Origins();
    for (const { origins, functions } of sources) {
      if (origins === null) continue;
      origins.join(joined);
      for (const fn of functions)
        if (fn.isDecoded)
          for (const { insts } of fn.view().blocks)
            for (const inst of insts) {
              inst.origin = origins.joined(inst.origin);
              for (const record of inst.debug ?? []) {
                record.origin = origins.joined(record.origin);
                record.variable = joined.variable(origins.variableOf(record.variable));
              }
            }
    }
    return joined;
  }

  /**
   * An alias names a place in its own file, whichever definition of the aliasee's name prevails elsewhere.
   * So a losing definition stays, as a local one, where an alias that counts is on it.
   */
  private keepAliased(file: LoadedModule): void {
    for (const global of file.module.globals) {
      if (global.kind !== "alias" && global.kind !== "ifunc") continue;
      if (!global.isLocal && this.prevailing(global) !== global) continue;
      const base = baseObject(global.kind === "alias" ? global.aliasee : global.resolver);
      if (base !== null && isLinkable(base) && isDefinition(base) && this.prevailing(base) !== base)
        this.kept.add(base);
    }
  }

  private symbolOf(global: GlobalValue): LinkSymbol {
    return this.resolution.symbols.get(linkName(global, this.wrapped))!;
  }

  /** The IR definition that a linkable global resolves to, or null. */
  private prevailing(global: GlobalValue): GlobalValue | null {
    return isLinkable(global) ? this.symbolOf(global).global : null;
  }

  /** Decides for each global of a file whether it goes into the linked module or is replaced. */
  private place(file: LoadedModule): void {
    file.module.globals.forEach((global, index) => {
      if (isAppending(global)) return;
      const same = file.sameSymbols.get(global);
      if (same !== undefined) this.replace(global, same);
      else if (global.isLocal || global.name === "" || this.kept.has(global)) {
        if (!global.isLocal) makeLocal(global);
        // The group of a local member may be gone; the member itself can still be mentioned.
        if (isDropped(file, global)) global.comdat = null;
        this.add(global, file, index);
        if (this.kept.has(global)) this.replace(global, this.representative(global, file, index));
      } else this.replace(global, this.representative(global, file, index));
    });
  }

  private add(global: GlobalValue, file: LoadedModule, index: number): void {
    this.globals.push(global);
    this.origins.set(global, { file, index });
  }

  private replace(global: GlobalValue, by: GlobalValue): void {
    if (global === by) return;
    this.replacements.set(global, by);
    if (this.kept.has(global)) return;
    if (global.kind === "function") {
      global.dropBody();
    }
  }

  /** What stands for a global's name: the prevailing definition, or the first declaration there is. */
  private representative(global: GlobalValue, file: LoadedModule, index: number): GlobalValue {
    const { name } = global;
    if (isReservedName(name)) {
      const known = this.representatives.get(name);
      if (known !== undefined) return known;
      this.representatives.set(name, global);
      this.add(global, file, index);
      return global;
    }
    const symbol = this.symbolOf(global);
    // A body that is there to be inlined goes once it has been (ipo/inline/always-inline.ts).
    const chosen = symbol.global ?? (symbol.name === name ? symbol.inlineOnly : null);
    if (chosen !== null) {
      if (chosen === global) {
        this.representatives.set(symbol.name, global);
        this.add(global, file, index);
      }
      return chosen;
    }
    // References to __real_f stay as they are when the system linker has to find f.
    const key = symbol.name !== name && name.startsWith("__real_") ? name : symbol.name;
    const known = this.representatives.get(key);
    if (known !== undefined) {
      this.mergeDeclarations(known, global);
      return known;
    }
    const declaration = asDeclaration(global, this.kept.has(global));
    declaration.name = key;
    this.representatives.set(key, declaration);
    this.add(declaration, file, index);
    return declaration;
  }

  /** A declaration keeps only what all of its occurrences agree on. */
  private mergeDeclarations(kept: GlobalValue, other: GlobalValue): void {
    if (!other.dsoLocal) kept.dsoLocal = false;
    if (kept.kind === "variable" && (other.kind !== "variable" || !other.isConstant)) kept.isConstant = false;
    if (kept.kind !== "variable" || other.kind !== "variable") return;
    // Who says so knows of a definition that is far away.
    if (other.codeModel === "large") kept.codeModel = "large";
    if (other.threadLocal === "generaldynamic" && kept.threadLocal !== "none")
      kept.threadLocal = "generaldynamic";
  }

  /** Properties that depend on all occurrences of a name. */
  private finish(name: string, global: GlobalValue): void {
    const symbol = this.resolution.symbols.get(name);
    if (symbol === undefined) return;
    global.visibility = symbol.visibility;
    global.unnamedAddr = symbol.unnamedAddr ?? global.unnamedAddr;
    if (global.kind === "variable" && symbol.state === "common" && global.linkage === "common")
      global.align = symbol.commonAlign;
    if (isReference(global)) {
      if (global.isDeclaration)
        global.linkage = symbol.strongReference || symbol.isDefined ? "external" : "extern_weak";
      global.comdat = null;
    } else if (symbol.redefined) {
      // What the linker assigns takes a definition's place, which therefore says nothing about it.
      if (global.linkage !== "common") global.linkage = "weak";
    } else if (symbol.usedOutside) {
      // Others rely on this copy, so it may not vanish for lack of users here.
      if (global.linkage === "linkonce") global.linkage = "weak";
      else if (global.linkage === "linkonce_odr") global.linkage = "weak_odr";
    }
    const local = symbol.visibility !== "default" || this.options.output === "executable";
    if (local && !isReference(global)) global.dsoLocal = true;
  }

  /** Aliases mention the definitions of their own file, not the prevailing ones. */
  private remapAliases(file: LoadedModule): void {
    for (const global of file.module.globals)
      if (global.kind === "alias" && this.origins.has(global)) {
        const base = baseObject(global.aliasee);
        if (base !== null) global.aliasee = this.aliasee(global.aliasee, base);
      }
  }

  /** The aliasee with aliases in between, which may have lost, resolved to the object that they name. */
  private aliasee(constant: Constant, base: GlobalValue): Constant {
    const between = new Map<GlobalValue, GlobalValue>();
    for (let at: Constant = constant; at.valueKind === "global" && at.kind === "alias"; at = at.aliasee) {
      // An alias to the middle of an object stays in between, unless it lost.
      if (at.aliasee.valueKind !== "global") {
        if (this.replacements.has(at)) return this.aliasee(at.aliasee, base);
        break;
      }
      between.set(at, base);
    }
    const inner = new ConstantRemapper(between).constant(constant);
    // A base that was kept stays; one that became a declaration has been replaced.
    return this.kept.has(base) ? inner : this.remapper.constant(inner);
  }

  private remap(global: GlobalValue): void {
    const { remapper, replacements } = this;
    const constant = <T extends Constant | null>(c: T): T => (c === null ? null : remapper.constant(c)) as T;
    switch (global.kind) {
      case "variable":
        global.initializer = constant(global.initializer);
        break;
      case "ifunc":
        if (!this.kept.has(baseObject(global.resolver)!)) global.resolver = constant(global.resolver);
        break;
      case "function":
        global.prefix = constant(global.prefix);
        global.prologue = constant(global.prologue);
        global.personality = constant(global.personality);
        if (!global.isDeclaration && this.mentionsReplaced(this.origins.get(global)!.file))
          remapFunction(global, replacements);
        break;
      case "alias": // Done by `remapAliases`.
        break;
    }
  }

  private readonly replacedFiles = new Map<LoadedModule, boolean>();
  /** Whether any global of a file was replaced; if none, its bodies need no change. */
  private mentionsReplaced(file: LoadedModule): boolean {
    let result = this.replacedFiles.get(file);
    if (result === undefined) {
      result = file.module.globals.some((g) => this.replacements.has(g));
      this.replacedFiles.set(file, result);
    }
    return result;
  }

  /** Collects the elements of a file's appending globals (llvm.global_ctors, llvm.used, …). */
  private append(file: LoadedModule): void {
    // Its cache must not outlive this step: appending globals themselves are not replaced yet.
    const remapper = new ConstantRemapper(this.replacements);
    for (const candidate of file.module.globals) {
      const global = asAppending(candidate);
      if (global === null) continue;
      let appended = this.appended.get(global.name);
      if (appended === undefined) {
        appended = { elements: [], element: null, parts: [] };
        this.appended.set(global.name, appended);
      }
      appended.parts.push(global);
      const elements = appendedElements(global, file, this.resolution.symbols);
      for (const element of elements) {
        appended.element ??= element.type;
        if (appended.element !== element.type)
          this.diagnostics.error(
            `appending variables of different types: ${global.name}`,
            `defined in ${file.file}`,
          );
        else appended.elements.push(remapper.constant(element));
      }
    }
  }

  private addAppended(): void {
    for (const [name, { elements, element, parts }] of this.appended) {
      let list = elements;
      if (isUsedList(name)) {
        list = distinct(elements);
        if (name === "llvm.used")
          for (const user of list) {
            const base = baseObject(user);
            if (base !== null) this.pinned.add(base);
            if (user.valueKind === "global") this.pinned.add(user);
          }
      }
      const first = parts[0]!;
      const type = arrayType(list.length, element ?? first.valueType.element);
      const variable = new GlobalVariable(name, type);
      variable.linkage = "appending";
      variable.section = first.section;
      variable.isConstant = first.isConstant;
      variable.initializer = new ConstAggregate(type, list);
      this.globals.push(variable);
      for (const part of parts) this.replacements.set(part, variable);
    }
  }
}

/** The globals of a list without repetitions; other constants stay as they are. */
function distinct(elements: readonly Constant[]): Constant[] {
  const seen = new Set<Constant>();
  return elements.filter((element) => {
    if (seen.has(element)) return false;
    seen.add(element);
    return true;
  });
}

function makeLocal(global: GlobalValue): void {
  global.linkage = "internal";
  global.visibility = "default";
  global.comdat = null;
  global.dsoLocal = true;
}

/** Turns a global into a declaration of its name, or makes one when it is of a kind that cannot be one. */
function asDeclaration(global: GlobalValue, isKept: boolean): GlobalValue {
  if (global.isDeclaration) return global;
  if (global.kind === "function" && !isKept) {
    global.dropBody();
    global.prefix = null;
    global.prologue = null;
    global.personality = null;
    global.section = "";
    return global;
  }
  if (global.kind === "variable" && !isKept) {
    global.initializer = null;
    global.section = "";
    return global;
  }
  const { name, valueType, type } = global;
  const result =
    valueType.kind === "function"
      ? new Func(name, valueType, type)
      : new GlobalVariable(name, valueType, type);
  result.visibility = global.visibility;
  result.threadLocal = global.threadLocal;
  if (result.kind === "variable" && global.kind === "variable") result.codeModel = global.codeModel;
  if (result.kind === "function" && global.kind === "function") {
    result.attributes = global.attributes;
    result.callingConvention = global.callingConvention;
  }
  return result;
}
