/** Suffix arrays and repeats against what naive search finds in random sequences. */
import { describe, expect, it } from "vitest";
import { findRepeats, type Repeat } from "../../lto/outline/repeats.js";
import { commonPrefixes, suffixArray } from "../../lto/outline/suffix-array.js";
import { randomSymbols } from "./sequences.js";

function compareSuffixes(text: Int32Array, a: number, b: number): number {
  for (; a < text.length && b < text.length; a++, b++) if (text[a] !== text[b]) return text[a]! - text[b]!;
  return b - a;
}

/** By what occurs where: substrings with the same occurrences are one repeat. */
function naiveRepeats(symbols: Int32Array, minimum: number, maximum: number): string[] {
  const repeats = new Map<string, { shortest: number; length: number }>();
  for (let length = minimum; length <= Math.min(maximum, symbols.length); length++) {
    const places = new Map<string, number[]>();
    for (let start = 0; start + length <= symbols.length; start++) {
      const piece = symbols.subarray(start, start + length);
      if (piece.some((symbol) => symbol < 0)) continue;
      const key = piece.join(" ");
      places.set(key, [...(places.get(key) ?? []), start]);
    }
    for (const starts of places.values()) {
      if (starts.length < 2) continue;
      const known = repeats.get(starts.join(" "));
      if (known === undefined) repeats.set(starts.join(" "), { shortest: length, length });
      else known.length = length;
    }
  }
  return [...repeats].map(([starts, { shortest, length }]) => `${shortest}-${length}: ${starts}`).sort();
}

const texts = (repeats: readonly Repeat[]): string[] =>
  repeats.map(({ shortest, length, starts }) => `${shortest}-${length}: ${starts.join(" ")}`).sort();

describe("suffix arrays", () => {
  const cases = Array.from({ length: 300 }, (_, seed) => [seed] as const);
  it.each([[[]], [[0]], [[0, 0]], [[1, 0]], [[0, 1]], [[2, 1, 0, 2, 1, 0, 2]], [Array(50).fill(0)]])(
    "of %j",
    (list) => {
      const text = Int32Array.from(list);
      const expected = Array.from(text.keys()).sort((a, b) => compareSuffixes(text, a, b));
      expect([...suffixArray(text, 3)]).toEqual(expected);
    },
  );
  it("of random texts are sorted, and prefixes counted", () => {
    for (const [seed] of cases) {
      const alphabet = 1 + (seed % 7);
      const text = randomSymbols(seed, 1 + (seed % 120), alphabet, 0);
      const sa = suffixArray(text, alphabet);
      expect([...sa]).toEqual(Array.from(text.keys()).sort((a, b) => compareSuffixes(text, a, b)));
      const lcp = commonPrefixes(text, sa);
      for (let i = 1; i < sa.length; i++) {
        let common = 0;
        while (
          Math.max(sa[i]!, sa[i - 1]!) + common < text.length &&
          text[sa[i]! + common] === text[sa[i - 1]! + common]
        )
          common++;
        expect(lcp[i]).toBe(common);
      }
    }
  });
});

describe("repeats", () => {
  it("are all that naive search finds", () => {
    for (let seed = 0; seed < 120; seed++) {
      const symbols = randomSymbols(seed, 1 + (seed % 60), 1 + (seed % 5), (seed % 4) / 20);
      const minimumLength = 1 + (seed % 3);
      const maximumLength = seed % 2 === 0 ? 1000 : 4;
      expect(texts(findRepeats(symbols, { minimumLength, maximumLength }))).toEqual(
        naiveRepeats(symbols, minimumLength, maximumLength),
      );
    }
  });
  it("come in the same order from symbols of other numbers that appear alike", () => {
    const symbols = randomSymbols(7, 500, 6, 0.05);
    const renamed = symbols.map((symbol) => (symbol < 0 ? -1 : 1000 - 10 * symbol));
    const limits = { minimumLength: 2, maximumLength: 100 };
    expect(findRepeats(renamed, limits)).toEqual(findRepeats(symbols, limits));
  });
  it("are copied only where they are wanted", () => {
    const symbols = Int32Array.from([1, 2, 3, 9, 1, 2, 3, 8, 1, 2]);
    const asked: string[] = [];
    const wanted = (length: number, count: number, first: number): boolean => {
      asked.push(`${length}x${count} ${symbols.slice(first, first + length).join("")}`);
      return count === 3;
    };
    const repeats = findRepeats(symbols, { minimumLength: 2, maximumLength: 9, wanted });
    expect(asked.sort()).toEqual(["2x2 23", "2x3 12", "3x2 123"]);
    expect(texts(repeats)).toEqual(["2-2: 0 4 8"]);
  });
  it("do not contain a barrier, which is asked about once", () => {
    for (let seed = 0; seed < 40; seed++) {
      const symbols = randomSymbols(seed, 1 + (seed % 60), 1 + (seed % 5), 0.05);
      const asked: number[] = [];
      const isBarrier = (symbol: number): boolean => {
        asked.push(symbol);
        return symbol === 2;
      };
      const minimumLength = 1 + (seed % 3);
      expect(texts(findRepeats(symbols, { minimumLength, maximumLength: 99, isBarrier }))).toEqual(
        naiveRepeats(
          symbols.map((symbol) => (symbol === 2 ? -1 : symbol)),
          minimumLength,
          99,
        ),
      );
      expect(asked.length).toBe(new Set(asked).size);
    }
  });
  it("that contain something new, or stand beside it, are all found where only those are asked for", () => {
    let left = 0;
    for (let seed = 0; seed < 200; seed++) {
      const symbols = randomSymbols(seed, 20 + (seed % 200), 12, 0.1);
      const since = { symbol: 11, place: symbols.length - 5 };
      const limits = { minimumLength: 2, maximumLength: 99 };
      const isNew = (place: number): boolean => symbols[place]! >= since.symbol || place >= since.place;
      const all = findRepeats(symbols, limits);
      const near = all.filter(({ length, starts }) =>
        starts.some((start) => Array.from({ length: length + 2 }, (_, i) => start - 1 + i).some(isNew)),
      );
      const found = findRepeats(symbols, { ...limits, since });
      expect(texts(found)).toEqual(expect.arrayContaining(texts(near)));
      // Others may be cut.
      for (const { length, starts } of found) {
        const pieces = Array.from(starts, (start) => symbols.slice(start, start + length).join(" "));
        expect(new Set(pieces).size).toBe(1);
      }
      left += all.length - found.length;
    }
    expect(left).toBeGreaterThan(200);
  });
  it("do not contain a symbol that is equal to nothing", () => {
    const symbols = Int32Array.from([1, 2, -1, 3, 4, 5, 1, 2, -1, 3, 4, 5]);
    expect(texts(findRepeats(symbols, { minimumLength: 1, maximumLength: 9 }))).toEqual([
      "1-1: 1 7",
      "1-1: 5 11",
      "1-2: 0 6",
      "1-2: 4 10",
      "1-3: 3 9",
    ]);
  });
});
