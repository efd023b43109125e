/**
 * Strings that other strings end with: they need no bytes of their own.
 *
 *     "could not open file", "open file", "file"    →    one of them, and two labels inside
 *
 * Linkers merge equal strings of a section, tails only some of them (GNU ld; lld from -O2 on), so that is not left to
 * them. Only strings whose addresses mean nothing take part: those for which linkers may do the same.
 * Sorted by their ends, longer ones first, each string stands after those that end with it: O(n log n) comparisons.
 * Breaks if: a variable gets other contents or another section than what it was sorted by.
 */
import type { GlobalVariable } from "../../lto/ir/module.js";

/** A string in a section whose equal strings are merged. */
export interface PlacedString {
  readonly variable: GlobalVariable;
  /** With its terminator. */
  readonly bytes: Uint8Array;
  readonly align: number;
  /** Directive of its section. */
  readonly section: string;
}

/** Where a string lies inside of another. */
export interface StringTail {
  readonly host: GlobalVariable;
  readonly offset: number;
}

export function stringTails(strings: readonly PlacedString[]): Map<GlobalVariable, StringTail> {
  const tails = new Map<GlobalVariable, StringTail>();
  const bySection = new Map<string, PlacedString[]>();
  for (const string of strings) {
    const list = bySection.get(string.section);
    if (list === undefined) bySection.set(string.section, [string]);
    else list.push(string);
  }
  for (const list of bySection.values()) {
    // The sort is stable: of equal strings the first stays.
    list.sort((a, b) => compareEnds(b.bytes, a.bytes));
    let host = list[0]!;
    for (const string of list.slice(1)) {
      const offset = host.bytes.length - string.bytes.length;
      if (offset >= 0 && offset % string.align === 0 && endsWith(host.bytes, string.bytes))
        tails.set(string.variable, { host: host.variable, offset });
      else host = string;
    }
  }
  return tails;
}

/** Order of what is read from behind; below 0 if `a` comes first. */
function compareEnds(a: Uint8Array, b: Uint8Array): number {
  for (let i = 1; i <= a.length && i <= b.length; i++) {
    const difference = a.at(-i)! - b.at(-i)!;
    if (difference !== 0) return difference;
  }
  return a.length - b.length;
}

function endsWith(whole: Uint8Array, tail: Uint8Array): boolean {
  for (let i = 1; i <= tail.length; i++) if (whole.at(-i) !== tail.at(-i)) return false;
  return true;
}
