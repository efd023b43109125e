/** Sets of symbol names given by globs, as on the command line and in export lists. */
import { InputError } from "../ir/errors.js";
import type { VersionScript } from "./input.js";

/**
 * The patterns of an export list file: one name or glob a line, `#` starts a comment; a trailing `;`, C's comments and
 * the `{ … };` around a dynamic list are accepted. What a list names of C++ by its source may be any of its names.
 * @throws InputError on a line that is neither
 */
export function parseExportList(text: string, file: string): string[] {
  const patterns: string[] = [];
  const plain = text
    .replace(/\/\*[\s\S]*?\*\//g, linesOf)
    .replace(/\bextern\s+"C\+\+"\s*\{[^{}]*\}/g, (list) => `;_Z*;${linesOf(list)}`)
    .replace(/\bextern\s+"C"\s*(?=\{)/g, linesOf);
  plain.split("\n").forEach((line, index) => {
    for (const raw of line.replace(/#.*/, "").split(/[;{}]/)) {
      const word = raw.trim().replace(/^"(.*)"$/, "$1");
      if (word === "") continue;
      if (/\s/.test(word)) throw new InputError(`line ${index + 1}: '${word}' is not a symbol name`, file);
      patterns.push(word);
    }
  });
  return patterns;
}

/** As many line ends as a text has, so that errors name lines. */
const linesOf = (text: string): string => ` ${text.replace(/[^\n]/g, "")}`;

/**
 * The globs of a version script (GNU ld's manual, "VERSION Command"); names of versions do not matter here.
 * @throws InputError on text that is none
 */
export function parseVersionScript(text: string, file: string): VersionScript {
  const global: string[] = [];
  const local: string[] = [];
  const tokens = text.replace(/\/\*[\s\S]*?\*\/|#.*/g, " ").match(/"[^"]*"|[{};]|[^\s{};":]+|::?/g) ?? [];
  let list = global;
  let depth = 0;
  for (let i = 0; i < tokens.length; i++) {
    const token = tokens[i]!;
    const next = tokens[i + 1];
    if (token === "{") {
      if (depth === 0) list = global;
      depth++;
    } else if (token === "}") {
      if (--depth < 0) throw new InputError("version script: '}' without '{'", file);
    } else if (depth > 0 && next === ":" && (token === "global" || token === "local")) {
      list = token === "global" ? global : local;
      i++;
    } else if (depth > 0 && token === "extern" && /^"/.test(next ?? "")) i++;
    else if (depth > 0 && token !== ";") {
      // Names with `::` in them are C++, which is matched by mangled names here.
      list.push(token.replace(/^"(.*)"$/, "$1"));
    }
  }
  if (depth !== 0) throw new InputError("version script: '}' is missing", file);
  return { global, local };
}

/** Whether a version script makes a name local: an exact name goes before a glob, and a glob before `*`. */
export function compileVersions({ global, local }: VersionScript): (name: string) => boolean {
  const isGlob = (pattern: string): boolean => /[*?[]/.test(pattern);
  const ranks = [
    (pattern: string): boolean => !isGlob(pattern),
    (pattern: string): boolean => isGlob(pattern) && pattern !== "*",
    (pattern: string): boolean => pattern === "*",
  ].map((rank) => [compilePatterns(global.filter(rank)), compilePatterns(local.filter(rank))] as const);
  return (name) => {
    for (const [isGlobal, isLocal] of ranks) {
      if (isGlobal(name)) return false;
      if (isLocal(name)) return true;
    }
    return false;
  };
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
