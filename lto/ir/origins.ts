/**
 * Where the code and the globals of a linked module come from, for reports. A table beside the module; there is none where
 * nobody wants a report.
 *
 * Of globals it knows the source and the input that has it, or the pass that made it and the functions whose code it has.
 * Of instructions, which have numbers into it, the function that they were written in, and the calls through which they
 * came to stand where they do. 0 is the function that an instruction stands in, so where nobody asks all numbers are 0.
 */
import type { BodyView } from "./instructions.js";
import type { GlobalValue } from "./module.js";

/** A global that no input has. */
export interface Made {
  /** The pass's name. */
  readonly by: string;
  /** Whose code or contents it has, each once. */
  readonly of: readonly GlobalValue[];
}

/** Where an input's definition is from. */
export interface Place {
  /** The source, as its compiler was given it; the input where that is not known. */
  readonly source: string;
  /** The input, as the link was given it: an object, or a member `lib.a(member.o)`. */
  readonly object: string;
}

/** Code that stands in another function than it was written in. */
export interface CodeOrigin {
  /** The function it was written in. */
  readonly fn: GlobalValue;
  /** The origin of the call that it stands for, in the function where all stands; 0: it was called, or taken out, there. */
  readonly into: number;
}

/** Beyond this, what a global was made of is said no more: thousands of places may share a piece of code. */
const mostNamed = 64;

export class Origins {
  private readonly places = new Map<GlobalValue, Place>();
  private readonly made = new Map<GlobalValue, Made>();
  private readonly absorbed = new Map<GlobalValue, readonly GlobalValue[]>();

  private readonly code: CodeOrigin[] = [];
  private readonly codeNumbers = new Map<GlobalValue, Map<number, number>>();

  private numberOf(fn: GlobalValue, into: number): number {
    let numbers = this.codeNumbers.get(fn);
    if (numbers === undefined) this.codeNumbers.set(fn, (numbers = new Map()));
    let number = numbers.get(into);
    // 0 is no number of the table.
    if (number === undefined) numbers.set(into, (number = this.code.push({ fn, into })));
    return number;
  }

  /**
   * The origin of code of a function that is copied or moved into another one.
   * @param origin what it was in `fn` @param call that of the call that it takes the place of
   */
  moved(fn: GlobalValue, origin: number, call: number): number {
    if (origin === 0) return this.numberOf(fn, call);
    const { fn: written, into } = this.code[origin - 1]!;
    return this.numberOf(written, this.moved(fn, into, call));
  }

  /** A body was made of a copy of another function's code. */
  moveBody({ blocks }: BodyView, from: GlobalValue): void {
    for (const { insts } of blocks) for (const inst of insts) inst.origin = this.moved(from, inst.origin, 0);
  }

  /** What numbers from 1 on mean; chains lead to lower numbers. */
  get codeOrigins(): readonly CodeOrigin[] {
    return this.code;
  }

  /** @param place the same object for all that is from there */
  cameFrom(global: GlobalValue, place: Place): void {
    this.places.set(global, place);
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

  /** Of one that was made, the place of all that it was made of; null where they have several. */
  placeOf(global: GlobalValue): Place | null {
    return this.commonPlace(global, new Set());
  }

  /** @param asked those that led here, so that two that were made of each other have none */
  private commonPlace(global: GlobalValue, asked: Set<GlobalValue>): Place | null {
    const known = this.places.get(global);
    if (known !== undefined) return known;
    const made = this.made.get(global);
    if (made === undefined || asked.has(global)) return null;
    asked.add(global);
    let common: Place | null = null;
    for (const part of made.of) {
      const place = this.commonPlace(part, asked);
      if (place === null || (common !== null && place !== common)) return null;
      common = place;
    }
    return common;
  }
}
