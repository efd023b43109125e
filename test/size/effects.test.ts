/** What decisions are worth beside each other, on made-up programs whose bytes are known. */
import { describe, expect, it } from "vitest";
import { decisionNamed, decisions, everyPass, optionsWithout } from "../../bin/size/decisions.js";
import { interactions, median, shapleyValues } from "../../bin/size/effects.js";

/** Three decisions: the first saves 10, the second 20 but only half of that beside the third, which saves 4. */
const bytes = async (taken: ReadonlySet<number>): Promise<number> =>
  1000 - (taken.has(0) ? 10 : 0) - (taken.has(1) ? (taken.has(2) ? 10 : 20) : 0) - (taken.has(2) ? 4 : 0);

describe("effects", () => {
  it("Shapley values are the exact means over enough orders, and add up to what all save", async () => {
    const values = await shapleyValues(3, 200, bytes);
    expect(values[0]).toEqual({ mean: 10, standardError: 0 });
    // Each of the two comes first in half of the orders.
    expect(values[1]!.mean).toBeCloseTo(15, 6);
    expect(values[2]!.mean).toBeCloseTo(-1, 6);
    expect(values.reduce((sum, { mean }) => sum + mean, 0)).toBeCloseTo(24, 6);
  });

  it("are the same in each run", async () => {
    expect(await shapleyValues(3, 7, bytes)).toEqual(await shapleyValues(3, 7, bytes));
  });

  it("pairs show what one does of the other", async () => {
    expect(await interactions(3, bytes)).toEqual(
      [
        { first: 1, second: 2, together: 14, beyond: 10 },
        { first: 0, second: 1, together: 20, beyond: 0 },
        { first: 0, second: 2, together: 4, beyond: 0 },
      ].map((one) => (one.first === 0 && one.second === 2 ? { ...one, together: 4 } : one)),
    );
  });

  it("the median", () => {
    expect(median([3, 1, 2])).toBe(2);
    expect(median([4, 1, 2, 3])).toBe(2.5);
  });
});

describe("decisions", () => {
  it("have options of the command, or passes that can be left out", () => {
    const names = decisions.map(({ name }) => name);
    expect(new Set(names).size).toBe(names.length);
    for (const { skip } of decisions)
      for (const pass of skip) expect(decisionNamed(pass).skip).toContain(pass);
    expect(everyPass().length).toBeGreaterThan(30);
  });
  it("are left out together by one option each", () => {
    expect(optionsWithout([decisionNamed("ipra"), decisionNamed("gvn"), decisionNamed("memory")])).toEqual([
      "--no-ipra",
      "--skip-pass=gvn,dse,licm",
    ]);
  });
  it.each(["legalize", "nonsense"])("%s cannot be left out", (name) => {
    expect(() => decisionNamed(name)).toThrow(`nothing to leave out is called ${name}`);
  });
});
