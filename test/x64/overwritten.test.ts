/** Where registers that variables were in are written by instructions that came later. */
import { describe, expect, it } from "vitest";
import { outside, overwrittenStretches, type Writer } from "../../formats/asm/overwritten.js";
import type { MBlock } from "../../lto/codegen/mir.js";

const old = (...registers: number[]): Writer => ({ writes: mask(registers), isOld: true });
const late = (...registers: number[]): Writer => ({ writes: mask(registers), isOld: false });
const several = (...registers: number[]): Writer => ({ writes: mask(registers), isOld: null });
const mask = (registers: readonly number[]): number => registers.reduce((all, r) => all | (1 << r), 0);

/** @param edges successors of each block */
function stretches(code: readonly (readonly Writer[])[], edges: readonly (readonly number[])[]): unknown {
  const blocks = code.map(() => ({ succs: [] as MBlock[] }) as unknown as MBlock);
  edges.forEach((to, b) => void blocks[b]!.succs.push(...to.map((n) => blocks[n]!)));
  return Object.fromEntries(overwrittenStretches(blocks, code));
}

describe("what later instructions write", () => {
  it("is something else after them, until code that was there writes it", () => {
    const code = [[old(3), late(3), old(1), old(3), old(1)]];
    expect(stretches(code, [[]])).toEqual({ 3: [[2, 4]] });
  });

  it("is something else on every way from there, around loops, too", () => {
    // 0: head, 1: body that jumps back to the head, 2: behind.
    const code = [[old(1)], [late(3, 5), old(5)], [old(1), old(3), old(1)]];
    expect(stretches(code, [[1, 2], [0], []])).toEqual({ 3: [[0, 5]], 5: [[2, 3]] });
  });

  it("says nothing of what does what several did", () => {
    expect(stretches([[late(3), several(3, 4), old(1)]], [[]])).toEqual({ 3: [[1, 3]] });
    expect(stretches([[old(3), several(3, 4), old(1)]], [[]])).toEqual({});
  });

  it("leaves the rest of a stretch", () => {
    expect(
      outside(
        [2, 10],
        [
          [0, 3],
          [5, 6],
          [9, 20],
        ],
      ),
    ).toEqual([
      [3, 5],
      [6, 9],
    ]);
    expect(outside([2, 10], [])).toEqual([[2, 10]]);
    expect(outside([2, 10], [[0, 12]])).toEqual([]);
  });
});
