/** What comes into a block goes out of it. */
import { describe, expect, it } from "vitest";
import { blockPositions } from "../../lto/codegen/late/block-frequency.js";
import { edgeBounds, edgeFrequencies } from "../../lto/codegen/late/edge-frequency.js";
import { MFunction } from "../../lto/codegen/mir.js";
import { Func } from "../../lto/ir/module.js";
import { functionType, voidType } from "../../lto/ir/types.js";
import { x64Target } from "../../lto/x64/target.js";

/** @param successors by block */
function blocksOf(successors: readonly (readonly number[])[]) {
  const mf = new MFunction(new Func("f", functionType(voidType, [])), "f", "speed", x64Target);
  const blocks = successors.map(() => mf.newBlock());
  successors.forEach((list, from) => {
    for (const to of list) {
      blocks[from]!.succs.push(blocks[to]!);
      blocks[to]!.preds.push(blocks[from]!);
    }
  });
  return { blocks, positions: blockPositions(blocks) };
}

describe("frequencies of edges", () => {
  it("follow from those of blocks", () => {
    // A loop of three blocks, left by two of them.
    const { blocks, positions } = blocksOf([[1], [4, 2], [5, 3], [1], [5], []]);
    const frequencies = Float64Array.of(1, 4, 3.75, 3, 0.25, 1);
    const edges = edgeFrequencies(blocks, positions, frequencies);
    expect(edges).toEqual([[1], [0.25, 3.75], [0.75, 3], [3], [0.25], []]);
  });

  it("have the right sums where the only way in may also pass the loop by", () => {
    const { blocks, positions } = blocksOf([[5, 1], [4, 2], [5, 3], [5, 1], [5], []]);
    const frequencies = Float64Array.of(1, 4, 3.75, 3.5, 0.25, 1);
    const edges = edgeFrequencies(blocks, positions, frequencies);
    expect(edges[1]).toEqual([0.25, 3.75]);
    expect(edges[0]![0]! + edges[3]![0]!).toBeCloseTo(0.5, 1);
    expect(edges[0]![1]! + edges[3]![1]!).toBeCloseTo(4, 1);
  });

  it("are what both ends allow where two branches lead to the same two blocks", () => {
    const { blocks, positions } = blocksOf([[1, 2], [3, 4], [3, 4], [], []]);
    const frequencies = Float64Array.of(1, 0.5, 0.5, 0.75, 0.25);
    expect(edgeFrequencies(blocks, positions, frequencies)[1]).toEqual([0.375, 0.125]);
    expect(edgeBounds(blocks, positions, frequencies)[0]).toEqual([0.5, 0.5]);
  });
});
