/** What time is worth in the blocks of a machine function for size, and what the allocator makes of it. */
import { expect, it } from "vitest";
import { blockTimes } from "../../lto/codegen/late/block-time.js";
import { type MBlock, MFunction, MInst } from "../../lto/codegen/mir.js";
import { sizePolicy } from "../../lto/codegen/regalloc/spill-cost.js";
import type { GlobalValue } from "../../lto/ir/module.js";
import { mockMachine, mockTarget, Op } from "./mock-target.js";

const edge = (from: MBlock, to: MBlock): void => {
  from.succs.push(to);
  to.preds.push(from);
};

/** A function of an entry, a loop of `few` instructions, one of `many`, and an end. */
function twoLoops(few: number, many: number): readonly [MFunction, readonly MBlock[]] {
  const fn = new MFunction({} as GlobalValue, "loops", "minsize", mockMachine);
  const blocks = [1, few, many, 1].map((count, i) => {
    const block = fn.newBlock();
    for (let k = 0; k < count; k++) block.insts.push(new MInst(Op.Work, 8));
    block.frequency = i === 1 || i === 2 ? 8 : 1;
    return block;
  });
  const [entry, small, large, end] = blocks as [MBlock, MBlock, MBlock, MBlock];
  edge(entry, small);
  edge(small, small);
  edge(small, large);
  edge(large, large);
  edge(large, end);
  return [fn, blocks];
}

it("is that of loops, and the more the smaller they are", () => {
  const [fn, [entry, small, large, end]] = twoLoops(4, 40);
  const time = blockTimes(fn, 1);
  expect([time(entry!), time(end!)]).toEqual([0, 0]);
  expect(time(small!)).toBeGreaterThan(0);
  expect(time(small!)).toBeCloseTo(10 * time(large!));
});

it("is what the knob says", () => {
  const [fn, blocks] = twoLoops(4, 40);
  const [none, one, three] = [0, 1, 3].map((knob) => blocks.map(blockTimes(fn, knob)));
  expect(none).toEqual([0, 0, 0, 0]);
  three!.forEach((time, b) => {
    expect(time).toBeCloseTo(3 * one![b]!);
  });
});

it("weighs accesses, and not the bytes that registers are named in", () => {
  const [fn, [entry, small]] = twoLoops(4, 40);
  const { weight, byteWeight } = sizePolicy(mockTarget(8, 4), blockTimes(fn, 1));
  expect(weight(entry!)).toBe(byteWeight(entry!));
  expect(weight(small!)).toBeGreaterThan(2 * weight(entry!));
  expect(byteWeight(small!)).toBeLessThan(1.1 * byteWeight(entry!));
});
