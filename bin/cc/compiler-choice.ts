/**
 * What was found out about the clangs of a machine, in the user's directory for caches: to ask each for its version takes longer
 * than to compile a small file. The launcher reads the file too (bin/tsc-cc), for runs in which clang does all.
 *
 * What stands there holds for one PATH, as long as no folder of it has changed since the file was written, nor the clang itself, nor
 * where links to it lead. Each has five lines: PATH, the program, its version, where it is, what it is able to do. There may be several, since
 * builds may have PATHs of their own; what does not hold any more when one is added is left out.
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

const recordLines = 5;
/** The most that are kept. */
const mostRecords = 8;

/** What holds of a file's contents, the newest first. @throws system errors where there is no file */
function recordsIn(path: string): (readonly string[])[] {
  const { mtimeMs: written, uid } = fs.statSync(path);
  if (uid !== process.getuid?.()) return [];
  const lines = fs.readFileSync(path, "utf8").split("\n");
  const records = Array.from({ length: Math.floor(lines.length / recordLines) }, (_, i) =>
    lines.slice(i * recordLines, (i + 1) * recordLines),
  );
  return records.filter((record) => holds(record, written));
}

function holds([searched = "", clang = "", , real = ""]: readonly string[], written: number): boolean {
  const folders = foldersOf(searched);
  // A change in the moment of writing would not be seen later.
  if (folders === null || folders.some((folder) => changed(folder) >= written)) return false;
  return clang === "" || (resolved(clang, folders) === real && changed(real) < written);
}

/** Undefined where nothing is known, or may have changed. @param named the one that it is to be, if that is said */
export function knownCompiler(file: string, host: Host, named?: string): KnownCompiler | undefined {
  const path = fileOf(file, host);
  if (path === null) return undefined;
  try {
    const record = recordsIn(path).find(
      ([searched, clang]) =>
        searched === (host.env["PATH"] ?? "") && (named === undefined || clang === named),
    );
    if (record === undefined) return undefined;
    const [, clang, version, , able] = record;
    return { path: clang!, version: version!, able: able!.split(" ").filter(Boolean) as Ability[] };
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
  const record = [searched, clang, version, clang === "" ? "" : resolved(clang, folders), able.join(" ")];
  if (record.some((line) => line.includes("\n"))) return;
  const others = otherRecords(path, record);
  const text = [record, ...others].flatMap((lines) => lines.map((line) => `${line}\n`)).join("");
  const temporary = `${path}.${process.pid}.new`;
  try {
    fs.mkdirSync(join(path, ".."), { recursive: true, mode: 0o700 });
    fs.writeFileSync(temporary, text, { flag: "wx", mode: 0o644 });
    fs.renameSync(temporary, path);
  } catch {
    fs.rmSync(temporary, { force: true });
  }
}

/** Those that stay when one is added. */
function otherRecords(path: string, [searched, clang]: readonly string[]): (readonly string[])[] {
  try {
    const others = recordsIn(path).filter((record) => record[0] !== searched || record[1] !== clang);
    return others.slice(0, mostRecords - 1);
  } catch {
    return [];
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
