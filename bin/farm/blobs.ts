/**
 * What links and workers of a farm have in common: bytes by name. Units are named by the digest of their contents, code of
 * functions by its key, which stands for all that went into it (lto/codegen/program/code-cache.ts); so a name never means two
 * different things, and it does not matter who writes first, or twice.
 */
import { seal, unseal } from "../../formats/unit/seal.js";
import { InputError } from "../../lto/ir/errors.js";

/** Neither has promises that are broken but by what keeps it from being used at all. */
export interface BlobStore {
  /** In the order of the names; null: there is none of that name. */
  get(names: readonly string[]): Promise<(Uint8Array | null)[]>;
  /** @param seconds after which they may go */
  put(blobs: readonly Blob[], seconds: number): Promise<void>;
  remove(names: readonly string[]): Promise<void>;
}
export type Blob = readonly [name: string, bytes: Uint8Array];

/** A link that needs a unit has it sent again. */
export const unitLifetime = 3600;
/** Of code nobody asks for any more. */
export const codeLifetime = 7 * 24 * 3600;

/** @param link whose unit it is, since links take theirs away */
export const unitName = (digest: string, link: string): string => `unit-${digest}-${link}`;
export const codeName = (key: string): string => `code-${key}`;

const codeMagic = "tscltoE1";

/** Code under its key: what is under another's name, or damaged, is told from it. */
export const codeBlob = (key: string, entry: Uint8Array): Blob => [
  codeName(key),
  seal(codeMagic, Buffer.concat([Buffer.from(key, "hex"), entry])),
];

/** @returns an entry's bytes @throws InputError when it is not the key's, or damaged */
export function codeOf(key: string, blob: Uint8Array): Uint8Array {
  const contents = unseal(codeMagic, blob, "code of a function");
  const head = Buffer.from(key, "hex");
  if (!head.equals(contents.subarray(0, head.length))) throw new InputError("code of another function");
  return contents.subarray(head.length);
}
