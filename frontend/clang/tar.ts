/**
 * Reading of tar archives (POSIX.1-2017, pax, "ustar Interchange Format"): as much as the resource archive of the
 * embedded compiler uses. Breaks on names over 100 bytes (the
 * `prefix` field and pax records are not read): such an entry is found under its truncated name.
 */
import { readSync } from "node:fs";
import type { VirtualDirectory, VirtualFile } from "./wasi.js";

const blockSize = 512;

/**
 * The directory tree of the archive open as `fd`, of those regular files whose path `wanted` accepts. Only the
 * headers are read here, the contents when they are asked for; so `fd` must stay open.
 * @throws Error when a header is malformed.
 */
export function readTar(fd: number, wanted: (path: string) => boolean): VirtualDirectory {
  const root: VirtualDirectory = new Map();
  const header = Buffer.alloc(blockSize);
  const field = (at: number, length: number) => {
    const end = header.indexOf(0, at);
    return header.toString("latin1", at, end < 0 ? at + length : Math.min(end, at + length));
  };
  for (let at = 0; readSync(fd, header, 0, blockSize, at) === blockSize && header[0] !== 0; ) {
    const path = field(0, 100);
    const size = Number.parseInt(field(124, 12), 8);
    if (Number.isNaN(size)) throw new Error(`tar: bad size field at byte ${at}`);
    const isFile = header[156] === 0 || header[156] === 0x30;
    if (isFile && wanted(path)) insert(root, path, new TarMember(fd, at + blockSize, size));
    at += blockSize + Math.ceil(size / blockSize) * blockSize;
  }
  return root;
}

class TarMember implements VirtualFile {
  private contents: Uint8Array | undefined;
  constructor(
    private readonly fd: number,
    private readonly start: number,
    readonly size: number,
  ) {}
  read(): Uint8Array {
    if (this.contents === undefined) {
      this.contents = new Uint8Array(this.size);
      readSync(this.fd, this.contents, 0, this.size, this.start);
    }
    return this.contents;
  }
}

function insert(root: VirtualDirectory, path: string, file: VirtualFile): void {
  const segments = path.split("/").filter((s) => s !== "" && s !== ".");
  const name = segments.pop();
  if (name === undefined) return;
  let directory = root;
  for (const segment of segments) {
    let next = directory.get(segment);
    if (!(next instanceof Map)) {
      next = new Map();
      directory.set(segment, next);
    }
    directory = next;
  }
  directory.set(name, file);
}
