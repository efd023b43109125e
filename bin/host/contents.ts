/** What the files of a link step hold: who has to read them, tsc-lto, the system's linker or both. */
import * as fs from "node:fs";
import { resolve } from "node:path";
import { isArchive, readArchive } from "../../formats/archive.js";
import { isElf, readElf } from "../../formats/elf.js";
import { isObject } from "../../formats/object/container.js";
import { readObject } from "../../formats/object/reader.js";
import { readBitcode } from "../../frontend/llvm/bitcode.js";
import { isBitcode } from "../../frontend/llvm/magic.js";
import { InputError } from "../../lto/ir/errors.js";

/**
 * `both` is an archive of IR and native members, `script` text, which linkers take for a linker script, `other` what only
 * the linker understands or complains of.
 */
export type Contents = "ir" | "native" | "both" | "script" | "other";

/** @throws InputError when the file is a malformed archive */
export function contentsOf(path: string): Contents {
  const bytes = readIfThere(path);
  if (bytes === undefined) return "other";
  if (!isArchive(bytes))
    return isIr(bytes) ? "ir" : isElf(bytes) ? "native" : isText(bytes) ? "script" : "other";
  let ir = false;
  let native = false;
  for (const member of readArchive(bytes, path).members) {
    const data = member.bytes ?? readIfThere(resolve(path, "..", member.path!));
    if (data !== undefined && isIr(data)) ir = true;
    else native = true;
  }
  return ir ? (native ? "both" : "ir") : "native";
}

/** Whether the bytes of a file have a text in them, as names of module flags stand in IR of every form; not if there is no file. */
export const mentions = (path: string, text: string): boolean =>
  Buffer.from(readIfThere(path) ?? []).includes(text);

function readIfThere(path: string): Uint8Array | undefined {
  try {
    return fs.readFileSync(path);
  } catch {
    return undefined;
  }
}

/** Without the bytes that files of every binary format begin with. */
const isText = (bytes: Uint8Array): boolean => !bytes.subarray(0, 512).includes(0);

/** IR in any form that tsc-lto reads: our objects, bitcode, bitcode in a section of an ELF object. */
export function isIr(bytes: Uint8Array): boolean {
  if (isObject(bytes) || isBitcode(bytes)) return true;
  try {
    return isElf(bytes) && readElf(bytes, "").fatBitcode !== null;
  } catch (e) {
    // Malformed, or for another machine: tsc-lto and the linker will say so.
    if (e instanceof InputError) return false;
    throw e;
  }
}

/** The target that IR is for, as the first module in it says; null where no IR is, or where it does not say. */
function tripleOf(bytes: Uint8Array, name: string): string | null {
  if (isArchive(bytes)) {
    for (const member of readArchive(bytes, name).members) {
      const data = member.bytes ?? readIfThere(resolve(name, "..", member.path!));
      const triple = data === undefined || isArchive(data) ? null : tripleOf(data, member.name);
      if (triple !== null) return triple;
    }
    return null;
  }
  if (!isIr(bytes)) return null;
  const bitcode = isElf(bytes) ? readElf(bytes, name).fatBitcode! : bytes;
  const triple = isObject(bitcode) ? readObject(bitcode, name).triple : readBitcode(bitcode, name)[0]!.triple;
  return triple === "" ? null : triple;
}

/** The target of the first of these files that has IR and says which. */
export function tripleOfFiles(paths: readonly string[]): string | null {
  for (const path of paths) {
    const bytes = readIfThere(path);
    const triple = bytes === undefined ? null : tripleOf(bytes, path);
    if (triple !== null) return triple;
  }
  return null;
}
