/**
 * The files after `-l` options, and the C library that every program is linked with. `cc` finds them by itself;
 * they are looked up here because tsc-lto must know which symbols they need. A library that is not found is left
 * out: then `cc` complains, or its symbols do not matter.
 */
import { existsSync, readFileSync, statSync } from "node:fs";
import { dirname, isAbsolute, resolve } from "node:path";
import { isArchive } from "../../formats/archive.js";
import { isElf } from "../../formats/elf.js";
import type { LinkItem } from "../../frontend/clang/command-line.js";
import type { Host } from "./host.js";
import { runTool } from "./tools.js";

/**
 * The link step's items with `library` set where an option names one; at the end, items without words for the
 * libraries that are linked by default, with `cxx` those of C++ too.
 * @param driver the program that links, and words for it
 */
export async function findLibraries(
  items: readonly LinkItem[],
  host: Host,
  cxx = false,
  driver: readonly string[] = ["cc"],
): Promise<LinkItem[]> {
  const words = items.flatMap((item) => ("words" in item ? item.words : []));
  const isStatic = words.includes("-static") || words.includes("-static-pie");
  const suffixes = isStatic ? [".a"] : [".so", ".a"];
  const directories = searchDirectories(words);
  const find = async (name: string): Promise<string[]> => {
    const names = libraryFiles(name, suffixes);
    for (const directory of directories)
      for (const file of names)
        if (existsSync(resolve(host.cwd, directory, file)))
          return realFiles(resolve(host.cwd, directory, file));
    for (const file of names) {
      const path = await askCompiler(file, host, driver);
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

const libraryFiles = (name: string, suffixes: readonly string[]): string[] =>
  name.startsWith(":") ? [name.substring(1)] : suffixes.map((suffix) => `lib${name}${suffix}`);

function libraryName(words: readonly string[]): string | undefined {
  if (words[0] === "-l") return words[1];
  return words[0]?.startsWith("-l") ? words[0].substring(2) : undefined;
}

function searchDirectories(words: readonly string[]): string[] {
  const result: string[] = [];
  for (let i = 0; i < words.length; i++) {
    if (words[i] === "-L") result.push(words[++i]!);
    else if (words[i]!.startsWith("-L")) result.push(words[i]!.substring(2));
  }
  return result;
}

/** The driver answers with an absolute path if it knows the file, and with the bare name otherwise. */
async function askCompiler(
  file: string,
  host: Host,
  [program, ...words]: readonly string[],
): Promise<string | undefined> {
  const args = [...words, `-print-file-name=${file}`];
  const { exitCode, stdout } = await runTool(program!, args, host, { live: false });
  const path = Buffer.from(stdout).toString("utf8").trim();
  return exitCode === 0 && isAbsolute(path) && existsSync(path) ? path : undefined;
}

/**
 * The file itself, or for a linker script (as libc.so and libc++.so are) the shared libraries, archives and objects it
 * names that are there: by an absolute path, in the script's folder, or as `-l` there.
 */
export function realFiles(path: string): string[] {
  const files: string[] = [];
  const seen = new Set<string>();
  // Sets are walked in the order of insertion, members that come in on the way too.
  seen.add(path);
  for (const file of seen) {
    const bytes = readFileSync(file);
    if (isElf(bytes) || isArchive(bytes)) files.push(file);
    else
      for (const name of scriptInputs(Buffer.from(bytes).toString("latin1"))) {
        const names = name.startsWith("-l") ? libraryFiles(name.substring(2), [".so", ".a"]) : [name];
        const found = names.map((each) => resolve(dirname(file), each)).find(isFile);
        if (found !== undefined) seen.add(found);
      }
  }
  return files;
}

const isFile = (path: string): boolean => statSync(path, { throwIfNoEntry: false })?.isFile() ?? false;

/** What a linker script's INPUT and GROUP name, those of AS_NEEDED included. */
function scriptInputs(text: string): string[] {
  const plain = text.replace(/\/\*.*?\*\//gs, " ");
  const lists = plain.match(/\b(?:INPUT|GROUP)\s*\((?:[^()]|\([^()]*\))*\)/g) ?? [];
  return lists.flatMap((list) =>
    list
      .replace(/\b(?:INPUT|GROUP|AS_NEEDED)\s*\(|[(),"]/g, " ")
      .split(/\s+/)
      .filter((word) => word !== ""),
  );
}

/** Text of a file, or undefined when it cannot be read. */
export function readTextFile(path: string): string | undefined {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return undefined;
  }
}
