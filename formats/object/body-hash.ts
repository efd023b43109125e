/** Hashes of encoded bodies. Apart from the codec, since cryptography is loaded slowly and reading needs none. */
import { createHash } from "node:crypto";
import { ByteReader } from "./bytes.js";
import { readSymbolIndices } from "./pool.js";

/**
 * A 128-bit hash of a body, in hexadecimal, that does not depend on how its module numbers symbols: the
 * symbol table is replaced by the symbols' names.
 * Two functions with one hash have the same code on globals of the same names.
 */
export function hashBody(bytes: Uint8Array, nameOf: (index: number) => string): string {
  const reader = new ByteReader(bytes);
  const hash = createHash("sha256");
  hash.update(JSON.stringify(readSymbolIndices(reader).map(nameOf)));
  hash.update(bytes.subarray(reader.pos));
  return hash.digest("hex").slice(0, 32);
}
