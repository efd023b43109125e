/**
 * `--cache-dir`: code of earlier links, a file a program.
 *
 * The file of a program has what its last link used, so it is bounded by the program, and a link that is done again
 * reads one file. It is read whole, and taken only if its checksum is right and this very build of tsc-lto wrote it; it
 * is written under a name of its own and then renamed, so that links at the same time and links that are killed leave a
 * whole file of one of them. Whatever is wrong with a file means that nothing is in it. Beyond the size that is
 * allowed for the directory the files that were not used for longest go.
 *
 * Form (little-endian): magic, checksum of what follows, build (16 bytes), number of entries, for each its key (16
 * bytes), offset and length; then the entries (formats/unit/entry.ts).
 */
import * as fs from "node:fs";
import { basename, join, resolve } from "node:path";
import { crc32 } from "node:zlib";
import { decodeEntry, encodeEntry } from "../../formats/unit/entry.js";
import type { CodeCache, CodeEntry } from "../../lto/codegen/program/code-cache.js";
import type { CodegenOptions } from "../../lto/codegen/program/options.js";
import type { Target } from "../../lto/codegen/target.js";
import { InputError } from "../../lto/ir/errors.js";
import type { Module } from "../../lto/ir/module.js";
import { targetOf } from "../../lto/targets.js";
import { BlobFiles } from "../farm/blob-files.js";
import { reasonOf } from "../host/system-errors.js";
import { codeSuffix, digestOf, maskSuffix, prune, readIfThere, writeWhole } from "./cache-files.js";
import { CodeKeys, keyedOptions } from "./code-keys.js";
import { MaskMemory } from "./mask-memory.js";

const magic = Buffer.from("tscltoC2");
const buildAt = 12;
const countAt = 28;
const entriesAt = 32;
const rowSize = 24;

export class FileCodeCache extends CodeKeys implements CodeCache {
  readonly masks: MaskMemory;
  private readonly file: string;
  private readonly target: Target;
  private readonly entries: ReadonlyMap<string, Buffer>;
  /** Of a farm that has its blobs in this directory; null: there is none. */
  private readonly shared: BlobFiles | null;
  /** What this link used or made. */
  private readonly used = new Map<string, CodeEntry>();
  /** Keys of what it made. */
  private readonly made = new Set<string>();

  /** @param program what tells the link from others in the directory: the names of its files */
  constructor(
    private readonly directory: string,
    private readonly limit: number,
    program: string,
    module: Module,
    options: CodegenOptions,
  ) {
    super(module, keyedOptions(options));
    this.target = targetOf(module);
    this.file = join(directory, `${digestOf(program, this.told).toString("hex")}${codeSuffix}`);
    this.entries = readEntries(this.file, this.build);
    // They are much the same with other options, and by other builds.
    this.masks = new MaskMemory(join(directory, `${digestOf(program).toString("hex")}${maskSuffix}`));
    this.shared = BlobFiles.find(directory);
  }

  has(key: string): boolean {
    return this.used.has(key) || this.entries.has(key) || this.shared?.hasCode(key) === true;
  }

  get(key: string): CodeEntry | undefined {
    const known = this.used.get(key);
    if (known !== undefined) return known;
    const own = this.entries.get(key);
    const bytes = own ?? this.shared?.code(key) ?? undefined;
    const entry = bytes === undefined ? null : entryOf(bytes, this.target);
    if (entry === null) return undefined;
    this.used.set(key, entry);
    // Of others: from now on, this program's file has it, too.
    if (own === undefined) this.made.add(key);
    return entry;
  }

  put(key: string, entry: CodeEntry): void {
    this.used.set(key, entry);
    this.made.add(key);
  }

  /** Writes what a later link can use. @returns why it could not; null: all is well */
  close(): string | null {
    try {
      this.masks.write();
      this.share();
      if (this.made.size > 0 || this.used.size < this.entries.size) this.write();
      else if (this.entries.size === 0) return null;
      else {
        const now = new Date();
        fs.utimesSync(this.file, now, now);
      }
      prune(this.directory, this.limit);
      return null;
    } catch (e) {
      return reasonOf(e);
    }
  }

  /** What was made here the farm need not make. */
  private share(): void {
    const { shared } = this;
    if (shared === null) return;
    for (const key of this.made)
      if (shared.code(key) === null) shared.keepCode(key, encodeEntry(this.used.get(key)!));
  }

  private write(): void {
    const rows = Buffer.alloc(entriesAt + rowSize * this.used.size);
    magic.copy(rows);
    this.build.copy(rows, buildAt);
    rows.writeUInt32LE(this.used.size, countAt);
    let row = entriesAt;
    let offset = rows.length;
    const contents: Uint8Array[] = [];
    for (const [key, entry] of this.used) {
      const bytes = this.made.has(key) ? encodeEntry(entry) : this.entries.get(key)!;
      contents.push(bytes);
      rows.write(key, row, "hex");
      rows.writeUInt32LE(offset, row + 16);
      rows.writeUInt32LE(bytes.length, row + 20);
      row += rowSize;
      offset += bytes.length;
    }
    const bytes = Buffer.concat([rows, ...contents]);
    bytes.writeUInt32LE(crc32(bytes.subarray(buildAt)), magic.length);
    writeWhole(this.file, bytes);
  }
}

/** Null: the bytes are none. */
function entryOf(bytes: Uint8Array, target: Target): CodeEntry | null {
  try {
    return decodeEntry(bytes, target);
  } catch (e) {
    if (e instanceof InputError) return null;
    throw e;
  }
}

/** The entries of a file that is whole and of this build; of any other, none. */
function readEntries(file: string, build: Buffer): Map<string, Buffer> {
  const entries = new Map<string, Buffer>();
  const bytes = readIfThere(file);
  if (bytes === null) return entries;
  if (bytes.length < entriesAt || !bytes.subarray(0, magic.length).equals(magic)) return entries;
  if (!bytes.subarray(buildAt, countAt).equals(build)) return entries;
  if (bytes.readUInt32LE(magic.length) !== crc32(bytes.subarray(buildAt))) return entries;
  const count = bytes.readUInt32LE(countAt);
  for (let i = 0, row = entriesAt; i < count; i++, row += rowSize) {
    const offset = bytes.readUInt32LE(row + 16);
    const end = offset + bytes.readUInt32LE(row + 20);
    entries.set(bytes.toString("hex", row, row + 16), bytes.subarray(offset, end));
  }
  return entries;
}

/** Whether an option asks for something that only compiling shows. */
export const wantsToSee = ({ passes, checkAllocation, verify }: CodegenOptions): boolean =>
  checkAllocation ||
  verify ||
  passes.verifyEach ||
  passes.enabled.length > 0 ||
  passes.optBisectLimit !== null ||
  passes.ruleBisectLimit !== null ||
  passes.optRemarksFilename !== null ||
  passes.printChanged !== null ||
  passes.printBefore.length + passes.printAfter.length > 0;

/** The cache that a link can use; null for none. @param inputs names of the files */
export function openCodeCache(
  directory: string,
  limit: number,
  cwd: string,
  inputs: readonly string[],
  module: Module,
  options: CodegenOptions,
): FileCodeCache | null {
  if (wantsToSee(options)) return null;
  // Without folders: a driver's temporary files lie in another each time.
  const names = [cwd, ...inputs.map((name) => basename(name))].join("\0");
  return new FileCodeCache(resolve(cwd, directory), limit, names, module, options);
}
