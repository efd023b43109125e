/** The operating system's errors in its own words, as C programs print them. */

import { InputError } from "../../lto/ir/errors.js";

/** Standard output takes no more: the command's line was right, and so was its input. */
export class OutputError extends InputError {}

/** A file that cannot be opened or written; the message has its name in it, as other linkers have. */
export class FileError extends InputError {
  constructor(
    message: string,
    readonly path: string,
  ) {
    super(message);
  }
}

const wording: Readonly<Record<string, string>> = {
  ENOENT: "No such file or directory",
  EACCES: "Permission denied",
  EPERM: "Operation not permitted",
  EISDIR: "Is a directory",
  ENOTDIR: "Not a directory",
  EROFS: "Read-only file system",
  ENOSPC: "No space left on device",
  EDQUOT: "Disk quota exceeded",
  EFBIG: "File too large",
  EIO: "Input/output error",
  EMFILE: "Too many open files",
  ENAMETOOLONG: "File name too long",
  ELOOP: "Too many levels of symbolic links",
  EBADF: "Bad file descriptor",
};

export function reasonOf(error: unknown): string {
  const { code, message } = error as NodeJS.ErrnoException;
  return wording[code ?? ""] ?? message;
}

/** Whether the operating system refused something; such an error is the user's to hear of. */
export const isSystemError = (error: unknown): error is NodeJS.ErrnoException =>
  error instanceof Error && "errno" in error && "syscall" in error;
