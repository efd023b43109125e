/** Whole files with a digest in front, so that what was damaged on its way is told from what was sent. */
import { createHash } from "node:crypto";
import { InputError } from "../../lto/ir/errors.js";

const digestSize = 32;
const digestOf = (bytes: Uint8Array): Buffer => createHash("sha256").update(bytes).digest();

/** @param magic eight characters @returns them, the digest of the contents, the contents */
export function seal(magic: string, contents: Uint8Array): Buffer {
  return Buffer.concat([Buffer.from(magic, "latin1"), digestOf(contents), contents]);
}

/** @returns the contents @throws InputError when they are not what was sealed */
export function unseal(magic: string, bytes: Uint8Array, what: string): Uint8Array {
  const head = Buffer.from(magic, "latin1");
  const start = head.length + digestSize;
  if (bytes.length < start || !head.equals(bytes.subarray(0, head.length)))
    throw new InputError(`this is not ${what}`);
  const contents = bytes.subarray(start);
  if (!digestOf(contents).equals(bytes.subarray(head.length, start)))
    throw new InputError(`${what} is damaged`);
  return contents;
}
