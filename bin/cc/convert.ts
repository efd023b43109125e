/** Bitcode, as clang wrote it, to an IR object of ours. */
import { writeObject } from "../../formats/object/writer.js";
import { readBitcode } from "../../frontend/llvm/bitcode.js";
import { InputError, UnsupportedError } from "../../lto/ir/errors.js";
import { isTarget } from "../../lto/targets.js";

/**
 * The IR object of the module in `bitcode`, or the error to report: the module is malformed, for another machine, or
 * has a construct that is not supported.
 * @param source the source file, for messages and as the module's name
 */
export function convert(bitcode: Uint8Array, source: string): Uint8Array | string {
  try {
    const modules = readBitcode(bitcode, source);
    if (modules.length !== 1) throw new UnsupportedError("several modules in one file", undefined, source);
    const { triple } = modules[0]!;
    // Code for other systems on a machine that this program knows it would have to know, too.
    if (isTarget({ triple }) && triple !== "" && !/^[^-]+-[^-]*-?(?:linux|none|elf)/.test(triple))
      throw new UnsupportedError(`target ${triple} (of x86-64, only Linux is)`, undefined, source);
    return writeObject(modules[0]!);
  } catch (e) {
    if (!(e instanceof InputError)) throw e;
    return `${e.file ?? source}: ${e.message}`;
  }
}
