/** The arithmetic of the benchmarks: costs out of callgrind's profiles, means, the search for an order of passes. */
import { describe, expect, test } from "vitest";
import { selfCost } from "../tools/bench/instructions.js";
import { changed, searchOrder } from "../tools/bench/pass-order.js";
import { Random } from "../tools/bench/random.js";
import { formatRatio, geometricMean } from "../tools/bench/tables.js";

const profile = `version: 1
events: Ir
ob=(1) /opt/prog
fl=(1) ???
fn=(1) main
0 10
cob=(2) /lib/libc.so.6
cfn=(2) puts
calls=3 0
0 900
0 7
ob=(2)
fn=(2)
0 800
ob=(1)
fn=(3) helper
+4 25
* 1
`;

describe("profiles", () => {
  test("self costs of the program, without its callees and libraries", () => {
    expect(selfCost(profile, "/opt/prog")).toBe(10 + 7 + 25 + 1);
    expect(selfCost(profile, "/lib/libc.so.6")).toBe(800);
    expect(selfCost(profile, "/opt/other")).toBe(0);
  });
});

describe("means", () => {
  test("are geometric and leave out what is unknown", () => {
    expect(geometricMean([2, 8])).toBeCloseTo(4);
    expect(geometricMean([0.5, Number.NaN, 2, 0])).toBeCloseTo(1);
    expect(geometricMean([])).toBeNaN();
    expect(formatRatio(Number.NaN)).toBe("-");
  });
});

describe("the search for an order of passes", () => {
  const passes = ["a", "b", "c", "d"];
  test("changes one thing at a time", () => {
    const random = new Random(7);
    const kinds = new Set<string>();
    for (let i = 0; i < 200; i++) {
      const { order, what } = changed(passes, passes, random);
      kinds.add(/^(swap|move|without)|once more|nothing/.exec(what)![0]);
      expect(Math.abs(order.length - passes.length)).toBeLessThanOrEqual(1);
      for (const name of order) expect(passes).toContain(name);
    }
    expect([...kinds].sort()).toEqual(["move", "once more", "swap", "without"]);
    for (let i = 0; i < 50; i++) expect(changed(["a"], ["a"], random).order).not.toEqual([]);
  });

  /** Programs want d before a; the second one does not do without b, the third one minds b twice. */
  const size = async (program: string, order: readonly string[]): Promise<number> => {
    const isGood = order.includes("a") && order.indexOf("d") < order.indexOf("a") && order.includes("d");
    const bs = order.filter((name) => name === "b").length;
    return 1000 - (isGood ? 10 : 0) + (program === "two" && bs === 0 ? 5 : 0) + (bs > 1 ? 5 : 0);
  };
  const search = (seed: number, budget: number) => {
    const lines: string[] = [];
    let links = 0;
    const counted = (program: string, order: readonly string[]): Promise<number> => {
      links++;
      return size(program, order);
    };
    const random = new Random(seed);
    const programs = ["one", "two", "three"];
    const log = (line: string): void => void lines.push(line);
    return searchOrder({ start: passes, passes, programs, budget, random, size: counted, log }).then(
      (found) => ({
        ...found,
        lines,
        links,
      }),
    );
  };
  test("finds a better one, the same one for the same seed, within its links", async () => {
    const { order, ratio, links, lines } = await search(3, 200);
    expect(order.indexOf("d")).toBeLessThan(order.indexOf("a"));
    expect(order.filter((name) => name === "b")).toHaveLength(1);
    expect(ratio).toBeCloseTo(0.99);
    expect(links).toBeLessThanOrEqual(200);
    expect(lines.some((line) => line.endsWith(": taken"))).toBe(true);
    expect(await search(3, 200)).toEqual({ order, ratio, links, lines });
  });
  test("gives up what makes one program larger, and keeps the start without links to make", async () => {
    expect((await search(3, 3)).order).toEqual(passes);
    const { lines } = await search(5, 100);
    expect(lines.some((line) => /: one \+5$/.test(line))).toBe(true);
  });
});
