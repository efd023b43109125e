/** Bitcode, as clang wrote it, to an IR object of ours. */
import { writeObject } from "../../formats/object/writer.js";
import { writeShell } from "../../formats/object-shell.js";
import { readBitcode } from "../../frontend/llvm/bitcode.js";
import { InputError, UnsupportedError } from "../../lto/ir/errors.js";
import { isTarget } from "../../lto/targets-by-triple.js";

/** Why there is no object. Plain data: it crosses from worker threads. */
export interface ConversionError {
  /** With the file. */
  readonly message: string;
  /** What is not supported of a module that is sound; empty if it is malformed, or for another machine. */
  readonly constructs: readonly string[];
}

/**
 * The IR object of the module in `bitcode`, or the error to report: the module is malformed, for another machine, or
 * has a construct that is not supported.
 * @param source the source file, for messages and as the module's name
 * @param bare without an ELF shell
 */
export function convert(bitcode: Uint8Array, source: string, bare: boolean): Uint8Array | ConversionError {
  try {
    const modules = readBitcode(bitcode, source);
    if (modules.length !== 1) throw new InputError("unsupported: several modules in one file", source);
    const { triple } = modules[0]!;
    // Code for other systems on a machine that this program knows it would have to know, too.
    if (isTarget({ triple }) && triple !== "" && !/^[^-]+-[^-]*-?(?:linux|none|elf)/.test(triple))
      throw new InputError(`unsupported: target ${triple} (of x86-64, only Linux is)`, source);
    modules[0]!.loadDebug();
    const object = writeObject(modules[0]!);
    return bare ? object : (writeShell(modules[0]!, object) ?? object);
  } catch (e) {
    if (!(e instanceof InputError)) throw e;
    const constructs = e instanceof UnsupportedError ? unsupportedIn(bitcode, source) : [];
    return { message: `${e.file ?? source}: ${e.message}`, constructs };
  }
}

/** All that cannot be read, of the module as a whole or of its functions. */
function unsupportedIn(bitcode: Uint8Array, source: string): string[] {
  const constructs = new Set<string>();
  const attempt = <T>(work: () => T): T | undefined => {
    try {
      return work();
    } catch (e) {
      if (!(e instanceof UnsupportedError)) throw e;
      constructs.add(e.message.replace(/^unsupported: /, ""));
      return undefined;
    }
  };
  for (const { functions } of attempt(() => readBitcode(bitcode, source)) ?? [])
    for (const fn of functions) if (!fn.isDeclaration) attempt(() => fn.peek(() => {}));
  return [...constructs];
}
