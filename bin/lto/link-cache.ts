/**
 * `--cache-dir`: the output of the last link of a program, for a link that reads the same once more.
 *
 * What a link writes follows from the bytes that it reads, how they are named and ordered, the options, the default
 * libraries (by size and time of change) and this very build of tsc-lto: all that is in the key, and nothing else is
 * looked at, so a hit costs little more than to read the inputs. There is one file a program and set of options, which
 * has the output of its last link.
 *
 * Inputs are read once, for the key and for the link: a file that changes meanwhile cannot get the other's output. A
 * link that reads what the key does not tell (members of thin archives), or that has something to say, is not
 * kept; one that is to show how it is done is done.
 *
 * Form (little-endian): magic, checksum of what follows, build (16 bytes), key (16 bytes), the output.
 */
import * as fs from "node:fs";
import { basename, join, resolve } from "node:path";
import { crc32 } from "node:zlib";
import { InputError } from "../../lto/ir/errors.js";
import { realFiles } from "../host/libraries.js";
import { reasonOf } from "../host/system-errors.js";
import { buildId, digestOf, linkSuffix, prune, touch, writeWhole } from "./cache-files.js";
import { DefaultLibraries, namesLibraries } from "./default-libraries.js";
import type { DriverOptions } from "./driver-options.js";
import { type ReadFile, readInputFile } from "./inputs.js";
import { findLibrary } from "./operands.js";
import { namesWithEffect } from "./option-table.js";

const magic = Buffer.from("tscltoL1");
const checksumAt = 8;
const buildAt = 12;
const keyAt = 28;
const outputAt = 44;

/** Files that are read once. */
class InputFiles {
  private files = new Map<string, Uint8Array>();
  /** Something was read that the key does not tell. */
  isOpen = false;
  private isSealed = false;

  readonly read: ReadFile = (path) => {
    let bytes = this.files.get(path);
    if (bytes === undefined) {
      bytes = readInputFile(path);
      if (this.isSealed) this.isOpen = true;
      else this.files.set(path, bytes);
    }
    return bytes;
  };

  seal(): void {
    this.isSealed = true;
  }
  forget(): void {
    this.files = new Map();
  }
}

/** Options that the output does not depend on. */
const untold = new Set(namesWithEffect("way"));

export class LinkCache {
  private readonly build = buildId();
  private readonly inputs = new InputFiles();
  private readonly key: Buffer;
  private readonly file: string;
  private hasSpoken = false;

  /** @throws InputError when an input cannot be read */
  private constructor(
    private readonly directory: string,
    private readonly limit: number,
    cwd: string,
    options: DriverOptions,
  ) {
    const { inputs, ...others } = options;
    const words = JSON.stringify(Object.entries(others).filter(([name]) => !untold.has(name)));
    const contents: (string | Uint8Array)[] = [];
    const names: string[] = [cwd];
    for (const operand of inputs) {
      const { name, bytes, isLibrary } = operand;
      // Folders are in messages only, and a driver's temporary files lie in another each time.
      contents.push(JSON.stringify({ ...operand, name: basename(name), bytes: bytes !== undefined }));
      names.push(basename(name));
      if (bytes !== undefined) contents.push(bytes);
      else
        for (const path of isLibrary ? realFiles(findLibrary(operand, options.libraryPath)) : [name])
          contents.push(basename(path), this.inputs.read(path));
    }
    const { exportList, exportDynamicSymbolList, dynamicList, versionScript, script } = options;
    for (const path of [exportList, exportDynamicSymbolList, dynamicList, versionScript, script].flat())
      contents.push(path, this.inputs.read(path));
    this.inputs.seal();
    if (options.defaultLibs && !namesLibraries(inputs)) contents.push(new DefaultLibraries().identity());
    this.key = digestOf(this.build, words, ...contents);
    this.file = join(
      directory,
      `${digestOf(this.build, words, names.join("\0")).toString("hex")}${linkSuffix}`,
    );
  }

  /** Null for a link that is done in any case. */
  static open(options: DriverOptions, cwd: string): LinkCache | null {
    const { cacheDir, cacheSize } = options;
    if (cacheDir === null || options.asksForMore) return null;
    try {
      return new LinkCache(resolve(cwd, cacheDir), cacheSize, cwd, options);
    } catch (e) {
      // Inputs that cannot be read the link complains of.
      if (e instanceof InputError || (e as NodeJS.ErrnoException).code !== undefined) return null;
      throw e;
    }
  }

  /** Reads inputs for the link. */
  get read(): ReadFile {
    return this.inputs.read;
  }

  /** Inputs are read: they can go. */
  forgetInputs(): void {
    this.inputs.forget();
  }

  /** The link says something besides its output. */
  spoke(): void {
    this.hasSpoken = true;
  }

  /** The output of such a link; null: it is to be done. */
  output(): Uint8Array | null {
    try {
      const bytes = fs.readFileSync(this.file);
      const isOurs =
        bytes.length >= outputAt &&
        bytes.subarray(0, checksumAt).equals(magic) &&
        bytes.subarray(buildAt, keyAt).equals(this.build) &&
        bytes.subarray(keyAt, outputAt).equals(this.key) &&
        bytes.readUInt32LE(checksumAt) === crc32(bytes.subarray(buildAt));
      if (!isOurs) return null;
      touch(this.file);
      return bytes.subarray(outputAt);
    } catch {
      return null;
    }
  }

  /** @returns why it could not; null: all is well */
  keep(output: Uint8Array): string | null {
    if (this.hasSpoken || this.inputs.isOpen) return null;
    try {
      const head = Buffer.concat([magic, Buffer.alloc(buildAt - checksumAt), this.build, this.key]);
      head.writeUInt32LE(crc32(output, crc32(head.subarray(buildAt))), checksumAt);
      writeWhole(this.file, head, output);
      prune(this.directory, this.limit);
      return null;
    } catch (e) {
      return reasonOf(e);
    }
  }
}
