/**
 * What a program says of an error that is not one of its input: the system's refusal, in a line, or a bug of its own,
 * with the function it was met in. Nobody but the authors can use a stack trace, so it is only shown when asked for.
 */
import { InternalError } from "../../lto/ir/errors.js";
import type { Host } from "./host.js";
import { formatMessage, type MessageStyle, usualStyle } from "./messages.js";

/** Asks for stack traces where no option reaches, as in a compiler driver that runs the linker. */
const variable = "TSC_LTO_STACK_TRACE";

/** @param program whose messages these are  @param stackTrace it was asked for */
export function reportFault(
  program: string,
  e: unknown,
  host: Host,
  stackTrace = false,
  style: MessageStyle = usualStyle(host),
): void {
  const error = e instanceof Error ? e : new Error(String(e));
  const trace = stackTrace || (host.env[variable] ?? "") !== "";
  const lines: string[] = [];
  if ("syscall" in error && "code" in error) lines.push(error.message);
  else {
    const where = error instanceof InternalError ? ` ${error.where}` : "";
    host.fault?.();
    lines.push(
      `internal error${where}: ${error.message}`,
      `>>> a fault of ${program}, not of the input; the same command with ${option(program)} shows where`,
    );
  }
  if (trace) lines.push(error.stack ?? "no stack trace");
  const message = lines.join("\n");
  host.stderr(Buffer.from(formatMessage(program, { severity: "error", message }, style)));
}

const option = (program: string): string =>
  program === "tsc-lto" ? "-j1 --stack-trace" : `${variable}=1 in the environment`;
