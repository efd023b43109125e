/**
 * Files of a link step that can be read once only: `--version-script=<(…)` and named pipes. Two programs read them, tsc-lto and the
 * system's linker, which does not even have the descriptor; so both get a copy.
 */
import * as fs from "node:fs";
import { join, resolve } from "node:path";
import { writeTemporary } from "./interrupts.js";

/** Options whose value is a file that is read. */
const reading =
  /^--?(?:version-script|dynamic-list|export-dynamic-symbol-list|retain-symbols-file|symbol-ordering-file|script|default-script|d?T)$/;

export class Pipes {
  private readonly copies = new Map<string, string>();
  /** The next word or part of one is the value of such an option. */
  private isRead = false;

  /**
   * @param cwd that relative paths are of
   * @param directory for the copies, which is made when there is one
   */
  constructor(
    private readonly cwd: string,
    private readonly directory: () => string,
  ) {}

  /** The next word of the command line with a copy in place of a pipe. */
  word(word: string): string {
    return word
      .split(/([=,])/)
      .map((part) => this.part(part))
      .join("");
  }

  private part(part: string): string {
    if (part === "=" || part === "," || part === "-Wl" || part === "-Xlinker") return part;
    const isValue = this.isRead;
    this.isRead = !isValue && reading.test(part);
    return isValue ? this.copyOf(part) : part;
  }

  private copyOf(file: string): string {
    const known = this.copies.get(file);
    if (known !== undefined) return known;
    const path = resolve(this.cwd, file);
    if (fs.statSync(path, { throwIfNoEntry: false })?.isFIFO() !== true) return file;
    const copy = join(this.directory(), `pipe-${this.copies.size}`);
    writeTemporary(copy, fs.readFileSync(path));
    this.copies.set(file, copy);
    return copy;
  }
}
