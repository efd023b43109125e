/**
 * Which registers calls of functions changed in the last link of a program: a guess for the next, which lets functions be compiled
 * without waiting for those that they call (lto/codegen/program/unit-compilers.ts). A wrong guess costs time, and never changes
 * code; so a file that is damaged or missing means no guess.
 */
import { decodeMasks, encodeMasks } from "../../formats/unit/masks.js";
import type { RegisterSet } from "../../lto/codegen/register-set.js";
import { InputError } from "../../lto/ir/errors.js";
import { readIfThere, touch, writeWhole } from "./cache-files.js";

export class MaskMemory {
  private kept: Uint8Array | null = null;

  constructor(private readonly file: string) {}

  /** By the functions' names; null: nothing is known. */
  last(): ReadonlyMap<string, RegisterSet> | null {
    const bytes = readIfThere(this.file);
    if (bytes === null) return null;
    try {
      return decodeMasks(bytes);
    } catch (e) {
      if (e instanceof InputError) return null;
      throw e;
    }
  }

  /** For the next link. */
  keep(masks: ReadonlyMap<string, RegisterSet>): void {
    if (masks.size > 0) this.kept = encodeMasks(masks);
  }

  /** @throws the system's errors */
  write(): void {
    const { kept, file } = this;
    if (kept === null) return;
    if (readIfThere(file)?.equals(kept) === true) touch(file);
    else writeWhole(file, kept);
  }
}
