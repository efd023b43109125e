/**
 * Where the globals of a linked module come from, for reports: the file of an input, or the pass that made it and the
 * functions whose code it has. A table beside the module; there is none where nobody wants a report.
 */
import type { GlobalValue } from "./module.js";

/** A global that no input has. */
export interface Made {
  /** The pass's name. */
  readonly by: string;
  /** Whose code or contents it has, each once. */
  readonly of: readonly GlobalValue[];
}

/** Beyond this, what a global was made of is said no more: thousands of places may share a piece of code. */
const mostNamed = 64;

export class Origins {
  private readonly files: string[] = [];
  private readonly numbers = new Map<string, number>();
  private readonly fileNumbers = new Map<GlobalValue, number>();
  private readonly made = new Map<GlobalValue, Made>();
  private readonly absorbed = new Map<GlobalValue, readonly GlobalValue[]>();

  /** The number of a file, the same for each mention of it. */
  private numberOf(file: string): number {
    let number = this.numbers.get(file);
    if (number === undefined) {
      number = this.files.push(file) - 1;
      this.numbers.set(file, number);
    }
    return number;
  }

  cameFrom(global: GlobalValue, file: string): void {
    this.fileNumbers.set(global, this.numberOf(file));
  }

  /** A pass made the global of others: of their code, or to stand for them. */
  recordMade(global: GlobalValue, by: string, of: readonly GlobalValue[]): void {
    this.made.set(global, { by, of: [...new Set(of)].slice(0, mostNamed) });
  }

  /** One global does for another, which is gone or leads to it. */
  absorbs(global: GlobalValue, other: GlobalValue): void {
    const list = this.absorbed.get(global) ?? [];
    const more = [other, ...(this.absorbed.get(other) ?? [])];
    if (list.length < mostNamed) this.absorbed.set(global, [...list, ...more]);
  }

  /** Globals that were made, those that are gone by now too. */
  allMade(): Iterable<GlobalValue> {
    return this.made.keys();
  }

  madeOf(global: GlobalValue): Made | null {
    return this.made.get(global) ?? null;
  }

  absorbedBy(global: GlobalValue): readonly GlobalValue[] {
    return this.absorbed.get(global) ?? [];
  }

  /** The file of a global; of one that was made, that of all that it was made of, null where they have several. */
  fileOf(global: GlobalValue): string | null {
    const number = this.fileNumberOf(global, new Set());
    return number < 0 ? null : this.files[number]!;
  }

  /** @param asked those that led here, so that two that were made of each other have none */
  private fileNumberOf(global: GlobalValue, asked: Set<GlobalValue>): number {
    const known = this.fileNumbers.get(global);
    if (known !== undefined) return known;
    const made = this.made.get(global);
    if (made === undefined || asked.has(global)) return -1;
    asked.add(global);
    let common = -1;
    for (const part of made.of) {
      const number = this.fileNumberOf(part, asked);
      if (number < 0 || (common >= 0 && number !== common)) return -1;
      common = number;
    }
    return common;
  }
}
