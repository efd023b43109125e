/**
 * The one kind of error that bad input may cause. Anything else that is thrown is a bug in this program, or the
 * system's refusal of a file.
 * `message` is a complete sentence part without a trailing period, ready for `tsc-lto: error: FILE: MESSAGE`.
 */
export class InputError extends Error {
  override readonly name: string = "InputError";
  /** The function that code was being generated for, from which the file follows. */
  fn?: string;
  /** The origin of the instruction that code was being generated for, in the table of the linked module. */
  origin?: number;
  constructor(
    message: string,
    /** The input file, when known; readers throw without it and the driver adds it. */
    readonly file?: string,
  ) {
    super(message);
  }
  /** The same error, which says where in the source it was met. */
  at(place: string): this {
    this.message += `, at ${place}`;
    return this;
  }
  /** The same error, attributed to `file` unless it already names one. */
  inFile(file: string): InputError {
    return this.file === undefined ? new InputError(this.message, file) : this;
  }
}

/** Runs `read`, attributing its InputErrors to `file`. */
export function attributed<T>(file: string, read: () => T): T {
  try {
    return read();
  } catch (error) {
    throw error instanceof InputError ? error.inFile(file) : error;
  }
}

/** A construct that is valid but not supported; `construct` names it, e.g. `callbr` or `scalable vector`. */
export class UnsupportedError extends InputError {
  override readonly name: string = "UnsupportedError";
  constructor(
    readonly construct: string,
    /** A function, for example. */
    readonly where?: string,
    file?: string,
  ) {
    super(
      where === undefined ? `unsupported: ${construct}` : `unsupported: ${construct} (in ${where})`,
      file,
    );
  }
  override inFile(file: string): InputError {
    if (this.file !== undefined) return this;
    const { message } = this;
    return Object.assign(new UnsupportedError(this.construct, this.where, file), { message });
  }
}

/** A bug in this program, met while working on a function of the input. Its stack is that of its cause. */
export class InternalError extends Error {
  override readonly name = "InternalError";
  constructor(
    message: string,
    /** What was done to which function, as messages should name it. */
    readonly where: string,
    stack: string | undefined,
  ) {
    super(message);
    if (stack !== undefined) this.stack = stack;
  }

  /**
   * Does some work so that a fault on the way says where it was met: `compiling function`, `f`.
   * @param hint an option that helps to find it
   * @throws InputError, InternalError
   */
  static in<T>(doing: string, name: string, work: () => T, hint = ""): T {
    try {
      return work();
    } catch (e) {
      if (e instanceof InputError) e.fn ??= name;
      if (e instanceof InputError || e instanceof InternalError) throw e;
      const { message, stack } = e as Error;
      throw new InternalError(message, `while ${doing} '${name.slice(0, 200)}'${hint}`, stack);
    }
  }
}
