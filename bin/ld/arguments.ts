/**
 * A linker's command line, read as far as this stand-in must know it: which words are inputs and libraries, and which
 * options take the next word as their value. Everything goes on to the real linker as it came, but for what only
 * LLVM's plug-in would read. Source: GNU ld's manual, "Command-line Options".
 */
import { InputError } from "../../lto/ir/errors.js";
import { namesWithValue, writtenOption } from "../host/linker-table.js";
import { ownNamesWithValue, ownOptionOf } from "../lto/own-options.js";

/** Options, without dashes, whose value may be the next word. */
// biome-ignore format: a table
const separate = new Set([
  "o", "output", "e", "entry", "u", "undefined", "require-defined", "L", "library-path", "l", "library", "m", "z", "T",
  "script", "dT", "default-script", "h", "soname", "I", "dynamic-linker", "rpath", "rpath-link", "y", "trace-symbol",
  "Y", "R", "just-symbols", "f", "auxiliary", "F", "filter", "A", "architecture", "b", "format", "oformat", "a", "c",
  "mri-script", "G", "O", "P", "defsym", "Map", "init", "fini", "plugin", "plugin-opt", "version-script", "dynamic-list",
  "wrap", "export-dynamic-symbol", "export-dynamic-symbol-list", "exclude-libs", "sysroot", "image-base",
  "section-start", "Tdata", "Tbss", "Ttext", "Ttext-segment", "Tldata-segment", "Trodata-segment",
  "retain-symbols-file", "assert", "audit", "depaudit", "task-link", "dependency-file", "package-metadata",
  "section-ordering-file", "gpsize", ...namesWithValue, ...ownNamesWithValue.filter((name) => writtenOption(`--${name}`) === null),
]);

/** Of these, those whose value may follow in the same word. */
const joined = /^-([oeuLlmzThIyYRfFAbcGOP])(.+)$/;

export interface LinkerItem {
  readonly words: readonly string[];
  readonly kind: "input" | "library" | "option";
  /** The path, the name after `-l`, or the value of an option. */
  readonly value: string;
  /** An option's name without dashes. */
  readonly name: string;
}

/** @throws InputError when an option lacks its value */
export function parseLinkerArguments(words: readonly string[]): LinkerItem[] {
  const items: LinkerItem[] = [];
  for (let i = 0; i < words.length; i++) {
    const word = words[i]!;
    if (word === "-" || !word.startsWith("-")) {
      items.push({ words: [word], kind: "input", value: word, name: "" });
      continue;
    }
    const equals = /^--?([^=]+)=(.*)$/s.exec(word);
    let [name, value]: [string, string] =
      equals === null ? [word.replace(/^--?/, ""), ""] : [equals[1]!, equals[2]!];
    let taken = [word];
    if (equals === null && separate.has(name)) {
      if (i + 1 === words.length) throw new InputError(`argument to '${word}' is missing`);
      value = words[++i]!;
      taken = [word, value];
    } else if (!isLongOption(word)) {
      const match = joined.exec(word);
      if (match !== null) [name, value] = [match[1]!, match[2]!];
    }
    const kind = name === "l" || name === "library" ? "library" : "option";
    items.push({ words: taken, kind, value, name });
  }
  return items;
}

/** Long options may have one dash; of those with a short option's letter in front these matter here. */
const isLongOption = (word: string): boolean =>
  word.startsWith("--") ||
  (word.length > 2 && (writtenOption(word) !== null || ownOptionOf(word) !== null)) ||
  /^-(?:pie|plugin|plugin-opt|shared|static|export-dynamic|entry|fini|init|emit-relocs|eh-frame-hdr|enable-new-dtags|omagic|relocatable|relax|pic-executable|push-state|pop-state|undefined|require-defined|library|error-limit|map|hash-style|build-id|lto|mllvm|flto|export-dynamic-symbol|library-path|output|oformat|fatal-warnings|as-needed)/.test(
    word,
  );
