/**
 * Errors and warnings of the linking phases, collected so that one run reports all of them. The wording is
 * lld's, since build systems and people know it: a first line, then ">>> " lines that say where.
 */
export interface Diagnostic {
  readonly severity: "error" | "warning";
  /** May have several lines; no trailing newline. */
  readonly message: string;
}

export class Diagnostics {
  readonly list: Diagnostic[] = [];
  private errors = 0;
  private stopped = false;

  /** @param errorLimit how many errors are kept; 0: all */
  constructor(private readonly errorLimit = 20) {}

  get hasErrors(): boolean {
    return this.errors > 0;
  }

  error(message: string, ...where: readonly string[]): void {
    this.errors++;
    if (this.stopped) return;
    if (this.errorLimit > 0 && this.errors > this.errorLimit) {
      this.stopped = true;
      this.list.push({
        severity: "error",
        message: "too many errors emitted, stopping now (use --error-limit=0 to see all errors)",
      });
      return;
    }
    this.list.push({ severity: "error", message: withLines(message, where) });
  }

  warn(message: string, ...where: readonly string[]): void {
    this.list.push({ severity: "warning", message: withLines(message, where) });
  }
}

const withLines = (message: string, where: readonly string[]): string =>
  [message, ...where.map((line) => `>>> ${line}`)].join("\n");
