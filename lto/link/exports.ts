/** Sets of symbol names given by globs, as on the command line and in export lists. */
import { InputError } from "../ir/errors.js";

/**
 * The patterns of an export list file: one name or glob a line, `#` starts a comment; a trailing `;` and
 * the `{ … };` around a dynamic list are accepted.
 * @throws InputError on a line that is neither
 */
export function parseExportList(text: string, file: string): string[] {
  const patterns: string[] = [];
  text.split("\n").forEach((line, index) => {
    for (const raw of line.replace(/#.*/, "").split(/[;{}]/)) {
      const word = raw.trim().replace(/^"(.*)"$/, "$1");
      if (word === "") continue;
      if (/\s/.test(word)) throw new InputError(`line ${index + 1}: '${word}' is not a symbol name`, file);
      patterns.push(word);
    }
  });
  return patterns;
}

/** Compiles globs with `*`, `?` and `[…]` to one test; plain names are looked up, not matched. */
export function compilePatterns(patterns: readonly string[]): (name: string) => boolean {
  const names = new Set<string>();
  const globs: RegExp[] = [];
  for (const pattern of patterns)
    if (/[*?[]/.test(pattern)) globs.push(compileGlob(pattern));
    else names.add(pattern);
  return (name) => names.has(name) || globs.some((glob) => glob.test(name));
}

function compileGlob(pattern: string): RegExp {
  let source = "";
  for (let i = 0; i < pattern.length; i++) {
    const c = pattern[i]!;
    const close = c === "[" ? pattern.indexOf("]", i + 2) : -1;
    if (c === "*") source += ".*";
    else if (c === "?") source += ".";
    else if (close > 0) {
      const inside = pattern.slice(i + 1, close).replace(/[\\\]^]/g, "\\$&");
      source += `[${inside.replace(/^(?:!|\\\^)/, "^")}]`;
      i = close;
    } else source += c.replace(/[.*+?^${}()|[\]\\/]/g, "\\$&");
  }
  try {
    return new RegExp(`^(?:${source})$`, "s");
  } catch {
    throw new InputError(`malformed pattern '${pattern}'`);
  }
}
