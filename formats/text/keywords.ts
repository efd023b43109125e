/**
 * Words of LLVM assembly that stand for numbers or names of the IR, shared by the printer and the parser.
 * Calling convention numbers: llvm/IR/CallingConv.h. Bit layouts of integer attributes: llvm/IR/Attributes.h,
 * llvm/Support/ModRef.h, llvm/ADT/FloatingPointMode.h.
 */
import { Flag, fastMathMask, Op } from "../../lto/ir/instructions.js";

/** Conventions that have a word; every other one is written `cc N`. */
export const callingConventions: ReadonlyMap<string, number> = new Map([
  ["ccc", 0],
  ["fastcc", 8],
  ["coldcc", 9],
  ["ghccc", 10],
  ["anyregcc", 13],
  ["preserve_mostcc", 14],
  ["preserve_allcc", 15],
  ["swiftcc", 16],
  ["cxx_fast_tlscc", 17],
  ["tailcc", 18],
  ["cfguard_checkcc", 19],
  ["swifttailcc", 20],
  ["preserve_nonecc", 21],
  ["x86_stdcallcc", 64],
  ["x86_fastcallcc", 65],
  ["arm_apcscc", 66],
  ["arm_aapcscc", 67],
  ["arm_aapcs_vfpcc", 68],
  ["msp430_intrcc", 69],
  ["x86_thiscallcc", 70],
  ["ptx_kernel", 71],
  ["ptx_device", 72],
  ["spir_func", 75],
  ["spir_kernel", 76],
  ["intel_ocl_bicc", 77],
  ["x86_64_sysvcc", 78],
  ["win64cc", 79],
  ["x86_vectorcallcc", 80],
  ["hhvmcc", 81],
  ["hhvm_ccc", 82],
  ["x86_intrcc", 83],
  ["avr_intrcc", 84],
  ["avr_signalcc", 85],
  ["amdgpu_vs", 87],
  ["amdgpu_gs", 88],
  ["amdgpu_ps", 89],
  ["amdgpu_cs", 90],
  ["amdgpu_kernel", 91],
  ["x86_regcallcc", 92],
  ["amdgpu_hs", 93],
  ["amdgpu_ls", 95],
  ["amdgpu_es", 96],
  ["aarch64_vector_pcs", 97],
  ["aarch64_sve_vector_pcs", 98],
  ["amdgpu_gfx", 100],
  ["m68k_rtdcc", 106],
  ["graalcc", 107],
  ["riscv_vector_cc", 110],
]);
export const callingConventionWords: ReadonlyMap<number, string> = new Map(
  [...callingConventions].map(([word, number]) => [number, word]),
);

export type AttributeForm =
  /** A bare word. */
  | "enum"
  /** `word(N)`; `word=N` in an attribute group. */
  | "int"
  /** `word(T)`. */
  | "type"
  /** A syntax of its own; see attribute-text.ts. */
  | "special";

/** Attributes that have a textual form. Whatever else an input names is dropped. */
export const attributeForms: ReadonlyMap<string, AttributeForm> = new Map<string, AttributeForm>([
  ["align", "special"],
  ["alignstack", "int"],
  ["dead_on_return", "int"],
  ["denormal_fpenv", "int"],
  ["dereferenceable", "int"],
  ["dereferenceable_or_null", "int"],
  ["allocsize", "special"],
  ["allockind", "special"],
  ["captures", "special"],
  ["memory", "special"],
  ["nofpclass", "special"],
  ["range", "special"],
  ["uwtable", "special"],
  ["vscale_range", "special"],
  ["byval", "type"],
  ["byref", "type"],
  ["elementtype", "type"],
  ["inalloca", "type"],
  ["preallocated", "type"],
  ["sret", "type"],
  ...[
    "allocalign",
    "allocptr",
    "alwaysinline",
    "builtin",
    "cold",
    "convergent",
    "coro_elide_safe",
    "coro_only_destroy_when_complete",
    "dead_on_unwind",
    "disable_sanitizer_instrumentation",
    "fn_ret_thunk_extern",
    "hot",
    "hybrid_patchable",
    "immarg",
    "inlinehint",
    "inreg",
    "jumptable",
    "minsize",
    "mustprogress",
    "naked",
    "nest",
    "noalias",
    "nobuiltin",
    "nocallback",
    "nocapture",
    "nocf_check",
    "nocreateundeforpoison",
    "nodivergencesource",
    "noduplicate",
    "noext",
    "nofree",
    "noimplicitfloat",
    "noinline",
    "nomerge",
    "nonlazybind",
    "nonnull",
    "nooutline",
    "noprofile",
    "norecurse",
    "noredzone",
    "noreturn",
    "nosanitize_bounds",
    "nosanitize_coverage",
    "nosync",
    "noundef",
    "nounwind",
    "null_pointer_is_valid",
    "optdebug",
    "optforfuzzing",
    "optnone",
    "optsize",
    "presplitcoroutine",
    "readnone",
    "readonly",
    "returned",
    "returns_twice",
    "safestack",
    "sanitize_address",
    "sanitize_alloc_token",
    "sanitize_hwaddress",
    "sanitize_memory",
    "sanitize_memtag",
    "sanitize_numerical_stability",
    "sanitize_realtime",
    "sanitize_realtime_blocking",
    "sanitize_thread",
    "sanitize_type",
    "shadowcallstack",
    "signext",
    "skipprofile",
    "speculatable",
    "speculative_load_hardening",
    "ssp",
    "sspreq",
    "sspstrong",
    "strictfp",
    "swiftasync",
    "swifterror",
    "swiftself",
    "willreturn",
    "writable",
    "writeonly",
    "zeroext",
  ].map((name): [string, AttributeForm] => [name, "enum"]),
]);

/** `allockind` words, one bit each. */
export const allocKinds: readonly string[] = [
  "alloc",
  "realloc",
  "free",
  "uninitialized",
  "zeroed",
  "aligned",
];

/** Access kinds of `memory`, by their two bits. */
export const memoryAccess: readonly string[] = ["none", "read", "write", "readwrite"];
/** Locations of `memory`, two bits each from the lowest. The last one is also the default. */
export const memoryLocations: readonly string[] = ["argmem", "inaccessiblemem", "other"];

/** `nofpclass` words, widest first, so that a greedy cover is the shortest spelling. */
export const fpClasses: readonly (readonly [string, number])[] = [
  ["all", 0x3ff],
  ["nan", 0x003],
  ["snan", 0x001],
  ["qnan", 0x002],
  ["inf", 0x204],
  ["ninf", 0x004],
  ["pinf", 0x200],
  ["norm", 0x108],
  ["nnorm", 0x008],
  ["pnorm", 0x100],
  ["sub", 0x090],
  ["nsub", 0x010],
  ["psub", 0x080],
  ["zero", 0x060],
  ["nzero", 0x020],
  ["pzero", 0x040],
];

/** Components of `captures`; `address` includes `address_is_null`, `provenance` its read-only form. */
export const captureComponents: readonly (readonly [string, number])[] = [
  ["address", 3],
  ["address_is_null", 1],
  ["provenance", 12],
  ["read_provenance", 4],
];

export const fastMathFlags: readonly (readonly [string, number])[] = [
  ["reassoc", Flag.AllowReassoc],
  ["nnan", Flag.NoNaNs],
  ["ninf", Flag.NoInfs],
  ["nsz", Flag.NoSignedZeros],
  ["arcp", Flag.AllowReciprocal],
  ["contract", Flag.AllowContract],
  ["afn", Flag.ApproxFunc],
];

/** Flag words other than fast-math ones, in the order they are printed. */
export const plainFlags: readonly (readonly [string, number])[] = [
  ["inbounds", Flag.InBounds],
  ["nusw", Flag.Nusw],
  ["nuw", Flag.Nuw],
  ["nsw", Flag.Nsw],
  ["exact", Flag.Exact],
  ["disjoint", Flag.Disjoint],
  ["nneg", Flag.NonNeg],
  ["samesign", Flag.SameSign],
];

export const flagWords: ReadonlyMap<string, number> = new Map([
  ...plainFlags,
  ...fastMathFlags,
  ["fast", fastMathMask],
]);

/** Instructions with the plain shape `op [flags] type a, b`. */
export const binaryOps: ReadonlyMap<string, Op> = new Map([
  ["add", Op.Add],
  ["fadd", Op.FAdd],
  ["sub", Op.Sub],
  ["fsub", Op.FSub],
  ["mul", Op.Mul],
  ["fmul", Op.FMul],
  ["udiv", Op.UDiv],
  ["sdiv", Op.SDiv],
  ["fdiv", Op.FDiv],
  ["urem", Op.URem],
  ["srem", Op.SRem],
  ["frem", Op.FRem],
  ["shl", Op.Shl],
  ["lshr", Op.LShr],
  ["ashr", Op.AShr],
  ["and", Op.And],
  ["or", Op.Or],
  ["xor", Op.Xor],
]);

/** Instructions with the shape `op [flags] type a to type`. */
export const castOps: ReadonlyMap<string, Op> = new Map([
  ["trunc", Op.Trunc],
  ["zext", Op.ZExt],
  ["sext", Op.SExt],
  ["fptrunc", Op.FPTrunc],
  ["fpext", Op.FPExt],
  ["fptoui", Op.FPToUI],
  ["fptosi", Op.FPToSI],
  ["uitofp", Op.UIToFP],
  ["sitofp", Op.SIToFP],
  ["ptrtoint", Op.PtrToInt],
  // LLVM 22's form that does not expose provenance; exposing it allows strictly less.
  ["ptrtoaddr", Op.PtrToInt],
  ["inttoptr", Op.IntToPtr],
  ["bitcast", Op.BitCast],
  ["addrspacecast", Op.AddrSpaceCast],
]);
