/**
 * What becomes of a linker's options in a link step, once: the words for tsc-lto, those for the linker that links its code, and
 * the table of the manual come from these rows. What is not in them goes to the linker as it came.
 *
 * Sources: the manuals of GNU ld, "Command-line Options", and of lld, ld.lld.1; what lld calls options of a plug-in:
 * lld/ELF/Options.td.
 */
import { InputError } from "../../lto/ir/errors.js";

export type Way =
  /** tsc-lto does it; no linker is told. */
  | "done"
  /** Both do their part. */
  | "both"
  /** Linkers that have it are told; for GNU ld other words have the same effect, or none are needed. */
  | "translated"
  /** There is nothing to be done. */
  | "accepted"
  /** An error that names it. */
  | "refused";

/** Linkers that programs are linked with. */
export type Flavour = "gnu" | "gold" | "lld" | "mold";

export interface LinkerOption {
  /** Without dashes. */
  readonly names: readonly string[];
  /** What the value is, if there is one: `=value`, or the next word unless `joined`. */
  readonly value?: string;
  /** The value, which may be left out, is in the same word. */
  readonly joined?: true;
  readonly way: Way;
  readonly text: string;
  /** Words for tsc-lto. @param value empty where there is none */
  readonly own?: (value: string) => readonly string[];
  /** Of what is translated: other linkers than GNU ld that have it. */
  readonly known?: readonly Flavour[];
  /** Of what is translated: words for linkers that do not have it; null: nothing means the same there. */
  readonly other?: (value: string) => readonly string[] | null;
}

const nothing = (): readonly string[] => [];
const lld: readonly Flavour[] = ["lld"];
const lldMold: readonly Flavour[] = ["lld", "mold"];
const allButGnu: readonly Flavour[] = ["lld", "mold", "gold"];

type Extra = Partial<Omit<LinkerOption, "names" | "value" | "way" | "text">>;
/** @param spelling names separated by spaces; the last word, if it is in angle brackets, is the value */
function row(way: Way, spelling: string, text: string, extra: Extra = {}): LinkerOption {
  const words = spelling.split(" ");
  const [, value] = /^<(.*)>$/.exec(words.at(-1)!) ?? [];
  if (value === undefined) return { names: words, way, text, ...extra };
  return { names: words.slice(0, -1), value, way, text, ...extra };
}
const done = (spelling: string, text: string, own: LinkerOption["own"], extra: Extra = {}): LinkerOption =>
  row("done", spelling, text, own === undefined ? extra : { own, ...extra });
const both = (spelling: string, text: string, own: LinkerOption["own"], extra: Extra = {}): LinkerOption =>
  row("both", spelling, text, own === undefined ? extra : { own, ...extra });
const translated = (
  spelling: string,
  text: string,
  known: readonly Flavour[],
  other: LinkerOption["other"],
  extra: Extra = {},
): LinkerOption => row("translated", spelling, text, { known, ...(other && { other }), ...extra });
const accepted = (spelling: string, text: string, extra: Extra = {}): LinkerOption =>
  row("accepted", spelling, text, extra);
const refused = (spelling: string, text: string, extra: Extra = {}): LinkerOption =>
  row("refused", spelling, text, extra);
const joined = { joined: true } as const;

/** The option has no words of another linker. */
const none = (): null => null;

/** What tsc-lto does of the linker's work, with its options or with those of lld and of LLVM's plug-in. */
const forOptimizer: readonly LinkerOption[] = [
  done("tsc-lto <option>", "an option of tsc-lto, in one word", (value) => [ownOption(value)]),
  done(
    "error-unsupported",
    "what tsc-lto cannot compile is an error; else the system's clang compiles it",
    nothing,
  ),
  done("fat-lto-objects", "the IR of fat objects is linked (default)", () => ["--fat-lto-objects"]),
  done("no-fat-lto-objects", "the machine code of fat objects is linked", () => ["--no-fat-lto-objects"]),
  done(
    "embedded-bitcode <of>",
    "whose .llvmbc is linked, not their code: all, rust or none",
    (value) => [`--embedded-bitcode=${value || "all"}`],
    joined,
  ),
  done("no-embedded-bitcode", "that of none", () => ["--no-embedded-bitcode"]),
  done("lto-whole-program-visibility whole-program-visibility", "as --lto-whole-program-visibility", () => [
    "--lto-whole-program-visibility",
  ]),
  done("opt-remarks-filename <file>", "optimisation records", (value) => [`--opt-remarks-filename=${value}`]),
  done("opt-remarks-passes <regex>", "of these passes", (value) => [`--opt-remarks-passes=${value}`]),
  done(
    "opt-remarks-format <format>",
    "yaml is the one there is",
    (value) => {
      if (value === "yaml") return [];
      throw new InputError(`--opt-remarks-format=${value}: only yaml is written`);
    },
    {},
  ),
  done("size-report <file>", "what the link knows, for tsc-lto size", (value) => [`--size-report=${value}`]),
  done("cache-dir thinlto-cache-dir <dir>", "as --cache-dir", (value) => ["--cache-dir", value]),
  done("cache-size <bytes>", "as --cache-size", (value) => ["--cache-size", value]),
  done(
    "thinlto-cache-policy cache-policy <policy>",
    "of it cache_size_bytes counts: as --cache-size",
    cachePolicy,
  ),
  done("thinlto-jobs <n>", "as --jobs; 0 and all: the number of cores", jobs, joined),
  ...[
    "farm <url>",
    "farm-directory <dir>",
    "farm-priority <n>",
    "thinlto-distributor <program>",
    "thinlto-distributor-arg <arg>",
    "thinlto-remote-compiler <program>",
    "thinlto-remote-compiler-arg <arg>",
    "thinlto-remote-compiler-prepend-arg <arg>",
  ].map((spelling) => {
    const name = `--${spelling.split(" ")[0]}`;
    return done(spelling, `as ${name} of tsc-lto`, (given) => [`${name}=${given}`], joined);
  }),
  done(
    "lto-O <level>",
    "0: as -O 0; 1: as --effort fast; of the others, each function has the one that it was compiled for",
    (value) => (value === "0" ? ["-O", "0"] : ["--effort", value === "1" ? "fast" : "full"]),
    joined,
  ),
  done("lto-emit-asm", "the assembly goes to OUTPUT.lto.s, and nothing is linked", nothing),
  done("lto-emit-llvm", "LLVM bitcode of the optimised program is the output", nothing),
  done("lto-obj-path <file>", "the object of the program is kept there", nothing, joined),
  done(
    "save-temps <which>",
    "OUTPUT.0.2.internalize.bc, OUTPUT.0.4.opt.bc, OUTPUT.lto.s and OUTPUT.lto.o are kept",
    nothing,
    joined,
  ),
  done("lto-debug-pass-manager", "runs of passes are listed: as --opt-bisect-limit=-1", () => [
    "--opt-bisect-limit=-1",
  ]),
  done("mllvm <option>", "options of LLVM that mean something here; of others a warning", nothing),
  done("plugin-opt <option>", "the same, or an option of those above as LLVM's plug-in calls it", nothing),
  done(
    "no-dependent-libraries",
    "libraries that modules name (#pragma comment(lib)) are not linked",
    nothing,
  ),
  done(
    "start-lib end-lib",
    "what is between them is linked when it is needed; native objects as an archive",
    nothing,
  ),
  accepted("dependent-libraries", "they are linked, by linkers that know them (default)"),
  accepted("lto <mode>", "all modes are one: the whole program at once", joined),
  accepted("lto-partitions <n>", "there is one: the whole program", joined),
  accepted("lto-CGO <level>", "code is generated for the level of each function", joined),
  accepted("no-lto-whole-program-visibility", "the default"),
  accepted("lto-pgo-warn-mismatch no-lto-pgo-warn-mismatch", "no profiles are read at link time"),
  accepted("no-lto-unique-basic-block-section-names no-lto-basic-block-address-map", "the default"),
  accepted("lto-known-safe-vtables <symbols>", "no classes are checked that could be left out", joined),
  accepted("no-lto-validate-all-vtables-have-type-infos", "the default"),
  ...(
    [
      ["lto-aa-pipeline lto-newpm-passes <passes>", "LLVM's passes do not run"],
      ["lto-sample-profile lto-cs-profile-file <file>", "profiles are read when sources are compiled"],
      ["lto-basic-block-sections <which>", "functions are in one piece"],
      ["opt-remarks-hotness-threshold <n>", "optimisation records have no hotness"],
      ["thinlto-object-suffix-replace thinlto-prefix-replace <old;new>", "there is no distributed ThinLTO"],
      ["thinlto-index-only thinlto-single-module <value>", "there is no distributed ThinLTO"],
      ["load-pass-plugin <file>", "LLVM's passes do not run"],
    ] as const
  ).map(([spelling, text]) => refused(spelling, text, joined)),
  refused("lto-cs-profile-generate", "code is instrumented when sources are compiled"),
  refused("lto-unique-basic-block-section-names lto-basic-block-address-map", "functions are in one piece"),
  refused("lto-validate-all-vtables-have-type-infos", "no vtables are looked for"),
  refused("opt-remarks-with-hotness", "optimisation records have no hotness"),
  refused("thinlto-emit-imports-files thinlto-emit-index-files", "there is no distributed ThinLTO"),
];

/** What both have to know. */
const forBoth: readonly LinkerOption[] = [
  both("shared Bshareable", "a shared library", () => ["--shared"]),
  both("r relocatable", "the result is linked further", () => ["--relocatable"]),
  both("pie pic-executable", "a position-independent program", () => ["--relocation-model", "pie"]),
  both("no-pie", "a program for fixed addresses", () => ["--relocation-model", "static"]),
  both("export-dynamic E", "every visible definition stays", () => ["--export-dynamic"]),
  both("export-dynamic-symbol <symbol>", "a definition stays", (value) => ["--export-dynamic-symbol", value]),
  both("export-dynamic-symbol-list <file>", "definitions of a list stay", (value) => [
    "--export-dynamic-symbol-list",
    value,
  ]),
  both(
    "dynamic-list <file>",
    "the same; other functions of a shared library are not replaceable",
    (value) => ["--dynamic-list", value],
  ),
  both(
    "Bsymbolic Bsymbolic-functions",
    "functions of a shared library are not replaceable for those in it",
    () => ["--symbolic-functions"],
  ),
  both("Bno-symbolic", "they are (default)", nothing),
  both("dynamic-list-data", "every visible definition stays; the linker exports variables", () => [
    "--export-dynamic",
  ]),
  both("dynamic-list-cpp-new", "operators new and delete stay", () => [
    "--export-dynamic-symbol",
    "_Zn[wa]*",
    "--export-dynamic-symbol",
    "_Zd[la]*",
  ]),
  both("dynamic-list-cpp-typeinfo", "descriptions of types stay", () => [
    "--export-dynamic-symbol",
    "_ZTI*",
    "--export-dynamic-symbol",
    "_ZTS*",
  ]),
  both("gc-keep-exported", "every visible definition stays", () => ["--export-dynamic"]),
  both("version-script <file>", "names that are local", (value) => ["--version-script", value]),
  both("exclude-libs <libraries>", "definitions of archives that are hidden", (value) => [
    "--exclude-libs",
    value,
  ]),
  both("undefined u require-defined init fini <symbol>", "a symbol that is referenced", (value) => [
    "--undefined",
    value,
  ]),
  both("entry e <symbol>", "where the program starts", (value) => ["--entry", value]),
  both("wrap <symbol>", "references go to __wrap_SYMBOL", (value) => ["--wrap", value]),
  both("defsym <symbol=expression>", "the linker defines it", (value) => [`--defsym=${value}`]),
  both("script T dT default-script <file>", "a linker script", (value) => ["--script", value]),
  both("allow-multiple-definition zmuldefs", "the first definition counts", () => [
    "--allow-multiple-definition",
  ]),
  both("z <keyword>", "muldefs: the same", (value) =>
    value === "muldefs" ? ["--allow-multiple-definition"] : [],
  ),
  both("s strip-all S strip-debug", "without debug information", () => ["--strip-debug"]),
  both(
    "print-gc-sections cref M print-map",
    "sections of the linker, which has tsc-lto's code in one object",
    nothing,
  ),
  both("Map <file>", "where sections of the program are", nothing),
];

/** What lld and others have, and GNU ld has not. */
const translations: readonly LinkerOption[] = [
  translated("undefined-glob <pattern>", "symbols that are referenced", lld, none, {
    own: (value) => [`--undefined-glob=${value}`],
    joined: true,
  }),
  translated("error-limit <n>", "after how many errors to stop; GNU ld stops by itself", lld, nothing, {
    own: (value) => ["--error-limit", value],
  }),
  translated("icf <which>", "tsc-lto folds equal functions of IR itself", allButGnu, nothing, joined),
  translated("print-icf-sections no-print-icf-sections", "GNU ld folds none", lldMold, nothing),
  translated("keep-unique <symbol>", "GNU ld folds none", lld, nothing),
  translated(
    "ignore-data-address-equality ignore-function-address-equality",
    "GNU ld folds none",
    lld,
    nothing,
  ),
  translated("threads <n>", "GNU ld has one", lldMold, nothing, joined),
  translated("no-threads", "GNU ld has one", allButGnu, nothing),
  translated(
    "pack-dyn-relocs <form>",
    "relr: -z pack-relative-relocs for GNU ld",
    lldMold,
    (value) => (value === "relr" ? ["-z", "pack-relative-relocs"] : value === "none" ? [] : null),
    joined,
  ),
  translated("color-diagnostics <when>", "also of tsc-lto; GNU ld has no colours", lldMold, nothing, {
    own: (value) => [`--color-diagnostics=${value || "always"}`],
    joined: true,
  }),
  translated("no-color-diagnostics", "the same", lldMold, nothing, {
    own: () => ["--color-diagnostics=never"],
  }),
  translated("gdb-index", "an index for gdb, which works without; GNU ld writes none", allButGnu, nothing),
  translated("no-gdb-index", "the default", allButGnu, nothing),
  translated("debug-names no-debug-names", "an index for debuggers; GNU ld writes none", lld, nothing),
  translated("why-extract <file>", "why archive members are linked; with GNU ld: -Map", lld, none, joined),
  translated("why-live <pattern>", "why sections stay; else: tsc-lto why", lld, none, joined),
  translated("reproduce <file>", "the linker's inputs; else: TSC_LTO_RECORD", lld, none, joined),
  translated("print-archive-stats print-symbol-order <file>", "lld's", lld, none, joined),
  translated(
    "symbol-ordering-file call-graph-ordering-file <file>",
    "the order of sections; with --function-sections",
    lld,
    none,
  ),
  translated("call-graph-profile-sort <how>", "GNU ld keeps the order of sections", lld, nothing, joined),
  translated("no-call-graph-profile-sort", "GNU ld keeps the order of sections", lld, nothing),
  translated("shuffle-sections <seed>", "lld's and mold's", lldMold, none, joined),
  translated("compress-sections <which>", "lld's", lld, none, joined),
  translated("Bsymbolic-non-weak Bsymbolic-non-weak-functions", "lld's", lld, none),
  translated("rosegment", "-z separate-code for GNU ld", lldMold, () => ["-z", "separate-code"]),
  translated("no-rosegment", "-z noseparate-code for GNU ld", lldMold, () => ["-z", "noseparate-code"]),
  translated("execute-only xosegment", "lld's", lld, none),
  translated(
    "no-execute-only no-xosegment no-mmap-output-file mmap-output-file",
    "the default",
    lld,
    nothing,
  ),
  translated("apply-dynamic-relocs no-apply-dynamic-relocs", "GNU ld has its own way", lldMold, nothing),
  translated("warn-backrefs no-warn-backrefs", "GNU ld takes archives in order", lld, nothing),
  translated("warn-backrefs-exclude <glob>", "GNU ld takes archives in order", lld, nothing, joined),
  translated("warn-symbol-ordering no-warn-symbol-ordering", "there is no order to warn of", lld, nothing),
  translated("warn-ifunc-textrel no-warn-ifunc-textrel", "GNU ld has its own way", lld, nothing),
  translated("fortran-common no-fortran-common", "the default", lld, nothing),
  translated("vs-diagnostics", "messages for another editor", lld, nothing),
];

/** In the order of the manual. */
export const linkerTable: readonly LinkerOption[] = [...forOptimizer, ...forBoth, ...translations];

/** How an option is written, for people. */
export const spellingsOf = ({ names, value }: LinkerOption): string[] =>
  names.map((name) => {
    const isShort = name.length === 1;
    const between = isShort ? " " : levelName.test(name) ? "" : "=";
    return `${isShort ? "-" : "--"}${name}${value === undefined ? "" : `${between}<${value}>`}`;
  });

const byName: ReadonlyMap<string, LinkerOption> = new Map(
  linkerTable.flatMap((option) => option.names.map((name) => [name, option] as const)),
);

const levelName = /^lto-(?:CG)?O$/;
/** Options whose value follows their name without `=`: a level. */
const levelled = /^(lto-(?:CG)?O)(\w+)$/;

/** An option as it was written: its row, its name and its value as far as that is in the word. */
export interface WrittenOption {
  readonly row: LinkerOption;
  readonly name: string;
  /** Undefined: the next word, or none. */
  readonly value: string | undefined;
}

/** Null for what is no option of the table. */
export function writtenOption(word: string): WrittenOption | null {
  const [, dashes, name, value] = /^(--?)([^=]+)(?:=(.*))?$/s.exec(word) ?? [];
  if (name === undefined) return null;
  const level = levelled.exec(name);
  if (level !== null && value === undefined)
    return { row: byName.get(level[1]!)!, name: level[1]!, value: level[2] };
  const found = byName.get(name);
  // One letter after two dashes is nobody's.
  if (found === undefined || (dashes === "--" && name.length === 1)) return null;
  return { row: found, name, value };
}

/** Whether the value of an option is the next word. */
export const takesNextWord = ({ row, value }: WrittenOption): boolean =>
  row.value !== undefined && row.joined !== true && value === undefined;

/** GNU ld's names that tsc-lto has too, with another meaning or in another form. */
export const linkerNames: ReadonlySet<string> = new Set(["stats", "verbose"]);

/** Names of options whose value may be the next word. */
export const namesWithValue: readonly string[] = linkerTable.flatMap(({ names, value, joined }) =>
  value === undefined || joined === true ? [] : names,
);

/** An option of tsc-lto that the system's linker has no name for, in one word; where the output goes the link step says. */
function ownOption(word: string): string {
  if (/^--?[a-z]/i.test(word) && !/^-(?:o|-output)/.test(word)) return word;
  throw new InputError(`--tsc-lto=${word}: an option of tsc-lto in one word, as --name=value, and no output`);
}

/** LLVM's description of a cache's bounds, of which the size is one here. */
function cachePolicy(policy: string): string[] {
  const [, size] = /(?:^|:)cache_size_bytes=(\d+[kmg]?)(?=:|$)/.exec(policy) ?? [];
  // 0 is LLVM's "no bound".
  return size === undefined || size === "0" ? [] : ["--cache-size", size];
}

function jobs(value: string): string[] {
  return value === "0" || value === "all" ? [] : ["-j", value];
}

/** Names that LLVM's plug-in has for options of lld. Source: lld/ELF/Options.td, aliases of `plugin-opt=`. */
const pluginNames: ReadonlyMap<string, string> = new Map([
  ["O", "lto-O"],
  ["CGO", "lto-CGO"],
  ["jobs", "thinlto-jobs"],
  ["emit-asm", "lto-emit-asm"],
  ["emit-llvm", "lto-emit-llvm"],
  ["obj-path", "lto-obj-path"],
  ["debug-pass-manager", "lto-debug-pass-manager"],
  ["sample-profile", "lto-sample-profile"],
  ["cs-profile-generate", "lto-cs-profile-generate"],
  ["cs-profile-path", "lto-cs-profile-file"],
  ["basic-block-sections", "lto-basic-block-sections"],
  ["unique-basic-block-section-names", "lto-unique-basic-block-section-names"],
  ["pgo-warn-mismatch", "lto-pgo-warn-mismatch"],
]);
/** Options that the plug-in has by the names of lld's. */
const samePluginNames =
  /^(?:save-temps|lto-partitions|whole-program-visibility|opt-remarks-[a-z-]+|cache-dir|cache-policy|thinlto-[a-z-]+)$/;

/** An option of LLVM's plug-in in the words of lld, if there are any. @param option as after `-plugin-opt=` */
export function pluginOption(option: string): string | null {
  const [, name, value] = /^([^=]+)(?:=(.*))?$/s.exec(option) ?? [];
  if (name === undefined || name.startsWith("-")) return null;
  const level = /^(O|CGO)(\w+)$/.exec(name);
  if (level !== null) return `--lto-${level[1]}${level[2]}`;
  const own = pluginNames.get(name) ?? (samePluginNames.test(name) ? name : undefined);
  return own === undefined ? null : value === undefined ? `--${own}` : `--${own}=${value}`;
}
