/**
 * What is written piece by piece, so that it never is in memory as a whole: in a file without a name, of which nothing
 * is left whenever the process ends, or where that cannot be or is not worth it, in memory after all.
 */
import { closeSync, existsSync, openSync, readFileSync, writeSync } from "node:fs";
import { bytesOfText } from "../../lto/ir/byte-text.js";
import { removeTemporary, settle, temporaryFile } from "./interrupts.js";

/** Characters that are gathered before they are written. */
const chunk = 1 << 18;

export class ScratchFile {
  private pieces: string[] = [];
  private length = 0;
  private readonly blocks: Buffer[] = [];

  private constructor(private readonly file: number | null) {}

  /** @param directory null: in memory  @throws InputError when there can be no file */
  static async create(directory: string | null): Promise<ScratchFile> {
    // Without a name it is reached through the process's open files.
    if (directory === null || !existsSync("/proc/self/fd")) return new ScratchFile(null);
    const path = temporaryFile(directory, ".scratch");
    const file = openSync(path, "r+");
    removeTemporary(path);
    await settle();
    return new ScratchFile(file);
  }

  /** For this process and those it starts, until `close`; null if it is in memory. */
  get path(): string | null {
    return this.file === null ? null : `/proc/${process.pid}/fd/${this.file}`;
  }

  /** Appends text. @throws what `write` throws */
  write(text: string): void {
    this.pieces.push(text);
    this.length += text.length;
    if (this.length >= chunk) this.flush();
  }

  /** @throws what `write` throws */
  bytes(bytes: Uint8Array): void {
    this.flush();
    this.append(bytes);
  }

  /** What was written can be read by others afterwards. @throws what `write` throws */
  flush(): void {
    if (this.length === 0) return;
    const bytes = bytesOfText(this.pieces.join(""));
    this.pieces = [];
    this.length = 0;
    this.append(bytes);
  }

  /** All that was flushed. */
  contents(): Uint8Array {
    return this.path === null ? Buffer.concat(this.blocks) : readFileSync(this.path);
  }

  close(): void {
    if (this.file !== null) closeSync(this.file);
  }

  private append(bytes: Uint8Array): void {
    if (this.file === null) this.blocks.push(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length));
    else for (let at = 0; at < bytes.length; ) at += writeSync(this.file, bytes, at);
  }
}
