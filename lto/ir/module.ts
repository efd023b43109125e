/** Modules and what lives at their top level. */
import { type AttributeList, noAttributeList } from "./attributes.js";
import { BodyPool } from "./body-pool.js";
import type { DataLayout } from "./data-layout.js";
import type { DICompileUnit, DIGlobalVariableExpression, DISubprogram } from "./debug/nodes.js";
import { Editor } from "./editor.js";
import type { Body, BodyView } from "./instructions.js";
import { type Intrinsic, intrinsicNamed } from "./intrinsics.js";
import { Origins } from "./origins.js";
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

/** An encoded body: gives a function its body whenever it is asked for. */
export interface BodySource {
  /** Decoding takes several times as long as from what a `BodyCodec` makes. */
  readonly isForeign?: boolean;
  /** Decodes a fresh body. @throws InputError when the encoded form is malformed. */
  decode(fn: Func): Body;
  /**
   * The same body with each global it mentions replaced; for sources that can do so while decoding. Addresses
   * of blocks are not moved to another function: where the owner is replaced and has no body of its own left,
   * they become an arbitrary non-null address.
   */
  remap?(map: (symbol: GlobalValue) => GlobalValue): BodySource;
}

/** A type of C++ (`!type`): its address point is `offset` bytes into the global. Functions have it for their own type. */
export interface TypeId {
  readonly offset: number;
  readonly name: string;
}
const noTypeIds: readonly TypeId[] = [];

/** Encodes bodies, so that memory follows the bodies at work; implemented by a format. */
export interface BodyCodec {
  /** What it makes is bytes, for other threads and caches. */
  readonly isPortable: boolean;
  /** A source that decodes to what `body` is now; it keeps nothing of `body`. */
  encode(fn: Func, body: BodyView): BodySource;
}

/**
 * A function. Its body is in one of these states, and only the methods below change it:
 *
 * | state    | source | decoded | what it is                                                    |
 * | -------- | ------ | ------- | ------------------------------------------------------------- |
 * | declared | –      | –       | no body                                                       |
 * | encoded  | yes    | –       | to be decoded on demand                                       |
 * | viewed   | yes    | yes     | decoded and unchanged: can be released and decoded again      |
 * | owned    | –      | yes     | changed, or never encoded; the only copy, so nothing drops it |
 * | taken    | –      | –       | was owned and has been consumed; looking at it is an error    |
 *
 * Whoever changes a body owns it: there is no source left that could be decoded in its place.
 */
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
  /** How often it was entered when the program was profiled; null when that is not known (or not read yet). */
  entryCount: number | null = null;
  typeIds: readonly TypeId[] = noTypeIds;
  /**
   * What its source calls it. Of one with a foreign source (`BodySource.isForeign`) it is known once the body has been
   * decoded.
   */
  subprogram: DISubprogram | null = null;
  readonly args: readonly Argument[];
  private encoded: BodySource | null = null;
  private decoded: Body | null = null;
  private consumed = false;
  private changes = 0;
  /** Labels of blocks that are gone. */
  private dropped: Set<number> | null = null;
  private known: Intrinsic | null | undefined = undefined;

  constructor(name: string, valueType: Type, type: Type = ptr) {
    super(name, valueType, type);
    this.args = valueType.parameters.map((t, i) => new Argument(t, i));
  }
  /**
   * Gives the function another type and new arguments. Its body and every call are the caller's to change with it:
   * see `changeSignature`.
   */
  retype(valueType: Type): void {
    const changed = this as { valueType: Type; args: readonly Argument[] };
    changed.valueType = valueType;
    changed.args = valueType.parameters.map((t, i) => new Argument(t, i));
  }
  get isDeclaration(): boolean {
    return this.decoded === null && this.encoded === null && !this.consumed;
  }
  /** The intrinsic it is, if it is one; by the name it has when this is first asked. */
  get intrinsic(): Intrinsic | null {
    if (this.known === undefined) this.known = intrinsicNamed(this.name);
    return this.known;
  }
  set intrinsic(intrinsic: Intrinsic | null) {
    this.known = intrinsic;
  }
  /** What the body can be decoded from; null where it is owned, taken or missing. */
  get source(): BodySource | null {
    return this.encoded;
  }
  /** The body is in memory. */
  get isDecoded(): boolean {
    return this.decoded !== null;
  }
  /** 0 for the first body; grows whenever the body is given out for a change: what was computed before is stale. */
  get revision(): number {
    return this.changes;
  }

  /** The body to look at, decoded now if need be. @throws Error for a declaration or a body that was taken */
  view(): BodyView {
    return this.current();
  }
  /** Shows the body, and forgets it again if it was not in memory before. */
  peek<T>(look: (body: BodyView) => T): T {
    const before = this.decoded;
    const result = look(this.current());
    if (before === null) this.release();
    return result;
  }
  /**
   * The body to be edited; use lists are built unless it has them from an earlier edit. It becomes the function's
   * own: its source is dropped.
   */
  edit(): Editor {
    const body = this.own();
    body.editor ??= new Editor(this, body);
    return body.editor;
  }
  /** The same for one who changes the lists of blocks and instructions himself (`raw`): use lists are dropped. */
  rewrite(): Body {
    const body = this.own();
    loseEditor(body);
    return body;
  }
  private own(): Body {
    const body = this.current();
    this.encoded = null;
    this.changes++;
    return body;
  }
  /** Forgets the use lists of a body that nobody edits for the time being. */
  settle(): void {
    if (this.decoded !== null) loseEditor(this.decoded);
  }
  /** Encodes an owned body, or one whose source is foreign, which is forgotten; otherwise the same as `release`. */
  commit(codec: BodyCodec): void {
    if (this.decoded !== null && (this.encoded === null || this.encoded.isForeign === true))
      this.encoded = codec.encode(this, this.decoded);
    this.release();
  }
  /** Forgets a decoded body that can be decoded again; an owned one stays. */
  release(): void {
    if (this.encoded !== null) this.decoded = null;
  }
  /**
   * The body to be consumed, for instance by code generation. The function keeps its source, so that an unchanged
   * body can be decoded once more; an owned one is gone.
   */
  take(): Body {
    const body = this.current();
    loseEditor(body);
    this.decoded = null;
    if (this.encoded === null) this.consumed = true;
    return body;
  }
  /** Gives the function another body, or its first one. Labels that an earlier body had and it lacks are dropped. */
  define(body: Body): void {
    const earlier = this.isDeclaration || this.consumed ? [] : this.current().blocks;
    const kept = new Set(body.blocks.map((block) => block.label));
    this.dropBody();
    this.decoded = body;
    for (const { label } of earlier) if (!kept.has(label)) this.dropLabel(label);
  }
  /** No block has this label any more: `BlockAddress` constants of it lose their meaning (`droppedAddress`). */
  dropLabel(label: number): void {
    if (this.dropped === null) this.dropped = new Set();
    this.dropped.add(label);
  }
  /** Whether a label that was given is no longer one of a block. */
  hasDropped(label: number): boolean {
    return this.isDeclaration || this.dropped?.has(label) === true;
  }
  /** What is encoded elsewhere may still mention blocks that are gone. */
  get hasDroppedLabels(): boolean {
    return this.dropped !== null;
  }
  /** Gives the function an encoded body. */
  defineEncoded(source: BodySource): void {
    this.dropBody();
    this.encoded = source;
  }
  /** Makes it a declaration. */
  dropBody(): void {
    if (!this.isDeclaration) this.changes++;
    this.encoded = null;
    this.decoded = null;
    this.consumed = false;
  }
  /** Changes the encoded and the decoded form alike, each if there is one; they must stay the same body. */
  transform(source: (source: BodySource) => BodySource, body: (body: Body) => void): void {
    if (this.decoded !== null) body(this.decoded);
    if (this.encoded !== null) this.encoded = source(this.encoded);
  }

  private current(): Body {
    if (this.decoded === null) {
      if (this.encoded === null)
        throw new Error(`@${this.name} ${this.consumed ? "has no body any more" : "is a declaration"}`);
      this.decoded = this.encoded.decode(this);
    } else this.decoded.editor?.sweep();
    return this.decoded;
  }
}

function loseEditor(body: Body): void {
  body.editor?.sweep();
  body.editor = null;
}

/** In the order of their numbers in bitcode, which are one more. */
export const variableCodeModels = ["tiny", "small", "kernel", "medium", "large"] as const;
export type VariableCodeModel = (typeof variableCodeModels)[number];

const noVariables: readonly never[] = [];

export class GlobalVariable extends GlobalBase {
  readonly kind = "variable";
  /** Alignment in bytes, 0 when unspecified (then the preferred alignment of the type). */
  align = 0;
  section = "";
  isConstant = false;
  externallyInitialized = false;
  /** Where it may lie, if not as the module's code model says. */
  codeModel: VariableCodeModel | null = null;
  /** Of a table of virtual functions: the types whose tables lie in it. */
  typeIds: readonly TypeId[] = noTypeIds;
  /** Who may call through a table of virtual functions: 0 anybody, 1 the linked program, 2 its own module. */
  vcallVisibility = 0;
  /** The variables of the source that lie in it. */
  debug: readonly DIGlobalVariableExpression[] = noVariables;
  initializer: Constant | null = null;
  get isDeclaration(): boolean {
    return this.initializer === null;
  }
  /**
   * Gives the variable another type and value. What loads and stores it is the caller's to change with it. It is no longer
   * what the variables of the source are said to be.
   */
  retype(valueType: Type, initializer: Constant): void {
    this.debug = noVariables;
    (this as { valueType: Type }).valueType = valueType;
    this.initializer = initializer;
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

type DebugLoader = (map: (global: GlobalValue) => GlobalValue | null) => DICompileUnit[];

export class Module {
  readonly globals: GlobalValue[] = [];
  /** Bodies that stay decoded between those who look at them. */
  readonly pool = new BodyPool();
  /**
   * Of a linked module: globals that something outside of the IR may use by name, local ones too: assembly of the
   * module and in functions, what `llvm.used` lists. They keep their names, definitions and signatures, and unknown
   * code may enter them, whatever becomes of the IR that mentions them.
   */
  readonly pinned = new Set<GlobalValue>();
  /**
   * Of a linked module, by the name of a run-time routine: definitions that stay only as long as code generation may call it
   * (analysis/routines.ts), its own, or what a library's routine of that name needs. Unknown code may enter them.
   */
  readonly routines = new Map<string, GlobalValue[]>();
  /** Where its code comes from, and of a linked module its globals; null: nobody wants to know, or nothing says so. */
  origins: Origins | null = null;
  /** Of a linked module of several: the sources of each, and which of them a definition is from. */
  sources: { readonly names: readonly string[]; readonly of: WeakMap<GlobalValue, number> } | null = null;
  /** Of a linked module: it is not the whole program; the result is linked with more IR. */
  isPartial = false;
  /** The compile units whose debug information it has; null: it has none, or it has not been loaded. */
  debugUnits: DICompileUnit[] | null = null;
  /** What `loadDebug` does, until it was called; null: there is nothing to load. */
  debugLoader: DebugLoader | null = null;
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
  /**
   * Reads the debug information of a module that was read from a file: compile units, and what functions and variables
   * have (of a foreign source: functions as their bodies are decoded, which must not have happened yet).
   * @param map what stands for a global that debug information mentions; null: nothing does any more
   * @throws InputError
   */
  loadDebug(map: (global: GlobalValue) => GlobalValue | null = (global) => global): void {
    const load = this.debugLoader;
    this.debugLoader = null;
    if (load === null) return;
    this.origins = new Origins();
    this.debugUnits = load(map);
  }
  flag(key: string): number | string | undefined {
    return this.flags.find((f) => f.key === key)?.value;
  }
}

/**
 * Whether a definition can have a second name, local to the file: no linker chooses among copies of it. LLVM's
 * `canBenefitFromLocalAlias`.
 */
export const hasLocalName = (global: GlobalValue): boolean =>
  !global.isDeclaration &&
  global.linkage === "external" &&
  global.visibility === "default" &&
  global.threadLocal === "none" &&
  global.kind !== "ifunc" &&
  (global.comdat === null || global.comdat.selection === "nodeduplicate");

/** The module only refers to the symbol: what it is, another one says. */
export const isReference = (global: GlobalValue): boolean =>
  global.isDeclaration || global.linkage === "available_externally";

/** Of an entry of `llvm.global_ctors`, by the data that it belongs to: whoever defines that runs it. */
export const belongsElsewhere = (data: Constant | undefined): boolean =>
  data?.valueKind === "global" && isReference(data);
