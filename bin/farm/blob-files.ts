/**
 * Blobs as files of a directory that all machines see, for farms whose Redis is to hold the queue alone; and for links with
 * `--cache-dir` there, which take what the farm has made and leave what they make.
 *
 * Each is written under a name of its own and then renamed. Names are digests, so it does not matter who is first.
 */
import * as fs from "node:fs";
import { join } from "node:path";
import { InputError } from "../../lto/ir/errors.js";
import { reasonOf } from "../host/system-errors.js";
import { abandoned, makeFolder, readIfThere, writeWhole } from "../lto/cache-files.js";
import {
  type Blob,
  type BlobStore,
  codeBlob,
  codeLifetime,
  codeName,
  codeOf,
  unitLifetime,
} from "./blobs.js";

/** Of the directory; the rest of it is for files of `--cache-dir`. */
const folderName = "blobs";

export class BlobFiles implements BlobStore {
  private constructor(private readonly folder: string) {}

  /** @throws InputError */
  static make(directory: string): BlobFiles {
    const folder = join(directory, folderName);
    try {
      makeFolder(folder);
      fs.accessSync(folder, fs.constants.W_OK);
    } catch (e) {
      throw new InputError(`cannot write to the farm's directory ${directory}: ${reasonOf(e)}`);
    }
    return new BlobFiles(folder);
  }
  /** Null where no farm has blobs. */
  static find(directory: string): BlobFiles | null {
    const folder = join(directory, folderName);
    return fs.existsSync(folder) ? new BlobFiles(folder) : null;
  }

  async get(names: readonly string[]): Promise<(Uint8Array | null)[]> {
    return names.map((name) => readIfThere(this.fileOf(name)));
  }

  async put(blobs: readonly Blob[]): Promise<void> {
    for (const [name, bytes] of blobs) writeWhole(this.fileOf(name), bytes);
  }

  async remove(names: readonly string[]): Promise<void> {
    for (const name of names) fs.rmSync(this.fileOf(name), { force: true });
  }

  hasCode(key: string): boolean {
    return fs.existsSync(this.fileOf(codeName(key)));
  }
  /** An entry's bytes; null: there are none, or they are damaged. */
  code(key: string): Uint8Array | null {
    const blob = readIfThere(this.fileOf(codeName(key)));
    if (blob === null) return null;
    try {
      return codeOf(key, blob);
    } catch (e) {
      if (e instanceof InputError) return null;
      throw e;
    }
  }
  /** @throws the system's errors */
  keepCode(key: string, entry: Uint8Array): void {
    const [name, blob] = codeBlob(key, entry);
    writeWhole(this.fileOf(name), blob);
  }

  /** Removes what has outlived its time. */
  sweep(now = Date.now()): void {
    for (const part of fs.readdirSync(this.folder))
      for (const name of fs.readdirSync(join(this.folder, part))) {
        const path = join(this.folder, part, name);
        const stat = fs.statSync(path, { throwIfNoEntry: false });
        const seconds = name.startsWith("code-") ? codeLifetime : unitLifetime;
        const limit = name.endsWith(".new") ? abandoned : 1000 * seconds;
        if (stat !== undefined && now - stat.mtimeMs > limit) fs.rmSync(path, { force: true });
      }
  }

  /** No folder has all. */
  private fileOf(name: string): string {
    const [, digest = ""] = name.split("-");
    return join(this.folder, digest.slice(0, 2), name);
  }
}
