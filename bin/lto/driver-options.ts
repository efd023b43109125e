/**
 * What a link is told, by the command line (options.ts) or by a program (bin/api.ts). Options are named as on the
 * command line, in camel case; what they do is said in their table (option-table.ts), and so in MANUAL.md.
 */
import type { EmbeddedIrPolicy } from "../../formats/elf-ir.js";
import type { PassOptions } from "../../lto/pass/options.js";
import type { Operand } from "./operands.js";
import type { OptionValues } from "./option-table.js";

export interface DriverOptions extends OptionValues {
  readonly inputs: readonly Operand[];
  /** Where `-l` looks (`-L`). */
  readonly libraryPath: readonly string[];
  /** The entry was asked for, so that its absence is worth a word. */
  readonly entryGiven: boolean;
  readonly noUndefined: boolean;
  /** Options ask for more than the output: checks, reports, other forms. */
  readonly asksForMore: boolean;
  readonly passes: PassOptions;
}

export const embeddedIrPolicy = ({ fatObjects, embeddedBitcode }: DriverOptions): EmbeddedIrPolicy => ({
  fat: fatObjects === "ir",
  embedded: embeddedBitcode,
});
