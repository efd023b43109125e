/**
 * The files behind `-l` options, and the C library that every program is linked with. `cc` finds them by itself;
 * they are looked up here because tsc-lto must know which symbols they need. A library that is not found is left
 * out: then `cc` complains, or its symbols do not matter.
 */
import { existsSync, readFileSync } from "node:fs";
import { isAbsolute, resolve } from "node:path";
import { isArchive } from "../../formats/archive.js";
import { isElf } from "../../formats/elf.js";
import type { LinkItem } from "../../frontend/clang/command-line.js";
import type { Host } from "./host.js";
import { runTool } from "./tools.js";

/**
 * The link step's items with `library` set where an option names one; at the end, items without words for the
 * libraries that are linked by default, with `cxx` those of C++ too.
 */
export async function findLibraries(
  items: readonly LinkItem[],
  host: Host,
  cxx = false,
): Promise<LinkItem[]> {
  const words = items.flatMap((item) => ("words" in item ? item.words : []));
  const isStatic = words.includes("-static") || words.includes("-static-pie");
  const suffixes = isStatic ? [".a"] : [".so", ".a"];
  const directories = searchDirectories(words);
  const find = async (name: string): Promise<string[]> => {
    const names = name.startsWith(":") ? [name.substring(1)] : suffixes.map((s) => `lib${name}${s}`);
    for (const directory of directories)
      for (const file of names)
        if (existsSync(resolve(host.cwd, directory, file)))
          return realFiles(resolve(host.cwd, directory, file));
    for (const file of names) {
      const path = await askCompiler(file, host);
      if (path !== undefined) return realFiles(path);
    }
    return [];
  };
  const result: LinkItem[] = [];
  for (const item of items) {
    const name = "words" in item ? libraryName(item.words) : undefined;
    const files = name === undefined ? [] : await find(name);
    if ("words" in item && files.length > 0) {
      result.push({ words: item.words, library: files[0] });
      for (const library of files.slice(1)) result.push({ words: [], library });
    } else result.push(item);
  }
  const has = (...options: string[]): boolean => words.some((word) => options.includes(word));
  const defaults: string[] = [];
  if (!has("-nostdlib", "-nodefaultlibs", "-r")) {
    if (cxx && !has("-nostdlib++")) defaults.push("stdc++", "m");
    if (!has("-nolibc")) defaults.push("c");
  }
  for (const name of defaults) for (const library of await find(name)) result.push({ words: [], library });
  return result;
}

function libraryName(words: readonly string[]): string | undefined {
  if (words[0] === "-l") return words[1];
  return words[0]?.startsWith("-l") ? words[0].substring(2) : undefined;
}

function searchDirectories(words: readonly string[]): string[] {
  const result: string[] = [];
  for (let i = 0; i < words.length; i++) {
    if (words[i] === "-L") result.push(words[++i]);
    else if (words[i].startsWith("-L")) result.push(words[i].substring(2));
  }
  return result;
}

/** `cc` answers with an absolute path if it knows the file, and with the bare name otherwise. */
async function askCompiler(file: string, host: Host): Promise<string | undefined> {
  const { exitCode, stdout } = await runTool("cc", [`-print-file-name=${file}`], host, { live: false });
  const path = Buffer.from(stdout).toString("utf8").trim();
  return exitCode === 0 && isAbsolute(path) && existsSync(path) ? path : undefined;
}

/** The file itself, or for a linker script (as libc.so is one) the shared libraries and archives it names. */
export function realFiles(path: string): string[] {
  const bytes = readFileSync(path);
  if (isElf(bytes) || isArchive(bytes)) return [path];
  const text = bytes.toString("latin1");
  return (text.match(/\/[^\s()]+\.(?:so[.\d]*|a)(?=[\s)])/g) ?? []).filter((file) => existsSync(file));
}

/** Text of a file, or undefined when it cannot be read. */
export function readTextFile(path: string): string | undefined {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return undefined;
  }
}
