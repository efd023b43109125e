/** Linkers that link what tsc-lto made: which program one is, and what it knows. */
import { closeSync, mkdirSync, openSync, readSync, realpathSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, isAbsolute, join, resolve } from "node:path";
import { InputError } from "../../lto/ir/errors.js";
import type { Host } from "./host.js";
import type { Flavour } from "./linker-table.js";
import { findProgram, foldersOnPath, isProgram } from "./programs.js";
import { runTool } from "./tools.js";

/** By what it says of itself; what says nothing is taken for GNU's. */
export async function flavourOf(linker: string, host: Host): Promise<Flavour> {
  const { stdout } = await runTool(linker, ["--version"], host, { live: false });
  const text = Buffer.from(stdout).toString("utf8");
  return /\bLLD\b/.test(text) ? "lld" : /^mold/m.test(text) ? "mold" : /GNU gold/.test(text) ? "gold" : "gnu";
}

/** The words of a compiler driver that choose its linker, as clang has them; GCC knows few of the values. */
const choosing = /^-(?:-ld-path|fuse-ld)=(.*)$/;

/**
 * The linker that a driver's words name: by a path, or by a name that is `ld.NAME` or `NAME` in a folder of `-B`, beside clang or on
 * PATH. Null: the driver's own.
 * @param clang a clang's path, or its name on PATH, if there is one: linkers of its own version lie beside it
 * @throws InputError when there is none
 */
export function chosenLinker(words: readonly string[], clang: string | null, host: Host): string | null {
  const path = words.findLast((word) => word.startsWith("--ld-path="))?.slice("--ld-path=".length) ?? "";
  const name = words.findLast((word) => word.startsWith("-fuse-ld="))?.slice("-fuse-ld=".length) ?? "";
  // Ours is at work already.
  const given = path === "" ? (/(?:^|[/.])tsc-(?:lto|ld)$/.test(name) ? "" : name) : path;
  if (given === "" || given === "ld") return null;
  if (isAbsolute(given) || (path !== "" && given.includes("/"))) {
    const file = resolve(host.cwd, given);
    if (isProgram(file)) return file;
  } else {
    const onPath = foldersOnPath(host);
    const found =
      path === ""
        ? findProgram(
            [...foldersOfB(words, host), ...besideOf(clang, onPath, host), ...onPath],
            [`ld.${given}`, given],
          )
        : findProgram(onPath, [given]);
    if (found !== undefined) return found;
  }
  throw new InputError(
    `invalid linker name in '${path === "" ? "-fuse-ld" : "--ld-path"}=${given}': not on PATH`,
  );
}

export const choosesLinker = (word: string): boolean => choosing.test(word);

/** Folders that a driver's words have it look for programs in: rustc has its own lld there. */
const foldersOfB = (words: readonly string[], { cwd }: Host): string[] =>
  words.flatMap((word, i) => {
    const folder = word === "-B" ? words[i + 1] : /^-B(.+)$/.exec(word)?.[1];
    return folder === undefined ? [] : [resolve(cwd, folder)];
  });

/** The folder that a program lies in, whatever links lead there; none for a program that is not found. */
function besideOf(program: string | null, onPath: readonly string[], host: Host): string[] {
  if (program === null) return [];
  const file = program.includes("/") ? resolve(host.cwd, program) : findProgram(onPath, [program]);
  return file === undefined || !isProgram(file) ? [] : [dirname(realpathSync(file))];
}

/**
 * Words by which GCC calls a linker, whatever its name: it looks for `ld` in a folder. A script may ask a compiler which linker to
 * call in the end (musl's `ld.musl-clang`), and would be told of itself, since GCC hands its folders on.
 * @param directory for the folder
 */
export function wordsForGcc(linker: string, directory: string): string[] {
  const folder = join(directory, "linker");
  mkdirSync(folder, { recursive: true });
  const file = join(folder, "ld");
  if (isScript(linker)) {
    const quoted = `'${linker.replaceAll("'", "'\\''")}'`;
    writeFileSync(file, `#!/bin/sh\nunset COMPILER_PATH\nexec ${quoted} "$@"\n`, { mode: 0o755 });
  } else symlinkSync(linker, file);
  return [`-B${folder}`];
}

/** A program that cannot be read is none. */
function isScript(file: string): boolean {
  let descriptor: number;
  try {
    descriptor = openSync(file, "r");
  } catch {
    return false;
  }
  const start = Buffer.alloc(2);
  try {
    return readSync(descriptor, start) === 2 && start.toString("latin1") === "#!";
  } finally {
    closeSync(descriptor);
  }
}
