/** What goes into a link, and its options. */

import type { ModuleSummary } from "../analysis/summary.js";
import { isReservedName } from "../ir/intrinsics.js";
import type { Module, Visibility } from "../ir/module.js";

/** A global or weak symbol of a native object or shared library. */
export interface NativeSymbol {
  readonly name: string;
  readonly defined: boolean;
  readonly weak: boolean;
  readonly common: boolean;
  readonly visibility: Visibility;
  /** Thread-local; null when the object does not say (an untyped reference). */
  readonly tls: boolean | null;
  /** Bytes. */
  readonly size: number;
  /** Of a common symbol, in bytes. */
  readonly align: number;
}

/** IR. Linking takes ownership: the module's globals become those of the linked module. */
export interface ModuleInput {
  readonly kind: "module";
  readonly module: Module;
  /** As stored in an object; computed from the bodies when missing. */
  readonly summary?: ModuleSummary;
}

/** Machine code, of which only the symbols take part. */
export interface NativeInput {
  readonly kind: "native";
  readonly file: string;
  /** ELF's number of the machine; absent: not known. */
  readonly machine?: number;
  /** A shared library: its definitions satisfy references but never prevail. */
  readonly shared: boolean;
  readonly symbols: readonly NativeSymbol[];
}

/** An archive member or an object between --start-lib and --end-lib: linked only when it is needed. */
export interface LazyMember {
  /** As messages should name it: `lib.a(member.o)`. */
  readonly file: string;
  /**
   * Names it defines with non-local linkage. `common`: the definition is common or weak, which is not enough to
   * load the member in place of a common symbol.
   */
  readonly defines: readonly { readonly name: string; readonly common: boolean }[];
  readonly isNative: boolean;
  /** Reads it; called at most once. */
  load(): ModuleInput | NativeInput;
}

export interface ArchiveInput {
  readonly kind: "archive";
  readonly members: readonly LazyMember[];
}

export type LinkInput = ModuleInput | NativeInput | ArchiveInput;

/** How a library that is no input mentions a name: it has a definition of its own, it wants one; or not at all. */
export type Mention = "defined" | "undefined" | null;

/** Globs of the names that a linker's version script exports, and of those that it hides. */
export interface VersionScript {
  readonly global: readonly string[];
  readonly local: readonly string[];
}

export interface LinkOptions {
  /**
   * `executable`: nothing outside can replace a definition. `shared`: visible definitions can be replaced.
   * `relocatable`: the result is linked further, so everything global stays.
   */
  readonly output: "executable" | "shared" | "relocatable";
  /** Symbol where the program starts; "" for none. */
  readonly entry: string;
  /** Another symbol that an executable may start at, where it is defined: before `main`, or without one. */
  readonly startsAt?: string;
  /** It is an error when the entry is not defined. */
  readonly requireMain: boolean;
  /** It is an error when a strong reference stays undefined. */
  readonly noUndefined: boolean;
  /** Of several strong definitions of a symbol the first counts (--allow-multiple-definition). */
  readonly allowMultipleDefinition?: boolean;
  /** Globs of definitions that stay visible (--export, --export-list). */
  readonly exports: readonly string[];
  /** Of a shared library, or with `exportDynamic`: what a version script makes local is not visible outside. */
  readonly versions?: VersionScript;
  /** Archives, by file name, whose definitions are hidden (--exclude-libs); `ALL`: every one. */
  readonly excludeLibs?: readonly string[];
  /** Classes of which the program has all there is are taken to be derived from only in it. */
  readonly wholeProgramVisibility?: boolean;
  /** Symbols to take as referenced (-u). */
  readonly undefined: readonly string[];
  /** Globs of symbols to take as referenced, among those that the inputs define or have in archives (--undefined-glob). */
  readonly undefinedGlobs?: readonly string[];
  /** Keep every visible definition of an executable (--export-dynamic). */
  readonly exportDynamic: boolean;
  /** Functions of a shared library are not replaced at load time for those that are in it (the linker's -Bsymbolic-functions). */
  readonly symbolicFunctions?: boolean;
  /**
   * Globs of definitions of a shared library that are there to be replaced at load time, whatever else is not (--dynamic-list,
   * --export-dynamic-symbol).
   */
  readonly replaceable?: readonly string[];
  /** `f` → references to f go to __wrap_f, and those to __real_f go to f. */
  readonly wrap: readonly string[];
  /** Symbols that the system linker gives a value of its own, whatever defines them (--defsym, scripts). */
  readonly redefined?: readonly string[];
  /** Globs of sections whose contents stay although nothing refers to them (scripts). */
  readonly keptSections?: readonly string[];
  /** Names of definitions that whoever generates the code may call. */
  readonly callable?: (name: string) => boolean;
  /**
   * Names of definitions that only code calls (`isRoutine`): they are dropped where neither IR, nor code generation for it, nor an
   * input calls them. Absent: all runtime symbols stay.
   */
  readonly droppable?: (name: string) => boolean;
  /** What libraries mention that the result will be linked with, although they are no inputs. */
  readonly mention?: (name: string) => Mention;
  /** 0: no limit. */
  readonly errorLimit: number;
  /** The linked module is to know where its globals come from (`Module.origins`). */
  readonly keepOrigins?: boolean;
  /** Load the debug information of the modules that are linked. */
  readonly keepDebug?: boolean;
  /** Load lazy members whose strong definition can replace a common symbol (--fortran-common; lld: off). */
  readonly fortranCommon?: boolean;
}

export const defaultLinkOptions: LinkOptions = {
  output: "executable",
  entry: "main",
  requireMain: false,
  noUndefined: false,
  exports: [],
  undefined: [],
  exportDynamic: false,
  wrap: [],
  errorLimit: 20,
};

/** The symbols of a module or summary that a lazy member offers. */
export function lazyDefinitions(
  symbols: readonly {
    readonly name: string;
    readonly linkage: string;
    readonly isDeclaration: boolean;
  }[],
): { name: string; common: boolean }[] {
  return symbols
    .filter(
      (s) =>
        !s.isDeclaration &&
        s.linkage !== "internal" &&
        s.linkage !== "private" &&
        s.linkage !== "available_externally" &&
        s.linkage !== "appending" &&
        s.name !== "" &&
        !isReservedName(s.name),
    )
    .map((s) => ({ name: s.name, common: s.linkage !== "external" }));
}

/** The symbols of a native object that a lazy member offers. */
export function nativeDefinitions(symbols: readonly NativeSymbol[]): { name: string; common: boolean }[] {
  return symbols.filter((s) => s.defined).map((s) => ({ name: s.name, common: s.common || s.weak }));
}
