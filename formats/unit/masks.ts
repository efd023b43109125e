/** Registers that calls of functions change, by name, as bytes. */
import type { RegisterSet } from "../../lto/codegen/register-set.js";
import { InputError } from "../../lto/ir/errors.js";
import { ByteReader, ByteWriter } from "../object/bytes.js";
import { readList, readSet, writeList, writeSet } from "./fields.js";
import { seal, unseal } from "./seal.js";

const magic = "tscltoM1";
/** That a set can hold. */
const mostRegisters = 64;

export function encodeMasks(masks: ReadonlyMap<string, RegisterSet>): Uint8Array {
  const out = new ByteWriter(32 * masks.size);
  writeList(out, [...masks], ([name, mask]) => {
    out.string(name);
    writeSet(out, mask);
  });
  return seal(magic, out.view());
}

/** @throws InputError */
export function decodeMasks(bytes: Uint8Array): Map<string, RegisterSet> {
  const reader = new ByteReader(unseal(magic, bytes, "a list of masks"));
  const masks = new Map(
    readList(reader, () => [reader.string(), readSet(reader, mostRegisters)] as const, 3),
  );
  if (reader.remaining !== 0) throw new InputError("trailing bytes after a list of masks");
  return masks;
}
