/**
 * What was found out about the clangs of a machine, in the user's directory for caches: to ask each for its version takes longer
 * than to compile a small file. The launcher reads the file too (bin/tsc-cc), for runs in which clang does all.
 *
 * A file holds for one PATH, as long as no folder of it has changed since it was written, nor the clang itself, nor where links to
 * it lead. Five lines: PATH, the program, its version, where it is, what it is able to do.
 */
import * as fs from "node:fs";
import { delimiter, isAbsolute, join } from "node:path";
import type { Host } from "../host/host.js";

export interface KnownCompiler {
  /** Empty where there is none but the embedded one. */
  readonly path: string;
  readonly version: string;
  /** What the launcher may have it do alone. */
  readonly able: readonly Ability[];
}

/** Programs of C, or of C++, with the libraries of this machine; objects of machine code with IR beside it. */
export type Ability = "links-c" | "links-c++" | "fat";

/** @param file `clang` for the newest on PATH, `named-clang` for one that was named */
const fileOf = (file: string, { env }: Host): string | null => {
  const { XDG_CACHE_HOME: cache = "", HOME: home = "" } = env;
  if (isAbsolute(cache)) return join(cache, "tsc-lto", file);
  return isAbsolute(home) ? join(home, ".cache/tsc-lto", file) : null;
};

/** Undefined where nothing is known, or may have changed. */
export function knownCompiler(file: string, host: Host): KnownCompiler | undefined {
  const path = fileOf(file, host);
  if (path === null) return undefined;
  try {
    const { mtimeMs: written, uid } = fs.statSync(path);
    const [searched, clang, version, real, able] = fs.readFileSync(path, "utf8").split("\n");
    if (uid !== process.getuid?.() || searched !== (host.env["PATH"] ?? "") || able === undefined)
      return undefined;
    const folders = foldersOf(searched);
    if (folders === null) return undefined;
    // A change in the moment of writing would not be seen later.
    if (folders.some((folder) => changed(folder) >= written)) return undefined;
    if (clang !== "" && (resolved(clang!, folders) !== real || changed(real!) >= written)) return undefined;
    return { path: clang!, version: version!, able: able.split(" ").filter(Boolean) as Ability[] };
  } catch {
    return undefined;
  }
}

export function rememberCompiler(
  file: string,
  { path: clang, version, able }: KnownCompiler,
  host: Host,
): void {
  const path = fileOf(file, host);
  const searched = host.env["PATH"] ?? "";
  const folders = foldersOf(searched);
  if (path === null || folders === null) return;
  const real = clang === "" ? "" : resolved(clang, folders);
  const text = [searched, clang, version, real, able.join(" "), ""].join("\n");
  if (text.split("\n").length !== 6) return;
  const temporary = `${path}.${process.pid}.new`;
  try {
    fs.mkdirSync(join(path, ".."), { recursive: true, mode: 0o700 });
    fs.writeFileSync(temporary, text, { flag: "wx", mode: 0o644 });
    fs.renameSync(temporary, path);
  } catch {
    fs.rmSync(temporary, { force: true });
  }
}

/** Null where the working directory is looked at, which is another each time. */
function foldersOf(path: string): string[] | null {
  const folders = path.split(delimiter);
  return folders.every((folder) => isAbsolute(folder)) ? folders : null;
}

/** 0 for what is not there. */
function changed(path: string): number {
  const stat = fs.statSync(path, { throwIfNoEntry: false });
  return stat === undefined ? 0 : Math.max(stat.mtimeMs, stat.ctimeMs);
}

/** Without links; empty when it is nowhere. */
function resolved(program: string, folders: readonly string[]): string {
  const places = program.includes("/") ? [program] : folders.map((folder) => join(folder, program));
  const found = places.find((place) => fs.existsSync(place));
  return found === undefined ? "" : fs.realpathSync(found);
}
