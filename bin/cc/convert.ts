/** Bitcode, as clang wrote it, to an IR object of ours. */
import { readFileSync, writeFileSync } from "node:fs";
import { writeObject } from "../../formats/object/index.js";
import { readBitcode } from "../../frontend/llvm/bitcode.js";
import { UnsupportedError } from "../../lto/ir/errors.js";

/**
 * Replaces the bitcode in the file at `path` by the IR object of the same module.
 * @param source the source file, for messages and as the module's name
 * @throws InputError when the module is malformed, for another machine, or has a construct that is not supported
 */
export function convertFile(path: string, source: string): void {
  const modules = readBitcode(readFileSync(path), source);
  if (modules.length !== 1) throw new UnsupportedError("several modules in one file", undefined, source);
  const { triple } = modules[0];
  if (triple !== "" && !/^(x86_64|amd64)-[^-]*-?linux/.test(triple))
    throw new UnsupportedError(`target ${triple} (only x86-64 Linux is)`, undefined, source);
  writeFileSync(path, writeObject(modules[0]));
}
