/**
 * The one kind of error that bad input may cause. Anything else that is thrown is a bug in this program.
 * `message` is a complete sentence part without a trailing period, ready for `tsc-lto: error: FILE: MESSAGE`.
 */
export class InputError extends Error {
  override readonly name = "InputError";
  constructor(
    message: string,
    /** The input file, when known; readers throw without it and the driver adds it. */
    readonly file?: string,
  ) {
    super(message);
  }
  /** The same error, attributed to `file` unless it already names one. */
  inFile(file: string): InputError {
    return this.file === undefined ? new InputError(this.message, file) : this;
  }
}

/** A construct that is valid but not supported; `construct` names it, e.g. `callbr` or `scalable vector`. */
export class UnsupportedError extends InputError {
  constructor(
    readonly construct: string,
    where?: string,
    file?: string,
  ) {
    super(
      where === undefined ? `unsupported: ${construct}` : `unsupported: ${construct} (in ${where})`,
      file,
    );
  }
  override inFile(file: string): InputError {
    if (this.file !== undefined) return this;
    return Object.assign(new UnsupportedError(this.construct, undefined, file), { message: this.message });
  }
}
