/**
 * `ld.tsc-lto`: stands where a compiler driver expects its linker (`clang -fuse-ld=`, `gcc -B`). What is IR among the
 * inputs becomes one native object, in the place of the first of them; then the system's linker runs with all the
 * options it was given. Without IR, only that.
 */
import { copyFileSync, existsSync, readdirSync, realpathSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { expandResponseFiles } from "../../frontend/clang/response-file.js";
import { InputError } from "../../lto/ir/errors.js";
import { isTarget } from "../../lto/targets-by-triple.js";
import { type Contents, contentsOf, embeddedIrOf, tripleOfFiles } from "../host/contents.js";
import { reportFault } from "../host/fault.js";
import { type Host, processHost, refuseLostBytes } from "../host/host.js";
import { inputWords } from "../host/input-words.js";
import { removeTemporary, temporaryDirectory, temporaryFile } from "../host/interrupts.js";
import { readTextFile, realFiles } from "../host/libraries.js";
import {
  dependsOnLinker,
  linkerOptions,
  linkOutputs,
  namedAfter,
  positional,
  unknownLlvmOptions,
  wantedMap,
  withReport,
  wordsForLinker,
} from "../host/linker-options.js";
import type { Flavour } from "../host/linker-table.js";
import { flavourOf } from "../host/linkers.js";
import { compileBitcode, findLlvm } from "../host/llvm-codegen.js";
import {
  filesIn,
  isObjectFile,
  LazyInputs,
  lazyArchive,
  nativeMembers,
  WholeArchive,
} from "../host/native-members.js";
import { Pipes } from "../host/pipes.js";
import { foldersOnPath, isProgram } from "../host/programs.js";
import { runTool } from "../host/tools.js";
import { findLibrary } from "../lto/operands.js";
import { ownPackage } from "../package.js";
import { type LinkerItem, parseLinkerArguments } from "./arguments.js";

/** Where GNU ld looks when no `-L` helps. */
const systemDirectories = [
  "/usr/local/lib",
  "/usr/lib/x86_64-linux-gnu",
  "/lib/x86_64-linux-gnu",
  "/usr/lib",
  "/lib",
];

/** The exit code: 0, or 1 for any error, as linkers have it. */
export async function main(args: readonly string[], host: Host = processHost()): Promise<number> {
  try {
    return await link(args, host);
  } catch (e) {
    if (e instanceof InputError) {
      const file = e.file === undefined ? "" : `${e.file}: `;
      host.stderr(Buffer.from(`ld.tsc-lto: error: ${file}${e.message}\n`));
    } else reportFault("ld.tsc-lto", e, host);
    return 1;
  }
}

async function link(args: readonly string[], host: Host): Promise<number> {
  refuseLostBytes(args);
  let directory: string | undefined;
  try {
    return await linkFiles(args, host, () => {
      directory ??= temporaryDirectory(host.env["TMPDIR"] || "/tmp", "ld.tsc-lto-");
      return directory;
    });
  } finally {
    if (directory !== undefined) removeTemporary(directory);
  }
}

/** @param temporary a directory for this link's files */
async function linkFiles(args: readonly string[], host: Host, temporary: () => string): Promise<number> {
  const pipes = new Pipes(host.cwd, temporary);
  const words = expandResponseFiles(args, (path) => readTextFile(resolve(host.cwd, path))).map((word) =>
    pipes.word(word),
  );
  const items = parseLinkerArguments(words);
  if (items.some(({ name }) => name === "version" || name === "v" || name === "V")) {
    // Build systems look for these two names.
    host.stdout(Buffer.from(`tsc-lto ${ownPackage().version} (compatible with LLD / GNU linkers)\n`));
    if (!items.some(({ kind }) => kind === "input")) return 0;
  }
  const files = filesOf(items, host);
  const contents = new Map<string, Contents>();
  const policy = embeddedIrOf(items.flatMap((item) => linkerOptions(item.words)));
  for (const path of [...files.values()].flat())
    contents.set(path, contentsOf(resolve(host.cwd, path), policy));
  const output = items.findLast(({ name }) => name === "o" || name === "output")?.value ?? "a.out";
  const refuses = items.some(({ name }) => name === "error-unsupported");
  const natives = join(temporary(), "native");
  const own = namedAfter(ltoArguments(items, files, contents), output);
  for (const option of unknownLlvmOptions(items.flatMap(({ words: each }) => each)))
    host.stderr(
      Buffer.from(`ld.tsc-lto: warning: -mllvm ${option}: not an option that means something here\n`),
    );
  const withNatives = refuses ? own : ["--native-modules", natives, ...own];
  /** The object is of code that we generated. */
  let isOwn = false;
  const linkNative = async (objects: readonly string[], linker = realLinker(host)): Promise<number> => {
    const flavour = items.some(({ words: each }) => dependsOnLinker(each))
      ? await flavourOf(linker, host)
      : "gnu";
    const link = await realArguments(items, files, contents, objects, flavour, {
      members: (archive) => nativeMembers(resolve(host.cwd, archive), temporary(), policy),
      archive: (inputs) => lazyArchive(inputs, temporary(), host),
      isObject: (path) => isObjectFile(resolve(host.cwd, path)),
    });
    if (isOwn && host.env["TSC_LTO_RECORD"] !== undefined) {
      const { recordLink } = await import("../host/link-record.js");
      const [part, ...nativeModules] = objects;
      const record = { optimise: own, linker, link, part: part!, nativeModules, assembled: true, output };
      recordLink(record, host);
    }
    const { exitCode, error } = await runTool(linker, link, host, {
      live: true,
      output: resolve(host.cwd, output),
    });
    if (error !== undefined) throw new InputError(error);
    return exitCode === 0 ? 0 : 1;
  };
  if (![...contents.values()].some((kind) => kind === "ir" || kind === "both")) return linkNative([]);
  const triple = tripleOfFiles(
    [...contents.keys()].map((path) => resolve(host.cwd, path)),
    policy,
  );
  if (own.includes("--codegen=llvm") || (triple !== null && !isTarget({ triple })))
    return linkThroughLlvm(withNatives, items, triple ?? "", temporary(), host, (object, linker) =>
      linkNative([object, ...filesIn(natives)], linker),
    );
  refuseForeign(items);
  const outputs = linkOutputs(items.flatMap(({ words: each }) => each));
  const kept = (suffix: string): string => resolve(host.cwd, `${output}${suffix}`);
  if (outputs.emit === "llvm") {
    const bitcode = await optimised(["--emit=bitcode", ...own], host);
    if (bitcode !== null) writeFileSync(kept(""), bitcode);
    return bitcode === null ? 1 : 0;
  }
  const saving = outputs.saveTemps ? [`--save-temps=${output}`] : [];
  const map = wantedMap(items.flatMap((item) => canonical(item)));
  const reported = map === null ? null : withReport(withNatives, () => join(temporary(), "map.json"));
  const assembly = await optimised([...saving, ...(reported?.words ?? withNatives)], host);
  isOwn = assembly !== null;
  if (assembly === null) return 1;
  if (outputs.emit === "asm" || outputs.saveTemps) writeFileSync(kept(".lto.s"), assembly);
  if (outputs.emit === "asm") return 0;
  const object = temporaryFile(host.env["TMPDIR"] || "/tmp", ".o");
  try {
    const stdin = assembly;
    const assembled = await runTool("as", ["--64", "-o", object, "-"], host, { live: true, stdin });
    if (assembled.error !== undefined) throw new InputError(assembled.error);
    if (assembled.exitCode !== 0) return 1;
    if (outputs.saveTemps) copyFileSync(object, kept(".lto.o"));
    if (outputs.objectPath !== null) copyFileSync(object, resolve(host.cwd, outputs.objectPath));
    const exitCode = await linkNative([object, ...filesIn(natives)]);
    if (exitCode === 0 && map !== null) {
      const { completeMap } = await import("../host/link-map.js");
      completeMap(map, resolve(host.cwd, reported!.report), resolve(host.cwd, output), host);
    }
    return exitCode;
  } finally {
    removeTemporary(object);
  }
}

/** What a driver asks of LLVM's code generator, and modules do not say: dropped, programs would be others. */
const foreign = /^-?-?(emulated-tls|stack-size-section|basic-block-sections)(?!=(?:0|false|none)$)(?:=|$)/;

/** @throws InputError where code is to be as only LLVM's generator makes it */
function refuseForeign(items: readonly LinkerItem[]): void {
  for (const { name, value } of items) {
    const option = name === "mllvm" || name === "plugin-opt" ? foreign.exec(value)?.[1] : undefined;
    if (option !== undefined)
      throw new InputError(
        `unsupported: -f${option}: only the code generator of LLVM does that (--codegen=llvm)`,
      );
  }
}

/** LLVM makes the object of the program, and a linker for its target links that. */
async function linkThroughLlvm(
  own: readonly string[],
  items: readonly LinkerItem[],
  triple: string,
  directory: string,
  host: Host,
  linkNative: (object: string, linker: string) => Promise<number>,
): Promise<number> {
  const llvm = await findLlvm(null, undefined, triple, host);
  const program = await optimised(["--emit=bitcode", `--bitcode-version=${llvm.version}`, ...own], host);
  if (program === null) return 1;
  const bitcode = join(directory, "program.bc");
  const object = join(directory, "program.o");
  writeFileSync(bitcode, program);
  const { exitCode, error } = await compileBitcode(llvm, bitcode, object, codeWords(items, triple), host);
  if (error !== undefined) throw new InputError(error);
  return exitCode === 0 ? linkNative(object, linkerFor(triple, host)) : 1;
}

/**
 * Options of LLVM's that every tool of it registers but clang, which has options of its own for them; those that say what
 * modules say, too, are left out.
 */
const registered =
  /^(?:march|mattr|relocation-model|thread-model|code-model|large-data-threshold|exception-model|filetype|frame-pointer|enable-no-trapping|enable-tlsdesc|emulated-tls|relax-elf-relocations|use-ctors|tls-size|unique-|meabi|debug|strict-dwarf|emit-|stack|trap-func|swift-|align-loops|dwarf|jmc|split-machine|xcoff|basic-block|pass-through|jobs|thinlto|save-temps|sample-profile|stats-file|opt-remarks|new-pass-manager|lto-|cs-profile|O|plugin|wrap|obj-path|tsc)/;

/** Whether a plug-in is loaded that is not LLVM's. */
const hasForeignPlugin = (items: readonly LinkerItem[]): boolean =>
  items.some(({ name, value }) => name === "plugin" && !/LLVMgold/.test(value));

/** What a driver passes a linker's plug-in of LLVM, as clang's own options. */
function codeWords(items: readonly LinkerItem[], triple: string): string[] {
  const isForLlvm = !hasForeignPlugin(items);
  return items.flatMap(({ name, value }) => {
    if (name === "mllvm") return ["-mllvm", value];
    if (name !== "plugin-opt" || !isForLlvm) return [];
    const [, option, text = ""] = /^-?([^=]+)(?:=(.*))?$/.exec(value) ?? [];
    if (foreign.test(value)) return [`-f${option}${text === "" || text === "true" ? "" : `=${text}`}`];
    switch (option) {
      case "mcpu":
        return [`${/^(?:x86_64|amd64|i[3-6]86)-/.test(triple) ? "-march" : "-mcpu"}=${text}`];
      case "target-abi":
        return [`-mabi=${text}`];
      case "float-abi":
        return [`-mfloat-abi=${text}`];
      case "function-sections":
      case "data-sections":
        return text === "0" ? [] : [`-f${option}`];
      default:
        return value.startsWith("-") && !registered.test(option ?? "") ? ["-mllvm", value] : [];
    }
  });
}

/** TSC_LTO_LD, else the newest lld on PATH, else GNU's linker for the target. @throws InputError when there is none */
function linkerFor(triple: string, host: Host): string {
  const named = host.env["TSC_LTO_LD"] ?? "";
  if (named !== "") return named;
  const architecture = triple.split("-", 1)[0]!.replace(/^thumb.*|^arm.*/, "arm");
  let best = "";
  let rank = -1;
  for (const directory of foldersOnPath(host)) {
    let names: string[] = [];
    try {
      names = readdirSync(directory);
    } catch {
      // Not there.
    }
    for (const name of names) {
      const version = /^ld\.lld(?:-(\d+))?$/.exec(name);
      const isGnu = name.startsWith(`${architecture}-`) && /-ld$/.test(name);
      const own = version === null ? (isGnu ? 0 : -1) : Number(version[1] ?? 1000);
      if (own > rank) [best, rank] = [join(directory, name), own];
    }
  }
  if (best === "")
    throw new InputError(`no linker for '${triple}' on PATH (ld.lld, or ${architecture}-…-ld; TSC_LTO_LD)`);
  return best;
}

/** The assembly of the program, or null after an error that was reported. It needs no file: see interrupts.ts. */
async function optimised(args: readonly string[], host: Host): Promise<Uint8Array | null> {
  const { main: optimise } = await import("../lto/main.js");
  const parts: Uint8Array[] = [];
  const code = await optimise(["-o", "-", ...args], {
    cwd: host.cwd,
    env: host.env,
    workers: host.workers,
    get colour() {
      return host.colour;
    },
    get columns() {
      return host.columns ?? null;
    },
    stdin: () => host.stdin(),
    stdout: (bytes) => parts.push(bytes),
    stderr: (bytes) => host.stderr(bytes),
    fault: () => host.fault?.(),
  });
  return code === 0 ? Buffer.concat(parts) : null;
}

/** The files after inputs and libraries, as far as they are found; the real linker complains of the rest. */
function filesOf(items: readonly LinkerItem[], host: Host): Map<LinkerItem, string[]> {
  const named = items.filter(({ name }) => name === "L" || name === "library-path").map(({ value }) => value);
  const directories = [...named, ...systemDirectories].map((directory) => resolve(host.cwd, directory));
  const files = new Map<LinkerItem, string[]>();
  let isStatic = false;
  for (const item of items) {
    const { kind, name, value } = item;
    if (/^(static|Bstatic|dn|non_shared|static-pie)$/.test(name)) isStatic = true;
    else if (/^(Bdynamic|dy|call_shared)$/.test(name)) isStatic = false;
    else if (kind === "input") files.set(item, existsSync(resolve(host.cwd, value)) ? [value] : []);
    else if (kind === "library") {
      const operand = { name: value, isLibrary: true, wholeArchive: false, lazy: false, static: isStatic };
      try {
        files.set(item, realFiles(findLibrary(operand, directories)));
      } catch (e) {
        if (!(e instanceof InputError)) throw e;
        files.set(item, []);
      }
    }
  }
  return files;
}

function ltoArguments(
  items: readonly LinkerItem[],
  files: ReadonlyMap<LinkerItem, readonly string[]>,
  contents: ReadonlyMap<string, Contents>,
): string[] {
  // A program without the C library's start-up code has its own.
  const result: string[] = ["--undefined", "_start"];
  // A linker has no libraries but those it is given; those that are found elsewhere may be the default ones.
  if (items.every((item) => item.kind !== "library" || files.get(item)!.length > 0))
    result.push("--no-default-libs");
  for (const item of items) {
    const { kind, words } = item;
    if (kind !== "option") {
      for (const path of files.get(item)!) result.push(...inputWords(path, contents.get(path)));
    } else if (positional.test(words[0]!)) result.push(words[0]!);
    else result.push(...linkerOptions(canonical(item)));
  }
  return result;
}

/**
 * The words for the real linker: the objects in the place of the first IR input, the other IR left out.
 */
async function realArguments(
  items: readonly LinkerItem[],
  files: ReadonlyMap<LinkerItem, readonly string[]>,
  contents: ReadonlyMap<string, Contents>,
  objects: readonly string[],
  flavour: Flavour,
  { members, archive, isObject }: Rearranging,
): Promise<string[]> {
  // GCC's plug-in may have objects of its own to read; LLVM's has nothing left to do.
  const keepsPlugin = hasForeignPlugin(items);
  const result: string[] = [];
  const wholeArchive = new WholeArchive();
  const lazy = new LazyInputs();
  let waiting: string[] = [];
  let placed = false;
  for (const item of items) {
    const { name, words } = item;
    wholeArchive.read(words[0]!);
    lazy.read(words[0]!);
    if (!lazy.isOn && waiting.length > 0) {
      result.push(await archive(waiting));
      waiting = [];
    }
    if ((name === "plugin" || name === "plugin-opt") && !keepsPlugin) continue;
    const kinds = (files.get(item) ?? []).map((path) => contents.get(path));
    if (!placed && (kinds.includes("ir") || kinds.includes("both"))) {
      result.push(...objects);
      placed = true;
    }
    if (kinds.length > 0 && kinds.every((kind) => kind === "ir")) continue;
    const [path] = files.get(item) ?? [];
    if (
      lazy.isOn &&
      item.kind === "input" &&
      path !== undefined &&
      contents.get(path) === "native" &&
      isObject(path)
    ) {
      waiting.push(path);
      continue;
    }
    if (wholeArchive.isOn && kinds.includes("both"))
      for (const path of files.get(item)!) result.push(...members(path));
    else if (item.kind !== "option" || name === "plugin-opt") result.push(...words);
    else result.push(...wordsForLinker(words, flavour).flat());
  }
  if (waiting.length > 0) result.push(await archive(waiting));
  return result;
}

/** What is made of inputs that the linker cannot have as they are: files. */
interface Rearranging {
  /** The native members of an archive. */
  members(archive: string): readonly string[];
  /** Whether a native file may be in an archive. */
  isObject(path: string): boolean;
  /** An archive of objects. */
  archive(objects: readonly string[]): Promise<string>;
}

/** An option's words, of which a short name and its value are two. */
const canonical = ({ words, name, value }: LinkerItem): readonly string[] =>
  name.length === 1 && words.length === 1 && value !== "" ? [`-${name}`, value] : words;

/** TSC_LTO_LD, else the first `ld` on PATH that is not this program under another name. */
function realLinker(host: Host): string {
  const named = host.env["TSC_LTO_LD"] ?? "";
  if (named !== "") return named;
  const own = realpathSync(join(ownPackage().directory, "bin/tsc-ld"));
  for (const directory of [...foldersOnPath(host), "/usr/bin"]) {
    const path = join(directory, "ld");
    if (isProgram(path) && realpathSync(path) !== own) return path;
  }
  throw new InputError("no linker 'ld' on PATH");
}
