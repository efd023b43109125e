/** A file that is written piece by piece, so that its contents never are in memory as a whole. */
import { closeSync, openSync, writeSync } from "node:fs";

/** Characters that are gathered before they are written. */
const chunk = 1 << 18;

export class FileWriter {
  private readonly file: number;
  private pieces: string[] = [];
  private length = 0;

  /** Replaces the contents of the file. @throws what `open` throws */
  constructor(readonly path: string) {
    this.file = openSync(path, "w");
  }

  /** Appends text, encoded as UTF-8. @throws what `write` throws */
  write(text: string): void {
    this.pieces.push(text);
    this.length += text.length;
    if (this.length >= chunk) this.flush();
  }

  /** @throws what `write` throws */
  bytes(bytes: Uint8Array): void {
    this.flush();
    for (let at = 0; at < bytes.length; ) at += writeSync(this.file, bytes, at);
  }

  /** Nothing can be written afterwards. @throws what `write` throws */
  close(): void {
    try {
      this.flush();
    } finally {
      closeSync(this.file);
    }
  }

  /** What was written is in the file afterwards. @throws what `write` throws */
  flush(): void {
    if (this.length === 0) return;
    const bytes = Buffer.from(this.pieces.join(""));
    this.pieces = [];
    this.length = 0;
    this.bytes(bytes);
  }
}
