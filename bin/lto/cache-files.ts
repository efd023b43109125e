/**
 * Files in the directory of `--cache-dir`, whatever is in them: how they are named, written and bounded.
 *
 * A file is written under a name of its own and then renamed, so that links at the same time and links that are killed
 * leave a whole file of one of them. Beyond the size that is allowed for the directory the files that were not used for
 * longest go.
 */
import { createHash, randomBytes } from "node:crypto";
import * as fs from "node:fs";
import { basename, dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

/** Names of files with code of functions end so. */
export const codeSuffix = ".code";
/** Names of files with outputs of links end so. */
export const linkSuffix = ".link";
/** And with what calls of functions change. */
export const maskSuffix = ".masks";
const suffixes = [codeSuffix, linkSuffix, maskSuffix];
/** Milliseconds after which an unfinished file is of a link that was killed. */
export const abandoned = 3_600_000;

/** A hash of 16 bytes, of the parts and where each ends. */
export function digestOf(...parts: (string | Uint8Array)[]): Buffer {
  const hash = createHash("sha256");
  // What is text goes at once: a call takes longer than to hash what most are given.
  let text = "";
  for (const part of parts) {
    text += `${part.length} `;
    if (typeof part === "string") text += part;
    else {
      hash.update(text);
      hash.update(part);
      text = "";
    }
  }
  if (text !== "") hash.update(text);
  return hash.digest().subarray(0, 16);
}

/** Of the last question, and what the files were like. */
let known: { readonly state: string; readonly id: Buffer } | null = null;

/**
 * What tells this build of the program from all others, on every machine: what is in its files, and Node's version. Bundles
 * begin with the hash of their contents. Files are read again when their names, sizes or times have changed.
 */
export function buildId(): Buffer {
  const here = fileURLToPath(new URL(".", import.meta.url));
  const isBundle = /[\\/]bundle[\\/]\w+[\\/]$/.test(here);
  const folders = isBundle
    ? [here]
    : ["bin", "lto", "formats", "frontend"].map((name) => join(here, "../..", name));
  const files: { name: string; path: string; state: string }[] = [];
  for (const folder of folders)
    for (const name of fs.readdirSync(folder, { recursive: true, encoding: "utf8" })) {
      const path = join(folder, name);
      const { size, mtimeMs, isFile } = statOf(path);
      if (isFile)
        files.push({ name: relativeName(folder, name, isBundle), path, state: `${size} ${mtimeMs}` });
    }
  files.sort((a, b) => (a.name < b.name ? -1 : Number(a.name > b.name)));
  const state = files.map((file) => `${file.path} ${file.state}`).join("\n");
  if (known?.state === state) return known.id;
  const contents = files.flatMap(({ name, path }) => [name, contentsOf(path)]);
  known = { state, id: digestOf(process.version, ...contents) };
  return known.id;
}

function statOf(path: string): { size: number; mtimeMs: number; isFile: boolean } {
  const stat = fs.statSync(path);
  return { size: stat.size, mtimeMs: stat.mtimeMs, isFile: stat.isFile() };
}

/** In the package, not on this machine. */
const relativeName = (folder: string, name: string, isBundle: boolean): string =>
  isBundle ? name : join(basename(folder), name);

/** The contents of a file; of a bundle, the hash that it begins with. */
function contentsOf(path: string): Uint8Array {
  const head = Buffer.alloc(36);
  const fd = fs.openSync(path, "r");
  try {
    const length = fs.readSync(fd, head, 0, head.length, 0);
    if (length === head.length && /^\/\*[0-9a-f]{32}\*\/$/.test(head.toString("latin1"))) return head;
    return fs.readFileSync(path);
  } finally {
    fs.closeSync(fd);
  }
}

/** Null where it cannot be read, whatever the reason: caches do without. */
export function readIfThere(file: string): Buffer | null {
  try {
    return fs.readFileSync(file);
  } catch {
    return null;
  }
}

/** Replaces a file, or makes it with its folder. @throws the system's errors, and leaves nothing behind */
export function writeWhole(file: string, ...pieces: readonly Uint8Array[]): void {
  makeFolder(dirname(file));
  const temporary = `${file}.${process.pid}-${randomBytes(6).toString("hex")}.new`;
  try {
    const fd = fs.openSync(temporary, "wx");
    try {
      for (const piece of pieces)
        for (let at = 0; at < piece.length; ) at += fs.writeSync(fd, piece, at, piece.length - at);
    } finally {
      fs.closeSync(fd);
    }
    fs.renameSync(temporary, file);
  } catch (e) {
    fs.rmSync(temporary, { force: true });
    throw e;
  }
}

/** Makes a folder and those it is in. Node's own way never ends where a folder that is there has no room for others (/proc). */
export function makeFolder(folder: string): void {
  if (fs.existsSync(folder)) return;
  const outer = dirname(folder);
  if (outer !== folder) makeFolder(outer);
  try {
    fs.mkdirSync(folder);
  } catch (e) {
    // Another link has made it meanwhile.
    if ((e as NodeJS.ErrnoException).code !== "EEXIST") throw e;
  }
}

/** Says that a file was used now. */
export function touch(file: string): void {
  const now = new Date();
  fs.utimesSync(file, now, now);
}

/** Removes the files that were not used for longest until the others take no more than `limit` bytes. */
export function prune(directory: string, limit: number): void {
  const files: { path: string; size: number; used: number }[] = [];
  for (const name of fs.readdirSync(directory)) {
    const isKept = suffixes.some((suffix) => name.endsWith(suffix));
    if (!isKept && !name.endsWith(".new")) continue;
    const path = join(directory, name);
    const stat = fs.statSync(path, { throwIfNoEntry: false });
    if (stat === undefined) continue;
    if (isKept) files.push({ path, size: stat.size, used: stat.mtimeMs });
    else if (Date.now() - stat.mtimeMs > abandoned) fs.rmSync(path, { force: true });
  }
  let size = files.reduce((sum, file) => sum + file.size, 0);
  files.sort((a, b) => a.used - b.used);
  for (const file of files) {
    if (size <= limit) break;
    fs.rmSync(file.path, { force: true });
    size -= file.size;
  }
}
