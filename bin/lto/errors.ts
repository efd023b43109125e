/** Why a link did not come to its end, besides the errors of a single input and of the program itself (lto/ir/errors.ts). */
import { InputError } from "../../lto/ir/errors.js";
import type { Diagnostic } from "../../lto/link/index.js";

/** Several inputs that cannot be read, or one for several reasons. As an error it is the first of them. */
export class InputErrors extends InputError {
  override readonly name: string = "InputErrors";
  /** @param errors at least one */
  constructor(readonly errors: readonly InputError[]) {
    super(errors[0]!.message, errors[0]!.file);
  }
}

/** The inputs are sound, but not together: symbols defined twice or not at all, conflicting flags, failed checks. */
export class LinkError extends Error {
  override readonly name: string = "LinkError";
  /** @param diagnostics errors and warnings, in the order in which they were found; at least one error */
  constructor(readonly diagnostics: readonly Diagnostic[]) {
    super(diagnostics.flatMap(({ severity, message }) => (severity === "error" ? [message] : [])).join("\n"));
  }
}

/** An option that there is not, or a value that it cannot have. */
export class OptionError extends Error {
  override readonly name: string = "OptionError";
}

/** @throws InputError for all of these, if there are any */
export function throwAny(errors: readonly InputError[]): void {
  const [first, ...more] = errors;
  if (first !== undefined) throw more.length === 0 ? first : new InputErrors(errors);
}
