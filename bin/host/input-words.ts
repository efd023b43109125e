/** Files of a step on the command line of another program. */
import type { Contents } from "./contents.js";

/** A path that cannot be taken for an option. */
export const inputWord = (path: string): string =>
  path !== "-" && path.startsWith("-") ? `./${path}` : path;

/** How tsc-lto is given a file of the link step: not at all, where only the system's linker understands it. */
export function inputWords(path: string, contents: Contents | undefined): string[] {
  if (contents === undefined || contents === "other") return [];
  return [contents === "script" ? `--script=${path}` : inputWord(path)];
}
