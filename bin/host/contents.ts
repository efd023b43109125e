/** What the files of a link step hold: who has to read them, tsc-lto, the system's linker or both. */
import * as fs from "node:fs";
import { resolve } from "node:path";
import { isArchive, readArchive } from "../../formats/archive.js";
import { isElf, readElf } from "../../formats/elf.js";
import { defaultEmbeddedIr, type EmbeddedIrPolicy, irOf } from "../../formats/elf-ir.js";
import { isObject, splitObjects } from "../../formats/object/container.js";
import { readObject } from "../../formats/object/reader.js";
import { readBitcode } from "../../frontend/llvm/bitcode.js";
import { isBitcode } from "../../frontend/llvm/magic.js";
import { attributed, InputError } from "../../lto/ir/errors.js";

/**
 * `both` is an archive of IR and native members, `script` text, which linkers take for a linker script, `other` what only
 * the linker understands or complains of.
 */
export type Contents = "ir" | "native" | "both" | "script" | "other";

/** @throws InputError when the file is a malformed archive */
export function contentsOf(path: string, policy: EmbeddedIrPolicy): Contents {
  const bytes = readIfThere(path);
  if (bytes === undefined) return "other";
  if (!isArchive(bytes))
    return isIr(bytes, path, policy) ? "ir" : isElf(bytes) ? "native" : isText(bytes) ? "script" : "other";
  let ir = false;
  let native = false;
  for (const member of readArchive(bytes, path).members) {
    const data = member.bytes ?? readIfThere(resolve(path, "..", member.path!));
    if (data !== undefined && isIr(data, `${path}(${member.name})`, policy)) ir = true;
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

/**
 * IR in any form that tsc-lto reads: our objects, bitcode, bitcode in a section of an ELF object that stands for it.
 * @param file as messages name it, `lib.a(member.o)` for members
 */
export function isIr(bytes: Uint8Array, file: string, policy: EmbeddedIrPolicy): boolean {
  if (isObject(bytes) || isBitcode(bytes)) return true;
  if (!isElf(bytes)) return false;
  try {
    const elf = readElf(bytes, file);
    // What has lost its IR is no machine code either.
    return elf.isShell || irOf(elf, file, policy) !== null;
  } catch (e) {
    // Malformed, or for another machine: tsc-lto and the linker will say so.
    if (e instanceof InputError) return false;
    throw e;
  }
}

/** The target that IR is for, as the first module in it says; null where no IR is, or where it does not say. */
function tripleOf(bytes: Uint8Array, name: string, policy: EmbeddedIrPolicy): string | null {
  if (isArchive(bytes)) {
    for (const member of readArchive(bytes, name).members) {
      const data = member.bytes ?? readIfThere(resolve(name, "..", member.path!));
      const triple =
        data === undefined || isArchive(data) ? null : tripleOf(data, `${name}(${member.name})`, policy);
      if (triple !== null) return triple;
    }
    return null;
  }
  if (!isIr(bytes, name, policy)) return null;
  const ir = isElf(bytes) ? irOf(readElf(bytes, name), name, policy)!.bytes : bytes;
  const triple = isObject(ir)
    ? readObject(attributed(name, () => splitObjects(ir))[0]!, name).triple
    : readBitcode(ir, name)[0]!.triple;
  return triple === "" ? null : triple;
}

/** The target of the first of these files that has IR and says which. */
export function tripleOfFiles(paths: readonly string[], policy: EmbeddedIrPolicy): string | null {
  for (const path of paths) {
    const bytes = readIfThere(path);
    const triple = bytes === undefined ? null : tripleOf(bytes, path, policy);
    if (triple !== null) return triple;
  }
  return null;
}

/** What a linker's words say of it; the last of each counts. @param words tsc-lto's, each with its value */
export function embeddedIrOf(words: readonly string[]): EmbeddedIrPolicy {
  const fat = words.findLast((word) => /^--(?:no-)?fat-lto-objects$/.test(word));
  const embedded = words.findLast((word) => /^--(?:no-)?embedded-bitcode\b/.test(word));
  const which = embedded?.split("=")[1] ?? (embedded === undefined ? defaultEmbeddedIr.embedded : "none");
  return { fat: fat !== "--no-fat-lto-objects", embedded: which as EmbeddedIrPolicy["embedded"] };
}
