/**
 * Link mode, so that the driver can stand where a Makefile expects a compiler: sources are compiled to IR objects,
 * tsc-lto makes one assembly file of all IR, and `cc`, or `c++` for C++, links that with what is native.
 *
 * tsc-lto must see the native inputs too, libraries included: a function that only native code calls (a `malloc` of
 * the program's own, called by the C library) must keep its name. What clang leaves to the linker goes to `cc`
 * word by word; for options that mean other libraries to `cc` than to clang: instrumentation.ts.
 */
import { copyFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join, resolve } from "node:path";
import type { EmbeddedIrPolicy } from "../../formats/elf-ir.js";
import { cxxMode, type Input, type LinkItem } from "../../frontend/clang/command-line.js";
import { isTarget } from "../../lto/targets-by-triple.js";
import { type Contents, contentsOf, embeddedIrOf, mentions, tripleOfFiles } from "../host/contents.js";
import { type Host, report } from "../host/host.js";
import { inputWords } from "../host/input-words.js";
import { removeTemporary, temporaryDirectory, writeTemporary } from "../host/interrupts.js";
import { findLibraries } from "../host/libraries.js";
import {
  dependsOnLinker,
  linkerOptions,
  linkOutputs,
  namedAfter,
  positional,
  scriptOption,
  unknownLlvmOptions,
  wantedMap,
  withReport,
  wordsForLinker,
} from "../host/linker-options.js";
import type { Flavour } from "../host/linker-table.js";
import { choosesLinker, chosenLinker, flavourOf, wordsForGcc } from "../host/linkers.js";
import type { Llvm } from "../host/llvm-codegen.js";
import {
  filesIn,
  isObjectFile,
  LazyInputs,
  lazyArchive,
  nativeMembers,
  WholeArchive,
} from "../host/native-members.js";
import { Pipes } from "../host/pipes.js";
import { runTool } from "../host/tools.js";
import { ownPackage } from "../package.js";
import { type Compilation, colourOption, compileAll, type Invocation, optionsFor } from "./compile.js";
import { withRuntime } from "./instrumentation.js";

/** As a user would call it; and as this Node does, whatever Node is on PATH. */
const ltoProgram = (): string => join(ownPackage().directory, "bin/tsc-lto");
const ltoStart = (): string[] => [join(ownPackage().directory, "dist/bin/start.cjs"), "lto"];

/** The exit code of the first step that fails, else 0. */
export async function linkProgram(invocation: Invocation): Promise<number> {
  const linking = new Linking(invocation);
  try {
    return await linking.run();
  } finally {
    linking.close();
  }
}

class Linking {
  private readonly host: Host;
  private temporary: string | undefined;
  /** Null: this program generates the code, as assembly, and the system's compiler links it. */
  private llvm: Llvm | null = null;

  constructor(private readonly invocation: Invocation) {
    this.host = invocation.host;
  }

  /** For the files that programs exchange. Not before there is one: see interrupts.ts. */
  private get directory(): string {
    this.temporary ??= temporaryDirectory(tmpdir(), "tsc-cc-");
    return this.temporary;
  }

  /** Where machine code of modules is that tsc-lto does not compile. */
  private get natives(): string {
    return join(this.directory, "native");
  }

  close(): void {
    if (this.temporary !== undefined) removeTemporary(this.temporary);
  }

  async run(): Promise<number> {
    const { command } = this.invocation;
    const objects = new Map<Input, string>();
    const contentsOfObjects = new Map<Input, Uint8Array>();
    const name = (input: Input): string => {
      // Diagnostics of the tools that follow name the object.
      const path = join(this.directory, `${objects.size}-${defaultName(input)}`);
      objects.set(input, path);
      return path;
    };
    const compilations = command.inputs
      .filter((input) => input.kind !== "object")
      .map((input): Compilation => {
        const keep = (object: Uint8Array) => contentsOfObjects.set(input, object);
        const output = input.kind === "assembly" ? name(input) : keep;
        return { input, output, namedAfter: command.output ?? defaultName(input) };
      });
    const compiled = compilations.length === 0 ? 0 : await compileAll(this.invocation, compilations);
    if (compiled !== 0) return compiled;
    for (const [input, object] of contentsOfObjects) writeTemporary(name(input), object);
    const pipes = new Pipes(this.host.cwd, () => this.directory);
    const files = command.inputs.map((input) => resolve(this.host.cwd, objects.get(input) ?? input.path));
    await this.chooseCodegen(files, embeddedIrOf(ltoOptions(command.link)));
    // Clang adds what its own options stand for.
    const all = this.llvm === null ? await withRuntime(this.invocation) : command.link;
    const given = all.map((item) =>
      "words" in item ? { ...item, words: item.words.map((word) => pipes.word(word)) } : item,
    );
    const items = await findLibraries(given, this.host, command.cxx, this.driver);
    const pathOf = (item: LinkItem): string | undefined =>
      "input" in item ? (objects.get(item.input) ?? item.input.path) : item.library;
    const contents = new Map<LinkItem, Contents>();
    const policy = embeddedIrOf(ltoOptions(given));
    for (const item of items) {
      const path = pathOf(item);
      if (path !== undefined) contents.set(item, contentsOf(resolve(this.host.cwd, path), policy));
    }
    const linked = wordsOfLinker(items);
    for (const option of unknownLlvmOptions(linked))
      report(this.host, "warning", `-mllvm ${option}: not an option that means something here`);
    const { saveTemps = null } = command;
    const outputs = { ...linkOutputs(linked), ...(saveTemps === null ? {} : { saveTemps: true }) };
    const output = resolve(this.host.cwd, command.output ?? "a.out");
    const kept = saveTemps === "cwd" ? resolve(this.host.cwd, basename(output)) : output;
    let program = join(this.directory, this.llvm === null ? "program.s" : "program.bc");
    const kinds = [...contents.values()];
    if (kinds.includes("ir") || kinds.includes("both")) {
      const ways =
        outputs.emit === "llvm" ? ["--emit=bitcode"] : outputs.saveTemps ? [`--save-temps=${kept}`] : [];
      const target = outputs.emit === "llvm" ? output : program;
      const exitCode = await this.optimise(given, this.ltoInputs(items, contents, pathOf), target, ways);
      if (exitCode !== 0 || outputs.emit === "llvm") return exitCode;
      if (this.llvm === null && (outputs.emit === "asm" || outputs.saveTemps))
        copyFileSync(program, `${kept}.lto.s`);
      if (outputs.emit === "asm") return 0;
      for (const object of [
        ...(outputs.saveTemps ? [`${kept}.lto.o`] : []),
        ...(outputs.objectPath === null ? [] : [resolve(this.host.cwd, outputs.objectPath)]),
      ]) {
        const assembled = this.llvm === null ? await this.tool("as", ["--64", "-o", object, program]) : 0;
        if (assembled !== 0) return assembled;
      }
      if (this.llvm !== null) {
        const object = join(this.directory, "program.o");
        const generated = await this.generate(this.llvm, program, object);
        if (generated !== 0) return generated;
        program = object;
      }
    }
    return this.link(items, contents, pathOf, program, policy);
  }

  /** Who generates the code: as was asked for, or by the target of the first IR among the inputs. */
  private async chooseCodegen(files: readonly string[], policy: EmbeddedIrPolicy): Promise<void> {
    const { command, choice } = this.invocation;
    if (command.codegen === "own") return;
    const triple = tripleOfFiles(files, policy);
    if (command.codegen !== "llvm" && (triple === null || isTarget({ triple }))) return;
    const { findLlvm } = await import("../host/llvm-codegen.js");
    this.llvm = await findLlvm(choice, command.clang, triple ?? "", this.host);
  }

  /** The program that links, and how it is told of the target. */
  private get driver(): string[] {
    const { command } = this.invocation;
    if (this.llvm === null) return [command.cxx ? "c++" : "cc"];
    return [this.llvm.path, ...(command.cxx ? [cxxMode] : []), "-Qunused-arguments", ...command.compile];
  }

  private async generate(llvm: Llvm, bitcode: string, object: string): Promise<number> {
    const words = optionsFor(this.invocation.command.compile, codeOption);
    const { codegenArguments, compileBitcode } = await import("../host/llvm-codegen.js");
    this.show(llvm.path, codegenArguments(bitcode, object, words));
    const result = await compileBitcode(llvm, bitcode, object, words, this.host);
    if (result.error !== undefined) report(this.host, "error", result.error);
    return result.exitCode;
  }

  /** The inputs of tsc-lto, with the flags that hold from where they stand. */
  private ltoInputs(
    items: readonly LinkItem[],
    contents: ReadonlyMap<LinkItem, Contents>,
    pathOf: (item: LinkItem) => string | undefined,
  ): string[] {
    const words: string[] = [];
    for (const item of items) {
      const isDefault = "words" in item && item.words.length === 0;
      if (isDefault && words.at(-2) !== "--no-whole-archive") words.push("--no-whole-archive");
      if ("words" in item)
        for (const word of linkerWords(item.words)) if (positional.test(word)) words.push(word);
      words.push(...inputWords(pathOf(item) ?? "", contents.get(item)));
    }
    return words;
  }

  /** What the link knows, for the map; null: no map is wanted. */
  private report: string | null = null;

  /** Words for tsc-lto, without its output; null: there is nothing for it to do, or LLVM generates the code. */
  private optimised: readonly string[] | null = null;

  private async optimise(
    items: readonly LinkItem[],
    inputs: readonly string[],
    output: string,
    ways: readonly string[],
  ): Promise<number> {
    const { command } = this.invocation;
    const given = namedAfter(ltoOptions(items), command.output ?? "a.out");
    const { llvm } = this;
    const wantsMap = llvm === null && wantedMap(wordsOfLinker(items)) !== null;
    const { words: options, report } = wantsMap
      ? withReport(given, () => join(this.directory, "map.json"))
      : { words: given, report: null };
    this.report = report;
    const own = [
      ...(command.level === "1" ? ["--effort", "fast"] : []),
      ...options,
      ...(llvm === null
        ? await this.relocationModel(options, inputs)
        : ["--emit=bitcode", `--bitcode-version=${llvm.version}`]),
      ...(command.jobs === undefined ? [] : ["-j", String(command.jobs)]),
      ...(command.dropsDebug ? ["--strip-debug"] : []),
    ];
    if (llvm === null) this.optimised = [...own, ...inputs];
    const natives = command.refusesUnsupported ? [] : ["--native-modules", this.natives];
    const args = [...this.forTerminal(), ...own, ...ways, ...natives, "-o", output, ...inputs];
    this.show(ltoProgram(), args);
    const { clang } = command;
    const { columns = null } = this.host;
    const env = {
      ...(clang === undefined || clang === "embedded" ? {} : { TSC_LTO_CLANG: clang }),
      ...(columns === null ? {} : { COLUMNS: String(columns) }),
    };
    const host = { ...this.host, env: { ...this.host.env, ...env } };
    if (host.optimise !== undefined) return host.optimise(args, host);
    return this.tool(process.execPath, [...process.execArgv, ...ltoStart(), ...args], undefined, host);
  }

  /** What tsc-lto, which sees a pipe, is told of the terminal; options of the link step come after it. */
  private forTerminal(): string[] {
    const { host, invocation } = this;
    const colours = invocation.command.compile.findLast((word) => colourOption.test(word));
    const no = colours !== undefined && /^-fno-|=never$/.test(colours);
    const isColoured = colours === undefined || /=auto$/.test(colours) ? host.colour : !no;
    return [
      ...(isColoured ? ["--color-diagnostics"] : []),
      ...((host.columns ?? null) === null || invocation.command.verbose ? [] : ["--progress=always"]),
    ];
  }

  /**
   * Code that may lie anywhere, where the driver that links makes position-independent executables unless it is told
   * otherwise, and nothing was compiled for them.
   */
  private async relocationModel(options: readonly string[], inputs: readonly string[]): Promise<string[]> {
    if (options.some((word) => /^--(?:relocation-model|shared|relocatable)$/.test(word))) return [];
    if (inputs.some((path) => mentions(resolve(this.host.cwd, path), "PIC Level"))) return [];
    const driver = this.invocation.command.cxx ? "c++" : "cc";
    const macros = await runTool(driver, ["-dM", "-E", "-x", "c", "/dev/null"], this.host, { live: false });
    return Buffer.from(macros.stdout).includes("__PIE__") ? ["--relocation-model", "pie"] : [];
  }

  private async link(
    items: readonly LinkItem[],
    contents: ReadonlyMap<LinkItem, Contents>,
    pathOf: (item: LinkItem) => string | undefined,
    program: string,
    policy: EmbeddedIrPolicy,
  ): Promise<number> {
    const { choice: compiler, command } = this.invocation;
    const words: string[] = [];
    const wholeArchive = new WholeArchive();
    const chosen = chosenLinker(
      items.flatMap((item) => ("words" in item ? item.words : [])),
      compiler.kind === "system" ? compiler.path : null,
      this.host,
    );
    const told = forDriver(items, await this.flavour(items, chosen));
    const lazy = new LazyInputs();
    let waiting: string[] = [];
    let placed = false;
    const settle = async (): Promise<void> => {
      if (waiting.length > 0) words.push(await lazyArchive(waiting, this.directory, this.host));
      waiting = [];
    };
    for (const item of items) {
      const kind = contents.get(item);
      if ("words" in item)
        for (const word of linkerWords(item.words)) {
          wholeArchive.read(word);
          lazy.read(word);
        }
      if (!lazy.isOn) await settle();
      if ((kind === "ir" || kind === "both") && !placed) {
        // The program takes the place of its first part: archives after it are searched for what it needs.
        words.push(program, ...filesIn(this.natives));
        placed = true;
      }
      if (kind === "ir") continue;
      if (lazy.isOn && "input" in item && kind === "native") {
        const path = resolve(this.host.cwd, pathOf(item)!);
        if (isObjectFile(path)) {
          waiting.push(path);
          continue;
        }
      }
      if ("words" in item) words.push(...told.get(item)!.filter((word) => !choosesLinker(word)));
      else if (kind === "both" && wholeArchive.isOn)
        words.push(...nativeMembers(resolve(this.host.cwd, pathOf(item)!), this.directory, policy));
      else words.push(pathOf(item)!);
    }
    await settle();
    const [linker, ...first] = this.driver;
    const choice =
      chosen === null
        ? []
        : this.llvm === null
          ? wordsForGcc(chosen, this.directory)
          : [`--ld-path=${chosen}`];
    const args = [
      ...first,
      ...choice,
      ...(command.verbose ? ["-v"] : []),
      ...(command.output === undefined ? [] : ["-o", command.output]),
      ...words,
    ];
    this.show(linker!, args);
    if (this.optimised !== null && this.host.env["TSC_LTO_RECORD"] !== undefined) {
      const output = command.output ?? "a.out";
      const step = {
        optimise: this.optimised,
        linker: linker!,
        link: args,
        part: program,
        nativeModules: filesIn(this.natives),
        assembled: false,
        output,
      };
      const { recordLink } = await import("../host/link-record.js");
      recordLink(step, this.host);
    }
    const output = resolve(this.host.cwd, command.output ?? "a.out");
    const exitCode = await this.tool(linker!, args, output);
    if (exitCode === 0 && this.report !== null) {
      const { completeMap } = await import("../host/link-map.js");
      completeMap(wantedMap(wordsOfLinker(items))!, resolve(this.host.cwd, this.report), output, this.host);
    }
    return exitCode;
  }

  /** Of the linker that links; what does not matter is not asked for. */
  private async flavour(items: readonly LinkItem[], chosen: string | null): Promise<Flavour> {
    if (!dependsOnLinker(wordsOfLinker(items))) return "gnu";
    if (chosen !== null) return flavourOf(chosen, this.host);
    const [driver, ...first] = this.driver;
    const { stdout } = await runTool(driver!, [...first, "-print-prog-name=ld"], this.host, { live: false });
    return flavourOf(Buffer.from(stdout).toString("utf8").trim() || "ld", this.host);
  }

  private show(path: string, args: readonly string[]): void {
    if (this.invocation.command.verbose)
      this.host.stderr(Buffer.from(` ${[path, ...args].map((word) => JSON.stringify(word)).join(" ")}\n`));
  }

  private async tool(
    path: string,
    args: readonly string[],
    output?: string,
    host = this.host,
  ): Promise<number> {
    const result = await runTool(path, args, host, {
      live: true,
      ...(output === undefined ? {} : { output }),
    });
    if (result.error !== undefined) report(this.host, "error", result.error);
    return result.exitCode;
  }
}

/** Options that are about code, and not about what instruments it, which was done when it was compiled. */
const codeOption =
  /^(?:-O|-m|-f(?!sanitize|no-sanitize|profile|coverage|memory-profile|cs-profile)|-target$|--target|--sysroot|-isysroot|-Xclang$|-g|--gcc-toolchain|-B)/;

/** Clang's name for the object of an input in the working directory. */
function defaultName(input: Input): string {
  const base = input.path.substring(input.path.lastIndexOf("/") + 1);
  return `${base.replace(/\.[^.]*$/, "")}.o`;
}

/** What the driver that links is told by words of each item: in its linker's words, without what only tsc-lto knows. */
function forDriver(items: readonly LinkItem[], flavour: Flavour): Map<LinkItem, readonly string[]> {
  const withWords = items.flatMap((item) => ("words" in item ? [item] : []));
  // An option's value may be in another word of the driver's.
  const parts = withWords.map((item) => linkerWords(item.words));
  const translated = wordsForLinker(parts.flat(), flavour);
  const result = new Map<LinkItem, readonly string[]>();
  let at = 0;
  for (const [i, item] of withWords.entries()) {
    const own = parts[i]!;
    const made = translated.slice(at, at + own.length).flat();
    // The value of an option at the end of one item goes with the option.
    at += own.length;
    if (own.length === 0)
      result.set(
        item,
        item.words.map((word) => (/^-no_?pie$/.test(word) ? "-no-pie" : word)),
      );
    else if (made.length === own.length && made.every((word, j) => word === own[j]))
      result.set(item, item.words);
    else
      result.set(
        item,
        made.flatMap((word) => ["-Xlinker", word]),
      );
  }
  return result;
}

/** What the link step's words mean to tsc-lto. */
export function ltoOptions(items: readonly LinkItem[]): string[] {
  const result: string[] = [];
  const words = items.flatMap((item) => ("words" in item ? item.words : []));
  // Without the C library's start-up code the program brings its own.
  if (words.some((word) => /^-(nostartfiles|nostdlib)$/.test(word))) result.push("--undefined", "_start");
  for (let i = 0; i < words.length; i++) {
    const word = words[i]!;
    if (/^-(nostdlib|nodefaultlibs|nolibc)$/.test(word)) result.push("--no-default-libs");
    else if (word === "-shared") result.push("--shared");
    else if (word === "-r") result.push("--relocatable");
    else if (word === "-rdynamic") result.push("--export-dynamic");
    else if (/^-(no-pie|nopie|no_pie|static)$/.test(word)) result.push("--relocation-model", "static");
    else if (/^-(pie|static-pie)$/.test(word)) result.push("--relocation-model", "pie");
    else if (/^-f(function|data)-sections$/.test(word)) result.push(`--${word.substring(2)}`);
    else if (word === "-z") result.push(...linkerOptions(["-z", words[++i] ?? ""]));
    else if (word === "-s") result.push("--strip-debug");
    else if (word === "-u") result.push("--undefined", words[++i]!);
    else if (word === "-e") result.push("--entry", words[++i]!);
    else if (word === "-T") result.push("--script", words[++i]!);
    else if (scriptOption.test(word)) result.push("--script", word.substring(2));
  }
  result.push(...linkerOptions(linkerWords(words)));
  // Start-up code calls main, wherever the program is entered.
  const startsAtMain = !result.some((word) => /^(_start|--shared|--relocatable)$/.test(word));
  if (result.includes("--entry") && startsAtMain) result.push("--undefined", "main");
  return result;
}

const wordsOfLinker = (items: readonly LinkItem[]): string[] =>
  items.flatMap((item) => ("words" in item ? linkerWords(item.words) : []));

/** The words that go to the linker itself, through `-Wl,` and `-Xlinker`. */
function linkerWords(words: readonly string[]): string[] {
  return words.flatMap((word, i) => {
    if (word.startsWith("-Wl,")) return word.substring(4).split(",");
    if (word.startsWith("--for-linker=")) return [word.substring("--for-linker=".length)];
    const isValue = words[i - 1] === "-Xlinker" || words[i - 1] === "--for-linker";
    return isValue ? [word] : [];
  });
}
