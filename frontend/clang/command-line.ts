/**
 * The command line of a C compiler driver, read as clang reads it, as far as this driver must know it: which words
 * are inputs, where the output goes, how far to go, which words only concern the linker. Every other option goes to
 * clang as it came. The one thing that must be complete is the table of options whose value is the next word, since
 * otherwise a value would be taken for an input.
 *
 * Source of the tables: clang's and GCC's manuals of driver options.
 */
import { InputError } from "../../lto/ir/errors.js";

/** A value for these is the rest of the word, or the next word when the rest is empty. */
// biome-ignore format: a table
const joinedOrSeparate = [
  "-o", "-D", "-U", "-I", "-L", "-l", "-x", "-F", "-B", "-T", "-u", "-G", "-A", "-MF", "-MT", "-MQ", "-MJ",
  "-isystem", "-isystem-after", "-idirafter", "-iquote", "-include", "-imacros", "-iprefix", "-iwithprefix",
  "-iwithprefixbefore", "-iwithsysroot", "-isysroot", "-iframework", "-iframeworkwithsysroot",
  "-cxx-isystem", "-c-isystem", "-stdlib++-isystem", "-include-pch", "-ivfsoverlay", "-working-directory",
  "-resource-dir",
];

/** A value for these is always the next word. */
// biome-ignore format: a table
const separate = new Set([
  "-Xclang", "-Xlinker", "-Xassembler", "-Xpreprocessor", "-Xanalyzer", "-Xopenmp-target", "-Xthinlto",
  "-mllvm", "-arch", "-target", "-z", "-e", "-rpath", "-framework", "-dumpdir", "-aux-info", "-wrapper",
  "-gcc-toolchain", "-serialize-diagnostics", "-Tdata", "-Ttext", "-Tbss", "-imultilib", "-assert",
  "--param", "--sysroot", "--target", "--output", "--include", "--imacros", "--language", "--define-macro",
  "--undefine-macro", "--include-directory", "--include-directory-after", "--library-directory", "--prefix",
  "--config", "--assert", "--serialize-diagnostics", "--std", "--force-link", "--for-linker",
  "--dyld-prefix", "--version-script", "--system-header-prefix", "--no-system-header-prefix",
]);

/** Options that only the link step reads, by their whole word or as a prefix (ending in `*`). */
// biome-ignore format: a table
const linkerOnly = [
  "-l*", "-L*", "-Wl,*", "-Xlinker", "--for-linker", "-T", "-T*", "-u", "-e", "-z", "-rpath", "-r", "-s",
  "-t", "-n", "-N", "-rdynamic", "-shared", "-nostartfiles", "-nodefaultlibs", "-nolibc", "-static-libgcc",
  "-shared-libgcc", "-static-libstdc++", "-nostdlib++", "-fuse-ld=*", "--ld-path=*", "--library-directory*",
  "--force-link*",
];

/** Options that both the compile step and the link step read. */
// biome-ignore format: a table
const alsoLinker = [
  "-nostdlib", "-static", "-static-pie", "-pie", "-no-pie", "-nopie", "-no_pie", "-pthread", "-pthreads",
  "-m64", "-m32", "-mx32", "--sysroot*", "-B*", "--prefix*", "-pg", "-p", "--coverage", "-coverage",
  "-fprofile-generate*", "-fcs-profile-generate*", "-fprofile-instr-generate*", "-fprofile-arcs", "-ftest-coverage",
  "-fmemory-profile*", "-fsanitize*", "-fno-sanitize*", "-shared-libsan", "-shared-libasan",
  "-static-libsan", "-static-libasan", "-static-libtsan", "-static-liblsan", "-static-libubsan", "-fopenmp*",
  "-static-openmp",
  "-ffunction-sections", "-fdata-sections", "-gz*",
];

/** Options that have no meaning here: whole-program optimisation happens later, in every case. */
// biome-ignore format: a table
const dropped = [
  "-flto-*", "-funified-lto",
  "-fno-unified-lto", "-fsplit-lto-unit", "-fno-split-lto-unit", "-fthin-link-bitcode=*",
  "-fwhole-program-vtables", "-fno-whole-program-vtables", "-fvirtual-function-elimination",
  "-fuse-linker-plugin", "-fno-use-linker-plugin", "-fthinlto-index=*", "-fintegrated-as",
  "-fno-integrated-as", "-integrated-as", "-no-integrated-as", "-pipe",
  "-fembed-bitcode=off", "-ipo",
];

/** What only clang's code generator or driver does, and nobody here: refused, for what is asked is not dropped. */
// biome-ignore format: a table
const refused = [
  "-fembed-bitcode*", "-fstack-size-section", "-femulated-tls",
  "-fbasic-block-sections=*", "-ftrap-function=*", "-save-temps=*", "--save-temps=*",
  "-gsplit-dwarf*", "-gdwarf64",
];

/** Options with which clang answers or works by itself and makes no object. */
// biome-ignore format: a table
const clangOnly = [
  "-E", "-M", "-MM", "-S", "-fsyntax-only", "-emit-llvm", "-emit-ast", "-emit-pch", "-###", "--version",
  "-dumpmachine", "-dumpversion", "-dumpspecs", "-print-*", "--print-*", "--analyze", "--preprocess",
  "--assemble", "--help-hidden", "-help", "-verify-pch", "--precompile", "-module-file-info",
  "-rewrite-objc", "-cc1", "-cc1as", "-extract-api", "--autocomplete=*", "--dependencies",
  "--user-dependencies",
];

/** Options that say how much debug information there is. */
const debugLevel = /^-g(?:\d|gdb\d?|dwarf(?:-\d)?|line-tables-only|mlt|line-directives-only|full|used)?$/;

const sourceExtension = /\.(c|i|ll|bc|cc|cp|cxx|cpp|CPP|c\+\+|C|CC|CXX|C\+\+|ii|cppm|m|mi|mm|M|mii)$/;
const assemblyExtension = /\.(s|S|sx|asm)$/;
const headerExtension = /\.(h|H|hh|hpp|hxx)$/;

/** What an input is: something clang compiles, assembly, a header to precompile, or a thing for the linker. */
export type InputKind = "source" | "assembly" | "header" | "object";

export interface Input {
  /** As the user wrote it; `-` is standard input. */
  readonly path: string;
  readonly kind: InputKind;
  /** The `-x` in force, or undefined when the extension decides. */
  readonly language: string | undefined;
}

/** A word or input of the link step, in the order of the command line. */
export type LinkItem =
  | { readonly input: Input }
  | {
      readonly words: readonly string[];
      /** The file that `words` (`-lm`) stand for, once it is found. */
      readonly library?: string;
    };

export interface CommandLine {
  /** What to do: make objects, make a program, or leave all to clang. */
  readonly mode: "compile" | "link" | "clang";
  readonly inputs: readonly Input[];
  readonly output: string | undefined;
  /** Options of the compile step; no inputs, no output, none of the linker's options. */
  readonly compile: readonly string[];
  /** `-fdefer-inlining` was given, and no `-fno-defer-inlining` after it. */
  readonly defersInlining: boolean;
  /** `-fno-elf-objects`: objects are IR alone, without an ELF shell. */
  readonly writesBareObjects: boolean;
  /** `--error-unsupported`: what tsc-lto cannot compile is an error, not clang's business. */
  readonly refusesUnsupported: boolean;
  /** `-save-temps`: where what is made on the way is kept, in the working directory or beside the output. */
  readonly saveTemps: "cwd" | "obj" | undefined;
  /** `-ffat-lto-objects`: objects have machine code beside the IR. */
  readonly fat: boolean;
  /** Of the options that say how much debug information there is, the last one says none. */
  readonly dropsDebug: boolean;
  /** The level of optimisation by the last `-O`: `z`, `2`; undefined: none was given. */
  readonly level: string | undefined;
  /** Options for the assembler (`-Wa,`), which only assembly inputs need. */
  readonly assemble: readonly string[];
  readonly link: readonly LinkItem[];
  /** All words but this driver's own options, for when clang does all. */
  readonly all: readonly string[];
  /** `-MD` or `-MMD` was given: a dependency file is written beside the object. */
  readonly dependencies: { readonly file: string | undefined; readonly hasTarget: boolean } | undefined;
  /** `--codegen=`: who generates the code; undefined: this program where it can. */
  readonly codegen: "own" | "llvm" | undefined;
  /** `--clang=`: a path, or `embedded`. */
  readonly clang: string | undefined;
  /** Sources of unknown language are C++, and programs are linked with the C++ library. */
  readonly cxx: boolean;
  /** `-j`: jobs at one time. */
  readonly jobs: number | undefined;
  readonly verbose: boolean;
  /** `--help` or `--help-all` was given. */
  readonly help: "short" | "all" | undefined;
}

function compilePatterns(patterns: readonly string[]): (word: string) => boolean {
  const exact = new Set(patterns.filter((p) => !p.endsWith("*")));
  const prefixes = patterns.filter((p) => p.endsWith("*")).map((p) => p.slice(0, -1));
  return (word) => exact.has(word) || prefixes.some((p) => word.startsWith(p));
}

const isLinkerOnly = compilePatterns(linkerOnly);
const isAlsoLinker = compilePatterns(alsoLinker);
const isDropped = compilePatterns(dropped);
const isRefused = compilePatterns(refused);
const saveTemps = /^--?save-temps(?:=(?:cwd|obj))?$/;
const isLto = compilePatterns(["-flto", "-flto=*", "-fno-lto"]);
const isFat = compilePatterns(["-ffat-lto-objects", "-fno-fat-lto-objects"]);
const isClangOnly = compilePatterns(clangOnly);
const joinedNames = new Set(joinedOrSeparate);

/** Whether the value of `word` is the next word. */
export function takesNextWord(word: string): boolean {
  return joinedNames.has(word) || separate.has(word) || word.startsWith("-Xarch_");
}

/**
 * Reads the words after the program's name; response files are already expanded.
 * @throws InputError when an option lacks its value or one of this driver's own options has a bad one.
 */
export function parseCommandLine(words: readonly string[]): CommandLine {
  return new Parser(words).run();
}

/** Clang's option for being a C++ compiler driver. */
export const cxxMode = "--driver-mode=g++";

class Parser {
  private readonly inputs: Input[] = [];
  private readonly compile: string[] = [];
  private readonly assemble: string[] = [];
  private readonly link: LinkItem[] = [];
  private readonly all: string[] = [];
  private output: string | undefined;
  private language: string | undefined;
  private compileOnly = false;
  private clangDoesAll = false;
  private isNative = false;
  private writesDependencies = false;
  private dependencyFile: string | undefined;
  private dependencyTarget = false;
  private clang: string | undefined;
  private codegen: CommandLine["codegen"];
  private jobs: number | undefined;
  private defersInlining = false;
  private writesBareObjects = false;
  private refusesUnsupported = false;
  private fat = false;
  private saveTemps: CommandLine["saveTemps"];
  private cxx = false;
  private verbose = false;
  private help: CommandLine["help"];
  private onlyInputs = false;

  constructor(private readonly words: readonly string[]) {}

  run(): CommandLine {
    for (let i = 0; i < this.words.length; ) {
      const word = this.words[i]!;
      const own = this.ownOption(word, this.words[i + 1]);
      i += own;
      if (own > 0) continue;
      const needsValue = !this.onlyInputs && takesNextWord(word);
      if (needsValue && i + 1 === this.words.length) throw new InputError(`argument to '${word}' is missing`);
      const taken = this.words.slice(i, i + (needsValue ? 2 : 1));
      this.all.push(...taken);
      this.word(word, taken);
      i += taken.length;
    }
    const headers = this.inputs.some((input) => input.kind === "header");
    const nothingToDo = this.inputs.length === 0;
    return {
      mode:
        this.clangDoesAll || headers || nothingToDo || this.leavesLto()
          ? "clang"
          : this.compileOnly
            ? "compile"
            : "link",
      inputs: this.inputs,
      output: this.output,
      compile: this.compile,
      defersInlining: this.defersInlining,
      writesBareObjects: this.writesBareObjects,
      refusesUnsupported: this.refusesUnsupported || this.link.some(refusesUnsupported),
      fat: this.fat,
      saveTemps: this.saveTemps,
      dropsDebug: /^-g(?:gdb)?0$/.test(this.compile.findLast((word) => debugLevel.test(word)) ?? ""),
      level: this.compile.findLast((word) => word.startsWith("-O"))?.substring(2),
      assemble: this.assemble,
      link: this.link,
      all: this.cxx ? [cxxMode, ...this.all] : this.all,
      dependencies: this.writesDependencies
        ? { file: this.dependencyFile, hasTarget: this.dependencyTarget }
        : undefined,
      clang: this.clang,
      codegen: this.codegen,
      cxx: this.cxx,
      jobs: this.jobs,
      verbose: this.verbose,
      help: this.help,
    };
  }

  /** `-fno-lto`: sources become native objects, which clang makes, and programs of sources alone native programs. */
  private leavesLto(): boolean {
    const hasSources = this.inputs.some(({ kind }) => kind === "source");
    if (!this.isNative || !hasSources) return false;
    if (this.compileOnly || this.inputs.every(({ kind }) => kind !== "object")) return true;
    throw new InputError("-fno-lto with sources and objects in one step: compile the sources with -c first");
  }

  /**
   * `--clang=`, `--codegen=`, `--driver-mode=`, `-fdefer-inlining`, `-felf-objects`, `--error-unsupported`, `-j`, `--help`, `--help-all`: options of this driver, which clang does not have or answers differently.
   * How many words the option has; 0 when `word` is none of them.
   */
  private ownOption(word: string, next: string | undefined): number {
    if (this.onlyInputs) return 0;
    if (word.startsWith("--clang=")) {
      this.clang = word.substring("--clang=".length);
      if (this.clang === "") throw new InputError("--clang= needs a path, or the word embedded");
      return 1;
    }
    if (word.startsWith("--codegen=")) {
      const generator = word.substring("--codegen=".length);
      if (generator !== "own" && generator !== "llvm")
        throw new InputError(`unsupported option '${word}': only own and llvm are`);
      this.codegen = generator;
      return 1;
    }
    if (word.startsWith("--driver-mode=")) {
      if (word !== cxxMode && word !== "--driver-mode=gcc")
        throw new InputError(`unsupported option '${word}': only gcc and g++ are`);
      this.cxx = word === cxxMode;
      return 1;
    }
    if (word === "--help" || word === "--help-all") {
      this.help = word === "--help" ? "short" : "all";
      return 1;
    }
    if (word === "-fdefer-inlining" || word === "-fno-defer-inlining") {
      this.defersInlining = word === "-fdefer-inlining";
      return 1;
    }
    if (word === "--error-unsupported") {
      this.refusesUnsupported = true;
      return 1;
    }
    if (word === "-felf-objects" || word === "-fno-elf-objects") {
      this.writesBareObjects = word === "-fno-elf-objects";
      return 1;
    }
    if (!/^-j\d*$/.test(word)) return 0;
    const text = word === "-j" ? (next ?? "") : word.substring(2);
    this.jobs = Number(text);
    if (text === "" || !Number.isSafeInteger(this.jobs) || this.jobs < 1)
      throw new InputError(`-j needs a number of jobs, not '${text}'`);
    return word === "-j" ? 2 : 1;
  }

  private word(word: string, taken: readonly string[]): void {
    if (this.onlyInputs || word === "-" || !word.startsWith("-")) this.input(word);
    else if (word === "--") this.onlyInputs = true;
    else if (word === "-c" || word === "--compile") this.compileOnly = true;
    else if (isFat(word)) this.fat = word === "-ffat-lto-objects";
    else if (isLto(word)) this.isNative = word === "-fno-lto";
    else if (isDropped(word)) return;
    else if (saveTemps.test(word)) this.saveTemps = word.endsWith("=obj") ? "obj" : "cwd";
    else if (isRefused(word)) throw new InputError(`unsupported option '${word}'`);
    else if (word.startsWith("-Wa,") || word === "-Xassembler") this.assemble.push(...taken);
    else if (this.valued(word, taken)) return;
    else if (isClangOnly(word)) this.clangDoesAll = true;
    else if (isLinkerOnly(word)) this.link.push({ words: taken });
    else {
      if (word === "-v") this.verbose = true;
      if (isAlsoLinker(word)) this.link.push({ words: taken });
      this.compile.push(...taken);
    }
  }

  private input(path: string): void {
    const input: Input = { path, kind: kindOf(path, this.language), language: this.language };
    this.inputs.push(input);
    this.link.push({ input });
  }

  /** Options whose value matters here; true when `word` was one. */
  private valued(word: string, taken: readonly string[]): boolean {
    const value = (name: string) =>
      word === name ? taken[1] : word.startsWith(name) ? word.substring(name.length) : undefined;
    let text: string | undefined;
    if (
      (text = word === "--output" ? taken[1] : undefined) !== undefined ||
      (text = value("--output=")) !== undefined
    )
      this.output = text;
    else if ((text = word === "--language" ? taken[1] : value("--language=")) !== undefined)
      this.setLanguage(text);
    else if (word.startsWith("--")) return false;
    else if (word.startsWith("-o") && !word.startsWith("-obj")) this.output = value("-o");
    else if ((text = value("-x")) !== undefined) this.setLanguage(text);
    else if ((text = value("-MF")) !== undefined) this.dependencyFile = text;
    else if (word === "-MD" || word === "-MMD") {
      this.writesDependencies = true;
      this.compile.push(word);
    } else if (value("-MT") !== undefined || value("-MQ") !== undefined) {
      this.dependencyTarget = true;
      this.compile.push(...taken);
    } else return false;
    return true;
  }
  private setLanguage(language: string): void {
    this.language = language === "none" ? undefined : language;
  }
}

/** Told to the linker, it is meant for the whole. */
const refusesUnsupported = (item: LinkItem): boolean =>
  "words" in item && item.words.some((word) => word.split(",").includes("--error-unsupported"));

function kindOf(path: string, language: string | undefined): InputKind {
  if (language !== undefined) {
    if (language.startsWith("assembler")) return "assembly";
    return /header|^c\+\+-module/.test(language) ? "header" : "source";
  }
  if (path === "-" || sourceExtension.test(path)) return "source";
  if (assemblyExtension.test(path)) return "assembly";
  return headerExtension.test(path) ? "header" : "object";
}

/** The name clang gives an output by default: the input's base name with another extension, in the working directory. */
export function defaultOutput(input: string, extension: string): string {
  return replaceExtension(input.substring(input.lastIndexOf("/") + 1), extension);
}

/** `path` with the part after the last dot of its base name replaced by `extension` (which has no dot). */
export function replaceExtension(path: string, extension: string): string {
  const base = path.lastIndexOf("/") + 1;
  const dot = path.lastIndexOf(".");
  return `${dot > base ? path.substring(0, dot) : path}.${extension}`;
}
