/** The arithmetic of the benchmarks: costs out of callgrind's profiles, means. */
import { describe, expect, test } from "vitest";
import { selfCost } from "../tools/bench/instructions.js";
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
