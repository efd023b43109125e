/** Ranges of bundles that grow by merging, against a plain sorted list. */

import { describe, expect, it } from "vitest";
import { Bundle, LiveRange } from "../../lto/codegen/regalloc/bundle.js";
import { WebRanges } from "../../lto/codegen/regalloc/web-ranges.js";
import { Random } from "../support/random.js";

const range = (start: number, end: number): LiveRange => new LiveRange(0, start, end, 0, 0);
const spans = (ranges: readonly LiveRange[]): string => ranges.map((r) => `${r.start}-${r.end}`).join(" ");

/** Disjoint ranges [10k + 2, 10k + 8) for the numbers k of a random order, in portions of random sizes. */
function portions(random: Random, count: number): number[][] {
  const order = Array.from({ length: count }, (_, k) => k);
  for (let k = count - 1; k > 0; k--) {
    const other = random.below(k + 1);
    [order[k], order[other]] = [order[other]!, order[k]!];
  }
  const result: number[][] = [];
  while (order.length > 0) result.push(order.splice(0, 1 + random.below(40)).sort((a, b) => a - b));
  return result;
}

describe("ranges of a growing bundle", () => {
  for (const count of [1, 200, 256, 257, 5000]) {
    it(`are those of a plain list: ${count}`, () => {
      const random = new Random(count);
      const webs = new WebRanges();
      const bundle = new Bundle(0, 0, 0);
      const present = new Set<number>();
      for (const portion of portions(random, count)) {
        webs.add(
          bundle,
          portion.map((k) => range(10 * k + 2, 10 * k + 8)),
        );
        for (const k of portion) present.add(k);
        expect(webs.count(bundle)).toBe(present.size);
        const point = random.below(10 * count + 20);
        const ahead = [...present].filter((k) => 10 * k + 8 > point).sort((a, b) => a - b);
        const first = webs.firstEndingAfter(bundle, point);
        expect(first === null ? [] : [first.start]).toEqual(ahead.slice(0, 1).map((k) => 10 * k + 2));
        if (first !== null)
          expect(webs.next()?.start).toBe(ahead.length > 1 ? 10 * ahead[1]! + 2 : undefined);
      }
      const all = Array.from({ length: count }, (_, k) => range(10 * k + 2, 10 * k + 8));
      expect(spans(webs.all(bundle))).toBe(spans(all));
      webs.finish([bundle]);
      expect(spans(bundle.ranges)).toBe(spans(all));
    });
  }

  it("are walked to the end across chunks", () => {
    const webs = new WebRanges();
    const bundle = new Bundle(0, 0, 0);
    for (let k = 0; k < 2000; k++) webs.add(bundle, [range(10 * k, 10 * k + 5)]);
    let seen = 0;
    for (let r = webs.firstEndingAfter(bundle, 0); r !== null; r = webs.next())
      expect(r.start).toBe(10 * seen++);
    expect(seen).toBe(2000);
  });
});
