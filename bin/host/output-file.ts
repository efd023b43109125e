/**
 * Output files that appear whole or not at all: the contents go to a temporary file in the same directory, which is
 * renamed at the end. A file that is not regular (`/dev/null`, a pipe) cannot be replaced so; it is written to.
 */
import * as fs from "node:fs";
import { tmpdir } from "node:os";
import { basename, dirname, join, resolve } from "node:path";
import { InputError } from "../../lto/ir/errors.js";

const pending = new Set<string>();
let counter = 0;

/** A fresh empty file in `directory`, removed when the process ends. @throws what `open` throws */
export function temporaryFile(directory: string, suffix: string): string {
  for (;;) {
    const path = join(directory, `.${process.pid}-${counter++}${suffix}`);
    try {
      fs.closeSync(fs.openSync(path, "wx"));
    } catch (e) {
      if ((e as NodeJS.ErrnoException).code === "EEXIST") continue;
      throw e;
    }
    pending.add(path);
    return path;
  }
}

export function removeTemporary(path: string): void {
  pending.delete(path);
  fs.rmSync(path, { force: true });
}

let listening = false;

/** Removes what is left of temporary files, on any end of the process that can be seen. May be called again. */
export function removeTemporariesAtExit(): void {
  if (listening) return;
  listening = true;
  process.on("exit", () => {
    for (const path of pending) fs.rmSync(path, { force: true });
  });
  const signals = { SIGHUP: 1, SIGINT: 2, SIGTERM: 15 } as const;
  for (const [signal, number] of Object.entries(signals))
    process.on(signal, () => process.exit(128 + number));
}

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

export class OutputFile {
  /** Absolute path of the file to fill. */
  readonly temporary: string;
  private readonly target: string;
  private readonly replaces: boolean;

  /**
   * @param path as the user wrote it; `-` is standard output, and the caller then takes `temporary` itself.
   * @param complaint the message when nothing can be written there; by default in clang's words
   * @throws InputError with that message
   */
  constructor(
    readonly path: string,
    cwd: string,
    complaint = (file: string, why: string) => `unable to open output file '${file}': '${why}'`,
  ) {
    this.target = resolve(cwd, path);
    try {
      const stat = path === "-" ? null : fs.statSync(this.target, { throwIfNoEntry: false });
      this.replaces = stat === undefined || stat?.isFile() === true;
      if (stat?.isDirectory()) throw Object.assign(new Error(), { code: "EISDIR" });
      if (stat !== null && stat !== undefined) fs.accessSync(this.target, fs.constants.W_OK);
      const directory = this.replaces ? dirname(this.target) : tmpdir();
      this.temporary = temporaryFile(directory, `-${basename(this.target)}`);
    } catch (e) {
      throw new InputError(complaint(path, reason(e)));
    }
  }

  /** The error to report when the operating system refuses to write the contents. */
  refusal(e: unknown): InputError {
    return new InputError(`unable to write output file '${this.path}': '${reason(e)}'`);
  }

  /** Puts the contents of the temporary file in place. @throws InputError when that fails */
  commit(): void {
    try {
      if (this.path === "-") return;
      if (this.replaces) {
        fs.renameSync(this.temporary, this.target);
        pending.delete(this.temporary);
      } else {
        fs.writeFileSync(this.target, fs.readFileSync(this.temporary));
      }
    } catch (e) {
      throw this.refusal(e);
    } finally {
      removeTemporary(this.temporary);
    }
  }

  /** Leaves no output, also none of an earlier run, so that `make` does not take that for the result. */
  discard(): void {
    removeTemporary(this.temporary);
    if (this.replaces) fs.rmSync(this.target, { force: true });
  }
}

/** The operating system's wording of an error. */
function reason(e: unknown): string {
  const { code, message } = e as NodeJS.ErrnoException;
  const known: Record<string, string> = {
    ENOENT: "No such file or directory",
    EACCES: "Permission denied",
    EISDIR: "Is a directory",
    ENOTDIR: "Not a directory",
    EROFS: "Read-only file system",
    ENOSPC: "No space left on device",
  };
  return known[code ?? ""] ?? message;
}
