/** Blobs in Redis itself, each a string with an expiry. */
import type { Blob, BlobStore } from "../blobs.js";
import { keyPrefix } from "./names.js";
import type { Redis } from "./packages.js";

/** Bytes of a question or an answer at a time, so that no other waits long for it. */
const mostBytes = 4 << 20;
const mostNames = 1000;

export class RedisBlobs implements BlobStore {
  constructor(private readonly redis: Redis) {}

  async get(names: readonly string[]): Promise<(Uint8Array | null)[]> {
    const found: (Uint8Array | null)[] = [];
    for (let from = 0; from < names.length; from += mostNames)
      found.push(...(await this.redis.mgetBuffer(names.slice(from, from + mostNames).map(keyOf))));
    return found;
  }

  async put(blobs: readonly Blob[], seconds: number): Promise<void> {
    for (let at = 0; at < blobs.length; ) {
      const commands = this.redis.pipeline();
      for (let bytes = 0; at < blobs.length && bytes < mostBytes; at++) {
        const [name, contents] = blobs[at]!;
        commands.set(
          keyOf(name),
          Buffer.from(contents.buffer, contents.byteOffset, contents.length),
          "EX",
          seconds,
        );
        bytes += contents.length;
      }
      for (const [error] of (await commands.exec()) ?? []) if (error !== null) throw error;
    }
  }

  async remove(names: readonly string[]): Promise<void> {
    for (let from = 0; from < names.length; from += mostNames)
      await this.redis.unlink(names.slice(from, from + mostNames).map(keyOf));
  }
}

const keyOf = (name: string): string => `${keyPrefix}:blob:${name}`;
