/**
 * Output files that appear whole or not at all: the contents go to a temporary file in the same directory, which is
 * renamed at the end. A file that is not regular (`/dev/null`, a pipe) cannot be replaced so; it is written to. Until
 * there are contents nothing is on the disk (see interrupts.ts).
 */
import * as fs from "node:fs";
import { tmpdir } from "node:os";
import { basename, dirname, resolve } from "node:path";
import { InputError } from "../../lto/ir/errors.js";
import { forgetTemporary, removeTemporary, settle, temporaryFile } from "./interrupts.js";
import type { ScratchFile } from "./scratch-file.js";
import { FileError, reasonOf } from "./system-errors.js";

/** Whether two paths lead to one regular file that exists. */
export function isSameFile(a: string, b: string): boolean {
  if (a === "-" || b === "-") return false;
  try {
    const [x, y] = [fs.statSync(a), fs.statSync(b)];
    return x.isFile() && x.dev === y.dev && x.ino === y.ino;
  } catch {
    return false; // What cannot be looked at is reported by whoever opens it.
  }
}

type Complaint = (file: string, why: string) => string;

export class OutputFile {
  private readonly target: string;
  private readonly replaces: boolean;
  private filled: string | undefined;

  /**
   * @param path as the user wrote it; `-` is standard output, which the caller writes to itself.
   * @param complaint the message when nothing can be written there; by default in clang's words
   * @throws InputError with that message
   */
  constructor(
    readonly path: string,
    cwd: string,
    private readonly complaint: Complaint = (file, why) => `unable to open output file '${file}': '${why}'`,
  ) {
    this.target = resolve(cwd, path);
    this.replaces = this.checked(() => {
      if (path === "-") return false;
      const stat = fs.statSync(this.target, { throwIfNoEntry: false });
      if (stat?.isDirectory()) throw Object.assign(new Error(), { code: "EISDIR" });
      if (stat !== undefined) fs.accessSync(this.target, fs.constants.W_OK);
      const replaces = stat === undefined || stat.isFile();
      if (replaces) fs.accessSync(dirname(this.target), fs.constants.W_OK);
      return replaces;
    });
  }

  /** Where temporary files for this output lie best. */
  get directory(): string {
    return this.replaces ? dirname(this.target) : tmpdir();
  }

  /** A file for another program to fill; then `commit`. @throws InputError when it cannot be made */
  temporary(): string {
    this.filled ??= this.checked(() => temporaryFile(this.directory, `-${basename(this.target)}`));
    return this.filled;
  }

  /** Where what is written piece by piece is kept best until it is complete; null: in memory. */
  get scratch(): string | null {
    return this.replaces ? dirname(this.target) : null;
  }

  /** Puts what was written in place, but not on standard output. @throws InputError when that fails */
  async take(scratch: ScratchFile): Promise<void> {
    const { path } = scratch;
    if (path === null || !this.replaces) return this.write(scratch.contents());
    await this.writing(() => fs.copyFileSync(path, this.temporary()));
    await this.commit();
  }

  /** Puts these contents in place. @throws InputError when that fails */
  async write(contents: Uint8Array): Promise<void> {
    await this.writing(() => {
      if (this.replaces) fs.writeFileSync(this.temporary(), contents);
      else fs.writeFileSync(this.target, contents);
    });
    await this.commit();
  }

  /** Puts the contents of the temporary file, if there is one, in place. @throws InputError when that fails */
  async commit(): Promise<void> {
    const { filled } = this;
    if (filled === undefined) return;
    await this.writing(async () => {
      await settle();
      if (this.replaces) fs.renameSync(filled, this.target);
      else if (this.path !== "-") fs.writeFileSync(this.target, fs.readFileSync(filled));
    });
    this.filled = undefined;
    if (this.replaces) forgetTemporary(filled);
    else removeTemporary(filled);
  }

  /** The error to report when the operating system refuses to write the contents. */
  refusal(e: unknown): InputError {
    return new FileError(`unable to write output file '${this.path}': '${reasonOf(e)}'`, this.path);
  }

  /** Leaves no output, also none of an earlier run, so that `make` does not take that for the result. */
  discard(): void {
    if (this.filled !== undefined) removeTemporary(this.filled);
    this.filled = undefined;
    if (this.replaces) fs.rmSync(this.target, { force: true });
  }

  private checked<T>(work: () => T): T {
    try {
      return work();
    } catch (e) {
      if (e instanceof InputError) throw e;
      throw new FileError(this.complaint(this.path, reasonOf(e)), this.path);
    }
  }

  private async writing(work: () => void | Promise<void>): Promise<void> {
    try {
      await work();
    } catch (e) {
      throw e instanceof InputError ? e : this.refusal(e);
    }
  }
}
