/** What options of the system's linker mean to tsc-lto. */
import { InputError } from "../../lto/ir/errors.js";
import type { Contents } from "./contents.js";

/** Options that hold for the inputs after them, and mean the same to tsc-lto. */
export const positional = /^--?(?:(?:no-)?whole-archive|start-lib|end-lib|push-state|pop-state)$/;

/** A path that cannot be taken for an option. */
export const inputWord = (path: string): string =>
  path !== "-" && path.startsWith("-") ? `./${path}` : path;

/** How tsc-lto is given a file of the link step: not at all, where only the system's linker understands it. */
export function inputWords(path: string, contents: Contents | undefined): string[] {
  if (contents === undefined || contents === "other") return [];
  return [contents === "script" ? `--script=${path}` : inputWord(path)];
}

/**
 * Names of options, of lld's, of LLVM's plug-in's and of our own, that the system's linker does not know: they are tsc-lto's
 * alone.
 */
export const forOptimizer =
  /^(?:error-unsupported|(?:no-)?(?:fat-lto-objects|embedded-bitcode)|(?:lto-)?whole-program-visibility|opt-remarks-(?:filename|passes)|size-report|(?:thinlto-)?cache-(?:dir|size|policy)|tsc-lto)(?:=|$)/;

/** Words for tsc-lto, with the program's name for `%` in that of its size report, so that one setting does for a whole build. */
export const namedAfter = (words: readonly string[], output: string): string[] =>
  words.map((word) => (word.startsWith("--size-report=") ? word.replace("%", () => output) : word));

/** A script's name after `-T` in one word; of the rest `-Ttext` and its like have addresses as their values. */
export const scriptOption = /^-T(?!text|data|bss|ldata|rodata)./;

/**
 * @param words for the linker itself: GNU's spelling, long options with one dash or two
 * @throws InputError for `--tsc-lto=` with what a link step has words of its own for
 */
export function linkerOptions(words: readonly string[]): string[] {
  const result: string[] = [];
  for (let i = 0; i < words.length; i++) {
    // A value comes as `=value` or as the next word.
    const [, name, joined] = /^--?([^=]+)(?:=(.*))?$/.exec(words[i]!) ?? [];
    const value = () => joined ?? words[++i] ?? "";
    switch (name) {
      case "shared":
      case "Bshareable":
        result.push("--shared");
        break;
      case "r":
      case "relocatable":
        result.push("--relocatable");
        break;
      case "pie":
      case "pic-executable":
        result.push("--relocation-model", "pie");
        break;
      case "no-pie":
        result.push("--relocation-model", "static");
        break;
      case "export-dynamic":
      case "E":
        result.push("--export-dynamic");
        break;
      case "opt-remarks-filename":
      case "opt-remarks-passes":
      case "size-report":
        result.push(`--${name}=${value()}`);
        break;
      case "fat-lto-objects":
      case "no-fat-lto-objects":
      case "no-embedded-bitcode":
        result.push(`--${name}`);
        break;
      case "embedded-bitcode":
        result.push(joined === undefined ? "--embedded-bitcode=all" : `--embedded-bitcode=${joined}`);
        break;
      case "cache-dir":
      case "thinlto-cache-dir":
        result.push("--cache-dir", value());
        break;
      case "cache-size":
        result.push("--cache-size", value());
        break;
      case "cache-policy":
      case "thinlto-cache-policy":
        result.push(...cachePolicy(value()));
        break;
      case "tsc-lto":
        result.push(ownOption(value()));
        break;
      case "allow-multiple-definition":
      case "zmuldefs":
        result.push("--allow-multiple-definition");
        break;
      case "z":
        if (value() === "muldefs") result.push("--allow-multiple-definition");
        break;
      case "s":
      case "strip-all":
      case "S":
      case "strip-debug":
        result.push("--strip-debug");
        break;
      case "wrap":
        result.push("--wrap", value());
        break;
      case "undefined":
      case "u":
      case "require-defined":
      case "init":
      case "fini":
        result.push("--undefined", value());
        break;
      case "entry":
      case "e":
        result.push("--entry", value());
        break;
      case "export-dynamic-symbol":
        result.push("--export", value());
        break;
      case "dynamic-list":
      case "export-dynamic-symbol-list":
        result.push("--export-list", value());
        break;
      case "exclude-libs":
        result.push("--exclude-libs", value());
        break;
      case "lto-whole-program-visibility":
      case "whole-program-visibility":
        result.push("--lto-whole-program-visibility");
        break;
      case "version-script":
        result.push("--version-script", value());
        break;
      case "defsym":
        result.push(`--defsym=${value()}`);
        break;
      case "T":
      case "dT":
      case "script":
      case "default-script":
        result.push("--script", value());
        break;
      default:
        if (scriptOption.test(words[i]!)) result.push("--script", words[i]!.substring(2));
    }
  }
  return result;
}

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
