/** Sets of registers behave as sets, whichever of their two forms they take. */

import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  equalSets,
  firstRegister,
  hasRegister,
  highWord,
  includesSet,
  intersect,
  isEmptySet,
  isSingle,
  lastRegister,
  lowWord,
  minus,
  noRegisters,
  overlaps,
  registerCount,
  registerRange,
  registerSet,
  registersIn,
  setOfWords,
  single,
  union,
  withoutFirst,
  withoutRegister,
  withRegister,
} from "../../lto/codegen/register-set.js";

const list = fc.uniqueArray(fc.nat(63), { maxLength: 64 });
const lowList = fc.uniqueArray(fc.nat(31), { maxLength: 32 });
const either = fc.oneof(list, lowList, fc.constantFrom<number[]>([], [31], [32], [63], [0, 63]));
const sorted = (registers: Iterable<number>): number[] => [...registers].sort((a, b) => a - b);

describe("register sets", () => {
  it("hold what they are made of, in order", () => {
    fc.assert(
      fc.property(either, (a) => {
        const set = registerSet(...a);
        expect(registersIn(set)).toEqual(sorted(a));
        expect(registerCount(set)).toBe(a.length);
        expect(isEmptySet(set)).toBe(a.length === 0);
        expect(isSingle(set)).toBe(a.length === 1);
        for (let r = 0; r < 64; r++) expect(hasRegister(set, r)).toBe(a.includes(r));
        expect(equalSets(setOfWords(lowWord(set), highWord(set)), set)).toBe(true);
        if (a.length === 0) return;
        expect(firstRegister(set)).toBe(Math.min(...a));
        expect(lastRegister(set)).toBe(Math.max(...a));
        expect(registersIn(withoutFirst(set))).toEqual(sorted(a).slice(1));
      }),
    );
  });

  it("are combined and compared as sets are", () => {
    fc.assert(
      fc.property(either, either, (a, b) => {
        const [x, y] = [registerSet(...a), registerSet(...b)];
        expect(registersIn(union(x, y))).toEqual(sorted(new Set([...a, ...b])));
        expect(registersIn(intersect(x, y))).toEqual(sorted(a.filter((r) => b.includes(r))));
        expect(registersIn(minus(x, y))).toEqual(sorted(a.filter((r) => !b.includes(r))));
        expect(overlaps(x, y)).toBe(a.some((r) => b.includes(r)));
        expect(includesSet(x, y)).toBe(b.every((r) => a.includes(r)));
        expect(equalSets(x, y)).toBe(a.length === b.length && b.every((r) => a.includes(r)));
      }),
    );
  });

  it("gain and lose single registers", () => {
    fc.assert(
      fc.property(either, fc.nat(63), (a, r) => {
        const set = registerSet(...a);
        expect(equalSets(withRegister(set, r), union(set, single(r)))).toBe(true);
        expect(equalSets(withoutRegister(set, r), minus(set, single(r)))).toBe(true);
      }),
    );
  });

  it("of low registers are the same whatever way they come about", () => {
    expect(union(registerSet(3, 40), noRegisters)).toEqual(registerSet(40, 3));
    expect(minus(registerSet(3, 40), single(40))).toBe(single(3));
    expect(withoutFirst(single(40))).toBe(noRegisters);
    expect(registersIn(registerRange(30, 4))).toEqual([30, 31, 32, 33]);
  });

  it("are returned as they are by an operation that changes nothing", () => {
    const wide = registerSet(1, 2, 50);
    expect(union(wide, single(50))).toBe(wide);
    expect(union(single(50), wide)).toBe(wide);
    expect(intersect(wide, registerRange(0, 64))).toBe(wide);
    expect(minus(wide, single(7))).toBe(wide);
  });

  it("travel between threads", () => {
    expect(equalSets(structuredClone(registerSet(5, 60)), registerSet(60, 5))).toBe(true);
  });
});
