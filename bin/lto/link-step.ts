/** The first half of a link: reads the inputs and makes one module of them. */
import { symbolRefusal } from "../../formats/asm/index.js";
import { refusedRequests } from "../../lto/codegen/requests.js";
import { bytesOfText, textOfBytes } from "../../lto/ir/byte-text.js";
import { InputError, UnsupportedError } from "../../lto/ir/errors.js";
import type { Module } from "../../lto/ir/module.js";
import type { Steps } from "../../lto/ir/steps.js";
import {
  isLibraryCallOfLlvm,
  isReplaceable,
  isRoutine,
  type LinkResult,
  linkModules,
  type ModuleSummary,
  parseExportList,
  parseVersionScript,
} from "../../lto/link/index.js";
import type { LinkInput, LinkOptions } from "../../lto/link/input.js";
import { placeOfOrigin, placeOfSubprogram, type SourcePlace } from "../../lto/pass/remarks.js";
import { targetOf } from "../../lto/targets.js";
import { isTarget } from "../../lto/targets-by-triple.js";
import { verifyModule } from "../../lto/verify/verifier.js";
import { DefaultLibraries, namesCompilersLibrary, namesLibraries } from "./default-libraries.js";
import { type DriverOptions, embeddedIrPolicy } from "./driver-options.js";
import { InputErrors, LinkError, throwAny } from "./errors.js";
import { otherMachines, type ReadFile, type ReplaceFile, readInputFile, readOperand } from "./inputs.js";
import type { JobServices } from "./job.js";
import { scriptSymbols } from "./linker-scripts.js";

/** A linked module; what is known of it goes once it has served. */
export interface Linked {
  readonly module: Module;
  summary: ModuleSummary | null;
  /** The file that each function came from, by the name that it has in the linked module. */
  readonly files: ReadonlyMap<string, string>;
  /** Why definitions are not local, by name; null where no report is wanted. */
  readonly roots: ReadonlyMap<string, readonly string[]> | null;
  /** Whether a file takes part: members of archives may not. */
  readonly loaded: (file: string) => boolean;
}

/** Complaints of the verifier that are reported. */
const shownComplaints = 20;

/**
 * Reads and links the inputs, which are forgotten then.
 * @param read gives the contents of files
 * @param replace gives what is linked in the place of a file
 * @throws InputError, LinkError
 */
export async function linkInputs(
  options: DriverOptions,
  services: JobServices,
  read: ReadFile = readInputFile,
  replace?: ReplaceFile,
): Promise<Linked> {
  const { scheduler, finished, diagnose } = services;
  const inputs = await scheduler.take("read", readInputs(options, read, replace));
  if (services.tell !== undefined) for (const input of inputs) services.tell(readText(input));
  finished("read");
  const given = linkOptions(options, read);
  let linked: LinkResult;
  try {
    linked = await scheduler.take("link", linkModules(inputs, given));
  } catch (e) {
    const modules = inputs.flatMap((input) => (input.kind === "module" ? [input.module] : []));
    throw scheduler.signal?.aborted === true ? e : blame(e, modules);
  }
  const { module, diagnostics, summary, symbols } = linked;
  for (const { file } of linked.extracted) services.tell?.(`takes ${file}`);
  if (options.entryGiven && given.output === "executable" && !symbols.get(given.entry)?.isDefined)
    diagnose({
      severity: "warning",
      message: `cannot find entry symbol ${given.entry}; all visible definitions stay`,
    });
  for (const diagnostic of diagnostics) diagnose(diagnostic);
  for (const name of options.export)
    if (!/[*?[\\]/.test(name) && !symbols.get(name)?.isDefined)
      diagnose({ severity: "warning", message: `--export ${name}: nothing defines it` });
  if (module === null) throw new LinkError(diagnostics);
  if (!options.stripDebug && module.flag(debugFlag) !== undefined) {
    // Text has none: neither what is read nor what is written.
    if (module.debugUnits === null || options.emit === "ir")
      diagnose({
        severity: "warning",
        message: `debug information is left out, that of ${linked.fileOfFlag(debugFlag)} and others: text has none`,
      });
  }
  finished("link");
  if (options.verify) {
    throwAny(
      verifyModule(module)
        .slice(0, shownComplaints)
        .map((text) => new InputError(text)),
    );
    finished("verify");
  }
  if (options.emit === "asm" || options.emit === "machine") {
    refuseForeign(module, options);
    refuseRequests(module, linked);
  }
  if (options.emit === "asm") refuseSymbols(module, linked, !options.shared && !options.relocatable);
  const roots = options.sizeReport === null ? null : await rootsOf(linked, module, options, given, read);
  return { module, summary, files: filesOf(module, linked), roots, loaded: loadedOf(inputs, linked) };
}

/** What was read, and as what. */
function readText(input: LinkInput): string {
  if (input.kind === "module") return `reads ${input.module.file}: IR`;
  if (input.kind === "native")
    return `reads ${input.file}: symbols of ${input.shared ? "a library" : "machine code"}`;
  const [first] = input.members;
  const archive = first?.file.replace(/\([^()]*\)$/, "") ?? "an archive";
  return `reads ${archive}: ${input.members.length} members, taken where they are needed`;
}

/** Whether a file takes part. */
function loadedOf(inputs: readonly LinkInput[], linked: LinkResult): (file: string) => boolean {
  const extracted = new Set(linked.extracted.map(({ file }) => file));
  const lazy = new Set(
    inputs.flatMap((input) => (input.kind === "archive" ? input.members.map(({ file }) => file) : [])),
  );
  return (file) => extracted.has(file) || !lazy.has(file);
}

/** Why definitions are not local, with the options and files that say so. */
async function rootsOf(
  { symbols }: LinkResult,
  module: Module,
  options: DriverOptions,
  given: LinkOptions,
  read: ReadFile,
): Promise<ReadonlyMap<string, readonly string[]>> {
  const { rootReasons } = await import("../../lto/link/root-reasons.js");
  const lists = (option: string, files: readonly string[]) =>
    files.map((file) => ({
      from: `${option} ${file}`,
      patterns: parseExportList(textOfBytes(read(file)), file),
    }));
  const told = [
    { from: "--export", patterns: options.export },
    { from: "--undefined", patterns: options.undefined },
    { from: "--export-dynamic-symbol", patterns: options.exportDynamicSymbol },
    ...lists("--export-list", options.exportList),
    ...lists("--export-dynamic-symbol-list", options.exportDynamicSymbolList),
    ...lists("--dynamic-list", options.dynamicList),
  ];
  return rootReasons(module, symbols, given, told);
}

/** What compilers say in modules with debug information that somebody asked for. */
const debugFlag = "Dwarf Version";

/** Names only: the inputs can go. */
function filesOf({ functions }: Module, { fileOf }: LinkResult): ReadonlyMap<string, string> {
  const files = new Map<string, string>();
  for (const fn of functions) {
    const file = fn.isDeclaration ? undefined : fileOf(fn);
    if (file !== undefined) files.set(fn.name, file);
  }
  return files;
}

/**
 * An error that was met while code was generated for a function: its file is that of the function, its line that of the
 * instruction, or of the function.
 */
export function placed(e: unknown, linked: Linked): unknown {
  if (e instanceof InputErrors)
    return new InputErrors(e.errors.map((error) => placed(error, linked) as InputError));
  if (!(e instanceof InputError) || e.fn === undefined) return e;
  const { module, files } = linked;
  const file = files.get(e.fn);
  const { fn: name } = e;
  const fn = module.functions.find((known) => known.name === name);
  const place = placeOfOrigin(module.origins, e.origin ?? 0) ?? placeOfSubprogram(fn?.subprogram ?? null);
  const error = file === undefined ? e : e.inFile(file);
  return place === null ? error : error.at(placeText(place));
}

const placeText = ({ file, line, column }: SourcePlace): string =>
  `${file}:${line}${column === 0 ? "" : `:${column}`}`;

/** @throws InputError where only LLVM can generate the code, or is to */
function refuseForeign(module: Module, { codegen }: DriverOptions): void {
  if (codegen === "llvm")
    throw new InputError(
      "LLVM is to generate the code: use --emit=bitcode, or tsc-cc or ld.tsc-lto, which call it",
    );
  if (!isTarget(module))
    throw new UnsupportedError(
      `code for target '${module.triple}' without LLVM (--emit=bitcode writes what it reads; tsc-cc and ld.tsc-lto call it)`,
      undefined,
      module.file,
    );
}

/** @throws InputError when the inputs ask something of code generation in vain */
function refuseRequests(module: Module, linked: LinkResult): void {
  throwAny(
    refusedRequests(module, targetOf(module).requests).map(({ what, by }) => {
      const file = ("fn" in by ? linked.fileOf(by.fn) : linked.fileOfFlag(by.flag)) ?? module.file;
      return new UnsupportedError(what, "fn" in by ? `function '${by.fn.name}'` : undefined, file);
    }),
  );
}

/** @throws InputError when symbols cannot be written in assembly */
function refuseSymbols({ globals }: Module, { fileOf }: LinkResult, executable: boolean): void {
  throwAny(
    globals.flatMap((global) => {
      const what = symbolRefusal(global, executable);
      return what === null ? [] : [new UnsupportedError(what, undefined, fileOf(global))];
    }),
  );
}

/** The error to report: a fault that the verifier can explain by the input is one of the input. */
export function blame(e: unknown, modules: readonly Module[]): unknown {
  if (e instanceof InputError || e instanceof LinkError) return e;
  try {
    for (const module of modules) {
      const [complaint] = verifyModule(module);
      if (complaint !== undefined) return new InputError(`invalid IR: ${complaint}`, module.file);
    }
  } catch {
    // What cannot even be verified explains nothing.
  }
  return e;
}

/** Reads all inputs. The steps are operands. @throws InputErrors with every one that fails */
function* readInputs(
  options: DriverOptions,
  read: ReadFile,
  replace: ReplaceFile | undefined,
): Steps<LinkInput[]> {
  const { inputs: operands, libraryPath } = options;
  const policy = embeddedIrPolicy(options);
  const inputs: LinkInput[] = [];
  const errors: InputError[] = [];
  for (const [number, operand] of operands.entries()) {
    try {
      inputs.push(
        ...readOperand(operand, libraryPath, read, { policy, ...(replace === undefined ? {} : { replace }) }),
      );
    } catch (e) {
      if (!(e instanceof InputError)) throw e;
      errors.push(e);
    }
    yield { done: number + 1, total: operands.length };
  }
  throwAny([...errors, ...otherMachines(inputs)]);
  return inputs;
}

/** What the libraries beside the inputs mention. */
function mentionOf({ defaultLibs, libc, stdlibxx, inputs }: DriverOptions): Pick<LinkOptions, "mention"> {
  // What is among the inputs need not be all: static libraries of the compiler's are not.
  if (namesLibraries(inputs)) return { mention: (name) => (isReplaceable(name) ? "undefined" : null) };
  if (!defaultLibs) return {};
  const libraries = new DefaultLibraries({ c: libc, cxx: stdlibxx });
  return { mention: (name) => libraries.mention(name) };
}

/** Which run-time routines go where no code calls them: with all libraries among the inputs, nobody else does. */
function droppableRoutines(options: DriverOptions): Pick<LinkOptions, "droppable"> {
  const { codegen, emit, defaultLibs, inputs } = options;
  if (codegen === "llvm" || (emit !== "asm" && emit !== "elf" && emit !== "machine")) return {};
  // The compiler's own need not be among them.
  const isComplete = !defaultLibs && namesCompilersLibrary(inputs);
  if (defaultLibs && !namesLibraries(inputs)) return {};
  return { droppable: (name) => isRoutine(name, isComplete) };
}

function linkOptions(options: DriverOptions, read: ReadFile): LinkOptions {
  const { shared, relocatable, noUndefined } = options;
  const textOf = (file: string): string => textOfBytes(read(file));
  // One name that is no UTF-8 makes the whole file such; of the others each is what it is elsewhere.
  const alone = (name: string): string => textOfBytes(bytesOfText(name));
  const listed = (files: readonly string[]): string[] =>
    files.flatMap((file) => parseExportList(textOf(file), file).map(alone));
  const replaceable = [
    ...options.exportDynamicSymbol,
    ...listed([...options.exportDynamicSymbolList, ...options.dynamicList]),
  ];
  const scripts = options.versionScript.map((file) => parseVersionScript(textOf(file), file));
  const symbols = scriptSymbols(options, textOf);
  return {
    output: relocatable ? "relocatable" : shared ? "shared" : "executable",
    entry: shared || relocatable ? "" : options.entry,
    // Linkers start at `_start` where nobody says otherwise.
    ...(shared || relocatable || options.entryGiven ? {} : { startsAt: alone(symbols.entry ?? "_start") }),
    requireMain: noUndefined && !shared && !relocatable,
    noUndefined: noUndefined && !relocatable,
    allowMultipleDefinition: options.allowMultipleDefinition,
    exports: [...options.export, ...listed(options.exportList), ...replaceable],
    undefined: [...options.undefined, ...symbols.mentioned.map(alone)],
    undefinedGlobs: options.undefinedGlob,
    exportDynamic: options.exportDynamic,
    symbolicFunctions: options.symbolicFunctions || options.dynamicList.length > 0,
    replaceable,
    excludeLibs: options.excludeLibs,
    wholeProgramVisibility: options.ltoWholeProgramVisibility,
    wrap: options.wrap,
    redefined: symbols.assigned.map(alone),
    keptSections: symbols.kept,
    ...(options.codegen === "llvm" || options.emit === "bitcode" ? { callable: isLibraryCallOfLlvm } : {}),
    errorLimit: options.errorLimit,
    keepOrigins: options.sizeReport !== null || options.passes.verifyEach,
    keepDebug: !options.stripDebug,
    ...mentionOf(options),
    ...droppableRoutines(options),
    ...(scripts.length === 0
      ? {}
      : {
          versions: {
            global: scripts.flatMap((script) => script.global.map(alone)),
            local: scripts.flatMap((script) => script.local.map(alone)),
          },
        }),
  };
}
