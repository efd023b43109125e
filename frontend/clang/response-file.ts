/**
 * `@file` arguments: the words of the file take the argument's place, and may name further files. Quoting is the
 * GNU kind (libiberty's `buildargv`): white space separates words, single and double quotes join them, a backslash
 * takes the next character literally.
 */
import { InputError } from "../../lto/ir/errors.js";

/** Deeper nesting is taken for a file that includes itself. */
const maxDepth = 64;

/**
 * `args` with every `@file` replaced. An argument whose file does not exist stays as it is.
 * @param read contents of a file, or undefined when there is none.
 * @throws InputError when files include each other without end.
 */
export function expandResponseFiles(
  args: readonly string[],
  read: (path: string) => string | undefined,
  depth = 0,
): string[] {
  const result: string[] = [];
  for (const arg of args) {
    const text = arg.length > 1 && arg.startsWith("@") ? read(arg.substring(1)) : undefined;
    if (text === undefined) {
      result.push(arg);
    } else {
      if (depth === maxDepth) throw new InputError("response files include each other", arg.substring(1));
      // Not `push(...words)`: a file may have more words than a call may have arguments.
      for (const word of expandResponseFiles(splitWords(text), read, depth + 1)) result.push(word);
    }
  }
  return result;
}

/** The words of a response file's text. */
export function splitWords(text: string): string[] {
  const words: string[] = [];
  let word: string | undefined;
  let quote = "";
  for (let i = 0; i < text.length; i++) {
    const c = text[i]!;
    if (c === "\\" && i + 1 < text.length) {
      word = (word ?? "") + text[++i];
    } else if (quote !== "") {
      if (c === quote) quote = "";
      else word = (word ?? "") + c;
    } else if (c === '"' || c === "'") {
      quote = c;
      word ??= "";
    } else if (/\s/.test(c)) {
      if (word !== undefined) words.push(word);
      word = undefined;
    } else {
      word = (word ?? "") + c;
    }
  }
  if (word !== undefined) words.push(word);
  return words;
}
