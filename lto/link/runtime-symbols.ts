/**
 * Functions that code generation may call although the IR does not mention them: an `llvm.memcpy`, a wide
 * division or a conversion becomes a call. A program's own definitions of these must stay under their names.
 *
 * So must what libraries look for that tsc-lto does not see.
 *
 * Names: ISO C (memory, mathematics, the floating-point environment), libgcc's and compiler-rt's integer and floating-point routines, the
 * stack protector's, and those of compiler-rt's interfaces.
 */
import { environmentRoutines, mathRoutines } from "../analysis/routines.js";

const memory = "memcpy memmove memset memcmp bcmp bzero mempcpy strlen".split(" ");

/** Suffixed families: integer widths s (32), d (64), t (128); floating widths s, d, x, t. */
const compilerRuntime = [
  "__ashldi3 __ashlti3 __ashrdi3 __ashrti3 __lshrdi3 __lshrti3 __muldi3 __multi3 __mulodi4 __muloti4",
  "__divsi3 __divdi3 __divti3 __udivsi3 __udivdi3 __udivti3 __modsi3 __moddi3 __modti3 __umodsi3 __umoddi3",
  "__umodti3 __divmoddi4 __divmodti4 __udivmoddi4 __udivmodti4 __clzti2 __ctzti2 __popcountdi2 __popcountti2",
  "__popcountsi2 __bswapsi2 __bswapdi2 __cmpti2 __ucmpti2 __negti2",
  "__fixsfti __fixdfti __fixxfti __fixunssfti __fixunsdfti __fixunsxfti __floattisf __floattidf __floattixf",
  "__floatuntisf __floatuntidf __floatuntixf __fixtfsi __fixtfdi __fixtfti __fixunstfsi __fixunstfdi",
  "__fixunstfti __floatsitf __floatditf __floattitf __floatunsitf __floatunditf __floatuntitf",
  "__addtf3 __subtf3 __multf3 __divtf3 __negtf2 __eqtf2 __netf2 __lttf2 __letf2 __gttf2 __getf2 __unordtf2",
  "__extendsftf2 __extenddftf2 __extendxftf2 __trunctfsf2 __trunctfdf2 __trunctfxf2 __extendhfsf2 __truncsfhf2",
  "__truncdfhf2 __truncxfhf2 __trunctfhf2 __truncsfbf2 __truncdfbf2 __gnu_h2f_ieee __gnu_f2h_ieee",
  "__powisf2 __powidf2 __powixf2 __powitf2 __mulsc3 __muldc3 __mulxc3 __divsc3 __divdc3 __divxc3",
]
  .join(" ")
  .split(" ");

const atomics = ["load", "store", "exchange", "compare_exchange"].flatMap((name) =>
  ["", "_1", "_2", "_4", "_8", "_16"].map((size) => `__atomic_${name}${size}`),
);
const atomicArithmetic = ["add", "sub", "and", "or", "xor", "nand"].flatMap((name) =>
  ["_1", "_2", "_4", "_8", "_16"].map((size) => `__atomic_fetch_${name}${size}`),
);

const elementAtomics = ["memcpy", "memmove", "memset"].flatMap((name) =>
  [1, 2, 4, 8, 16].map((size) => `__llvm_${name}_element_unordered_atomic_${size}`),
);

const system = (
  "__stack_chk_fail __stack_chk_guard __ssp_canary_word __tls_get_addr _Unwind_Resume abort __cxa_guard_acquire " +
  "__x86_return_thunk __x86_indirect_thunk_r11 mcount __fentry__ __cyg_profile_func_enter __cyg_profile_func_exit"
).split(" ");

/** What libraries of profiles, sanitizers and fuzzers look for in the program, by weak definitions or references. */
const instrumentation = [
  "__llvm_profile_raw_version __llvm_profile_filename __llvm_profile_runtime __llvm_profile_counter_bias",
  "__llvm_profile_bitmap_bias __llvm_profile_has_correlation __memprof_default_options_str __memprof_histogram",
  ...["asan", "hwasan", "lsan", "msan", "tsan", "ubsan", "memprof", "scudo", "nsan", "rtsan"].map(
    (name) => `__${name}_default_options __${name}_default_suppressions`,
  ),
  "__asan_on_error __lsan_is_turned_off __sanitizer_free_hook __sanitizer_malloc_hook __tsan_on_report",
  "__sanitizer_report_error_summary __xray_customevent",
  "LLVMFuzzerTestOneInput LLVMFuzzerInitialize LLVMFuzzerCustomMutator LLVMFuzzerCustomCrossOver",
]
  .join(" ")
  .split(" ");

/**
 * Routines of machines that lack an operation, or keep it out of line: those of the ABIs for Arm and RISC-V, AArch64's atomics,
 * saves and restores in common, and floating point in software.
 * Sources: Run-time ABI for the Arm Architecture, section 5; libgcc's and compiler-rt's lists, "Soft float library routines".
 */
const families = new RegExp(
  [
    "^__(?:aeabi|riscv|aarch64|arm|gnu|mips16|hexagon|mspabi|avr|arc|xtensa|loongarch|sync|atomic)_\\w+$",
    "^_?_(?:save|rest)(?:gpr|fpr|vr)?_\\w+$",
    "^__(?:add|sub|mul|u?div|u?mod|u?divmod|neg|u?cmp|unord|eq|ne|lt|le|gt|ge|fix|fixuns|float|floatun|extend|trunc|ash[lr]|lshr|clz|ctz|ffs|parity|popcount|bswap)(?:v|[hsdtxb]f|[qhsdt]i)+\\d?$",
  ].join("|"),
);

/** Whether code generation may call a function of this name, or a library look for it. */
export const isRuntimeSymbol = (name: string): boolean => RUNTIME_SYMBOLS.has(name) || families.test(name);

export const RUNTIME_SYMBOLS: ReadonlySet<string> = new Set([
  ...memory,
  ...environmentRoutines,
  ...mathRoutines,
  ...compilerRuntime,
  ...atomics,
  ...atomicArithmetic,
  ...elementAtomics,
  ...system,
  ...instrumentation,
]);

/** What may be asked for without any code of the program's that says so. */
const others: ReadonlySet<string> = new Set([
  ...system.filter((name) => name !== "abort"),
  ...instrumentation,
]);
/** What compilers' own libraries call of the C library. */
const calledByCompilers: ReadonlySet<string> = new Set([...memory, "abort"]);

/**
 * Whether a runtime symbol is a routine that is called by code alone, so that a program whose code does not call it can do without.
 * @param isComplete all that the program is linked with is among its inputs, also the compiler's libraries
 */
export const isRoutine = (name: string, isComplete: boolean): boolean =>
  isRuntimeSymbol(name) && !others.has(name) && (isComplete || !calledByCompilers.has(name));

/**
 * Functions of the C library that LLVM makes calls of where it finds calls of others: a program's own definitions of them stay
 * where LLVM generates the code. Source: LLVM's SimplifyLibCalls and BuildLibCalls.
 */
const madeByLlvm = new Set(
  (
    "putchar puts fputc fputs fwrite strcpy strncpy stpcpy stpncpy strcat strncat strlcat strlcpy strchr strrchr strlen strnlen " +
    "strncmp strcmp strpbrk strspn strcspn memchr memrchr memccpy mempcpy snprintf sprintf vsnprintf vsprintf iprintf siprintf fiprintf " +
    "small_printf small_sprintf small_fprintf calloc malloc strdup strndup exp2 exp2f exp2l exp10 exp10f ldexp ldexpf ldexpl " +
    "cospi cospif sinpi sinpif __sincospi_stret wcslen putchar_unlocked __memcpy_chk"
  ).split(" "),
);
export const isLibraryCallOfLlvm = (name: string): boolean => madeByLlvm.has(name);
