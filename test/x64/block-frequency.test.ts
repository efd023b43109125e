/** Estimated block frequencies of small control-flow graphs. */
import { describe, expect, it } from "vitest";
import { estimateFrequencies } from "../../lto/codegen/late/block-frequency.js";
import { MFunction, MInst } from "../../lto/codegen/mir.js";
import { Func } from "../../lto/ir/module.js";
import { functionType, voidType } from "../../lto/ir/types.js";
import { X } from "../../lto/x64/isa/ops.js";
import { x64Target } from "../../lto/x64/target.js";

/** Blocks with the given successors; those without return, or stop when they are `dead`. */
function frequencies(successors: readonly (readonly number[])[], dead: readonly number[] = []): number[] {
  const mf = new MFunction(new Func("f", functionType(voidType, [])), "f", "speed", x64Target);
  for (const _ of successors) mf.newBlock();
  successors.forEach((list, b) => {
    const block = mf.blocks[b]!;
    for (const s of list) {
      block.succs.push(mf.blocks[s]!);
      mf.blocks[s]!.preds.push(block);
    }
    if (list.length === 0) block.insts.push(new MInst(dead.includes(b) ? X.Ud2 : X.Ret, 8));
  });
  return [...estimateFrequencies(mf)];
}

const near = (value: number): unknown => expect.closeTo(value, 3);

describe("block frequencies", () => {
  it("share at branches and meet again", () => {
    expect(frequencies([[1, 2], [3], [3], []])).toEqual([1, near(0.5), near(0.5), near(1)]);
  });

  it("avoid what never returns", () => {
    const [, dead, alive] = frequencies([[1, 2], [], []], [1]);
    expect(dead).toBeLessThan(0.01);
    expect(alive).toBeGreaterThan(0.99);
  });

  it("multiply in loops, and what leaves a loop is what came in", () => {
    // 0 → 1 ⇄ 2, 1 → 3
    expect(frequencies([[1], [2, 3], [1], []])).toEqual([1, near(8), near(7), near(1)]);
    // An inner loop 2 ⇄ 3 in 1 … 4.
    const nested = frequencies([[1], [2, 5], [3, 4], [2], [1], []]);
    expect(nested[2]).toEqual(near(56));
    expect(nested[5]).toEqual(near(1));
  });

  it("exist for loops without end and with two entries", () => {
    for (const f of frequencies([[1], [1]])) expect(Number.isFinite(f)).toBe(true);
    for (const f of frequencies([[1, 2], [2, 3], [1, 3], []])) expect(f).toBeGreaterThan(0);
  });
});
