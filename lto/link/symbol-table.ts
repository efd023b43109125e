/**
 * The global symbol table of a link: one entry per name, and the rules by which a definition, a reference
 * or an archive member's offer changes it.
 *
 * The rules are those of lld's ELF port: strong beats common beats weak beats shared; among weak definitions,
 * and among common ones of equal size, the first wins; a lazy member is taken for a non-weak reference.
 */
import { isReservedName } from "../ir/intrinsics.js";
import type {
  Comdat,
  Func,
  GlobalBase,
  GlobalValue,
  GlobalVariable,
  Module,
  Visibility,
} from "../ir/module.js";
import type { LazyMember, ModuleInput, NativeInput, NativeSymbol } from "./input.js";
import type { AsmSymbols } from "./module-asm.js";

export interface LoadedModule {
  readonly kind: "module";
  readonly file: string;
  readonly module: Module;
  readonly input: ModuleInput;
  readonly asm: AsmSymbols;
  /** Declarations that the assembler takes for a local definition of the module, since they print alike. */
  readonly sameSymbols: ReadonlyMap<GlobalValue, GlobalValue>;
  /** Comdat groups of the module that lost to a group of the same name. */
  readonly droppedComdats: Set<Comdat>;
}
export interface LoadedNative {
  readonly kind: "native";
  readonly file: string;
  readonly input: NativeInput;
}
export type LoadedFile = LoadedModule | LoadedNative;

export type SymbolState = "undefined" | "lazy" | "shared" | "weak" | "common" | "strong";

export class LinkSymbol {
  state: SymbolState = "undefined";
  /** The file that defines it, unless undefined or lazy. */
  file: LoadedFile | null = null;
  /** The prevailing definition when it is IR; null when it is native, shared or module asm. */
  global: GlobalValue | null = null;
  /** What others define, for calls that must be inlined: the first body of it, which stands for the name where no IR defines it. */
  inlineOnly: Func | null = null;
  /** Offers a definition while the state is `lazy`. */
  member: LazyMember | null = null;
  /** Some reference is not weak. */
  strongReference = false;
  /** The most constraining of all occurrences. */
  visibility: Visibility = "default";
  /** The least permissive of all occurrences; null before the first. */
  unnamedAddr: GlobalBase["unnamedAddr"] | null = null;
  /** Who defines or mentions it that is no IR, so that its name must stay: the first, in words; null: nobody. */
  usedBy: string | null = null;
  /** The system linker will put another value in the place of a definition. */
  redefined = false;
  /** Largest size and alignment among common definitions, in bytes. */
  commonSize = 0;
  commonAlign = 0;
  /** Thread-local or not, and the file that said so first. */
  threadLocal: boolean | null = null;
  threadLocalFile = "";
  constructor(readonly name: string) {}

  /** Native code or module asm defines or mentions it, so its name must stay. */
  get usedOutside(): boolean {
    return this.usedBy !== null;
  }

  /** @param by in words, for reports; the first is kept */
  useOutside(by: string): void {
    this.usedBy ??= by;
  }

  get isDefined(): boolean {
    return this.state === "strong" || this.state === "weak" || this.state === "common";
  }

  constrainVisibility(other: Visibility): void {
    if (other === "hidden" || (other === "protected" && this.visibility === "default"))
      this.visibility = other;
  }

  constrainUnnamedAddr(other: GlobalBase["unnamedAddr"]): void {
    const rank = { none: 0, local: 1, global: 2 };
    if (this.unnamedAddr === null || rank[other] < rank[this.unnamedAddr]) this.unnamedAddr = other;
  }

  take(state: SymbolState, file: LoadedFile, global: GlobalValue | null): void {
    this.state = state;
    this.file = file;
    this.global = global;
    this.member = null;
  }

  /** Takes back a definition, when its comdat group is dropped after all. */
  forget(): void {
    this.state = "undefined";
    this.file = null;
    this.global = null;
  }
}

/** The strength of an IR definition. */
export function definitionState(global: GlobalValue): SymbolState {
  switch (global.linkage) {
    case "weak":
    case "weak_odr":
    case "linkonce":
    case "linkonce_odr":
      return "weak";
    case "common":
      return "common";
    default:
      return "strong";
  }
}

/** Whether linking concatenates a global with others of its name. */
export const isAppending = (global: GlobalValue): boolean => asAppending(global) !== null;

/** The array that is concatenated, or null. */
export const asAppending = (global: GlobalValue): GlobalVariable | null =>
  global.linkage === "appending" && global.kind === "variable" && global.valueType.kind === "array"
    ? global
    : null;

/** Whether an IR global takes part in resolution by name. */
export function isLinkable(global: GlobalValue): boolean {
  return !global.isLocal && !isAppending(global) && global.name !== "" && !isReservedName(global.name);
}

/** Whether an IR global counts as a definition for other files. */
export const isDefinition = (global: GlobalValue): boolean =>
  !global.isDeclaration && global.linkage !== "available_externally";

/** A body that is there to be inlined, whatever it costs: without it such calls stay calls of what may be nowhere. */
export const isInlineOnly = (global: GlobalValue): global is Func =>
  global.kind === "function" &&
  global.linkage === "available_externally" &&
  global.attributes.fn.has("alwaysinline");

export function nativeState(symbol: NativeSymbol): SymbolState {
  if (symbol.common) return "common";
  return symbol.weak ? "weak" : "strong";
}
