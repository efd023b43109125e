/** Modules and what lives at their top level. */
import { type AttributeList, noAttributeList } from "./attributes.js";
import type { DataLayout } from "./data-layout.js";
import type { Body } from "./instructions.js";
import { type Intrinsic, intrinsicNamed } from "./intrinsics.js";
import { ptr, type Type } from "./types.js";
import { Argument, type Constant } from "./values.js";

export type Linkage =
  | "external"
  | "available_externally"
  | "linkonce"
  | "linkonce_odr"
  | "weak"
  | "weak_odr"
  | "appending"
  | "internal"
  | "private"
  | "extern_weak"
  | "common";
export type Visibility = "default" | "hidden" | "protected";
export type ThreadLocalMode = "none" | "generaldynamic" | "localdynamic" | "initialexec" | "localexec";

/** A comdat group; several globals may share one object. */
export class Comdat {
  constructor(
    readonly name: string,
    readonly selection: "any" | "exactmatch" | "largest" | "nodeduplicate" | "samesize",
  ) {}
}

/** What all global values have. Their `type` as an operand is a pointer. */
export abstract class GlobalBase {
  readonly valueKind = "global";
  abstract readonly kind: "function" | "variable" | "alias" | "ifunc";
  linkage: Linkage = "external";
  visibility: Visibility = "default";
  /** May be assumed to resolve inside the linkage unit. */
  dsoLocal = false;
  unnamedAddr: "none" | "local" | "global" = "none";
  threadLocal: ThreadLocalMode = "none";
  comdat: Comdat | null = null;
  constructor(
    /** Symbol name without the mangling escape; a leading \x01 is already removed. Unnamed globals get "". */
    public name: string,
    /** Function type, or the type of the variable's contents. */
    readonly valueType: Type,
    readonly type: Type = ptr,
  ) {}
  get isLocal(): boolean {
    return this.linkage === "internal" || this.linkage === "private";
  }
}

/** Gives a function its body on first use. */
export interface BodySource {
  /** Decodes a fresh body. @throws InputError when the encoded form is malformed. */
  decode(fn: Func): Body;
  /**
   * The same body with each global it mentions replaced; for sources that can do so while decoding. Addresses
   * of blocks are not moved to another function: where the owner is replaced and has no body of its own left,
   * they become an arbitrary non-null address.
   */
  remap?(map: (symbol: GlobalValue) => GlobalValue): BodySource;
}

export class Func extends GlobalBase {
  readonly kind = "function";
  callingConvention = 0;
  attributes: AttributeList = noAttributeList;
  /** Alignment in bytes, 0 when unspecified. */
  align = 0;
  section = "";
  gc = "";
  prefix: Constant | null = null;
  prologue: Constant | null = null;
  personality: Constant | null = null;
  readonly args: readonly Argument[];
  /** Where the body comes from while it is not decoded; null when `body` is set or for a declaration. */
  source: BodySource | null = null;
  /** The decoded body, if it is decoded. */
  body: Body | null = null;
  private known: Intrinsic | null | undefined = undefined;

  constructor(name: string, valueType: Type, type: Type = ptr) {
    super(name, valueType, type);
    this.args = valueType.parameters.map((t, i) => new Argument(t, i));
  }
  get isDeclaration(): boolean {
    return this.body === null && this.source === null;
  }
  /** The intrinsic it is, if it is one; by the name it has when this is first asked. */
  get intrinsic(): Intrinsic | null {
    if (this.known === undefined) this.known = intrinsicNamed(this.name);
    return this.known;
  }
  set intrinsic(intrinsic: Intrinsic | null) {
    this.known = intrinsic;
  }
  /** The body, decoded now if need be. Must not be called on a declaration. */
  materialize(): Body {
    if (this.body === null) {
      if (this.source === null) throw new Error(`materialize: @${this.name} is a declaration`);
      this.body = this.source.decode(this);
    }
    return this.body;
  }
  /** Forgets a decoded body that can be decoded again. */
  release(): void {
    if (this.source !== null) this.body = null;
  }
}

export class GlobalVariable extends GlobalBase {
  readonly kind = "variable";
  /** Alignment in bytes, 0 when unspecified (then the preferred alignment of the type). */
  align = 0;
  section = "";
  isConstant = false;
  externallyInitialized = false;
  initializer: Constant | null = null;
  get isDeclaration(): boolean {
    return this.initializer === null;
  }
}

export class Alias extends GlobalBase {
  readonly kind = "alias";
  /** A global or a constant expression on one. Set right after construction by readers. */
  aliasee!: Constant;
  readonly isDeclaration = false;
}

export class IFunc extends GlobalBase {
  readonly kind = "ifunc";
  resolver!: Constant;
  readonly isDeclaration = false;
}

export type GlobalValue = Func | GlobalVariable | Alias | IFunc;

/** A module flag; values that are neither an integer nor a string are dropped by readers. */
export interface ModuleFlag {
  /** LLVM's merge behaviour, 1 (error) … 8 (min). */
  readonly behavior: number;
  readonly key: string;
  readonly value: number | string;
}

export class Module {
  readonly globals: GlobalValue[] = [];
  /** Assembly text of `module asm` lines, each ended by a newline. */
  moduleAsm = "";
  flags: ModuleFlag[] = [];
  /** Libraries named by `#pragma comment(lib)`. */
  dependentLibraries: string[] = [];
  constructor(
    /** The file it came from, as messages should name it. */
    public file: string,
    public sourceName: string,
    public triple: string,
    public dataLayout: DataLayout,
  ) {}

  get functions(): Func[] {
    return this.globals.filter((g) => g.kind === "function");
  }
  get variables(): GlobalVariable[] {
    return this.globals.filter((g) => g.kind === "variable");
  }
  flag(key: string): number | string | undefined {
    return this.flags.find((f) => f.key === key)?.value;
  }
}
