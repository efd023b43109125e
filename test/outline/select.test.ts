/** The choice among repeats against one that looks at all of them for each step. */
import { describe, expect, it } from "vitest";
import { findRepeats } from "../../lto/outline/repeats.js";
import { type Candidate, selectCandidates } from "../../lto/outline/select.js";
import { randomSymbols } from "./sequences.js";

/** Bytes saved: each symbol is 3, a call 5, a return 1. */
const saved = ({ length }: Candidate, starts: Int32Array): number =>
  starts.length * (3 * length - 5) - 3 * length - 1;

interface Choice {
  readonly length: number;
  readonly starts: number[];
  readonly benefit: number;
}

function withoutOverlaps(starts: Iterable<number>, length: number, taken: readonly boolean[]): number[] {
  const kept: number[] = [];
  for (const start of starts) {
    if (kept.length > 0 && start < kept.at(-1)! + length) continue;
    if (taken.slice(start, start + length).some((t) => t)) continue;
    kept.push(start);
  }
  return kept;
}

function naive(candidates: readonly Candidate[], size: number): Choice[] {
  const taken = new Array<boolean>(size).fill(false);
  const chosen: Choice[] = [];
  for (;;) {
    const [best] = candidates
      .map((c) => {
        const starts = withoutOverlaps(c.starts, c.length, taken);
        return { length: c.length, starts, benefit: saved(c, Int32Array.from(starts)) };
      })
      .filter(({ benefit }) => benefit > 0)
      .sort((a, b) => b.benefit - a.benefit || b.length - a.length || a.starts[0]! - b.starts[0]!);
    if (best === undefined) return chosen;
    for (const start of best.starts) taken.fill(true, start, start + best.length);
    chosen.push(best);
  }
}

describe("selection of candidates", () => {
  it("is greedy by what candidates are worth at their turn", () => {
    let chosen = 0;
    for (let seed = 0; seed < 100; seed++) {
      const symbols = randomSymbols(seed, 20 + seed, 6, 0.02);
      const candidates = findRepeats(symbols, { minimumLength: 2, maximumLength: 50 });
      const selected = selectCandidates(candidates, symbols.length, saved);
      chosen += selected.length;
      expect(
        selected.map((s) => ({ length: s.candidate.length, starts: [...s.starts], benefit: s.benefit })),
      ).toEqual(naive(candidates, symbols.length));
    }
    expect(chosen).toBeGreaterThan(200);
  });
  it("does not depend on the order of candidates", () => {
    const symbols = randomSymbols(3, 400, 5, 0.02);
    const candidates = findRepeats(symbols, { minimumLength: 2, maximumLength: 50 });
    const one = selectCandidates(candidates, symbols.length, saved);
    expect(one.length).toBeGreaterThan(5);
    expect(selectCandidates([...candidates].reverse(), symbols.length, saved)).toEqual(one);
  });
  it("takes nothing that saves nothing", () => {
    const candidate = { length: 3, starts: Int32Array.from([0, 3]) };
    expect(selectCandidates([candidate], 6, () => 0)).toEqual([]);
  });
  it("waits by bounds, with the same result", () => {
    const symbols = randomSymbols(5, 400, 5, 0.02);
    const candidates = findRepeats(symbols, { minimumLength: 2, maximumLength: 50 });
    let asked = 0;
    const counted = (candidate: Candidate, starts: Int32Array): number => {
      asked++;
      return saved(candidate, starts);
    };
    const one = selectCandidates(candidates, symbols.length, counted);
    const all = asked;
    asked = 0;
    const bound = (candidate: Candidate, starts: Int32Array): number => saved(candidate, starts) + 2;
    expect(selectCandidates(candidates, symbols.length, counted, { bound })).toEqual(one);
    expect(asked).toBeLessThan(all);
  });
  it("confirms what it takes: nothing is refused, less than nine tenths waits", () => {
    const first = { length: 2, starts: Int32Array.from([0, 10]) };
    const second = { length: 3, starts: Int32Array.from([1, 11]) };
    const third = { length: 2, starts: Int32Array.from([3, 13]) };
    const estimates = new Map<Candidate, number>([
      [first, 100],
      [second, 90],
      [third, 80],
    ]);
    const choose = (exact: readonly [number, number, number]): { taken: number[]; refused: Candidate[] } => {
      const refused: Candidate[] = [];
      const selected = selectCandidates(
        [first, second, third],
        20,
        (candidate) => estimates.get(candidate)!,
        {
          refused: (candidate) => refused.push(candidate),
          confirmed: (candidate) => exact[[first, second, third].indexOf(candidate as typeof first)]!,
        },
      );
      return { taken: selected.map(({ benefit }) => benefit), refused };
    };
    // The second overlaps both others.
    expect(choose([95, 90, 80])).toEqual({ taken: [95, 80], refused: [second] });
    expect(choose([85, 88, 80])).toEqual({ taken: [88], refused: [first, third] });
    expect(choose([0, 0, 70])).toEqual({ taken: [70], refused: [first, second] });
  });
});
