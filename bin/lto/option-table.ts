/**
 * The options of a link, once: a row says how an option is written, what it does, which values it has, and by its group what
 * it changes. From the rows come the parser, `--help`, the manual, the API's options (keys are the rows' names), what the
 * code generator is told, and what tells one kept output from another. Options of passes have a table of their own
 * (lto/pass/options.ts).
 */
import { InvalidArgumentError } from "commander";
import { newestBitcode, oldestBitcode } from "../../formats/bitcode/versions.js";
import { defaultSizeTime } from "../../lto/analysis/heat.js";
import { outlineForms } from "../../lto/codegen/outline/forms.js";
import { type IpraPart, ipraParts, type OptimizationLevel } from "../../lto/codegen/program/options.js";
import { priorityClasses } from "../farm/redis/names.js";
import { addLlvmOption, type LlvmOptions, noLlvmOptions } from "./llvm-options.js";

/** An option. */
export interface Row<T> {
  /** As commander takes them: `-o, --long <value>`, `--no-long`. */
  readonly flags: string;
  readonly text: string;
  /** Takes a word of the command line, and the value so far; absent: the option is a switch. @throws InvalidArgumentError */
  parse?(word: string, previous: T): T;
  /** The words that there are. */
  readonly choices?: readonly string[];
  /** The value of an option that is given without one. */
  readonly bare?: string;
  /** It may be given several times. */
  readonly repeats?: true;
  /** The value where it is not given. */
  readonly initial: T;
  /** A further spelling of others, which have the value. */
  readonly spells?: true;
  /** It is used every day, so `--help` has it; `--help-all` has every one. */
  readonly everyday?: true;
  /** The value where it is not given, as people write it; absent: `initial` as it is. */
  readonly usual?: string;
}

/** What a group's options change. */
export type Effect =
  /** The output, so that a kept one is no other's. */
  | "output"
  /** Where the output goes and how it is come by; it is the same. */
  | "way"
  /** What is checked or told besides, so that a kept output is not enough. */
  | "more";

interface OptionGroup {
  readonly heading: string;
  readonly effect: Effect;
  readonly rows: Readonly<Record<string, Row<unknown>>>;
}

const on = (flags: string, text: string): Row<boolean> => ({ flags, text, initial: false });
/** @param flags begin with `--no-` */
const off = (flags: string, text: string): Row<boolean> => ({ flags, text, initial: true });
const value = <T>(flags: string, text: string, parse: (word: string) => T, initial: T): Row<T> => ({
  flags,
  text,
  parse,
  initial,
});
const word = (flags: string, text: string, initial: string): Row<string> =>
  value(flags, text, (given) => given, initial);
const list = (flags: string, text: string): Row<readonly string[]> => ({
  flags,
  text: `${text}; repeatable`,
  parse: (given, previous) => [...previous, given],
  repeats: true,
  initial: [],
});
function choice<const C extends string, const I extends C | null>(
  flags: string,
  text: string,
  choices: readonly C[],
  initial: I,
): Row<C | I> {
  // Commander asks for one of them before it parses.
  return { flags, text, choices, parse: (given) => given as C, initial };
}
const spelling = <T>(row: Row<T>): Row<T> & { readonly spells: true } => ({ ...row, spells: true });
const everyday = <T>(row: Row<T>): Row<T> => ({ ...row, everyday: true });

const place = {
  heading: "What is written:",
  effect: "way",
  rows: {
    output: everyday(word("-o <file>", "output file; - is standard output", "a.s")),
    nativeModules: value<string | null>(
      "--native-modules <dir>",
      "where clang puts objects of modules with unsupported constructs, to be linked beside the output",
      (given) => given,
      null,
    ),
  },
} as const satisfies OptionGroup;

const written = {
  heading: "What is written:",
  effect: "output",
  rows: {
    emit: everyday(
      choice(
        "--emit <kind>",
        "what to write: assembly, an ELF object of it (by as), the linked IR as text, as LLVM bitcode, as IR object, or machine IR",
        ["asm", "elf", "ir", "bitcode", "object", "machine"],
        "asm",
      ),
    ),
    codegen: choice(
      "--codegen <generator>",
      "who is to generate the code, so that passes serve it: this program, or LLVM; default: llvm for bitcode and where this program has no code generator",
      ["own", "llvm"],
      null,
    ),
    bitcodeVersion: value(
      "--bitcode-version <n>",
      `version of the LLVM that is to read bitcode (${oldestBitcode} to ${newestBitcode}): what it does not know is left out`,
      parseBitcodeVersion,
      newestBitcode,
    ),
    level: everyday(
      value<OptimizationLevel | null>(
        "-O <level>",
        "optimise as at this level (0 1 2 3 s z); default: what each function was compiled for",
        parseLevel,
        null,
      ),
    ),
    effort: choice(
      "--effort <how>",
      "fast: leave out what takes more of the link's time than it saves bytes; default: fast with -O 1, else full",
      ["full", "fast"],
      null,
    ),
    relocationModel: choice(
      "--relocation-model <model>",
      "kind of addresses; default: what the modules say",
      ["static", "pie", "pic"],
      null,
    ),
  },
} as const satisfies OptionGroup;

const threads = {
  heading: "Threads and caches:",
  effect: "way",
  rows: {
    jobs: everyday(
      value<number | null>("-j, --jobs <n>", "worker threads; default: the number of cores", parseJobs, null),
    ),
    parallelThreshold: {
      ...value(
        "--parallel-threshold <n>",
        "IR instructions from which on worker threads pay for their start",
        parseCount,
        // A second thread (-j2, generated programs of 100 000 and 300 000 instructions, a busy machine) takes 0.95 to 1.05 and
        // 0.94 of the time on the clock, and 1.6 and 1.5 of the memory, which is 1.8 and 1.4 of lld's: not worth it there.
        400_000,
      ),
      usual: "400 000",
    },
    cacheDir: everyday(
      value<string | null>(
        "--cache-dir <dir>",
        "keep compiled functions in this directory, so that later links compile what has changed",
        (given) => given,
        null,
      ),
    ),
    cacheSize: {
      ...value(
        "--cache-size <bytes>",
        "most that files in the cache may take; k, m and g are units; those not used for longest go",
        parseBytes,
        parseBytes("1g"),
      ),
      usual: "1g",
    },
    farm: value<string | null>(
      "--farm <url>",
      "have functions compiled by the workers of a farm: redis://HOST:PORT/DB, rediss://… or unix:///SOCKET",
      (given) => given,
      null,
    ),
    farmDirectory: {
      ...value<string | null>(
        "--farm-directory <dir>",
        "where its links and workers have units and code, in a directory that all see; --cache-dir there needs no farm",
        (given) => given,
        null,
      ),
      usual: "in Redis",
    },
    farmPriority: {
      ...value(
        "--farm-priority <n>",
        "0: before the units of other links, to 9: after them",
        parsePriority,
        5,
      ),
      usual: "5",
    },
    thinltoDistributor: value<string | null>(
      "--thinlto-distributor <program>",
      "have functions compiled by the jobs that this program distributes: LLVM's DTLTO protocol",
      (given) => given,
      null,
    ),
    thinltoDistributorArg: list("--thinlto-distributor-arg <arg>", "a word for the distributor"),
    thinltoRemoteCompiler: {
      ...value<string | null>(
        "--thinlto-remote-compiler <program>",
        "tsc-lto of this build, where jobs run",
        (given) => given,
        null,
      ),
      usual: "this one",
    },
    thinltoRemoteCompilerPrependArg: list(
      "--thinlto-remote-compiler-prepend-arg <arg>",
      "a word for it, before all others",
    ),
    thinltoRemoteCompilerArg: list(
      "--thinlto-remote-compiler-arg <arg>",
      "a word for it, after its subcommand",
    ),
  },
} as const satisfies OptionGroup;

const symbols = {
  heading: "Symbols and inputs:",
  effect: "output",
  rows: {
    entry: everyday(word("-e, --entry <symbol>", "where the program starts", "main")),
    export: everyday(list("--export <symbol>", "keep this definition visible; may be a glob")),
    exportList: list("--export-list <file>", "as --export, for each line of the file"),
    exportDynamicSymbol: list(
      "--export-dynamic-symbol <symbol>",
      "as --export, without a warning where nothing defines it; a shared library's own code may get another definition",
    ),
    exportDynamicSymbolList: list(
      "--export-dynamic-symbol-list <file>",
      "as --export-dynamic-symbol, for each line of the file",
    ),
    dynamicList: list(
      "--dynamic-list <file>",
      "the same, and functions of a shared library that are not listed are as with --symbolic-functions",
    ),
    undefined: list("-u, --undefined <symbol>", "take this symbol as referenced"),
    undefinedGlob: list(
      "--undefined-glob <pattern>",
      "take the symbols as referenced that inputs or archives define and the glob matches",
    ),
    shared: everyday(
      on("--shared", "the result goes into a shared library: visible definitions stay replaceable"),
    ),
    relocatable: everyday(on("-r, --relocatable", "the result is linked further: everything global stays")),
    exportDynamic: on("-E, --export-dynamic", "keep every visible definition of an executable"),
    symbolicFunctions: on(
      "--symbolic-functions",
      "functions of a shared library are not replaceable for those in it: for links with -Bsymbolic-functions",
    ),
    excludeLibs: {
      ...list("--exclude-libs <lib,lib>", "hide what archives of these names define; ALL: all"),
      parse: (given: string, previous: readonly string[]) => [...previous, ...given.split(/[,:]/)],
    },
    defaultLibs: off(
      "--no-default-libs",
      "the program is not linked with the C and C++ libraries, so what they mention closes; also -nostdlib, -nodefaultlibs",
    ),
    libc: off("--no-libc", "the same of the C library only; also -nolibc"),
    stdlibxx: off("--no-stdlibxx", "the same of the C++ library only; also -nostdlib++"),
    ltoWholeProgramVisibility: on(
      "--lto-whole-program-visibility",
      "take it that nobody outside of the program derives from its classes (compiled with -fwhole-program-vtables)",
    ),
    versionScript: list("--version-script <file>", "make local what its local: names"),
    z: spelling(
      list(
        "-z <keyword>",
        "defs, or --no-undefined: report what nothing defines; muldefs: as --allow-multiple-definition",
      ),
    ),
    allowMultipleDefinition: on(
      "--allow-multiple-definition",
      "of several definitions of a symbol the first counts",
    ),
    wrap: list("--wrap <symbol>", "references to the symbol go to __wrap_SYMBOL"),
    defsym: list(
      "--defsym <symbol=expression>",
      "the system linker, given the same option, defines the symbol",
    ),
    script: list("-T, --script <file>", "a linker script, read for the symbols it assigns and mentions"),
    fatObjects: choice(
      "--fat-objects <half>",
      "what is linked of objects made with -ffat-lto-objects",
      ["ir", "code"],
      "ir",
    ),
    embeddedBitcode: choice(
      "--embedded-bitcode <of>",
      "objects whose .llvmbc is linked, not their code; rust: .rlib members",
      ["rust", "all", "none"],
      "rust",
    ),
    stripDebug: on("--strip-debug", "leave out debug information: it is not even read"),
    errorLimit: value("--error-limit <n>", "stop after this many errors; 0: no limit", parseCount, 20),
  },
} as const satisfies OptionGroup;

const code = {
  heading: "Code generation:",
  effect: "output",
  rows: {
    regalloc: choice("--regalloc <name>", "register allocator", ["ssa", "greedy", "linear", "graph"], "ssa"),
    coalesce: choice("--coalesce <name>", "copy coalescing", ["pereira", "dominance", "none"], "pereira"),
    spillCost: choice(
      "--spill-cost <policy>",
      "what spilling weighs; default: by each function's level",
      ["size", "speed"],
      null,
    ),
    ipra: off(
      "--no-ipra",
      "no interprocedural register allocation: every call obeys the platform's convention",
    ),
    skipIpra: {
      ...value<readonly IpraPart[]>(
        "--skip-ipra <part,...>",
        `leave out parts of it: ${ipraParts.join(", ")}; repeatable`,
        parseIpraParts,
        [],
      ),
      parse: (given: string, previous: readonly IpraPart[]) => [...previous, ...parseIpraParts(given)],
      repeats: true,
    },
    shrinkWrap: off(
      "--no-shrink-wrap",
      "prologues at the entries of functions, not where their frames are needed",
    ),
    baseRegister: off(
      "--no-base-register",
      "every variable, and every field far from a pointer, by its own address, for size too",
    ),
    sharedEpilogues: off(
      "--no-shared-epilogues",
      "every function has its own pops and returns, for size too",
    ),
    boundVariableArguments: off(
      "--no-bound-variable-arguments",
      "functions with variable arguments save whatever the platform passes, and calls of them set al",
    ),
    functionLayout: off(
      "--no-function-layout",
      "functions stand in the order of their modules, and end in jumps where they end with calls",
    ),
    sharedUnwind: off(
      "--no-shared-unwind",
      "an unwind description for each function, for tools that take its start for the function's",
    ),
    functionSections: on(
      "--function-sections",
      "a section for each function, so that the linker can drop or order them",
    ),
    dataSections: on("--data-sections", "the same for variables"),
    inlineEffort: value(
      "--inline-effort <n>",
      "percent of the program that may be compiled on trial, to inline by exact size; 0: by estimates",
      parseCount,
      0,
    ),
    sizeTime: value(
      "--size-time <bytes>",
      "bytes that code for size may take for a 400th of the time of a loop that seems hot; 0: none",
      parseCount,
      defaultSizeTime,
    ),
    outline: everyday(
      off("--no-outline", "repeated code stays where it is; else it becomes functions, where size is wanted"),
    ),
    outlineRounds: value(
      "--outline-rounds <n>",
      "how often outlining is repeated at most, on its own result",
      parseCount,
      2,
    ),
    outlineForms: value(
      "--outline-forms <list>",
      "what outlined code may be, separated by commas: called, called and ending in a jump, jumped to",
      parseForms,
      "call,thunk,jump",
    ),
  },
} as const satisfies OptionGroup;

const checks = {
  heading: "Checks:",
  effect: "more",
  rows: {
    checkRegalloc: on("--check-regalloc", "verify every register allocation with the symbolic checker"),
    checkIpra: on(
      "--check-ipra",
      "recompute what calls change from the assembled code (needs as) and compare",
    ),
    checkPacking: on("--check-packing", "unpack and pack all code before layout, which must change nothing"),
    verify: on("--verify", "verify the IR after linking and before code generation"),
    stackTrace: on(
      "--stack-trace",
      "show where an internal error was met; for all programs: TSC_LTO_STACK_TRACE=1 in the environment",
    ),
  },
} as const satisfies OptionGroup;

const reports = {
  heading: "Reports:",
  effect: "more",
  rows: {
    printMachine: choice(
      "--print-machine <stage>",
      "print machine IR after a stage on standard error",
      ["select", "allocate", "finish"],
      null,
    ),
    sizeReport: everyday(
      value<string | null>(
        "--size-report <file>",
        "write what is known of each function and variable, for tsc-lto size, why and diff, as JSON",
        (given) => given,
        null,
      ),
    ),
    saveTemps: value<string | null>(
      "--save-temps <prefix>",
      "keep bitcode of the linked program (PREFIX.0.2.internalize.bc) and of the optimised one (PREFIX.0.4.opt.bc)",
      (given) => given,
      null,
    ),
    printRegusage: on("--print-regusage", "print the registers each function may change on standard error"),
  },
} as const satisfies OptionGroup;

/** What the command says, and how; programs are told in other ways (bin/api.ts). */
const messages = {
  heading: "Messages:",
  effect: "way",
  rows: {
    verbose: everyday(
      on("-v, --verbose", "say what is read, taken from caches and written, and how long each phase takes"),
    ),
    quiet: everyday(on("-q, --quiet", "say nothing but errors")),
    json: on("--json", "errors and warnings as JSON on standard error, an object a line"),
    progress: everyday(
      choice(
        "--progress <when>",
        "show on standard error how far the link is; auto: on a terminal, after two seconds",
        ["auto", "always", "never"],
        "auto",
      ),
    ),
    colorDiagnostics: {
      ...choice(
        "--color-diagnostics [when]",
        "errors and warnings in colours; auto: on a terminal, unless NO_COLOR is set",
        ["auto", "always", "never"],
        "auto",
      ),
      bare: "always",
    },
  },
} as const satisfies OptionGroup;

/** Names of what is said by the command alone. */
export const messageNames = Object.keys(messages.rows) as readonly (keyof (typeof messages)["rows"])[];

const foreign = {
  heading: "Passes:",
  effect: "output",
  rows: {
    mllvm: spelling<LlvmOptions>({
      flags: "--mllvm <option>",
      text: "also -mllvm: an option of LLVM, such as -enable-ipra[=<bool>] or -opt-bisect-limit=<n>; repeatable",
      parse: addLlvmOption,
      repeats: true,
      initial: noLlvmOptions,
    }),
  },
} as const satisfies OptionGroup;

/** In the order of the manual. */
export const optionTable = [
  place,
  written,
  threads,
  symbols,
  code,
  checks,
  reports,
  messages,
  foreign,
] as const;

type UnionToIntersection<U> = (U extends unknown ? (each: U) => void : never) extends (all: infer A) => void
  ? A
  : never;
type Rows = UnionToIntersection<(typeof optionTable)[number]["rows"]>;
type Spelling = { readonly spells: true };
type Values<R> = { readonly [K in keyof R]: R[K] extends Row<infer T> ? T : never };

/** The value of each row that is an option of its own. */
export type OptionValues = Values<{
  readonly [K in keyof Rows as Rows[K] extends Spelling ? never : K]: Rows[K];
}>;
/** The values of rows that are further spellings of others. */
export type SpellingValues = Values<{
  readonly [K in keyof Rows as Rows[K] extends Spelling ? K : never]: Rows[K];
}>;

/** Every row, by the name of its value. */
export const optionRows: ReadonlyMap<string, Row<unknown>> = new Map(
  optionTable.flatMap(({ rows }) => Object.entries<Row<unknown>>(rows)),
);

/** What code generation is told as it stands. */
export type CodeOptionValues = Values<(typeof code)["rows"]>;
export const codeOptionNames = Object.keys(code.rows) as readonly (keyof CodeOptionValues)[];

/** The names of values with such an effect. */
export const namesWithEffect = (effect: Effect): readonly string[] =>
  optionTable.flatMap((group) => (group.effect === effect ? Object.keys(group.rows) : []));

const levels: readonly string[] = ["0", "1", "2", "3", "s", "z"];

function parseLevel(given: string): OptimizationLevel {
  if (!levels.includes(given)) throw new InvalidArgumentError(`expected one of ${levels.join(", ")}.`);
  return `O${given}` as OptimizationLevel;
}

function parseCount(given: string): number {
  if (!/^\d{1,9}$/.test(given)) throw new InvalidArgumentError("expected a number.");
  return Number(given);
}

/** @returns the list as it was given */
function parseForms(given: string): string {
  for (const form of given.split(","))
    if (!(outlineForms as readonly string[]).includes(form))
      throw new InvalidArgumentError(`expected some of ${outlineForms.join(", ")}.`);
  return given;
}

function parseIpraParts(given: string): IpraPart[] {
  return given.split(",").map((word) => {
    const part = ipraParts.find((one) => one === word);
    if (part === undefined) throw new InvalidArgumentError(`expected some of ${ipraParts.join(", ")}.`);
    return part;
  });
}

export function parseBytes(given: string): number {
  const [, digits, unit] = /^(\d{1,12})([kmg]?)$/i.exec(given) ?? [];
  if (digits === undefined) throw new InvalidArgumentError("expected a number of bytes, such as 500m.");
  return Number(digits) * 1024 ** ["", "k", "m", "g"].indexOf(unit!.toLowerCase());
}

function parseBitcodeVersion(given: string): number {
  const n = parseCount(given);
  if (n < oldestBitcode || n > newestBitcode)
    throw new InvalidArgumentError(`expected a number from ${oldestBitcode} to ${newestBitcode}.`);
  return n;
}

export function parseJobs(given: string): number {
  const n = parseCount(given);
  if (n < 1 || n > 1024) throw new InvalidArgumentError("expected a number from 1 to 1024.");
  return n;
}

function parsePriority(given: string): number {
  const n = parseCount(given);
  if (n >= priorityClasses)
    throw new InvalidArgumentError(`expected a number from 0 to ${priorityClasses - 1}.`);
  return n;
}
