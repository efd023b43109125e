/**
 * Link mode, so that the driver can stand where a Makefile expects a C compiler: sources are compiled to IR
 * objects, tsc-lto makes one assembly file of all IR, and `cc` links that with what is native.
 *
 * tsc-lto must see the native inputs too, libraries included: a function that only native code calls (a `malloc` of
 * the program's own, called by the C library) must keep its name. What clang leaves to the linker goes to `cc`
 * word by word.
 */
import * as fs from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { isArchive, readArchive } from "../../formats/archive.js";
import { isElf, readElf } from "../../formats/elf.js";
import { isObject } from "../../formats/object/index.js";
import type { Input, LinkItem } from "../../frontend/clang/command-line.js";
import { isBitcode } from "../../frontend/llvm/bitcode.js";
import { InputError } from "../../lto/ir/errors.js";
import { ownPackage } from "../package.js";
import { type Compilation, compileAll, inputWord, type Session } from "./compile.js";
import { type Host, report } from "./host.js";
import { findLibraries } from "./libraries.js";
import { runTool } from "./tools.js";

const ltoProgram = (): string => join(ownPackage().directory, "bin/tsc-lto");

/** The exit code of the first step that fails, else 0. */
export async function linkProgram(session: Session): Promise<number> {
  const directory = fs.mkdtempSync(join(tmpdir(), "tsc-cc-"));
  const remove = () => fs.rmSync(directory, { recursive: true, force: true });
  process.on("exit", remove);
  try {
    return await new Linking(session, directory).run();
  } finally {
    process.off("exit", remove);
    remove();
  }
}

/**
 * What an input of the link step holds: `both` is an archive of IR and native members, `other` what only the linker
 * understands (its scripts) or complains of.
 */
type Contents = "ir" | "native" | "both" | "other";

class Linking {
  private readonly host: Host;

  constructor(
    private readonly session: Session,
    private readonly directory: string,
  ) {
    this.host = session.host;
  }

  async run(): Promise<number> {
    const { command } = this.session;
    const objects = new Map<Input, string>();
    const compilations = command.inputs
      .filter((input) => input.kind !== "object")
      .map((input, i): Compilation => {
        const output = join(this.directory, `${i}.o`);
        objects.set(input, output);
        return { input, output, namedAfter: command.output ?? defaultName(input) };
      });
    const compiled = compilations.length === 0 ? 0 : await compileAll(this.session, compilations);
    if (compiled !== 0) return compiled;
    const items = await findLibraries(command.link, this.host);
    const pathOf = (item: LinkItem): string | undefined =>
      "input" in item ? (objects.get(item.input) ?? item.input.path) : item.library;
    const contents = new Map<LinkItem, Contents>();
    for (const item of items) {
      const path = pathOf(item);
      if (path !== undefined) contents.set(item, contentsOf(resolve(this.host.cwd, path)));
    }
    const assembly = join(this.directory, "program.s");
    const kinds = [...contents.values()];
    if (kinds.includes("ir") || kinds.includes("both")) {
      const exitCode = await this.optimise(this.ltoInputs(items, contents, pathOf), assembly);
      if (exitCode !== 0) return exitCode;
    }
    return this.link(items, contents, pathOf, assembly);
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
      const kind = contents.get(item);
      if (kind !== undefined && kind !== "other") words.push(inputWord(pathOf(item)!));
    }
    return words;
  }

  private async optimise(inputs: readonly string[], assembly: string): Promise<number> {
    const { command } = this.session;
    const args = [
      ...ltoOptions(command.link),
      ...(command.jobs === undefined ? [] : ["-j", String(command.jobs)]),
      ...(command.verbose ? ["-v"] : []),
      "-o",
      assembly,
      ...inputs,
    ];
    return this.tool(process.execPath, [ltoProgram(), ...args]);
  }

  private async link(
    items: readonly LinkItem[],
    contents: ReadonlyMap<LinkItem, Contents>,
    pathOf: (item: LinkItem) => string | undefined,
    assembly: string,
  ): Promise<number> {
    const { command } = this.session;
    const words: string[] = [];
    let placed = false;
    for (const item of items) {
      const kind = contents.get(item);
      if ((kind === "ir" || kind === "both") && !placed) {
        // The program takes the place of its first part: archives behind it are searched for what it needs.
        words.push(assembly);
        placed = true;
      }
      if (kind === "ir") continue;
      if ("words" in item)
        words.push(...item.words.map((w) => (w === "-nopie" || w === "-no_pie" ? "-no-pie" : w)));
      else words.push(pathOf(item)!);
    }
    return this.tool("cc", [
      ...(command.verbose ? ["-v"] : []),
      ...(command.output === undefined ? [] : ["-o", command.output]),
      ...words,
    ]);
  }

  private async tool(path: string, args: readonly string[]): Promise<number> {
    const result = await runTool(path, args, this.host, { live: true });
    if (result.error !== undefined) report(this.host, "error", result.error);
    return result.exitCode;
  }
}

/** Options of the linker that hold for the inputs behind them, and mean the same to tsc-lto. */
const positional = /^--?(?:(?:no-)?whole-archive|start-lib|end-lib|push-state|pop-state)$/;

/** Clang's name for the object of an input in the working directory. */
function defaultName(input: Input): string {
  const base = input.path.substring(input.path.lastIndexOf("/") + 1);
  return `${base.replace(/\.[^.]*$/, "")}.o`;
}

function contentsOf(path: string): Contents {
  const bytes = readIfThere(path);
  if (bytes === undefined) return "other";
  if (!isArchive(bytes)) return isIr(bytes) ? "ir" : isElf(bytes) ? "native" : "other";
  let ir = false;
  let native = false;
  for (const member of readArchive(bytes, path).members) {
    const data = member.bytes ?? readIfThere(resolve(path, "..", member.path!));
    if (data !== undefined && isIr(data)) ir = true;
    else native = true;
  }
  return ir ? (native ? "both" : "ir") : "native";
}

function readIfThere(path: string): Uint8Array | undefined {
  try {
    return fs.readFileSync(path);
  } catch {
    return undefined;
  }
}

function isIr(bytes: Uint8Array): boolean {
  if (isObject(bytes) || isBitcode(bytes)) return true;
  try {
    return isElf(bytes) && readElf(bytes, "").fatBitcode !== null;
  } catch (e) {
    // Malformed, or for another machine: tsc-lto and the linker will say so.
    if (e instanceof InputError) return false;
    throw e;
  }
}

/** What the link step's words mean to tsc-lto. */
export function ltoOptions(items: readonly LinkItem[]): string[] {
  const result: string[] = [];
  const words = items.flatMap((item) => ("words" in item ? item.words : []));
  for (let i = 0; i < words.length; i++) {
    const word = words[i];
    if (word === "-shared") result.push("--shared");
    else if (word === "-r") result.push("--relocatable");
    else if (word === "-rdynamic") result.push("--export-dynamic");
    else if (/^-(no-pie|nopie|no_pie|static)$/.test(word)) result.push("--relocation-model", "static");
    else if (/^-(pie|static-pie)$/.test(word)) result.push("--relocation-model", "pie");
    else if (word === "-u") result.push("--undefined", words[++i]);
    else if (word === "-e") result.push("--entry", words[++i]);
  }
  const linker = linkerWords(words);
  for (let i = 0; i < linker.length; i++) {
    // The linker takes its long options with one dash or two, and a value as `=value` or as the next word.
    const [, name, joined] = /^--?([^=]+)(?:=(.*))?$/.exec(linker[i]) ?? [];
    const value = () => joined ?? linker[++i] ?? "";
    if (name === "export-dynamic" || name === "E") result.push("--export-dynamic");
    else if (name === "wrap") result.push("--wrap", value());
    else if (name === "undefined" || name === "u" || name === "require-defined")
      result.push("--undefined", value());
    else if (name === "entry" || name === "e") result.push("--entry", value());
    else if (name === "export-dynamic-symbol") result.push("--export", value());
    else if (name === "dynamic-list" || name === "export-dynamic-symbol-list")
      result.push("--export-list", value());
    else if (name === "version-script") result.push("--version-script", value());
    else if (name === "init" || name === "fini") result.push("--undefined", value());
    else if (name === "defsym")
      for (const symbol of value()
        .replace(/^[^=]*=/, "")
        .match(/[A-Za-z_.$][\w.$]*/g) ?? [])
        result.push("--undefined", symbol);
  }
  return result;
}

/** The words that go to the linker itself, through `-Wl,` and `-Xlinker`. */
function linkerWords(words: readonly string[]): string[] {
  return words.flatMap((word, i) => {
    if (word.startsWith("-Wl,")) return word.substring(4).split(",");
    if (word.startsWith("--for-linker=")) return [word.substring("--for-linker=".length)];
    const isValue = words[i - 1] === "-Xlinker" || words[i - 1] === "--for-linker";
    return isValue ? [word] : [];
  });
}
