/** Hashes of encoded bodies. Apart from the codec, since cryptography is loaded slowly and reading needs none. */
import { createHash } from "node:crypto";
import type { TbaaTag, TbaaType } from "../../lto/ir/hints/tbaa.js";
import { ByteReader } from "./bytes.js";
import { readOutside } from "./pool.js";

/** Names of what a module's bodies mention. */
export interface ModuleNames {
  symbol(index: number): string;
  tag(index: number): TbaaTag;
}

/**
 * A 128-bit hash of a body, in hexadecimal, that does not depend on how its module numbers things: the tables
 * in front are replaced by the symbols' names and by what the type tags consist of.
 * Two functions with one hash have the same code on globals of the same names.
 */
export function hashBody(bytes: Uint8Array, names: ModuleNames): string {
  const reader = new ByteReader(bytes);
  const { symbols, callees, tags } = readOutside(reader);
  let outside = JSON.stringify(symbols.map(names.symbol));
  if (callees.length > 0)
    outside += JSON.stringify(callees.map((index) => (index === 0 ? "" : names.symbol(index - 1))));
  for (const index of tags) outside += tagDigest(names.tag(index));
  const hash = createHash("sha256");
  hash.update(outside);
  hash.update(bytes.subarray(reader.pos));
  return hash.digest("hex").slice(0, 32);
}

const tagDigests = new WeakMap<TbaaTag, string>();
const typeDigests = new WeakMap<TbaaType, string>();

function tagDigest(tag: TbaaTag): string {
  let digest = tagDigests.get(tag);
  if (digest === undefined) {
    const { base, access, offset, size, constant } = tag;
    digest = digestOf([typeDigest(base), typeDigest(access), offset, size, constant]);
    tagDigests.set(tag, digest);
  }
  return digest;
}

function typeDigest(type: TbaaType): string {
  let digest = typeDigests.get(type);
  if (digest === undefined) {
    const { name, parent, members, offsets, sizes, size } = type;
    const above = parent === null ? "" : typeDigest(parent);
    digest = digestOf([name, above, members.map(typeDigest), offsets, sizes, size]);
    typeDigests.set(type, digest);
  }
  return digest;
}

const digestOf = (parts: unknown): string => createHash("sha256").update(JSON.stringify(parts)).digest("hex");
