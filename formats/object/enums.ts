/**
 * The closed vocabularies of the object format. An entry's position is its code on disk: append, never
 * reorder, never remove.
 */
import type { FloatPredicate, IntPredicate, Ordering, RMWOp, TailKind } from "../../lto/ir/instructions.js";
import type { Comdat, GlobalBase, Linkage, ThreadLocalMode, Visibility } from "../../lto/ir/module.js";

/** A two-way table between names and their codes. */
export class Vocabulary<T extends string> {
  private readonly codes: ReadonlyMap<string, number>;
  constructor(readonly names: readonly T[]) {
    this.codes = new Map(names.map((name, code) => [name, code]));
  }
  /** The code of a name that the type system says is in the list. */
  code(name: T): number {
    const code = this.codes.get(name);
    if (code === undefined) throw new Error(`no object code for '${name}'`);
    return code;
  }
  /** The code of any string, or undefined. */
  find(name: string): number | undefined {
    return this.codes.get(name);
  }
}

export const linkages = new Vocabulary<Linkage>([
  "external",
  "available_externally",
  "linkonce",
  "linkonce_odr",
  "weak",
  "weak_odr",
  "appending",
  "internal",
  "private",
  "extern_weak",
  "common",
]);
export const visibilities = new Vocabulary<Visibility>(["default", "hidden", "protected"]);
export const threadLocalModes = new Vocabulary<ThreadLocalMode>([
  "none",
  "generaldynamic",
  "localdynamic",
  "initialexec",
  "localexec",
]);
export const unnamedAddrs = new Vocabulary<GlobalBase["unnamedAddr"]>(["none", "local", "global"]);
export const globalKinds = new Vocabulary<GlobalBase["kind"]>(["function", "variable", "alias", "ifunc"]);
export const selections = new Vocabulary<Comdat["selection"]>([
  "any",
  "exactmatch",
  "largest",
  "nodeduplicate",
  "samesize",
]);

export const orderings = new Vocabulary<Ordering>([
  "not_atomic",
  "unordered",
  "monotonic",
  "acquire",
  "release",
  "acq_rel",
  "seq_cst",
]);
export const rmwOps = new Vocabulary<RMWOp>([
  "xchg",
  "add",
  "sub",
  "and",
  "nand",
  "or",
  "xor",
  "max",
  "min",
  "umax",
  "umin",
  "fadd",
  "fsub",
  "fmax",
  "fmin",
  "uinc_wrap",
  "udec_wrap",
  "usub_cond",
  "usub_sat",
  "fmaximum",
  "fminimum",
]);
export const intPredicates = new Vocabulary<IntPredicate>([
  "eq",
  "ne",
  "ugt",
  "uge",
  "ult",
  "ule",
  "sgt",
  "sge",
  "slt",
  "sle",
]);
export const floatPredicates = new Vocabulary<FloatPredicate>([
  "false",
  "oeq",
  "ogt",
  "oge",
  "olt",
  "ole",
  "one",
  "ord",
  "uno",
  "ueq",
  "ugt",
  "uge",
  "ult",
  "ule",
  "une",
  "true",
]);
export const tailKinds = new Vocabulary<TailKind>(["", "tail", "musttail", "notail"]);

/** Attribute kinds with a short code; any other name is written out. */
export const attributeNames = new Vocabulary<string>([
  "noundef",
  "nonnull",
  "nocapture",
  "readonly",
  "writeonly",
  "readnone",
  "noalias",
  "signext",
  "zeroext",
  "inreg",
  "byval",
  "byref",
  "sret",
  "inalloca",
  "preallocated",
  "nest",
  "returned",
  "align",
  "alignstack",
  "dereferenceable",
  "dereferenceable_or_null",
  "elementtype",
  "immarg",
  "allocalign",
  "allocptr",
  "swiftself",
  "swifterror",
  "swiftasync",
  "nofree",
  "nofpclass",
  "writable",
  "dead_on_unwind",
  "captures",
  "initializes",
  "range",
  "alwaysinline",
  "noinline",
  "inlinehint",
  "nounwind",
  "noreturn",
  "norecurse",
  "nosync",
  "nocallback",
  "willreturn",
  "mustprogress",
  "memory",
  "argmemonly",
  "inaccessiblememonly",
  "inaccessiblemem_or_argmemonly",
  "minsize",
  "optsize",
  "optnone",
  "optdebug",
  "naked",
  "nobuiltin",
  "builtin",
  "noduplicate",
  "convergent",
  "cold",
  "hot",
  "nomerge",
  "nonlazybind",
  "noredzone",
  "noimplicitfloat",
  "noprofile",
  "skipprofile",
  "nocf_check",
  "null_pointer_is_valid",
  "returns_twice",
  "safestack",
  "shadowcallstack",
  "speculatable",
  "speculative_load_hardening",
  "ssp",
  "sspreq",
  "sspstrong",
  "strictfp",
  "uwtable",
  "vscale_range",
  "allockind",
  "allocsize",
  "fn_ret_thunk_extern",
  "presplitcoroutine",
  "coro_only_destroy_when_complete",
  "hybrid_patchable",
  "jumptable",
  "disable_sanitizer_instrumentation",
  "sanitize_address",
  "sanitize_hwaddress",
  "sanitize_memory",
  "sanitize_memtag",
  "sanitize_thread",
  "nosanitize_bounds",
  "nosanitize_coverage",
]);

/** Bits of a global's row. */
export const Bit = { DsoLocal: 1, Constant: 2, ExternallyInitialized: 4, CodeModel: 8 } as const;
