/**
 * Reads LLVM bitcode: modules that LLVM 15 to 22 wrote (and LLVM 14, as far as its records carry the types
 * that pointers no longer do).
 *
 * A file is, possibly inside a wrapper header, a magic number and a sequence of blocks: each MODULE block
 * is a module, and the STRTAB block that follows has its names (LLVM's "Bitcode File Format"). Function
 * bodies are decoded on demand; see `bitcode/module.ts`.
 */

import { BlockId } from "../../formats/bitcode/codes.js";
import { attributed, InputError } from "../../lto/ir/errors.js";
import type { Module } from "../../lto/ir/module.js";
import { BitReader, Entry } from "./bitcode/bitstream.js";
import { ModuleReader } from "./bitcode/module.js";
import { isBitcode, rawMagic, word, wrapperMagic } from "./magic.js";

export { isBitcode };

const wrapperSize = 20;
const currentEpoch = 0;

/**
 * The modules of a bitcode file, usually one. Bodies of functions are not decoded yet; they keep `bytes`
 * alive, which must not change.
 * @param file what messages should call the file
 * @throws InputError for malformed input, UnsupportedError (one of them) for constructs that are not handled;
 * `Func.materialize` throws the same for bodies
 */
export function readBitcode(bytes: Uint8Array, file: string): Module[] {
  return attributed(file, () => readFile(unwrap(bytes), file));
}

/** The wrapper is [magic, version, offset, size, CPU type], each of 32 bits. */
function unwrap(bytes: Uint8Array): Uint8Array {
  if (word(bytes, 0) !== wrapperMagic) return bytes;
  const offset = word(bytes, 8);
  const size = word(bytes, 12);
  if (offset < wrapperSize || offset + size > bytes.length)
    throw new InputError("malformed bitcode: wrapper header");
  return bytes.subarray(offset, offset + size);
}

/** Whatever lies after the last block and is shorter than this is padding. */
const smallestBlock = 64;

function readFile(bytes: Uint8Array, file: string): Module[] {
  if (word(bytes, 0) !== rawMagic) throw new InputError("not LLVM bitcode");
  const reader = BitReader.of(bytes);
  const modules: Module[] = [];
  let positions: number[] = [];
  const readModules = (strtab: Uint8Array): void => {
    for (const pos of positions) {
      const own = reader.fork();
      own.blockInfo = new Map();
      modules.push(new ModuleReader(own, strtab, file).read(pos));
    }
    positions = [];
  };
  reader.pos = 32;
  while (reader.end - reader.pos >= smallestBlock) {
    if (word(reader.bytes, reader.pos / 8) === rawMagic) {
      // Files may simply follow each other, as sections that a linker joined do.
      readModules(noStrings);
      reader.pos += 32;
      continue;
    }
    if (reader.advance() !== Entry.SubBlock)
      throw new InputError("malformed bitcode: record outside any block");
    switch (reader.blockId) {
      case BlockId.Identification:
        readIdentification(reader);
        break;
      case BlockId.Module:
        positions.push(reader.pos);
        reader.skip();
        break;
      case BlockId.Strtab:
        readModules(readStrtab(reader));
        break;
      default:
        reader.skip();
    }
  }
  readModules(noStrings);
  if (modules.length === 0) throw new InputError("malformed bitcode: no module");
  return modules;
}

const noStrings: Uint8Array = new Uint8Array(0);

/** [1, producer…] and [2, epoch]; an epoch is a promise of compatibility, and only one exists so far. */
function readIdentification(reader: BitReader): void {
  reader.enter();
  for (;;) {
    const entry = reader.advance();
    if (entry === Entry.End) return;
    if (entry === Entry.SubBlock) reader.skip();
    else if (reader.code === 2 && (reader.count < 1 || reader.number(0) !== currentEpoch))
      throw new InputError("bitcode of an incompatible future version of LLVM");
  }
}

function readStrtab(reader: BitReader): Uint8Array {
  let strings: Uint8Array = noStrings;
  reader.enter();
  for (;;) {
    const entry = reader.advance();
    if (entry === Entry.End) return strings;
    if (entry === Entry.SubBlock) reader.skip();
    else if (reader.code === 1) strings = reader.bytes.subarray(reader.blobStart, reader.blobEnd);
  }
}
