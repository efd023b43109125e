/** What options of the system's linker mean to tsc-lto, and what of them goes on to the linker. */
import { InputError } from "../../lto/ir/errors.js";
import { isKnownLlvmOption } from "../lto/llvm-options.js";
import { ownOptionOf } from "../lto/own-options.js";
import {
  type Flavour,
  type LinkerOption,
  linkerNames,
  pluginOption,
  takesNextWord,
  writtenOption,
} from "./linker-table.js";

/** Options that hold for the inputs after them, and mean the same to tsc-lto. */
export const positional = /^--?(?:(?:no-)?whole-archive|start-lib|end-lib|push-state|pop-state)$/;

/** Words for tsc-lto, with the program's name for `%` in those of its reports, so that one setting does for a whole build. */
export const namedAfter = (words: readonly string[], output: string): string[] =>
  words.map((word) =>
    /^--(?:size-report|opt-remarks-filename)=/.test(word) ? word.replace("%", () => output) : word,
  );

/** A script's name after `-T` in one word; of the rest `-Ttext` and its like have addresses as their values. */
export const scriptOption = /^-T(?!text|data|bss|ldata|rodata)./;

/**
 * A symbol after `-u` and `-e` in one word, unless the word is one of GNU ld's long options, which may have one dash.
 * Source: GNU ld manual, "Command-line Options".
 */
const shortOption =
  /^-(?!(?:undefined|unique|unresolved-symbols|entry|embedded-relocs|emit-relocs|enable-|eh-frame-hdr|end-group|end-lib|error-|exclude-|export-|ur$))[ue]./;

/** Options of clang's plug-in are not the user's: what means nothing here goes without saying. */
type Kind = "table" | "own" | "llvm" | "plugin" | "other";

/** An option, with its value, among a linker's words. */
interface ReadOption {
  readonly kind: Kind;
  /** As it was written: one word or two. */
  readonly words: readonly string[];
  /** Of the table; null for other kinds. */
  readonly row: LinkerOption | null;
  readonly name: string;
  readonly value: string;
}

/** @throws InputError when an option of the table lacks its value */
function readOptions(words: readonly string[]): ReadOption[] {
  const options: ReadOption[] = [];
  for (let i = 0; i < words.length; i++) {
    const word = words[i]!;
    const taken = [word];
    const next = (): string => {
      const value = words[++i];
      if (value === undefined) throw new InputError(`argument to '${word}' is missing`);
      taken.push(value);
      return value;
    };
    const written = writtenOption(word);
    const own = written === null && !linkerNames.has(word.replace(/^--?/, "")) ? ownOptionOf(word) : null;
    if (written !== null) {
      const { row, name } = written;
      const value = written.value ?? (takesNextWord(written) ? next() : "");
      if (name === "mllvm") options.push({ kind: "llvm", words: taken, row, name, value });
      else if (name === "plugin-opt") options.push(pluginRead(taken, value));
      else options.push({ kind: "table", words: taken, row, name, value });
    } else if (own !== null) {
      const value = own.value ?? (own.takesValue ? next() : "");
      options.push({ kind: "own", words: taken, row: null, name: own.name, value });
    } else if (scriptOption.test(word) && !word.startsWith("--")) {
      const row = writtenOption("--script=")!.row;
      options.push({ kind: "table", words: taken, row, name: "script", value: word.substring(2) });
    } else if (shortOption.test(word)) {
      const name = word[1]!;
      options.push({
        kind: "table",
        words: taken,
        row: writtenOption(`-${name}`)!.row,
        name,
        value: word.substring(2),
      });
    } else options.push({ kind: "other", words: taken, row: null, name: "", value: "" });
  }
  return options;
}

function pluginRead(words: readonly string[], value: string): ReadOption {
  const same = pluginOption(value);
  const written = same === null ? null : writtenOption(same);
  if (written === null) return { kind: "plugin", words, row: null, name: "plugin-opt", value };
  return { kind: "table", words, row: written.row, name: written.name, value: written.value ?? "" };
}

/** Options that take back what another one says. */
const denials: ReadonlyMap<string, string> = new Map([
  ["no-lto-whole-program-visibility", "--lto-whole-program-visibility"],
  ["Bno-symbolic", "--symbolic-functions"],
]);
const onceEach: ReadonlySet<string> = new Set(denials.values());

/**
 * What a linker's words mean to tsc-lto.
 * @param words GNU's spelling, long options with one dash or two
 * @throws InputError for what is refused by name, and for `--tsc-lto=` with what a link step has words of its own for
 */
export function linkerOptions(words: readonly string[]): string[] {
  const result: string[] = [];
  for (const { kind, row, name, value, words: written } of readOptions(words)) {
    if (kind === "own") result.push(value === "" ? `--${name}` : `--${name}=${value}`);
    else if (kind === "llvm" || (kind === "plugin" && value.startsWith("-"))) {
      if (isKnownLlvmOption(value)) result.push(`--mllvm=${value}`);
    } else if (kind === "table") {
      if (row!.way === "refused")
        throw new InputError(`unsupported linker option '${written.join(" ")}': ${reason(row!)}`);
      const denied = result.indexOf(denials.get(name) ?? "");
      if (denied >= 0) result.splice(denied, 1);
      result.push(...(row!.own?.(value) ?? []).filter((own) => !onceEach.has(own) || !result.includes(own)));
    }
  }
  return result;
}

const reason = ({ text }: LinkerOption): string => text;

/** Options of LLVM, given by `-mllvm`, that mean nothing here. */
export const unknownLlvmOptions = (words: readonly string[]): string[] =>
  readOptions(words).flatMap(({ kind, value }) =>
    kind === "llvm" && !isKnownLlvmOption(value) ? [value] : [],
  );

/** Whether what goes on depends on the linker. */
export const dependsOnLinker = (words: readonly string[]): boolean =>
  readOptions(words).some(({ row }) => row?.way === "translated");

/**
 * What goes on to a linker, by the place of the first word of each option: of options of two words the place of the second is
 * empty.
 * @throws InputError for what has no words for this linker
 */
export function wordsForLinker(words: readonly string[], flavour: Flavour): string[][] {
  return readOptions(words).flatMap((option) => {
    const empty = option.words.slice(1).map((): string[] => []);
    return [[...forLinker(option, flavour)], ...empty];
  });
}

function forLinker({ kind, row, words, value }: ReadOption, flavour: Flavour): readonly string[] {
  if (kind === "own" || kind === "llvm" || kind === "plugin") return [];
  if (kind === "other" || row!.way === "both") return words;
  if (row!.way !== "translated") return [];
  if (row!.known!.includes(flavour)) return words;
  const other = row!.other!(value);
  if (other !== null) return other;
  throw new InputError(
    `linker option '${words.join(" ")}': ${flavourNames[flavour]} has nothing like it (${row!.text}; -fuse-ld=lld, --ld-path= choose another linker)`,
  );
}

const flavourNames: Readonly<Record<Flavour, string>> = {
  gnu: "GNU ld",
  gold: "GNU gold",
  lld: "lld",
  mold: "mold",
};

/** What is written besides, or instead of the program. */
export interface LinkOutputs {
  readonly emit: "asm" | "llvm" | null;
  readonly saveTemps: boolean;
  readonly objectPath: string | null;
}

export function linkOutputs(words: readonly string[]): LinkOutputs {
  const named = (name: string) => readOptions(words).findLast((option) => option.name === name);
  return {
    emit: named("lto-emit-llvm") !== undefined ? "llvm" : named("lto-emit-asm") !== undefined ? "asm" : null,
    saveTemps: named("save-temps") !== undefined,
    objectPath: named("lto-obj-path")?.value ?? null,
  };
}

/** What is wanted of a map. */
export interface WantedMap {
  /** The file it goes to, with what `--cref` asks for; null: standard output. */
  readonly file: string | null;
  readonly prints: boolean;
  readonly cref: boolean;
}

/** Null where no map is wanted. */
export function wantedMap(words: readonly string[]): WantedMap | null {
  const options = readOptions(words).filter(({ name }) => /^(?:Map|M|print-map|cref)$/.test(name));
  if (options.length === 0) return null;
  const file = options.findLast(({ name }) => name === "Map")?.value ?? null;
  const has = (names: RegExp): boolean => options.some(({ name }) => names.test(name));
  return { file, prints: has(/^(?:M|print-map)$/), cref: has(/^cref$/) };
}

/** The words of a link with a report, and where that is: where the user has it, or else in a file of ours. */
export function withReport(
  words: readonly string[],
  file: () => string,
): { words: readonly string[]; report: string } {
  const given = words.findLast((word) => word.startsWith("--size-report="));
  if (given !== undefined) return { words, report: given.substring("--size-report=".length) };
  const report = file();
  return { words: [...words, `--size-report=${report}`], report };
}
