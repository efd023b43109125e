import { describe, expect, it } from "vitest";
import { keptInOrder } from "../../lto/ir/kept-order.js";

/** Letters of the first word that are in place in the second. */
const kept = (before: string, after: string): string =>
  [...before].filter((letter) => keptInOrder([...before], (of) => after.indexOf(of)).has(letter)).join("");

describe("what stays in order", () => {
  it.each([
    ["abcd", "abcd", "abcd"],
    ["abcd", "bxd", "bd"],
    // One was moved up, down, or to the other end.
    ["abcd", "cabd", "abd"],
    ["abcd", "bcda", "bcd"],
    ["abcd", "", ""],
    ["", "abcd", ""],
  ])("%s became %s: %s", (before, after, wanted) => {
    expect(kept(before, after)).toBe(wanted);
  });

  it("is as much as can be", () => {
    expect(kept("abcdefgh", "efghabcd")).toHaveLength(4);
  });
});
